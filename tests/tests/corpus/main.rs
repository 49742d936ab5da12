//! Files of many writers: the same answers as another engine, with and without pruning, and named errors for damage.
//!
//! The corpus is Apache's `parquet-testing`. It lies in the folder that `FARQUET_CORPUS` names, or beside the workspace.

mod folder;
mod read;
