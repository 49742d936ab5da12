//! `farquet`: SQL over Parquet files on the web, from a terminal.
//!
//! ```text
//! farquet "SELECT count(*) FROM 'https://host/trips.parquet'"
//! farquet -t 't=https://host/part_{000..119}.parquet' 'SELECT k, sum(v) FROM t GROUP BY k' -o sums.csv
//! farquet demo
//! ```
//!
//! Data goes to standard output or to a file, all else to standard error. Nothing that is printed has the query string of
//! a URL in it, and an interrupted query leaves no file behind.
//!
//! | module | does | does not |
//! |---|---|---|
//! | `args`, `values` | the command line, and the words in it | read anything |
//! | `run` | statements to results, one after another | format them |
//! | `output` | formats, standard output, files that appear only when they are complete | know of queries |
//! | `account`, `stats`, `trace` | what a query cost, in words, as JSON, request by request | count |
//! | `progress`, `console` | what is said on the way | print data |
//! | `exit` | failures: their exit codes and how they are told | |
//! | `interrupt` | signals, and the end that they bring | |
//! | `demo` | a sample origin on loopback and three queries over it | reach the network |
//!
//! | exit code | |
//! |---|---|
//! | 0 | all went well; or whoever read the output has closed it |
//! | 1 | the SQL or the data is wrong, or the output could not be written |
//! | 2 | the command line is wrong |
//! | 3 | network, or access to the files |
//! | 4 | refused by `--max-requests` or `--max-bytes` |
//! | 5 | a file changed while it was read |
//! | 130 | interrupted |

mod account;
mod args;
mod console;
mod demo;
mod engine;
mod exit;
mod interrupt;
mod output;
mod progress;
mod run;
mod stats;
mod trace;
mod values;

use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::console::Console;
use crate::exit::Failure;

fn main() -> ExitCode {
    let args = match Args::read() {
        Ok(args) => args,
        Err(code) => return code,
    };
    let console = Console::new(args.color(), args.is_quiet());
    exit::quiet_panics();
    let outcome = in_runtime(args, console);
    exit::tell(outcome, console)
}

fn in_runtime(args: Args, console: Console) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // Only address space, and plans of deep SQL walk deep.
        .thread_stack_size(8 << 20)
        .build()
        .map_err(|error| Failure::output("the runtime could not be started", error))?;
    let outcome = runtime.block_on(async move {
        match args.command {
            Some(Command::Demo(demo)) if demo.serve => {
                match interrupt::unless_interrupted(demo::run(demo, console)).await {
                    // That is how serving ends.
                    Err(Failure::Interrupted(_)) => Ok(()),
                    other => other,
                }
            }
            Some(Command::Demo(demo)) => interrupt::unless_interrupted(demo::run(demo, console)).await,
            None => interrupt::unless_interrupted(run::run(args.query, console)).await,
        }
    });
    // A thread that waits for a pipe is not waited for.
    runtime.shutdown_background();
    outcome
}
