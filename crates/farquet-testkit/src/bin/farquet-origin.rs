//! Serves a directory or a set of fixtures on loopback, as slowly and as badly as is asked.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use farquet_testkit::fixture::{self, FileSet};
use farquet_testkit::{Control, Cors, Fault, Logged, Origin, OriginBuilder, Preflight, fault};

/// Serve Parquet files on 127.0.0.1, with delays and faults.
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(version)]
struct Options {
    /// Directory to serve
    #[arg(required_unless_present = "fixture", conflicts_with = "fixture")]
    directory: Option<PathBuf>,
    /// Set of fixtures to serve; it is made when it is not there yet
    #[arg(long, value_name = "NAME", value_parser = fixture::NAMES.to_vec())]
    fixture: Option<String>,
    /// Port, or 0 for any that is free
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Milliseconds before the first byte of each answer
    #[arg(long, value_name = "MS", default_value_t = 0)]
    latency: u64,
    /// Bytes per second for all bodies together
    #[arg(long, value_name = "BYTES")]
    bandwidth: Option<u64>,
    /// Answer 503 above so many requests in flight
    #[arg(long, value_name = "REQUESTS")]
    max_in_flight: Option<usize>,
    /// The Retry-After of such an answer
    #[arg(long, value_name = "SECONDS", requires = "max_in_flight")]
    retry_after: Option<u64>,
    /// HTTP/1.1 over TLS with a self-signed certificate
    #[arg(long, conflicts_with = "http2")]
    tls: bool,
    /// HTTP/2 over TLS with a self-signed certificate
    #[arg(long)]
    http2: bool,
    /// Write the certificate to this file
    #[arg(long, value_name = "PEM")]
    certificate: Option<PathBuf>,
    /// Ignore ranges
    #[arg(long)]
    no_range: bool,
    /// Let pages of any origin read everything
    #[arg(long)]
    cors: bool,
    /// Let pages read, but show them no header of interest, and refuse preflights
    #[arg(long, conflicts_with = "cors")]
    cors_simple: bool,
    /// Let pages read and show them the headers, but refuse preflights
    #[arg(long, conflicts_with_all = ["cors", "cors_simple"])]
    cors_refuse_preflight: bool,
    /// A fault for every answer
    #[arg(long, value_name = "NAME", value_parser = fault::NAMES.to_vec())]
    fault: Option<String>,
    /// Write each request to standard error as a line of JSON
    #[arg(long)]
    log: bool,
    /// Keep a log, and take commands on a second port, whose URL is the second line of the output
    #[arg(long)]
    control: bool,
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    let (origin, names) = start(&options)?;
    if let (Some(file), Some(pem)) = (&options.certificate, origin.certificate_pem()) {
        std::fs::write(file, pem)?;
    }
    let origin = Arc::new(origin);
    let control = options.control.then(|| Control::start(Arc::clone(&origin))).transpose()?;
    announce(&origin, control.as_ref(), &names);
    loop {
        std::thread::park();
    }
}

/// Writes the base URL, that of the control listener and the URLs of the fixtures, one a line.
fn announce(origin: &Origin, control: Option<&Control>, names: &[String]) {
    let mut out = io::stdout().lock();
    let base = origin.url("/").to_string();
    let control = control.map(|control| format!("control {}", control.url()));
    for line in std::iter::once(base).chain(control).chain(names.iter().map(|name| origin.url(name).to_string())) {
        // Whoever wanted only the first line has closed the pipe: no reason to stop serving.
        let _closed = writeln!(out, "{line}");
    }
}

/// Starts the origin, and tells the names of its fixtures.
fn start(options: &Options) -> io::Result<(Origin, Vec<String>)> {
    let mut names = Vec::new();
    let directory = match (&options.fixture, &options.directory) {
        (Some(name), _) => {
            let set = FileSet::named(name).ok_or(io::ErrorKind::NotFound)?;
            names.extend(set.file_names().map(str::to_owned));
            set.on_disk()?
        }
        (None, Some(directory)) => directory.canonicalize()?,
        (None, None) => return Err(io::ErrorKind::InvalidInput.into()),
    };
    let builder = configured(options, Origin::builder().directory("/", directory));
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let origin = runtime.block_on(builder.try_start())?;
    if let Some(fault) = options.fault.as_deref().and_then(Fault::named) {
        origin.script(move |_| Some(fault.clone()));
    }
    Ok((origin, names))
}

fn configured(options: &Options, mut builder: OriginBuilder) -> OriginBuilder {
    builder = builder.port(options.port).latency(Duration::from_millis(options.latency));
    if !options.control {
        builder = builder.no_log();
    }
    if let Some(bandwidth) = options.bandwidth {
        builder = builder.bandwidth(bandwidth);
    }
    if let Some(limit) = options.max_in_flight {
        builder = builder.max_in_flight(limit);
    }
    if let Some(seconds) = options.retry_after {
        builder = builder.retry_after(seconds.to_string());
    }
    if options.tls {
        builder = builder.http1_tls();
    }
    if options.http2 {
        builder = builder.http2_tls();
    }
    if options.no_range {
        builder = builder.no_ranges();
    }
    if let Some(cors) = cors(options) {
        builder = builder.cors(cors);
    }
    if options.log {
        builder = builder.observer(write_line);
    }
    builder
}

fn cors(options: &Options) -> Option<Cors> {
    if options.cors {
        Some(Cors::permissive())
    } else if options.cors_simple {
        Some(Cors::simple_only())
    } else if options.cors_refuse_preflight {
        Some(Cors { preflight: Preflight::Refuse, ..Cors::permissive() })
    } else {
        None
    }
}

fn write_line(entry: &Logged) {
    // Nobody reads any more: no reason to stop serving.
    let _closed = writeln!(io::stderr(), "{}", entry.to_json());
}
