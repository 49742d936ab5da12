//! Clients for the tests: one that sees every byte, and one that is a backend.
#![allow(dead_code, reason = "each test binary uses a part of it")]

pub(crate) mod hyper_fetch;

use std::io::ErrorKind;
use std::time::Duration;

use farquet_testkit::Origin;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How a connection ended, as the client saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The answer was complete.
    Complete,
    /// The connection was closed in order before that.
    Closed,
    /// The connection was reset.
    Reset,
    /// Nothing came any more.
    Silence,
}

/// An answer, byte for byte.
#[derive(Debug)]
pub(crate) struct Raw {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    pub(crate) end: End,
}

impl Raw {
    pub(crate) fn status(&self) -> u16 {
        self.head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// Sends one `GET` with these header lines on a connection of its own.
pub(crate) async fn get(origin: &Origin, path: &str, headers: &[&str]) -> Raw {
    send(origin, "GET", path, headers).await
}

/// Sends one request with these header lines on a connection of its own.
pub(crate) async fn send(origin: &Origin, method: &str, path: &str, headers: &[&str]) -> Raw {
    send_body(origin.port(), method, path, headers, b"").await
}

/// Sends one request with a body to a port of 127.0.0.1.
pub(crate) async fn send_body(port: u16, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Raw {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("the origin listens");
    let target = format!("{method} {path} HTTP/1.1");
    let length = format!("content-length: {}", body.len());
    let lines = [&[&*target, "host: 127.0.0.1", &*length], headers, &["\r\n"]];
    let request = [lines.concat().join("\r\n").as_bytes(), body].concat();
    stream.write_all(&request).await.expect("the request is sent");
    read(&mut stream, method == "HEAD").await
}

/// Reads one answer from a connection that stays open.
pub(crate) async fn read(stream: &mut TcpStream, headless: bool) -> Raw {
    let mut received = Vec::new();
    let end = loop {
        if let Some(raw) = complete(&received, headless) {
            return raw;
        }
        let mut chunk = vec![0; 64 * 1024];
        match timeout(Duration::from_millis(1500), stream.read(&mut chunk)).await {
            Ok(Ok(0)) => break End::Closed,
            Ok(Ok(read)) => received.extend_from_slice(&chunk[..read]),
            Ok(Err(error)) if error.kind() == ErrorKind::ConnectionReset => break End::Reset,
            Ok(Err(error)) => panic!("{error}"),
            Err(_) => break End::Silence,
        }
    };
    let (head, body) = split(&received).unwrap_or_default();
    let body = if is_chunked(&head) { dechunk(&body).0 } else { body };
    Raw { head, body, end }
}

fn split(received: &[u8]) -> Option<(String, Vec<u8>)> {
    let at = received.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8(received[..at].to_vec()).expect("heads are ASCII");
    Some((head, received[at + 4..].to_vec()))
}

fn complete(received: &[u8], headless: bool) -> Option<Raw> {
    let (head, body) = split(received)?;
    let raw = Raw { head, body, end: End::Complete };
    if headless || [204, 304].contains(&raw.status()) {
        return Some(raw);
    }
    if is_chunked(&raw.head) {
        let (body, done) = dechunk(&raw.body);
        return done.then_some(Raw { body, ..raw });
    }
    let length: usize = raw.header("content-length")?.parse().ok()?;
    (raw.body.len() >= length).then_some(raw)
}

fn is_chunked(head: &str) -> bool {
    head.to_ascii_lowercase().contains("transfer-encoding: chunked")
}

fn dechunk(mut coded: &[u8]) -> (Vec<u8>, bool) {
    let mut plain = Vec::new();
    while let Some(at) = coded.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&coded[..at]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.expect("a chunk begins with its size");
        if size == 0 {
            return (plain, true);
        }
        let data = &coded[at + 2..];
        plain.extend_from_slice(&data[..size.min(data.len())]);
        coded = data.get(size + 2..).unwrap_or_default();
    }
    (plain, false)
}

/// `len` bytes, each of which tells where it is.
pub(crate) fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| u8::try_from(at % 251).expect("below 251")).collect()
}
