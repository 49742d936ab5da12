//! A tokio runtime of one thread that is never parked: it is pumped after whatever may have woken a task.
//!
//! The engine spawns tasks, and a browser cannot wait. So the runtime runs until nothing is left to do, or a slice of time is over
//! and JavaScript gets its turn; then it returns.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use datafusion_common_runtime::{JoinSetTracer, set_join_set_tracer};
use futures::FutureExt;
use futures::future::BoxFuture;
use js_sys::{Function, Reflect};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::spawn_local;
use web_sys::MessageChannel;

use crate::timer::milliseconds;

/// How long the runtime runs before JavaScript gets a turn, in milliseconds.
const SLICE: f64 = 8.0;

thread_local! {
    static PUMP: Pump = Pump::new();
}

struct Pump {
    runtime: Option<Runtime>,
    /// Nothing is left to do until something wakes a task.
    idle: Cell<bool>,
    running: Cell<bool>,
    /// A pump is to come.
    queued: Cell<bool>,
    slice_ends: Cell<f64>,
    /// Of the future that the runtime blocks on.
    waker: RefCell<Option<Waker>>,
    next_turn: NextTurn,
}

/// How to go on after JavaScript's own events: timers of browsers wait for 4 ms at least.
enum NextTurn {
    /// Node, where an open channel would keep the process alive.
    Immediate {
        set: Function,
        pump: JsValue,
    },
    Message(MessageChannel),
    None,
}

impl NextTurn {
    fn new() -> Self {
        let pump = Closure::<dyn FnMut()>::new(pump).into_js_value();
        let global = js_sys::global();
        let set = Reflect::get(&global, &JsValue::from_str("setImmediate")).ok().and_then(|set| set.dyn_into().ok());
        match (set, MessageChannel::new()) {
            (Some(set), _) => Self::Immediate { set, pump },
            (None, Ok(channel)) => {
                channel.port1().set_onmessage(Some(pump.unchecked_ref()));
                Self::Message(channel)
            }
            (None, Err(_)) => Self::None,
        }
    }

    fn pump(&self) {
        let asked = match self {
            Self::Immediate { set, pump } => set.call1(&JsValue::UNDEFINED, pump).map(|_| ()),
            Self::Message(channel) => channel.port2().post_message(&JsValue::NULL),
            Self::None => Err(JsValue::UNDEFINED),
        };
        if asked.is_err() {
            spawn_local(async { pump() });
        }
    }
}

impl Pump {
    fn new() -> Self {
        let runtime = Builder::new_current_thread()
            .event_interval(1)
            // Called when the runtime would park, and asked again afterwards: the exact moment when nothing is left.
            .on_thread_park(|| {
                PUMP.with(|pump| {
                    pump.idle.set(true);
                    if let Some(waker) = pump.waker.take() {
                        waker.wake();
                    }
                });
            })
            .build();
        Self {
            runtime: runtime.ok(),
            idle: Cell::new(true),
            running: Cell::new(false),
            queued: Cell::new(false),
            slice_ends: Cell::new(0.0),
            waker: RefCell::new(None),
            next_turn: NextTurn::new(),
        }
    }

    fn slice_is_over(&self) -> bool {
        milliseconds() >= self.slice_ends.get()
    }
}

/// Makes the engine's own tasks yield at the end of a slice too.
pub(crate) fn install() {
    // A second instance has its own globals; within one this runs once.
    let _ = set_join_set_tracer(&SlicedTasks);
}

/// Runs `task` on the runtime. It is dropped, and what it waits for is cancelled, by [`JoinHandle::abort`] and [`schedule`].
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> Option<JoinHandle<()>> {
    let handle = PUMP.with(|pump| pump.runtime.as_ref().map(|runtime| runtime.spawn(Sliced(task.boxed()))));
    schedule();
    handle
}

/// Has the runtime run soon: needed after whatever may have woken a task from outside of it.
pub(crate) fn schedule() {
    PUMP.with(|state| {
        if !state.queued.replace(true) {
            spawn_local(async { pump() });
        }
    });
}

fn pump() {
    PUMP.with(|state| {
        state.queued.set(false);
        let Some(runtime) = state.runtime.as_ref() else { return };
        if state.running.replace(true) {
            return;
        }
        state.idle.set(false);
        state.slice_ends.set(milliseconds() + SLICE);
        runtime.block_on(poll_fn(|cx| {
            if state.idle.get() || state.slice_is_over() {
                return Poll::Ready(());
            }
            state.waker.replace(Some(cx.waker().clone()));
            Poll::Pending
        }));
        state.waker.take();
        state.running.set(false);
        if !state.idle.get() {
            state.queued.set(true);
            state.next_turn.pump();
        }
    });
}

/// Wakes the pump when a poll of the task has used up the slice.
struct Sliced<T>(BoxFuture<'static, T>);

impl<T> Future for Sliced<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let polled = self.0.as_mut().poll(cx);
        PUMP.with(|pump| {
            if pump.slice_is_over()
                && let Some(waker) = pump.waker.take()
            {
                waker.wake();
            }
        });
        polled
    }
}

struct SlicedTasks;

impl JoinSetTracer for SlicedTasks {
    fn trace_future(&self, task: BoxFuture<'static, Box<dyn Any + Send>>) -> BoxFuture<'static, Box<dyn Any + Send>> {
        Sliced(task).boxed()
    }

    fn trace_block(
        &self,
        block: Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>,
    ) -> Box<dyn FnOnce() -> Box<dyn Any + Send> + Send> {
        block
    }
}
