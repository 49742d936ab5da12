//! A response body with a limit on silence.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use farquet_core::fetch::FetchError;
use futures::stream::{BoxStream, Stream, StreamExt};
use tokio::time::{Instant, Sleep};

use crate::failure::Exchange;

/// The chunks of a body; fails when none arrives for the idle timeout, and ends after its first error.
///
/// The time runs only while somebody waits for a chunk. reqwest's own read timeout also runs while nobody asks, and so
/// would punish a reader who takes longer over a chunk than the network may.
pub(crate) struct IdleLimited {
    // `None` once the body has ended or failed. Dropping the inner stream cancels what is left of the transfer.
    chunks: Option<BoxStream<'static, Result<Bytes, reqwest::Error>>>,
    exchange: Exchange,
    deadline: Pin<Box<Sleep>>,
    waiting: bool,
}

impl IdleLimited {
    pub(crate) fn new(response: reqwest::Response, exchange: Exchange) -> Self {
        Self {
            chunks: Some(response.bytes_stream().boxed()),
            deadline: Box::pin(tokio::time::sleep(exchange.idle_timeout)),
            exchange,
            waiting: false,
        }
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, FetchError>>> {
        let Some(chunks) = &mut self.chunks else { return Poll::Ready(None) };
        // What has arrived comes first: a late reader is not a silent server.
        if let Poll::Ready(item) = chunks.poll_next_unpin(cx) {
            self.waiting = false;
            return Poll::Ready(item.map(|chunk| chunk.map_err(|error| self.exchange.within_body(&error))));
        }
        if !self.waiting {
            self.waiting = true;
            self.deadline.as_mut().reset(Instant::now() + self.exchange.idle_timeout);
        }
        ready!(self.deadline.as_mut().poll(cx));
        Poll::Ready(Some(Err(self.exchange.silent("further part of the body"))))
    }
}

impl Stream for IdleLimited {
    type Item = Result<Bytes, FetchError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = ready!(self.poll_chunk(cx));
        if !matches!(item, Some(Ok(_))) {
            self.chunks = None;
        }
        Poll::Ready(item)
    }
}
