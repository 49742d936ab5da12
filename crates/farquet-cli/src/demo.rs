//! `farquet demo`: sample files, served by this process over HTTP, and three queries over them.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use farquet_core::{Limits, Settings};
use farquet_native::HttpFetch;
use farquet_sql::Session;
use farquet_testkit::fixture::{self, SizeClass};
use farquet_testkit::{Cors, Origin};
use futures::StreamExt;
use indicatif::DecimalBytes;

use crate::args::DemoArgs;
use crate::console::Console;
use crate::engine;
use crate::exit::Failure;
use crate::output::{Format, Output};
use crate::stats;

/// Two tables: many small files, and a few large ones.
const TABLES: [(&str, &str); 2] = [
    ("metrics", "metrics/date-2024-06-01.hour-00.minute-{00..59}.parquet"),
    ("trips", "trips/taxi_2024-{01..08}.parquet"),
];

const QUERIES: [(&str, &str); 3] = [
    ("How many taxi rides are there? The ends of the files know.", "SELECT count(*) AS rides FROM trips"),
    (
        "Which hosts are busiest? All files are opened at once, and many arrive whole with their ends.",
        "SELECT host, count(*) AS samples, round(avg(value), 2) AS cpu\n\
         FROM metrics\n\
         WHERE metric_name = 'system.cpu.utilization'\n\
         GROUP BY host ORDER BY cpu DESC LIMIT 5",
    ),
    (
        "What did a day in March cost? Only the row groups and columns that can tell are read.",
        "SELECT payment, count(*) AS rides, round(avg(total), 2) AS mean_total\n\
         FROM trips\n\
         WHERE pickup_at >= '2024-03-10' AND pickup_at < '2024-03-11'\n\
         GROUP BY payment ORDER BY rides DESC",
    ),
];

/// Runs the demonstration. Dropping the future stops the origin.
pub(crate) async fn run(args: DemoArgs, console: Console) -> Result<(), Failure> {
    let origin = start(&args, console).await?;
    let output = Output::open(Some(Format::Table), None, console)?;
    if args.serve {
        return serve(&origin, &output).await;
    }
    let http = HttpFetch::builder().environment_proxies(false).build();
    let http = http.map_err(|error| Failure::output("the demonstration could not start", error))?;
    let session = engine::session_on(http, Settings::default())?;
    for (name, files) in TABLES {
        session.register_files(name, &location(&origin, files))?;
    }
    for (question, sql) in QUERIES {
        answer(&session, question, sql, console).await?;
    }
    output.say("\nNow a file of your own:\n")?;
    output.say("  farquet \"SELECT * FROM 'https://host/path/file.parquet' LIMIT 10\"")?;
    output.say("  farquet -t 't=https://host/part_{00..99}.parquet' 'SELECT count(*) FROM t' --stats")?;
    output.say("  farquet demo --serve    keeps these sample files on the air")?;
    output.flush()
}

/// Makes the files and serves them.
async fn start(args: &DemoArgs, console: Console) -> Result<Origin, Failure> {
    console.remark("making 60 one-minute files of host metrics and 8 monthly files of taxi rides");
    let began = Instant::now();
    let made = tokio::task::spawn_blocking(|| {
        (fixture::minutes(60, SizeClass::Mixed).generate(), fixture::taxi(8).generate())
    });
    let (metrics, trips) = made.await.map_err(|error| Failure::output("the sample could not be made", error))?;
    console.remark(&format!(
        "{} of metrics and {} of rides in {:.1} s",
        size(&metrics),
        size(&trips),
        began.elapsed().as_secs_f64()
    ));
    let origin = Origin::builder()
        .files("/metrics", metrics)
        .files("/trips", trips)
        .latency(Duration::from_millis(args.latency))
        .cors(Cors::permissive())
        .no_log();
    let origin = origin.try_start().await.map_err(|error| Failure::output("the sample could not be served", error))?;
    console.remark(&format!(
        "serving them at {}, {} ms to the first byte of each answer",
        origin.url("/"),
        args.latency
    ));
    Ok(origin)
}

fn size<B: AsRef<[u8]>>(files: &[(String, B)]) -> DecimalBytes {
    DecimalBytes(files.iter().map(|(_, file)| file.as_ref().len() as u64).sum())
}

fn location(origin: &Origin, files: &str) -> String {
    // Braces are no part of a URL: they would be encoded.
    format!("{}{files}", origin.url("/"))
}

/// Prints a question, its SQL, its answer and what the answer cost.
async fn answer(session: &Session, question: &str, sql: &str, console: Console) -> Result<(), Failure> {
    let mut output = Output::open(Some(Format::Table), None, console)?;
    output.say(&format!("\n-- {question}\n{sql};\n"))?;
    output.flush()?;
    for statement in session.parse(sql)? {
        let began = Instant::now();
        let query = session.begin(Limits::default());
        let mut result = session.run(&query, &statement).await?;
        let mut rows = output.begin(&result.schema())?;
        let mut count = 0;
        while let Some(batch) = result.next().await.transpose()? {
            count += batch.num_rows() as u64;
            rows.write(&batch).map_err(|error| output.failure(error))?;
        }
        rows.finish().map_err(|error| output.failure(error))?;
        output.say(&stats::text(&query.report(), count, began.elapsed()))?;
    }
    output.flush()
}

/// Serves until the future is dropped.
async fn serve(origin: &Origin, output: &Output) -> Result<(), Failure> {
    output.say(&format!("base URL  {}", origin.url("/")))?;
    let mut tables = Vec::new();
    for (name, files) in TABLES {
        let location = location(origin, files);
        output.say(&format!("table     {name} = {location}"))?;
        tables.push(format!(" -t '{name}={location}'"));
    }
    let tables = tables.concat();
    output.say("\ntry")?;
    for (_, sql) in QUERIES {
        let sql = sql.replace('\n', " ");
        output.say(&format!("  farquet --stats{tables} \"{sql}\""))?;
    }
    if std::io::stdout().is_terminal() {
        output.say("\nCtrl-C ends this")?;
    }
    output.flush()?;
    std::future::pending().await
}
