//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Args as ClapArgs, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::console::{Color, Console};
use crate::exit::{self, Failure};
use crate::output::Format;
use crate::values::{self, Table};

const AFTER_HELP: &str = "\
Files are named in SQL by their URL or path: FROM 'https://host/{a,b}_{00..23}.parquet'

Exit codes: 0 done, 1 query or data, 2 usage, 3 network or access, 4 refused by a limit,
5 a file changed while it was read, 130 interrupted";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "farquet",
    version,
    about = "SQL over Parquet files on the web",
    override_usage = "farquet [OPTIONS] [SQL]\n       farquet demo [--serve] [--latency MS]",
    after_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(crate) struct Args {
    /// What else there is to do than to run SQL.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// The options of a run.
    #[command(flatten)]
    pub(crate) query: QueryArgs,
}

/// What else there is to do than to run SQL.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what farquet does, on sample files served by this machine to itself
    Demo(DemoArgs),
}

/// The options of the demonstration.
#[derive(Debug, ClapArgs)]
#[command(override_usage = "farquet demo [--serve] [--latency MS]")]
pub(crate) struct DemoArgs {
    /// Serve the sample files until interrupted, and run nothing
    #[arg(long)]
    pub(crate) serve: bool,
    /// Milliseconds before the first byte of each answer
    #[arg(long, value_name = "MS", default_value_t = 20)]
    pub(crate) latency: u64,
    /// Print nothing but the answers
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Whether to use colors: auto, always or never
    #[arg(long, value_enum, value_name = "WHEN", default_value_t, hide_possible_values = true)]
    pub(crate) color: Color,
}

/// How `--stats` speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatsFormat {
    /// A line to read.
    Text,
    /// A line of JSON.
    Json,
}

/// When an earlier answer about a file is good enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FreshnessRule {
    /// The server said so since.
    Validate,
    /// Its headers allow it.
    Http,
    /// Files are never rewritten.
    Immutable,
}

/// The options of a run.
#[derive(Debug, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct QueryArgs {
    /// One query, or several separated by ';'
    #[arg(value_name = "SQL", conflicts_with = "file")]
    pub(crate) sql: Option<String>,
    /// Read the SQL from a file, or from standard input if PATH is '-'
    #[arg(short, long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// Register a table; may be repeated. A comma inside braces does not separate
    #[arg(short, long = "table", value_name = "NAME=URL[,URL…]", value_parser = values::table)]
    pub(crate) tables: Vec<Table>,
    /// table, csv, tsv, json, ndjson, markdown, arrow or parquet [default: table on a terminal, else csv]
    #[arg(long, value_enum, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: Option<Format>,
    /// Write to a file, in the format of its extension unless --format is given
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Say after each query what it cost: text or json
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "text",
        hide_possible_values = true
    )]
    pub(crate) stats: Option<StatsFormat>,
    /// Write every request to a file, as a line of JSON
    #[arg(long, value_name = "PATH")]
    pub(crate) trace: Option<PathBuf>,
    /// Refuse to send more requests than this for a query
    #[arg(long, value_name = "N")]
    pub(crate) max_requests: Option<u64>,
    /// Refuse to receive more than this for a query, such as 10MB or 1GiB
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub(crate) max_bytes: Option<u64>,
    /// Give a request up when nothing has arrived for so long [default: 20]
    #[arg(long, value_name = "SECONDS", value_parser = values::seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Send a request again at most this often [default: 4]
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// Requests in flight to one origin [default: 64]
    #[arg(long, value_name = "N")]
    pub(crate) concurrency: Option<NonZeroUsize>,
    /// Run all statements on one state of the world
    #[arg(long)]
    pub(crate) snapshot: bool,
    /// When an earlier answer about a file is good enough: validate (the server said so since), http (its
    /// Cache-Control allows it) or immutable (files are never rewritten) [default: validate]
    #[arg(long, value_enum, value_name = "RULE", hide_possible_values = true)]
    pub(crate) freshness: Option<FreshnessRule>,
    /// Keep at most this much of small files between statements [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = values::size, conflicts_with = "no_cache")]
    pub(crate) cache_size: Option<u64>,
    /// Keep at most this much of footers between statements [default: 50MiB]
    #[arg(long, value_name = "SIZE", value_parser = values::size, conflicts_with = "no_cache")]
    pub(crate) footer_cache_size: Option<u64>,
    /// Keep nothing between statements
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Send a header to one origin only, as 'ORIGIN Name: value'; may be repeated
    // Taken apart later, since errors about options quote their values.
    #[arg(long = "header", value_name = "ORIGIN NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// No progress and no remarks
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print what each query cost, and its requests
    #[arg(short, long, action = ArgAction::SetTrue)]
    pub(crate) verbose: bool,
    /// Whether to use colors: auto, always or never
    #[arg(long, value_enum, value_name = "WHEN", default_value_t, hide_possible_values = true)]
    pub(crate) color: Color,
}

