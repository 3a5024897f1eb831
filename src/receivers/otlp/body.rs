//! Reading a body from the network: bounded, and never by a length that the sender names.

use super::answer::Refusal;
use bytes::{Buf, Bytes, BytesMut};
use flate2::bufread::MultiGzDecoder;
use http_body::Body;
use http_body_util::BodyExt;
use std::io::Read;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::timeout;

/// A sender that is silent for this long in the middle of a body is given up.
const STALL: Duration = Duration::from_secs(30);

/// How long the rest of a body that is too large is read and thrown away, so that the answer can be seen.
const DRAIN: Duration = Duration::from_secs(5);

/// Reads a whole body of at most `limit` bytes (OTLP rules 32, 35).
///
/// Errors: `TooLarge` as soon as the limit is passed, `Incomplete` where the body breaks off or stalls.
pub async fn read<B: Body<Data = Bytes> + Unpin>(mut body: B, limit: usize) -> Result<Bytes, Refusal> {
    let mut parts = Parts::default();
    while let Some(data) = next(&mut body).await? {
        if data.len() > limit.saturating_sub(parts.len()) {
            // A sender that is still writing would see a broken connection instead of the answer.
            let _ = timeout(DRAIN, discard(body, limit)).await;
            return Err(Refusal::TooLarge { limit });
        }
        parts.add(data);
    }
    Ok(parts.joined())
}

/// The next piece of data, `None` at the end.
async fn next<B: Body<Data = Bytes> + Unpin>(body: &mut B) -> Result<Option<Bytes>, Refusal> {
    loop {
        match timeout(STALL, Pin::new(&mut *body).frame()).await {
            Ok(None) => return Ok(None),
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
            Ok(Some(Err(_))) | Err(_) => return Err(Refusal::Incomplete),
        }
    }
}

/// Reads on to the end, but no more than `most` bytes.
async fn discard<B: Body<Data = Bytes> + Unpin>(mut body: B, most: usize) {
    let mut seen = 0usize;
    while let Ok(Some(data)) = next(&mut body).await {
        seen = seen.saturating_add(data.len());
        if seen > most {
            return;
        }
    }
}

/// Pieces of a body; copied only when there is more than one.
#[derive(Default)]
struct Parts {
    first: Bytes,
    rest: BytesMut,
}

impl Parts {
    fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    fn add(&mut self, data: Bytes) {
        if self.len() == 0 {
            self.first = data;
            return;
        }
        self.rest.extend_from_slice(&std::mem::take(&mut self.first));
        self.rest.extend_from_slice(&data);
    }

    fn joined(self) -> Bytes {
        if self.rest.is_empty() { self.first } else { self.rest.freeze() }
    }
}

/// How a body is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    Identity,
    Gzip,
}

impl Compression {
    /// The compression of this name; none or an empty one is identity (OTLP rules 29, 30, 65).
    pub fn named(name: Option<&[u8]>) -> Result<Self, Refusal> {
        let name = name.unwrap_or_default().trim_ascii();
        if name.is_empty() || name.eq_ignore_ascii_case(b"identity") {
            Ok(Self::Identity)
        } else if name.eq_ignore_ascii_case(b"gzip") {
            Ok(Self::Gzip)
        } else {
            Err(Refusal::Compression(String::from_utf8_lossy(name).into_owned()))
        }
    }

    /// Unpacks to at most `limit` bytes. Several gzip members after each other are one body; anything else after
    /// a member is an error (OTLP rules 31 to 34).
    pub fn unpack(self, body: Bytes, limit: usize) -> Result<Bytes, Refusal> {
        match self {
            Self::Identity => Ok(body),
            Self::Gzip => gunzip(&body, limit),
        }
    }
}

fn gunzip(body: &[u8], limit: usize) -> Result<Bytes, Refusal> {
    let mut inflated = Vec::new();
    let mut reader = MultiGzDecoder::new(body).take((limit as u64).saturating_add(1));
    let read = reader.read_to_end(&mut inflated);
    read.map_err(|error| Refusal::Undecodable(format!("gzip: {error}")))?;
    if inflated.len() > limit {
        return Err(Refusal::TooLarge { limit });
    }
    Ok(inflated.into())
}

/// Takes the one message out of a unary gRPC body: a flag, a length, the message (gRPC over HTTP/2,
/// "Length-Prefixed-Message").
pub fn unframed(mut body: Bytes) -> Result<(bool, Bytes), Refusal> {
    let broken = |what: &str| Refusal::Undecodable(format!("gRPC frame: {what}"));
    if body.len() < 5 {
        return Err(broken("shorter than its five-byte head"));
    }
    let (flag, length) = (body.get_u8(), body.get_u32());
    match flag {
        _ if usize::try_from(length) != Ok(body.len()) => Err(broken("its length is not that of the message")),
        0 | 1 => Ok((flag == 1, body)),
        _ => Err(broken("unknown compression flag")),
    }
}
