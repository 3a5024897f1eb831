//! A sender that speaks just enough HTTP/1.1 and tells "answered" from "no answer".

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

pub const PROTOBUF: &str = "application/x-protobuf";
pub const JSON: &str = "application/json";

/// One kept-alive connection.
pub struct Sender(BufReader<TcpStream>);

impl Sender {
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Posts a request; the status and body of its answer. An error means that there was none.
    pub fn post(&mut self, media_type: &str, body: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        let head = format!(
            "POST /v1/traces HTTP/1.1\r\nHost: sluice\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.0.get_mut().write_all(head.as_bytes())?;
        self.0.get_mut().write_all(body)?;
        self.answer()
    }

    /// Gets a page; the status and body of its answer.
    pub fn get(&mut self, path: &str) -> io::Result<(u16, Vec<u8>)> {
        let head = format!("GET {path} HTTP/1.1\r\nHost: sluice\r\n\r\n");
        self.0.get_mut().write_all(head.as_bytes())?;
        self.answer()
    }

    fn answer(&mut self) -> io::Result<(u16, Vec<u8>)> {
        let status = self.line()?;
        let code = status.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
        let mut length = 0;
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        Ok((code, body))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}
