//! Origins that misbehave, by the rows of the fault matrix: named errors or the right rows, and how many requests it takes.

mod bodies;
mod files;
mod ranges;
mod redirects;
mod status;
