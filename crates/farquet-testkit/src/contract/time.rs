//! What a timer must do.

use std::sync::Arc;
use std::time::Duration;

use farquet_core::timer::Timer;
use futures::future::join_all;

use super::tools::{Outcome, ensure};

pub(super) async fn waits(timer: Arc<dyn Timer>) -> Outcome {
    const WAIT: Duration = Duration::from_millis(50);
    let start = timer.now();
    timer.sleep(WAIT).await;
    let once = timer.now() - start;
    ensure!(once >= WAIT, "a wait of {WAIT:?} took {once:?}");
    let start = timer.now();
    join_all((0..20).map(|_| timer.sleep(WAIT))).await;
    let together = timer.now() - start;
    ensure!(together >= WAIT, "waits of {WAIT:?} took {together:?}");
    ensure!(together < WAIT * 20, "20 waits ran one after the other: {together:?}");
    timer.sleep(Duration::ZERO).await;
    drop(timer.sleep(Duration::from_hours(1)));
    let (earlier, later) = (timer.now(), timer.now());
    ensure!(earlier <= later, "time ran backwards");
    Ok(())
}
