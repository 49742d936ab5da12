//! What a session keeps of files: never stale, never mixed, never asked for twice without need.

mod counters;
mod differential;
mod distrust;
mod failures;
mod leaders;
mod overwritten;
mod redirected;
mod rewritten;
mod servers;
mod settings;
mod sharing;
mod snapshots;
mod versions;
