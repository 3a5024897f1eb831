//! A list that only grows, so that whoever read its length can go on reading undisturbed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

/// Items of the first bucket; each further one has twice as many as the one before.
const FIRST: usize = 64;
const BUCKETS: usize = 32;

/// Items never move and never change. Readers take no lock; writers exclude each other.
pub struct AppendOnly<T> {
    buckets: [OnceLock<Box<[OnceLock<T>]>>; BUCKETS],
    len: AtomicUsize,
    writer: Mutex<()>,
}

impl<T> Default for AppendOnly<T> {
    fn default() -> Self {
        Self { buckets: Default::default(), len: AtomicUsize::new(0), writer: Mutex::default() }
    }
}

impl<T> AppendOnly<T> {
    /// Adds items, all at once for readers.
    pub fn extend(&self, items: impl IntoIterator<Item = T>) {
        let _writing = self.writer.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut len = self.len.load(Ordering::Relaxed);
        for item in items {
            let (bucket, offset) = place(len);
            let Some(bucket) = self.buckets.get(bucket).zip(FIRST.checked_shl(bucket as u32)) else { break };
            let slots = bucket.0.get_or_init(|| (0..bucket.1).map(|_| OnceLock::new()).collect());
            // The slot is empty: no writer but this one, and nothing was ever put at or behind `len`.
            let _ = slots.get(offset).map(|slot| slot.set(item));
            len += 1;
        }
        self.len.store(len, Ordering::Release);
    }

    pub fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    pub fn get(&self, index: usize) -> Option<&T> {
        let (bucket, offset) = place(index);
        self.buckets.get(bucket)?.get()?.get(offset)?.get()
    }
}

/// Bucket and offset of an item.
fn place(index: usize) -> (usize, usize) {
    let bucket = (index / FIRST + 1).ilog2();
    (bucket as usize, index - FIRST * ((1 << bucket) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_stay_where_they_are_while_more_are_added() {
        let list = AppendOnly::default();
        assert!(list.len() == 0 && list.get(0).is_none());
        for group in 0..40 {
            list.extend((0..group).map(|item| (group, item)));
        }
        let expected: Vec<_> = (0..40).flat_map(|group| (0..group).map(move |item| (group, item))).collect();
        assert_eq!(list.len(), expected.len());
        assert!(expected.iter().enumerate().all(|(index, item)| list.get(index) == Some(item)));
        assert_eq!(list.get(expected.len()), None);
    }

    #[test]
    fn a_reader_sees_a_group_whole_or_not_at_all() {
        let list = AppendOnly::default();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..2_000).for_each(|group| list.extend((0..7).map(|item| group * 7 + item))));
            let mut len = 0;
            while len < 14_000 {
                len = list.len();
                assert!(len % 7 == 0 && (len == 0 || list.get(len - 1) == Some(&(len - 1))), "{len}");
            }
        });
    }
}
