use super::report::{Merge, Report};

fn merge(inputs: &[u64], output: u64) -> Merge {
    Merge {
        inputs: inputs.to_vec(),
        outputs: vec![output],
        rows: 90,
        traces: 20,
        collapsed: 10,
        bytes_in: 5_000,
        bytes_out: 4_000,
        seconds: 0.5,
        ns_per_row: 5_000_000.0,
        bytes_written: 4_100,
        write_calls: 3,
        syncs: 6,
    }
}

#[test]
fn the_report_is_what_programs_that_read_it_rely_on() {
    let mut report = Report::new("./data");
    report.segments = 1;
    report.merges = vec![merge(&[1, 2], 3), merge(&[3, 4], 5)];
    assert_eq!(report.json().unwrap(), include_str!("golden.json"));
}

#[test]
fn a_table_has_a_line_a_merge_and_one_for_all() {
    let mut report = Report::new("./data");
    assert!(report.table().ends_with("nothing to merge\n"));
    report.merges = vec![merge(&[1, 2], 3), merge(&[3, 4], 5)];
    let table = report.table();
    let lines: Vec<_> = table.lines().skip(3).collect();
    assert_eq!(lines.len(), 4, "{table}");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(lines[1])[..7], ["1", "2", "1", "90", "20", "10", "5000"]);
    assert_eq!(words(lines[3])[..7], ["total", "4", "2", "180", "40", "20", "10000"]);
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{table}");
}
