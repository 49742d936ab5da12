//! What the process has used at most.

use std::fs;

/// The peak of resident memory in KiB, where the system tells it.
pub(crate) fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").trim().parse().ok()
}

/// Asserts that the peak has grown by less than `mib` since it was `before`.
pub(crate) fn assert_growth_below(mib: u64, before: Option<u64>) {
    if let (Some(before), Some(now)) = (before, peak()) {
        let grown = (now - before) / 1024;
        assert!(grown < mib, "{grown} MiB");
    }
}
