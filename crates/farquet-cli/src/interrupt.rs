//! Signals, and the end that they bring.

use std::time::Duration;

use crate::exit::Failure;

/// How long a cancelled run may take to end. It ends where it next waits; a write into a full pipe may wait for ever.
const GRACE: Duration = Duration::from_secs(5);

/// Runs `work` as a task until it ends or a signal comes.
///
/// A signal drops the work, which cancels its requests and removes its unfinished files. A second one does not wait.
pub(crate) async fn unless_interrupted(
    work: impl Future<Output = Result<(), Failure>> + Send + 'static,
) -> Result<(), Failure> {
    let mut task = tokio::spawn(work);
    let code = tokio::select! {
        ended = &mut task => return ended.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(payload) => Err(Failure::panic(payload.as_ref())),
            Err(_) => Err(Failure::Interrupted(130)),
        }),
        code = signal() => code,
    };
    task.abort();
    tokio::select! {
        _ended = tokio::time::timeout(GRACE, task) => {}
        _again = signal() => {}
    }
    Err(Failure::Interrupted(code))
}

/// The exit code of the next signal that asks for the end.
#[cfg(unix)]
async fn signal() -> u8 {
    use tokio::signal::unix::{SignalKind, signal};

    match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
        (Ok(mut interrupt), Ok(mut terminate)) => tokio::select! {
            _ = interrupt.recv() => 130,
            _ = terminate.recv() => 143,
        },
        // Then the system's own way of ending the process stays in place.
        _ => std::future::pending().await,
    }
}

/// The exit code of Ctrl-C.
#[cfg(not(unix))]
async fn signal() -> u8 {
    match tokio::signal::ctrl_c().await {
        Ok(()) => 130,
        Err(_) => std::future::pending().await,
    }
}
