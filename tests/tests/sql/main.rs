//! What SQL means over remote files: values computed by hand, and the same answers as another engine.

mod costs;
mod data;
mod deep;
mod differential;
mod errors;
mod explain;
mod filename;
mod joins;
mod late;
mod names;
mod output;
mod queries;
mod random;
mod rows;
mod schema;
mod secrets;
mod sources;
mod types;
