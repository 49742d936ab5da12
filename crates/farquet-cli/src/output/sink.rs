//! Buffered bytes to a stream, shared between a format's writer and the output it writes for.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

const BUFFER: usize = 64 << 10;

/// A buffered stream. Clones share it.
#[derive(Clone)]
pub(super) struct Sink(Arc<Inner>);

struct Inner {
    stream: Mutex<BufWriter<Box<dyn Write + Send>>>,
    closed: AtomicBool,
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink")
    }
}

impl Sink {
    pub(super) fn new(stream: impl Write + Send + 'static) -> Self {
        let stream = Mutex::new(BufWriter::with_capacity(BUFFER, Box::new(stream) as _));
        Self(Arc::new(Inner { stream, closed: AtomicBool::new(false) }))
    }

    /// Writes a line.
    pub(super) fn line(&self, text: &str) -> io::Result<()> {
        self.with(|stream| stream.write_all(text.as_bytes()).and_then(|()| stream.write_all(b"\n")))
    }

    /// Hands on all that is buffered.
    pub(super) fn flush_all(&self) -> io::Result<()> {
        self.with(Write::flush)
    }

    /// Whether whoever read from the other end has gone. Writers of formats lose that in their own errors.
    pub(super) fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Relaxed)
    }

    fn with<T>(&self, act: impl FnOnce(&mut BufWriter<Box<dyn Write + Send>>) -> io::Result<T>) -> io::Result<T> {
        let result = act(&mut self.0.stream.lock().unwrap_or_else(PoisonError::into_inner));
        if result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            self.0.closed.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|stream| stream.write(bytes))
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.with(|stream| stream.write_all(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flush_all()
    }
}