impl Args {
    /// Reads the command line. What it only asks or says wrongly is answered here.
    pub(crate) fn read() -> Result<Self, ExitCode> {
        let parsed = Self::command().try_get_matches().and_then(|matches| Self::from_arg_matches(&matches));
        parsed.map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                // Nobody may be reading.
                let _ = error.print();
                ExitCode::SUCCESS
            }
            _ => exit::tell(Err(usage(&error)), Console::new(Color::Auto, false)),
        })
    }

    /// Whether colors are wanted.
    pub(crate) fn color(&self) -> Color {
        match &self.command {
            Some(Command::Demo(demo)) => demo.color,
            None => self.query.color,
        }
    }

    /// Whether remarks are unwanted.
    pub(crate) fn is_quiet(&self) -> bool {
        match &self.command {
            Some(Command::Demo(demo)) => demo.quiet,
            None => self.query.quiet,
        }
    }
}

/// The help, as `--help` prints it.
pub(crate) fn help() -> String {
    Args::command().render_help().to_string()
}

/// An error of the command line in the form of all errors: one line, and a hint.
fn usage(error: &clap::Error) -> Failure {
    let said = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    let is_stray = said(ContextKind::InvalidSubcommand).is_some_and(|word| word != "demo")
        || error.kind() == ErrorKind::UnknownArgument
            && said(ContextKind::InvalidArg).is_some_and(|word| !word.starts_with('-'));
    if is_stray {
        // The word is not quoted: it may be the value of a header that lacked quotes.
        return Failure::usage("there is more than one SQL argument")
            .hint("quote the SQL as a whole, and likewise the values of options; ';' separates queries");
    }
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n");
    let said = paragraphs.next().unwrap_or_default();
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let tip = paragraphs.find_map(|paragraph| paragraph.trim_start().strip_prefix("tip: "));
    Failure::usage(said).hint(tip.unwrap_or("farquet --help lists the options"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Args, clap::Error> {
        Args::try_parse_from(std::iter::once("farquet").chain(args.iter().copied()))
    }

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn sql_and_the_demonstration_are_told_apart() {
        let args = parse(&["SELECT 1", "--stats", "-q"]).expect("a query");
        assert!(args.command.is_none());
        assert_eq!(args.query.sql.as_deref(), Some("SELECT 1"));
        assert_eq!(args.query.stats, Some(StatsFormat::Text));
        let args = parse(&["demo", "--latency", "3"]).expect("the demonstration");
        assert!(matches!(args.command, Some(Command::Demo(DemoArgs { latency: 3, serve: false, .. }))));
        assert!(parse(&["demos"]).expect("SQL, if wrong").command.is_none());
    }

    #[test]
    fn values_of_statistics_need_their_sign() {
        let args = parse(&["--stats=json", "SELECT 1"]).expect("a query");
        assert_eq!(args.query.stats, Some(StatsFormat::Json));
        let args = parse(&["--stats", "SELECT 1"]).expect("a query");
        assert_eq!(args.query.sql.as_deref(), Some("SELECT 1"));
    }
}
