//! Duplicate deliveries. Two rows of a trace are the same span when span id, kind and scope name are equal; of them
//! the one with the higher (LSN, place) counts. Seals, merges and reads alike use this one rule.

use crate::model::Row;
use std::cmp::Reverse;

/// Leaves one row of each span and orders them by start time, then span id, kind and scope name.
pub fn collapse<T>(rows: &mut Vec<T>, row: impl Fn(&T) -> &Row, scope_name: impl Fn(&T) -> &str) {
    rows.sort_unstable_by_key(|item| {
        let row = row(item);
        (row.span_id, row.kind, Reverse((row.lsn, row.place)))
    });
    let same = |a: &T, b: &T| (row(a).span_id, row(a).kind) == (row(b).span_id, row(b).kind);
    if rows.is_sorted_by(|a, b| !same(a, b)) {
        return sort_by_start(rows, row, scope_name);
    }
    // Where a group starts among the rows kept so far; groups of more than one are rare and short.
    let mut group = 0;
    let mut kept: Vec<T> = Vec::with_capacity(rows.len());
    for item in rows.drain(..) {
        if !kept.last().is_some_and(|other| same(other, &item)) {
            group = kept.len();
        }
        let known = kept.iter().skip(group).any(|other| scope_name(other) == scope_name(&item));
        if !known {
            kept.push(item);
        }
    }
    *rows = kept;
    sort_by_start(rows, row, scope_name);
}

/// Ties end with the scope's name, which identity has and every layout keeps; (LSN, place) never decides.
fn sort_by_start<T>(rows: &mut [T], row: impl Fn(&T) -> &Row, scope_name: impl Fn(&T) -> &str) {
    let key = |item: &T| (row(item).start, row(item).span_id, row(item).kind);
    rows.sort_unstable_by(|a, b| key(a).cmp(&key(b)).then_with(|| scope_name(a).cmp(scope_name(b))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SpanId;

    fn row(id: u8, kind: i32, lsn: u64) -> Row {
        Row { span_id: SpanId([id; 8]), kind, lsn, start: u64::from(id), ..Row::default() }
    }

    fn kept(rows: &[(Row, &'static str)]) -> Vec<(u8, i32, u64, &'static str)> {
        let mut rows = rows.to_vec();
        collapse(&mut rows, |(row, _)| row, |(_, scope)| scope);
        rows.iter().map(|(row, scope)| (row.span_id.0[0], row.kind, row.lsn, *scope)).collect()
    }

    #[test]
    fn an_exact_resend_is_shown_once_and_the_newest_delivery_wins() {
        assert_eq!(kept(&[(row(1, 2, 5), "a"), (row(1, 2, 9), "a"), (row(1, 2, 7), "a")]), [(1, 2, 9, "a")]);
    }

    #[test]
    fn client_and_server_of_one_id_and_two_scopes_of_one_id_are_different_spans() {
        assert_eq!(kept(&[(row(1, 2, 5), "a"), (row(1, 3, 6), "a")]), [(1, 2, 5, "a"), (1, 3, 6, "a")]);
        let mixed = [(row(1, 2, 1), "a"), (row(1, 2, 2), "b"), (row(1, 2, 3), "a"), (row(2, 2, 4), "b")];
        assert_eq!(kept(&mixed), [(1, 2, 2, "b"), (1, 2, 3, "a"), (2, 2, 4, "b")]);
    }
}
