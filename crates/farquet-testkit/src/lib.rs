//! A loopback HTTP origin with delays, faults and a request log, Parquet fixtures, and the contract of fetch backends.
//!
//! - [`origin`]: an [`Origin`] serves objects over real HTTP/1.1 or HTTP/2 on 127.0.0.1, from memory or from a
//!   directory, with a latency, a shared bandwidth and a limit of requests in flight. It knows ranges, preconditions,
//!   validators and CORS. It lists nothing and stores nothing: it is for tests and demonstrations.
//! - [`fault`]: a script turns any answer into one of the many that real servers give, each as a [`Fault`].
//! - [`log`]: what the origin saw of each request, and what follows from it: requests, bytes, connections, hops.
//! - [`fixture`]: Parquet files of known shapes and sizes, always the same bytes, cached on disk where they are big.
//!   They are clean files of one writer; files with the quirks of other writers are not made here.
//! - [`control`]: a listener by which another process puts objects, scripts answers and reads the log.
//! - [`contract`]: the checks that any [`Fetch`](farquet_core::fetch::Fetch) backend must pass.
//!
//! The binary `farquet-origin` serves a directory or a set of fixtures, with the same delays and faults.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(async {
//! use farquet_testkit::{Fault, Origin};
//!
//! let origin = Origin::builder().file("/a.parquet", "PAR1").start().await;
//! // The first request of each path finds a busy server.
//! origin.script(|seen| (seen.index_of_path == 0).then(|| Fault::retry_after(503, "1")));
//! let url = origin.url("/a.parquet");
//! # assert!(url.as_str().ends_with("/a.parquet"));
//! assert_eq!(origin.requests(), 0);
//! # });
//! ```

pub mod contract;
pub mod control;
pub mod fault;
pub mod fixture;
pub mod log;
pub mod origin;

pub use control::Control;
pub use fault::Fault;
pub use log::{Logged, RequestLog, Seen};
pub use origin::{Cors, EntryTags, Origin, OriginBuilder, Preflight, Tag};
