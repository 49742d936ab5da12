//! Which files of a query still have to be proved current by a request of their own: those that came from a cache and of which
//! no data is sure to be read before the first rows are handed out.
//!
//! A stale footer could hide rows by pruning, or answer by statistics, without anybody looking at the file. And where rows are
//! handed out as they come, a file that turns out to be stale later could not begin the query anew any more.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::EmissionType;
use farquet_core::file::File;

use crate::exec::ScanExec;

/// The files among `opened` that `plan` rests on without reading them first.
pub(crate) fn unproved(plan: &Arc<dyn ExecutionPlan>, opened: &[Arc<File>]) -> Vec<Arc<File>> {
    let streams = plan.properties().emission_type != EmissionType::Final;
    let mut scanned: Vec<Arc<File>> = Vec::new();
    let mut unproved: Vec<Arc<File>> = Vec::new();
    let mut pending = vec![Arc::clone(plan)];
    while let Some(node) = pending.pop() {
        if let Some(scan) = node.downcast_ref::<ScanExec>() {
            scanned.extend(scan.files().cloned());
            unproved.extend(scan.unproved(streams && opened.len() > 1));
        }
        pending.extend(node.children().into_iter().cloned());
    }
    // Files that no scan is left of were answered from their footers.
    let is_scanned = |file: &Arc<File>| scanned.iter().any(|scanned| Arc::ptr_eq(scanned, file));
    unproved.extend(opened.iter().filter(|file| !file.is_proved() && !is_scanned(file)).cloned());
    unproved.sort_by_key(|file| Arc::as_ptr(file) as usize);
    unproved.dedup_by(|a, b| Arc::ptr_eq(a, b));
    unproved
}
