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

/// A time in RFC 3339, any offset, any fraction of which nine digits count. `None` for anything else, a date that no
/// calendar has, and times before 1970 or after 2554.
pub fn parse_rfc3339(text: &str) -> Option<Nanos> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let (time, offset) = rest.split_at_checked(rest.find(['Z', 'z', '+', '-'])?)?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    // A leap second is taken as the last second before it.
    let in_day = (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second.min(59))?;
    let seconds =
        days(year, month, day)?.checked_mul(86_400)?.checked_add(in_day)?.checked_sub(offset_seconds(offset)?)?;
    u64::try_from(seconds).ok()?.checked_mul(1_000_000_000)?.checked_add(nanoseconds(fraction)?)
}

/// Numbers of so many digits each, with this between them.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(between);
    let mut of = |digits| parts.next().filter(|part| part.len() == digits).and_then(number);
    let numbers = [of(digits[0])?, of(digits[1])?, of(digits[2])?];
    parts.next().is_none().then_some(numbers)
}

/// Digits and nothing else; none at all are 0. `None` also beyond an `i64`.
fn number(digits: &str) -> Option<i64> {
    digits.bytes().try_fold(0_i64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| i64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// What a local time is ahead.
fn offset_seconds(offset: &str) -> Option<i64> {
    if offset.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, rest) = offset.split_at_checked(1)?;
    let [hours, minutes, _] = numbers(&format!("{rest}:00"), ':', [2, 2, 2])?;
    let seconds = (hours < 24 && minutes < 60).then_some(hours * 3600 + minutes * 60)?;
    Some(if sign == "-" { -seconds } else { seconds })
}

/// Of a fraction of a second; digits beyond the ninth are cut off.
fn nanoseconds(fraction: &str) -> Option<u64> {
    number(fraction.get(9..).unwrap_or_default())?;
    let digits = fraction.get(..fraction.len().min(9)).filter(|digits| !digits.is_empty())?;
    u64::try_from(number(&format!("{digits:0<9}"))?).ok()
}

/// Days since 1970-01-01, the inverse of `date`; `None` for a date that is in no calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let year_from_march = year - i64::from(month <= 2);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let leap_days = year_from_march / 4 - year_from_march / 100 + year_from_march / 400;
    let days = 365 * year_from_march + leap_days + day_of_year - 719_468;
    let again = date(u64::try_from(days).ok()?);
    (again == (u64::try_from(year).ok()?, u64::try_from(month).ok()?, u64::try_from(day).ok()?)).then_some(days)
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
    #[test]
    fn a_time_is_read_as_it_is_written() {
        for time in [0, 951_782_399_000_000_001, 951_868_799_999_999_999, 4_107_542_400_000_000_000, Nanos::MAX] {
            assert_eq!(parse_rfc3339(&rfc3339(time)), Some(time), "{}", rfc3339(time));
        }
        let noon = parse_rfc3339("2026-11-30T12:00:00Z");
        for same in [
            "2026-11-30t12:00:00z",
            "2026-11-30 12:00:00.000Z",
            "2026-11-30T13:30:00+01:30",
            "2026-11-29T23:00:00-13:00",
            "2026-11-30T12:00:00.0000000009Z",
        ] {
            assert_eq!(parse_rfc3339(same), noon, "{same}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        let texts = "now|2026-11-30|2026-11-30T12:00:00|2026-11-30T12:00Z|2026-02-29T00:00:00Z|2026-13-01T00:00:00Z|\
                     2026-00-10T00:00:00Z|2026-01-00T00:00:00Z|2026-01-01T24:00:00Z|2026-01-01T00:60:00Z|1969-12-31T23:59:59Z|\
                     2555-01-01T00:00:00Z|2026-01-01T00:00:00+0100|2026-01-01T00:00:00+24:00|2026-01-01T00:00:00.Z|\
                     2026-01-01T00:00:00.12x4567890123Z|+026-01-01T00:00:00Z|2026-01-01T00:00:00.123456789xZ|2026-01-01T00:00:00Zz|\
                     9999-12-31T00:00:00Z|2026-01-01T00:00:00é|2026-01-01T00:00:00.12345678é9Z";
        for text in texts.split('|') {
            assert_eq!(parse_rfc3339(text), None, "{text}");
        }
        assert_eq!(parse_rfc3339(""), None);
    }
}
