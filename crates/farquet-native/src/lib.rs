//! farquet on native targets: HTTP by reqwest, local files as if an origin served them, time by tokio.
//!
//! Everything here is transport. One call of [`Fetch::fetch`](farquet_core::fetch::Fetch::fetch) is one exchange, plus
//! the redirects on its way. There is no retry, no cache, no coalescing and no check of ranges or validators in this
//! crate: those are written once, in `farquet-core`, above the seam.
//!
//! - `http`: [`HttpFetch`], one exchange over HTTP/1.1 or HTTP/2. It does not choose how many requests to send, and
//!   does not decode content codings.
//! - `builder`: [`HttpFetchBuilder`], what can be set, and what the environment sets (proxies, root certificates).
//! - `redirect`: which redirects are followed and which headers go along. Pure decisions, no I/O.
//! - `body`: a response body with the limit on silence. No total time limit exists: a slow transfer is not a broken
//!   one.
//! - `failure`: from reqwest's errors to [`FetchErrorKind`](farquet_core::fetch::FetchErrorKind).
//! - `connections`: counts the connections that were opened.
//! - `tls`: the TLS configuration of one client. Nothing is installed for the whole process.
//! - `file` and `conditions`: [`FileFetch`], `file:` URLs with ranges and validators. It reads only, and lists nothing.
//! - `native`: [`NativeFetch`], which chooses between the two by scheme.
//! - `timer`: [`TokioTimer`].
//!
//! All of it has to be polled inside a tokio runtime with its I/O and time drivers on. Dropping a future or a body
//! cancels what it stands for.

mod body;
mod builder;
mod conditions;
mod connections;
mod failure;
mod file;
mod http;
mod native;
mod redirect;
mod timer;
mod tls;

pub use crate::builder::HttpFetchBuilder;
pub use crate::file::FileFetch;
pub use crate::http::HttpFetch;
pub use crate::native::NativeFetch;
pub use crate::timer::TokioTimer;
