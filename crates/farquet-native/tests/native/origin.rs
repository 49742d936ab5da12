//! An HTTP/1.1 server that says exactly what it is told to, byte by byte.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// What happens to the connection after a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) enum After {
    /// The next request is read from it.
    KeepOpen,
    /// The server closes it.
    Close,
    /// The server says nothing more and waits for the client to close it.
    Hold,
}

/// Pieces to send, each after a pause.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) pieces: Vec<(Duration, Vec<u8>)>,
    pub(crate) after: After,
}

impl Reply {
    pub(crate) fn raw(text: impl Into<String>, after: After) -> Self {
        Self { pieces: vec![(Duration::ZERO, text.into().into_bytes())], after }
    }

    pub(crate) fn ok(body: &str) -> Self {
        Self::raw(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()), After::KeepOpen)
    }

    pub(crate) fn redirect(status: u16, location: &str) -> Self {
        let head = format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 4\r\n\r\n");
        Self::raw(head + "gone", After::KeepOpen)
    }

    pub(crate) fn then(mut self, pause: Duration, text: &str) -> Self {
        self.pieces.push((pause, text.as_bytes().to_vec()));
        self
    }
}

type Script = dyn Fn(&str) -> Reply + Send + Sync;

#[derive(Default)]
struct Log {
    heads: Mutex<Vec<String>>,
    connections: AtomicU64,
}

/// A server on loopback; it ends when this value is dropped.
pub(crate) struct Origin {
    port: u16,
    log: Arc<Log>,
    closed: Arc<Semaphore>,
    task: JoinHandle<()>,
}

impl Origin {
    /// `script` is given the path (with the query) of each request.
    pub(crate) async fn start(script: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let port = listener.local_addr().expect("an address").port();
        let (log, closed) = (Arc::new(Log::default()), Arc::new(Semaphore::new(0)));
        let script: Arc<Script> = Arc::new(script);
        let task = tokio::spawn({
            let (log, closed) = (Arc::clone(&log), Arc::clone(&closed));
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    log.connections.fetch_add(1, Ordering::SeqCst);
                    let (log, closed, script) = (Arc::clone(&log), Arc::clone(&closed), Arc::clone(&script));
                    tokio::spawn(async move {
                        serve(stream, &log, &*script).await;
                        closed.add_permits(1);
                    });
                }
            }
        });
        Self { port, log, closed, task }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The requests so far, each as the text of its head, in lower case but for the first line.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.log.heads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn connections(&self) -> u64 {
        self.log.connections.load(Ordering::SeqCst)
    }

    /// Resolves when one more connection has ended; within five seconds, or the test fails.
    pub(crate) async fn connection_closed(&self) {
        let closed = tokio::time::timeout(Duration::from_secs(5), self.closed.acquire());
        closed.await.expect("the connection should be closed").expect("never closed").forget();
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, log: &Log, script: &Script) {
    while let Some(head) = read_head(&mut stream).await {
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        log.heads.lock().unwrap_or_else(PoisonError::into_inner).push(head);
        let reply = script(&path);
        if !send(&mut stream, &reply).await {
            return;
        }
    }
}

/// The text of the next head, or `None` when the client has closed the connection.
pub(crate) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let (first, rest) = head.split_once("\r\n")?;
    Some(format!("{first}\r\n{}", rest.to_lowercase()))
}

/// Whether another request may follow.
pub(crate) async fn send(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), reply: &Reply) -> bool {
    for (pause, piece) in &reply.pieces {
        tokio::time::sleep(*pause).await;
        if stream.write_all(piece).await.is_err() || stream.flush().await.is_err() {
            return false;
        }
    }
    match reply.after {
        After::KeepOpen => true,
        After::Close => false,
        After::Hold => {
            while stream.read_u8().await.is_ok() {}
            false
        }
    }
}
