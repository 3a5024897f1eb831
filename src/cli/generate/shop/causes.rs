//! How things fail. The first cause of each list is a time-out, and slow.

use super::Part;

pub struct Cause {
    /// `error.type`; for HTTP the status code, for RPC its name.
    pub error: &'static str,
    pub exception: &'static str,
    pub message: &'static str,
}

const fn cause(error: &'static str, exception: &'static str, message: &'static str) -> Cause {
    Cause { error, exception, message }
}

const HTTP: [Cause; 3] = [
    cause("504", "GatewayTimeout", "no answer from upstream within 2000 ms"),
    cause("500", "InternalServerError", "unexpected null in response of upstream"),
    cause("503", "ServiceUnavailable", "connection refused: no healthy upstream"),
];

const RPC: [Cause; 3] = [
    cause("DEADLINE_EXCEEDED", "io.grpc.StatusRuntimeException", "DEADLINE_EXCEEDED: deadline exceeded after 1.999s"),
    cause("INTERNAL", "io.grpc.StatusRuntimeException", "INTERNAL: stream terminated by RST_STREAM with error 2"),
    cause("UNAVAILABLE", "io.grpc.StatusRuntimeException", "UNAVAILABLE: upstream connect error, reset before headers"),
];

const DATABASE: [Cause; 3] = [
    cause("timeout", "PoolTimeoutException", "no connection from the pool within 2000 ms (size 20, waiting 37)"),
    cause("connection_reset", "ConnectionException", "the server closed the connection unexpectedly"),
    cause("deadlock", "TransactionRollbackException", "deadlock detected, this statement was chosen as the victim"),
];

const MESSAGING: [Cause; 3] = [
    cause("REQUEST_TIMED_OUT", "TimeoutException", "topic not present in metadata after 2000 ms"),
    cause("NOT_LEADER_OR_FOLLOWER", "NotLeaderOrFollowerException", "this server is not the leader for that partition"),
    cause("deserialization", "SerializationException", "unknown magic byte at offset 0"),
];

const OWN: [Cause; 3] = [
    cause("CancellationException", "CancellationException", "cancelled after 2000 ms"),
    cause("IllegalStateException", "IllegalStateException", "order is already closed"),
    cause("IndexOutOfBoundsException", "IndexOutOfBoundsException", "index 24 out of bounds for length 24"),
];

/// What can go wrong with a part.
pub fn causes(part: Part) -> &'static [Cause; 3] {
    match part {
        Part::Http => &HTTP,
        Part::Rpc => &RPC,
        Part::Database => &DATABASE,
        Part::Messaging => &MESSAGING,
        Part::Own => &OWN,
    }
}
