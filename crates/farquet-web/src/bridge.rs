//! Futures and streams of JavaScript on the runtime's tasks.
//!
//! There is one thread, so that nothing is ever sent; but the traits above demand `Send`. Whoever JavaScript wakes has to be polled
//! by the runtime, and that runs only when it is asked to.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use futures::Stream;
use send_wrapper::SendWrapper;

use crate::runtime;

/// What JavaScript wakes, as a future or stream of the runtime.
pub(crate) struct Bridge<T>(SendWrapper<Pin<Box<T>>>);

impl<T> Bridge<T> {
    pub(crate) fn new(driven: T) -> Self {
        Self(SendWrapper::new(Box::pin(driven)))
    }
}

struct Pumping(Waker);

impl Wake for Pumping {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
        runtime::schedule();
    }
}

fn pumping(cx: &Context<'_>) -> Waker {
    Waker::from(Arc::new(Pumping(cx.waker().clone())))
}

impl<F: Future> Future for Bridge<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let waker = pumping(cx);
        self.0.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

impl<S: Stream> Stream for Bridge<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let waker = pumping(cx);
        self.0.as_mut().poll_next(&mut Context::from_waker(&waker))
    }
}
