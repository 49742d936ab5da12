//! The binary `farquet`, run as a user runs it, against an origin on loopback.

mod end;
mod formats;
mod network;
mod options;
mod secrets;
mod statements;
mod support;
