//! An HTTP/1.1 client that sends bytes exactly as a test wants them.

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

pub const PROTOBUF: &str = "application/x-protobuf";
pub const JSON: &str = "application/json";

pub struct Client(BufReader<TcpStream>);

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    /// By lower-case name; the last of several.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

/// `google.rpc.Status`, as far as a client needs it.
#[derive(Clone, PartialEq, Message)]
pub struct Status {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        // Only so that a failing test ends.
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self(BufReader::new(stream))
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    pub fn stream(&self) -> &TcpStream {
        self.0.get_ref()
    }

    /// The next answer, or `None` where the connection ended without one.
    pub fn reply(&mut self) -> Option<Reply> {
        let head = self.line()?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let mut headers = BTreeMap::new();
        while let Some((name, value)) = self.line()?.split_once(": ") {
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).ok()?;
        Some(Reply { status, headers, body })
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    }
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The body as `google.rpc.Status`, in the encoding that the answer names.
    pub fn rpc_status(&self) -> Status {
        match self.header("content-type") {
            Some(PROTOBUF) => Status::decode(&*self.body).unwrap(),
            Some(JSON) => {
                let json = self.json();
                let code = json["code"].as_i64().unwrap() as i32;
                Status { code, message: json["message"].as_str().unwrap().to_owned() }
            }
            other => panic!("no OTLP content type: {other:?}"),
        }
    }
}

/// One request on a connection of its own. `headers` are whole lines.
pub fn request(address: SocketAddr, line: &str, headers: &[&str], body: &[u8]) -> Reply {
    let mut client = Client::connect(address);
    client.send(head(line, headers, Some(body.len())));
    client.send(body);
    client.reply().expect("an answer")
}

pub fn post(address: SocketAddr, headers: &[&str], body: impl AsRef<[u8]>) -> Reply {
    request(address, "POST /v1/traces", headers, body.as_ref())
}

pub fn post_protobuf(address: SocketAddr, body: impl AsRef<[u8]>) -> Reply {
    post(address, &["Content-Type: application/x-protobuf"], body)
}

pub fn post_json(address: SocketAddr, body: impl AsRef<[u8]>) -> Reply {
    post(address, &["Content-Type: application/json"], body)
}

pub fn head(line: &str, headers: &[&str], length: Option<usize>) -> String {
    let mut head = format!("{line} HTTP/1.1\r\nHost: localhost\r\n");
    headers.iter().for_each(|header| head += &format!("{header}\r\n"));
    length.into_iter().for_each(|length| head += &format!("Content-Length: {length}\r\n"));
    head + "\r\n"
}

/// One gzip member.
pub fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}
