//! SQL over remote Parquet files: Apache `DataFusion` on `farquet-core`.
//!
//! A [`Session`] finds the files that a statement names, opens them in one wave through a snapshot of the query's own, and
//! lets the engine plan and run over them.
//!
//! | module | does | does not |
//! |---|---|---|
//! | `session`, `statement`, `names` | one query after another, restarts on changed files | plan bytes |
//! | `world` | opens what a statement names, and the views and tables in which it is planned | |
//! | `proof`, `explain` | which cached files still need proof; what HTTP cost | send requests |
//! | `depth` | keeps statements shallow | |
//! | `references`, `catalog` | finds files in SQL and puts tables in their place | open them |
//! | `table`, `schema` | files as one table: merged schema, `filename` | fetch |
//! | `statistics`, `estimate` | what footers tell: exactly, and at a guess | believe every writer |
//! | `floats` | which filters the bounds of floats can decide | |
//! | `plan` | prunes, decides between hops and bytes, lists the ranges | send requests, but for page indexes |
//! | `exec`, `decode` | the operator: morsels to batches | I/O of its own |
//! | `dynamic`, `early_stop` | filters and limits that shrink a running scan | |
//! | [`plain`] | results in types that every reader of Arrow knows | |
//! | `error` | core errors through the engine and back | |

mod catalog;
mod decode;
mod depth;
mod dynamic;
mod early_stop;
mod error;
mod estimate;
mod exec;
mod explain;
mod floats;
mod names;
pub mod plain;
mod plan;
mod proof;
mod references;
mod result;
mod schema;
mod session;
mod statement;
mod statistics;
mod table;
mod world;

pub use result::QueryResult;
pub use session::{Session, SessionBuilder, Snapshot};
pub use statement::Statement;

pub use arrow;
pub use datafusion::scalar::ScalarValue;
