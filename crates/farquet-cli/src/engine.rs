//! The session that the options describe.

use std::sync::Arc;

use farquet_core::{Client, Freshness, Settings, Url};
use farquet_native::{HttpFetch, NativeFetch, TokioTimer};
use farquet_sql::Session;

use crate::args::{FreshnessRule, QueryArgs};
use crate::exit::Failure;
use crate::values;

/// A session with the options' tables. Sends nothing.
pub(crate) fn session(args: &QueryArgs) -> Result<Session, Failure> {
    let mut settings = Settings::default();
    settings.retries = args.retries.unwrap_or(settings.retries);
    settings.idle_timeout = args.timeout.unwrap_or(settings.idle_timeout);
    settings.requests_per_origin = args.concurrency.map(usize::from);
    settings.freshness = match args.freshness {
        None | Some(FreshnessRule::Validate) => Freshness::Validate,
        Some(FreshnessRule::Http) => Freshness::Http,
        Some(FreshnessRule::Immutable) => Freshness::Immutable,
    };
    settings.body_cache.bytes = args.cache_size.unwrap_or(settings.body_cache.bytes);
    settings.footer_cache.bytes = args.footer_cache_size.unwrap_or(settings.footer_cache.bytes);
    if args.no_cache {
        settings.small_file_cache = false;
        settings.footer_cache.bytes = 0;
    }

    let mut http = HttpFetch::builder().idle_timeout(settings.idle_timeout);
    if let Some(requests) = settings.requests_per_origin {
        http = http.requests_per_origin(requests);
    }
    for header in &args.headers {
        let (origin, name, value) = values::header(header).map_err(Failure::usage)?;
        http = http.origin_header(origin, name, value).map_err(|error| Failure::usage(error.to_string()))?;
    }
    let http = http.build().map_err(|error| Failure::usage(error.to_string()))?;
    let session = session_on(http, settings)?;
    for (index, table) in args.tables.iter().enumerate() {
        if args.tables[..index].iter().any(|other| other.name.eq_ignore_ascii_case(&table.name)) {
            return Err(Failure::usage(format!("the table {} is given twice", table.name))
                .hint("the URLs of one table are separated by commas"));
        }
        session.register_files(&table.name, &table.location).map_err(|error| {
            let failure = Failure::usage(format!("table {}: {error}", table.name));
            match error.hint_text() {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        })?;
    }
    Ok(session)
}

/// A session on `http` that uses all cores.
pub(crate) fn session_on(http: HttpFetch, settings: Settings) -> Result<Session, Failure> {
    let client = Client::new(Arc::new(NativeFetch::new(http)), Arc::new(TokioTimer::new()), settings);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut builder = Session::builder(client).target_partitions(cores);
    // Without a current directory only relative paths have no meaning.
    if let Some(base) = std::env::current_dir().ok().and_then(|directory| Url::from_directory_path(directory).ok()) {
        builder = builder.base(base);
    }
    Ok(builder.build()?)
}
