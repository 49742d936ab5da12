//! Files of many writers: the same answers as another engine, with and without pruning, and named errors for damage.
//!
//! The corpus is Apache's `parquet-testing`. It lies in the folder that `FARQUET_CORPUS` names, or beside the workspace.
//! DuckDB is what answers are compared with, and it reads the files itself except for those of [`exceptions`].

mod aggregates;
mod damage;
mod exceptions;
mod filters;
mod folder;
mod literal;
mod memory;
mod quirks;
mod read;
