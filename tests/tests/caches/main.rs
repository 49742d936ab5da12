//! What a session keeps of files: never stale, never mixed, never asked for twice without need.

mod failures;
mod servers;
mod settings;
mod sharing;
mod snapshots;
mod versions;
