//! farquet in a browser, and in whatever else has `fetch`: the same core and SQL as everywhere, below the TypeScript of the npm
//! package, which is the only caller of what is exported here.
//!
//! | module | does | does not |
//! |---|---|---|
//! | `runtime` | runs the engine's tasks between the events of JavaScript, in slices | wait |
//! | `bridge` | makes what JavaScript drives look `Send`, on the one thread that there is | |
//! | `fetch`, `diagnosis` | one HTTP exchange by `fetch`; what a failure without a reason may mean | retry, cache |
//! | `exchange` | one exchange of the backend alone, for its tests | anything of the engine's |
//! | `timer` | time and waiting | |
//! | `settings` | options of the package as settings | know their defaults |
//! | `engine`, `query` | the exported classes | anything that could be TypeScript |
//! | `parameters`, `report`, `failure` | values of SQL, accounts and errors across the border | |
//!
//! A panic is a trap: the instance is lost then, and the package makes a new one.

mod bridge;
mod diagnosis;
mod engine;
mod exchange;
mod failure;
mod fetch;
mod parameters;
mod query;
mod report;
mod runtime;
mod settings;
mod timer;

use wasm_bindgen::prelude::wasm_bindgen;

/// Runs once, when the module has been instantiated.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
    runtime::install();
}
