//! The body of an answer: slices of memory or pieces of a file, paced, and cut where a fault says so.

use std::fs::File;
use std::future::Future;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::pacer::{PACED_CHUNK, Pacer};
use super::socket::Connection;
use super::ticket::Ticket;
use crate::fault::Cut;

/// The largest piece of a body that is not paced.
const CHUNK: usize = 128 * 1024;

/// How long what was sent may take to leave before the connection is broken.
const FLUSH: Duration = Duration::from_millis(20);

/// Where the bytes of a body come from.
#[derive(Debug)]
pub(crate) enum Source {
    Memory(Bytes),
    Disk(Disk),
}

impl Source {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Disk(disk) => disk.rest.end - disk.rest.start,
        }
    }

    fn poll_next(&mut self, at_most: usize, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        match self {
            Self::Memory(bytes) => Poll::Ready(Ok(bytes.split_to(at_most.min(bytes.len())))),
            Self::Disk(disk) => disk.poll_next(at_most, cx),
        }
    }
}

/// A part of a file, read piece by piece on the blocking pool.
#[derive(Debug)]
pub(crate) struct Disk {
    rest: Range<u64>,
    file: Option<File>,
    reading: Option<JoinHandle<io::Result<(File, Bytes)>>>,
}

impl Disk {
    pub(crate) fn new(file: File, range: Range<u64>) -> Self {
        Self { rest: range, file: Some(file), reading: None }
    }

    fn poll_next(&mut self, at_most: usize, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        if let Some(file) = self.file.take() {
            let len = at_most.min(usize::try_from(self.rest.end - self.rest.start).unwrap_or(usize::MAX));
            let start = self.rest.start;
            self.reading = Some(tokio::task::spawn_blocking(move || read_at(file, start, len)));
        }
        let Some(reading) = &mut self.reading else { return Poll::Ready(Ok(Bytes::new())) };
        let (file, bytes) = ready!(Pin::new(reading).poll(cx)).map_err(io::Error::other)??;
        self.rest.start += bytes.len() as u64;
        self.file = Some(file);
        self.reading = None;
        Poll::Ready(Ok(bytes))
    }
}

pub(crate) fn read_at(mut file: File, start: u64, len: usize) -> io::Result<(File, Bytes)> {
    let mut buffer = vec![0; len];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut buffer)?;
    Ok((file, buffer.into()))
}

/// How a body is sent.
#[derive(Debug, Default)]
pub(crate) struct Manner {
    /// Zeros after the source.
    pub(crate) zeros: u64,
    /// A clean end after so many bytes.
    pub(crate) end_after: Option<u64>,
    /// An end that is not clean. It holds only where the body is longer than it.
    pub(crate) cut: Option<Cut>,
    /// Do not tell the length.
    pub(crate) unknown_length: bool,
    pub(crate) pacer: Option<Arc<Pacer>>,
}

/// A body that hyper sends.
#[derive(Debug)]
pub(crate) struct AnswerBody {
    source: Source,
    zeros: u64,
    total: u64,
    sent: u64,
    cut: Option<Cut>,
    unknown_length: bool,
    pacer: Option<Arc<Pacer>>,
    /// The next chunk, whose turn on the line is still to come.
    held: Option<Bytes>,
    wait: Option<Pin<Box<Sleep>>>,
    ticket: Ticket,
    connection: Arc<Connection>,
}

impl AnswerBody {
    pub(crate) fn new(source: Source, manner: Manner, mut ticket: Ticket, connection: Arc<Connection>) -> Self {
        let all = source.len() + manner.zeros;
        let total = manner.end_after.map_or(all, |end| end.min(all));
        let cut = manner.cut.filter(|cut| cut_at(*cut) < total);
        if total == 0 {
            ticket.finish(true);
        }
        Self {
            source,
            zeros: manner.zeros,
            total,
            sent: 0,
            cut,
            unknown_length: manner.unknown_length,
            pacer: manner.pacer,
            held: None,
            wait: None,
            ticket,
            connection,
        }
    }

    /// Polls the next piece, at most as long as what is left before the end or the cut.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        let end = self.cut.map_or(self.total, cut_at);
        let left = usize::try_from(end - self.sent).unwrap_or(usize::MAX);
        let at_most = left.min(if self.pacer.is_some() { PACED_CHUNK } else { CHUNK });
        if self.source.len() > 0 {
            let chunk = ready!(self.source.poll_next(at_most, cx))?;
            return Poll::Ready(Ok(chunk));
        }
        let len = at_most.min(usize::try_from(self.zeros).unwrap_or(usize::MAX));
        self.zeros -= len as u64;
        Poll::Ready(Ok(vec![0; len].into()))
    }

    /// What happens where the body is cut.
    fn poll_cut(&mut self, cut: Cut, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let reset = match cut {
            Cut::Stall(_) => return Poll::Pending,
            Cut::Reset(_) => true,
            Cut::Close(_) => false,
        };
        let flush = self.wait.get_or_insert_with(|| Box::pin(sleep(FLUSH)));
        ready!(flush.as_mut().poll(cx));
        self.ticket.finish(false);
        if self.connection.multiplexed.load(std::sync::atomic::Ordering::SeqCst) {
            return Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into())));
        }
        self.connection.break_off(reset);
        Poll::Pending
    }
}

fn cut_at(cut: Cut) -> u64 {
    match cut {
        Cut::Reset(bytes) | Cut::Close(bytes) | Cut::Stall(bytes) => bytes,
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = &mut *self;
        if let Some(cut) = this.cut.filter(|cut| cut_at(*cut) == this.sent) {
            return this.poll_cut(cut, cx);
        }
        if this.sent == this.total {
            return Poll::Ready(None);
        }
        if this.held.is_none() {
            let chunk = match ready!(this.poll_chunk(cx)) {
                Ok(chunk) if chunk.is_empty() => return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into()))),
                Ok(chunk) => chunk,
                Err(error) => return Poll::Ready(Some(Err(error))),
            };
            if let Some(pacer) = &this.pacer {
                let now = Instant::now();
                let at = pacer.send(chunk.len(), now);
                this.wait = (at > now).then(|| Box::pin(sleep_until(at)));
            }
            this.held = Some(chunk);
        }
        if let Some(wait) = &mut this.wait {
            ready!(wait.as_mut().poll(cx));
            this.wait = None;
        }
        let chunk = this.held.take().unwrap_or_default();
        this.sent += chunk.len() as u64;
        this.ticket.sent(chunk.len() as u64);
        if this.sent == this.total {
            // Before the client can have seen the end: what it asks for next begins after this.
            this.ticket.finish(true);
        }
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.sent == self.total
    }

    fn size_hint(&self) -> SizeHint {
        if self.unknown_length { SizeHint::default() } else { SizeHint::with_exact(self.total - self.sent) }
    }
}
