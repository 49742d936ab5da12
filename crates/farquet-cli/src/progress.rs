//! A line that says that a query is alive.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use farquet_core::QueryContext;
use indicatif::{DecimalBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::task::JoinHandle;

use crate::console::Console;

/// Most queries end sooner, and nobody misses the line.
const PATIENCE: Duration = Duration::from_millis(500);

const REFRESH: Duration = Duration::from_millis(100);

/// The line of one query. Dropping it removes the line.
#[derive(Debug)]
pub(crate) struct Progress(Option<Running>);

#[derive(Debug)]
struct Running {
    task: JoinHandle<()>,
    bar: Arc<Mutex<State>>,
}

#[derive(Debug)]
enum State {
    Waiting,
    Shown(ProgressBar),
    Over,
}

impl Progress {
    /// Shows the line on a terminal once the query has taken a while.
    pub(crate) fn start(query: &Arc<QueryContext>, console: Console) -> Self {
        if !console.shows_progress() {
            return Self(None);
        }
        let bar = Arc::new(Mutex::new(State::Waiting));
        let task = tokio::spawn(show(Arc::clone(query), Arc::clone(&bar)));
        Self(Some(Running { task, bar }))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let Some(Running { task, bar }) = &self.0 else { return };
        task.abort();
        let mut state = bar.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Shown(bar) = std::mem::replace(&mut *state, State::Over) {
            bar.finish_and_clear();
        }
    }
}

async fn show(query: Arc<QueryContext>, bar: Arc<Mutex<State>>) {
    let began = Instant::now();
    tokio::time::sleep(PATIENCE).await;
    loop {
        let (files, bytes, in_flight) = query.stats().progress();
        let seconds = began.elapsed().as_secs_f64();
        let text =
            format!("{seconds:.1} s, {files} files opened, {}, {in_flight} requests in flight", DecimalBytes(bytes));
        {
            let mut state = bar.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *state {
                State::Over => return,
                State::Shown(bar) => bar.set_message(text),
                State::Waiting => *state = State::Shown(new_bar(text)),
            }
            if let State::Shown(bar) = &*state {
                bar.tick();
            }
        }
        tokio::time::sleep(REFRESH).await;
    }
}

fn new_bar(text: String) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        bar.set_style(style);
    }
    bar.set_message(text);
    bar
}
