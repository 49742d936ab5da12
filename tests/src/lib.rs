//! What the end-to-end tests share: a session on a loopback origin, and rows as text.

#![expect(clippy::missing_panics_doc, reason = "helpers of tests panic where the test fails")]

pub mod canon;
pub mod files;
pub mod reference;

use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use farquet_core::stats::Report;
use farquet_core::{Client, Limits, Result, Settings, Url};
use farquet_native::{HttpFetch, NativeFetch, TokioTimer};
use farquet_sql::{QueryResult, Session};

/// Options of a session under test.
#[derive(Debug, Clone)]
pub struct World {
    /// Core settings.
    pub settings: Settings,
    /// Decoders at once.
    pub partitions: usize,
    /// Whether statistics decide what is read.
    pub pruning: bool,
    /// What local paths are relative to.
    pub base: Option<Url>,
    /// An extra root certificate.
    pub certificate: Option<String>,
}

impl Default for World {
    fn default() -> Self {
        Self { settings: Settings::default(), partitions: 2, pruning: true, base: None, certificate: None }
    }
}

impl World {
    /// A session that learned nothing yet.
    pub fn session(&self) -> Session {
        let mut http = HttpFetch::builder().environment_proxies(false);
        if let Some(pem) = &self.certificate {
            http = http.root_certificate_pem(pem.as_bytes()).expect("a certificate");
        }
        let fetch = NativeFetch::new(http.build().expect("an HTTP client"));
        let client = Client::new(Arc::new(fetch), Arc::new(TokioTimer::new()), self.settings.clone());
        let mut session = Session::builder(client).target_partitions(self.partitions).pruning(self.pruning);
        if let Some(base) = &self.base {
            session = session.base(base.clone());
        }
        session.build().expect("a session")
    }
}

/// A session with the defaults.
pub fn session() -> Session {
    World::default().session()
}

/// The rows of an answer, each as its values joined by `|`, and what it cost.
#[derive(Debug)]
pub struct Answer {
    /// Rows in the order of the answer.
    pub rows: Vec<String>,
    /// The account.
    pub report: Report,
}

/// Runs one statement to its end.
pub async fn ask(session: &Session, sql: &str) -> Result<Answer> {
    let (batches, report) = batches(session, sql).await?;
    Ok(Answer { rows: texts(&batches), report })
}

/// All rows of a result, each as its values joined by `|`.
pub async fn rows(result: QueryResult) -> Result<Vec<String>> {
    Ok(texts(&result.collect().await?))
}

/// Rows as their values joined by `|`.
pub fn texts(batches: &[RecordBatch]) -> Vec<String> {
    let format = FormatOptions::default().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> =
            batch.columns().iter().map(|c| ArrayFormatter::try_new(c, &format).expect("a formatter")).collect();
        for row in 0..batch.num_rows() {
            let values: Vec<_> = columns.iter().map(|column| column.value(row).to_string()).collect();
            rows.push(values.join("|"));
        }
    }
    rows
}

/// Runs one statement to its end, for its batches and what it cost.
pub async fn batches(session: &Session, sql: &str) -> Result<(Vec<RecordBatch>, Report)> {
    let query = session.begin(Limits::default());
    let statement = session.parse(sql)?.remove(0);
    let batches = session.run(&query, &statement).await?.collect().await?;
    Ok((batches, query.report()))
}

/// As [`ask`], where an answer is expected.
pub async fn answer(session: &Session, sql: &str) -> Answer {
    ask(session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
}

/// As [`ask`], where an error is expected.
pub async fn refusal(session: &Session, sql: &str) -> farquet_core::Error {
    match ask(session, sql).await {
        Ok(answer) => panic!("{sql}: {} rows where an error was expected", answer.rows.len()),
        Err(error) => error,
    }
}

/// The 25 queries of a dashboard over the table `t`, which `bench/dashboard` asks other engines too.
pub fn tiles() -> impl Iterator<Item = &'static str> {
    include_str!("../../bench/dashboard.sql").lines()
}

/// As many requests at once as there are files, so that waves are hops.
pub fn unlimited() -> Settings {
    let mut settings = Settings::default();
    settings.requests_per_origin = Some(1024);
    settings
}

/// Milliseconds.
pub const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}
