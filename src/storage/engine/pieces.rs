//! Making one thing of many, or of as many as can be made into one.

/// What was made, and what cannot be part of anything.
#[derive(Debug, PartialEq, Eq)]
pub struct Pieces<M, T> {
    pub whole: Vec<M>,
    /// In the order they came in.
    pub alone: Vec<T>,
}

/// Makes something of all items. Where that fails each half is tried by itself, until those that it fails for are alone.
/// `None` as soon as `make` gives that.
pub fn make<T: Clone, M, E>(items: &[T], make: &mut dyn FnMut(&[T]) -> Option<Result<M, E>>) -> Option<Pieces<M, T>> {
    let mut pieces = Pieces { whole: Vec::new(), alone: Vec::new() };
    add(items, make, &mut pieces)?;
    Some(pieces)
}

fn add<T: Clone, M, E>(
    items: &[T],
    make: &mut dyn FnMut(&[T]) -> Option<Result<M, E>>,
    into: &mut Pieces<M, T>,
) -> Option<()> {
    match (make(items)?, items) {
        (Ok(whole), _) => into.whole.push(whole),
        (Err(_), [_] | []) => into.alone.extend_from_slice(items),
        (Err(_), _) => {
            let (first, second) = items.split_at(items.len() / 2);
            add(first, make, into)?;
            add(second, make, into)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything can be made but what holds one of these.
    fn without(bad: &[u32], items: &[u32]) -> (Pieces<Vec<u32>, u32>, usize) {
        let mut attempts = 0;
        let made = make(items, &mut |items| {
            attempts += 1;
            Some(if items.iter().any(|item| bad.contains(item)) { Err(()) } else { Ok(items.to_vec()) })
        });
        (made.unwrap(), attempts)
    }

    #[test]
    fn what_works_is_made_at_once() {
        assert_eq!(without(&[], &[1, 2, 3]), (Pieces { whole: vec![vec![1, 2, 3]], alone: vec![] }, 1));
    }

    #[test]
    fn whatever_is_bad_is_alone_and_everything_else_is_in_a_piece_once() {
        let items: Vec<u32> = (0..37).collect();
        for bad in [vec![0], vec![36], vec![17], vec![3, 4, 30], items.clone()] {
            let (pieces, _) = without(&bad, &items);
            assert_eq!(pieces.alone, bad);
            let mut all: Vec<_> = pieces.whole.concat();
            all.extend(&pieces.alone);
            all.sort_unstable();
            assert_eq!(all, items);
        }
    }

    #[test]
    fn one_bad_item_costs_two_attempts_for_each_halving() {
        assert_eq!(without(&[700], &(0..1024).collect::<Vec<_>>()).1, 21);
    }

    #[test]
    fn a_stop_ends_it() {
        assert_eq!(make(&[1, 2], &mut |items| (items.len() > 1).then_some(Err::<(), ()>(()))), None);
    }
}
