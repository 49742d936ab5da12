//! The core of farquet: which bytes of remote Parquet files a query needs, in how few round trips, and whether the answers
//! can be believed.
//!
//! No runtime, no HTTP client, no SQL. A backend implements [`fetch::Fetch`] and [`timer::Timer`]; an engine asks a
//! [`snapshot::Snapshot`] to open files and a [`scan::Scan`] for their bytes.
//!
//! | module | does | does not |
//! |---|---|---|
//! | [`fetch`], [`timer`] | the seam to a backend | any policy |
//! | [`range`], [`validator`], [`location`], [`plan`], [`trust`] | the vocabulary, as pure functions | I/O |
//! | `judge` | compares an answer's head with what was asked | read bodies, retry |
//! | `exchange`, `patience` | one logical request: limits, retries, resumption, accounts | decide what to ask |
//! | `origin`, `limiter` | what was learned about an origin: load, link, refusals | outlive the session |
//! | `open`, `opened`, `footer` | from a URL to checked metadata | read data |
//! | `expect` | holds an answer against the version that was pinned | send requests |
//! | [`snapshot`], [`mod@file`] | one version of each file for a query, or for several that share it | keep anything longer |
//! | `store`, [`cache`], [`freshness`] | what is kept of files across queries, and what it takes to use it | use it unproved |
//! | `hold` | bounds on what running queries hold of files' bytes | bound what the caches keep |
//! | `flights` | one request for all who may share its answer | know what is asked |
//! | [`scan`] | fetches planned ranges ahead of the decoder, within bounds | decode, spawn |
//! | [`stats`], `budget` | what a query cost, what it may cost | print |

pub mod cache;
pub mod client;
pub mod error;
pub mod fetch;
pub mod file;
pub mod freshness;
pub mod location;
pub mod plan;
pub mod range;
pub mod redact;
pub mod scan;
pub mod segments;
pub mod snapshot;
pub mod stats;
pub mod timer;
pub mod trust;
pub mod validator;

mod budget;
mod exchange;
mod expect;
mod flights;
mod footer;
mod hold;
mod judge;
mod limiter;
mod open;
mod opened;
mod origin;
mod patience;
mod store;

pub use budget::Limits;
pub use cache::{Bounds, Residency};
pub use client::{Client, FooterScope, QueryContext, Settings};
pub use error::{Error, ErrorKind, Result};
pub use freshness::Freshness;
pub use http;
pub use store::Usage;
pub use url::Url;
