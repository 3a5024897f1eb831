//! Times are nanoseconds since the Unix epoch, as OTLP has them. Arithmetic on them saturates: both
//! ends of a span come from outside.

/// Nanoseconds since 1970-01-01T00:00:00Z.
pub type Nanos = u64;

/// How long a span lasted; 0 where it ends before it starts.
pub fn duration(start: Nanos, end: Nanos) -> Nanos {
    end.saturating_sub(start)
}

/// The wall clock now, 0 before 1970.
pub fn wall_now() -> Nanos {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |elapsed| elapsed.as_nanos().try_into().unwrap_or(Nanos::MAX))
}

/// A time as RFC 3339 in UTC, with all nine digits of its nanoseconds.
pub fn rfc3339(time: Nanos) -> String {
    let (seconds, nanos) = (time / 1_000_000_000, time % 1_000_000_000);
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z")
}

/// Year, month and day of a number of days since 1970-01-01. Counts in years that begin in March, so that the
/// leap day is the last of its year, and in cycles of 400 years (146,097 days).
fn date(days: u64) -> (u64, u64, u64) {
    let since_march_0000 = days + 719_468;
    let (cycle, day) = (since_march_0000 / 146_097, since_march_0000 % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (400 * cycle + year + u64::from(month <= 2), month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_around_leap_days_and_at_both_ends() {
        let cases = [
            (0, "1970-01-01T00:00:00.000000000Z"),
            (951_782_399, "2000-02-28T23:59:59.000000000Z"),
            (951_868_799, "2000-02-29T23:59:59.000000000Z"),
            (951_868_800, "2000-03-01T00:00:00.000000000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000000000Z"),
        ];
        for (seconds, text) in cases {
            assert_eq!(rfc3339(seconds * 1_000_000_000), text);
        }
        assert_eq!(rfc3339(Nanos::MAX), "2554-07-21T23:34:33.709551615Z");
    }
}
