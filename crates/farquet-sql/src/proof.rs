//! Which files of a query still have to be proved current: those that came from a cache and of which no data is sure to be read.
//!
//! A stale footer could hide rows by pruning, or answer by statistics, without anybody looking at the file.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use farquet_core::snapshot::File;

use crate::exec::ScanExec;

/// The files among `opened` that `plan` rests on without reading them.
pub(crate) fn unproved(plan: &Arc<dyn ExecutionPlan>, opened: &[Arc<File>]) -> Vec<Arc<File>> {
    let mut scanned: Vec<Arc<File>> = Vec::new();
    let mut unproved: Vec<Arc<File>> = Vec::new();
    let mut pending = vec![Arc::clone(plan)];
    while let Some(node) = pending.pop() {
        if let Some(scan) = node.downcast_ref::<ScanExec>() {
            scanned.extend(scan.files().cloned());
            unproved.extend(scan.unproved());
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
