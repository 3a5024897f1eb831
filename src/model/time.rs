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
