//! Files that change while they are read: rows of one version, or an error that says so.

mod replaced;
mod validators;
