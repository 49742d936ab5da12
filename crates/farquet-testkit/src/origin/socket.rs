//! A TCP connection that can be broken off in the middle of an answer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;

/// What the answers of one connection share.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) id: u64,
    /// HTTP/2: a single stream can be reset.
    pub(crate) multiplexed: AtomicBool,
    reset: AtomicBool,
    broken: Notify,
    open: Arc<AtomicUsize>,
}

impl Connection {
    pub(crate) fn new(id: u64, open: Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::SeqCst);
        let reset = AtomicBool::new(false);
        Self { id, multiplexed: AtomicBool::new(false), reset, broken: Notify::new(), open }
    }

    /// Ends the connection, by TCP RST or in order.
    pub(crate) fn break_off(&self, reset: bool) {
        self.reset.store(reset, Ordering::SeqCst);
        self.broken.notify_one();
    }

    /// Resolves when the connection is to be ended.
    pub(crate) async fn broken_off(&self) {
        self.broken.notified().await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The socket of a [`Connection`].
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    connection: Arc<Connection>,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, connection: Arc<Connection>) -> Self {
        Self { stream, connection }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.connection.reset.load(Ordering::SeqCst) {
            // Closing with linger time zero is what sends RST.
            let _unsupported = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
