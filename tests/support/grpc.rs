//! A gRPC sender that sends request bytes as they are, unknown fields included.

use bytes::{Buf, BufMut, Bytes};
use std::net::SocketAddr;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Channel;
use tonic::{Request, Status};

pub struct GrpcSender(Grpc<Channel>);

impl GrpcSender {
    pub async fn connect(address: SocketAddr) -> Self {
        let endpoint = Channel::from_shared(format!("http://{address}")).unwrap();
        Self(Grpc::new(endpoint.connect().await.unwrap()))
    }

    /// Sends an export request; its answer's bytes.
    pub async fn send(&mut self, request: Bytes) -> Result<Bytes, Status> {
        self.0.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let path = http::uri::PathAndQuery::from_static("/opentelemetry.proto.collector.trace.v1.TraceService/Export");
        Ok(self.0.unary(Request::new(request), path, Raw).await?.into_inner())
    }
}

/// Hands bytes through.
#[derive(Clone, Copy)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, bytes: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(bytes.copy_to_bytes(bytes.remaining())))
    }
}
