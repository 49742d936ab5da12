//! A running query: batches as Arrow IPC, in the order in which they come.

use std::cell::RefCell;
use std::sync::Arc;

use farquet_core::{Error, ErrorKind, Limits, QueryContext, Result};
use farquet_sql::arrow::datatypes::SchemaRef;
use farquet_sql::arrow::error::ArrowError;
use farquet_sql::arrow::ipc::writer::StreamWriter;
use farquet_sql::arrow::record_batch::RecordBatch;
use farquet_sql::{QueryResult, Session, Snapshot, Statement, plain};
use futures::StreamExt;
use js_sys::{Array, Uint8Array};
use serde::Deserialize;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::failure::thrown;
use crate::{parameters, report, runtime};

/// Batches that are made before somebody asks for them.
const AHEAD: usize = 2;

/// What a query runs on.
pub(crate) enum Target {
    Own(Session),
    Shared(Snapshot),
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Bounds {
    max_requests: Option<u64>,
    max_bytes: Option<u64>,
}

/// A running query. Freeing it cancels the query.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Query {
    account: Arc<QueryContext>,
    /// Taken while somebody waits for the next part.
    parts: RefCell<Option<Receiver<Result<Vec<u8>>>>>,
    task: Option<JoinHandle<()>>,
}

impl Query {
    pub(crate) fn begin(
        session: &Session,
        target: Target,
        sql: &str,
        parameters: &Array,
        limits: JsValue,
    ) -> Result<Self> {
        let bounds: Bounds = if limits.is_undefined() {
            Bounds::default()
        } else {
            serde_wasm_bindgen::from_value(limits)
                .map_err(|error| Error::new(ErrorKind::Query, format!("the limits: {error}")))?
        };
        let Bounds { max_requests, max_bytes } = bounds;
        let account = session.begin(Limits { max_requests, max_bytes });
        let parameters = parameters::values(parameters)?;
        let statements: Vec<Statement> =
            session.parse(sql)?.into_iter().map(|statement| statement.bind(parameters.clone())).collect();
        let (sender, parts) = channel(AHEAD);
        let (running, failed) = (Arc::clone(&account), sender.clone());
        let task = runtime::spawn(async move {
            if let Err(error) = run(&target, &running, &statements, sender).await {
                let _ = failed.send(Err(error)).await;
            }
        });
        Ok(Self { account, parts: RefCell::new(Some(parts)), task })
    }
}

#[wasm_bindgen]
impl Query {
    /// The next part of an Arrow IPC stream: its schema first, then one batch after another, at last the mark of its end. Nothing
    /// after that, nor after [`Query::cancel`]. One call at a time.
    pub async fn next(&self) -> Result<Option<Uint8Array>, JsValue> {
        let Some(mut parts) = self.parts.take() else { return Ok(None) };
        let part = parts.recv().await;
        self.parts.replace(Some(parts));
        // There is room for one more.
        runtime::schedule();
        match part {
            Some(Ok(bytes)) => Ok(Some(Uint8Array::from(bytes.as_slice()))),
            Some(Err(error)) => Err(thrown(&error)),
            None => Ok(None),
        }
    }

    /// Ends the query, its requests and its work.
    pub fn cancel(&self) {
        if let Some(task) = &self.task {
            task.abort();
            runtime::schedule();
        }
    }

    /// What the query has cost so far.
    pub fn stats(&self) -> JsValue {
        report::object(&self.account.report())
    }

    /// Files opened, bytes received and requests in flight.
    #[expect(clippy::cast_precision_loss, reason = "JavaScript counts with such numbers")]
    pub fn progress(&self) -> Vec<f64> {
        let (files, bytes, in_flight) = self.account.stats().progress();
        vec![files as f64, bytes as f64, in_flight as f64]
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// Runs one statement after another; the rows of the last are the result.
async fn run(
    target: &Target,
    account: &Arc<QueryContext>,
    statements: &[Statement],
    parts: Sender<Result<Vec<u8>>>,
) -> Result<()> {
    let Some((last, before)) = statements.split_last() else {
        return Err(Error::new(ErrorKind::Query, "there is no statement"));
    };
    for statement in before {
        one(target, account, statement).await?.collect().await?;
    }
    let mut rows = one(target, account, last).await?;
    let mut writer = Writer::new(&rows.schema()).map_err(|error| unwritable(&error))?;
    while let Some(batch) = rows.next().await {
        let part = writer.batch(&batch?).map_err(|error| unwritable(&error))?;
        if parts.send(Ok(part)).await.is_err() {
            return Ok(());
        }
    }
    let end = writer.end().map_err(|error| unwritable(&error))?;
    let _ = parts.send(Ok(end)).await;
    Ok(())
}

async fn one(target: &Target, account: &Arc<QueryContext>, statement: &Statement) -> Result<QueryResult> {
    match target {
        Target::Own(session) => session.run(account, statement).await,
        Target::Shared(snapshot) => snapshot.run(account, statement).await,
    }
}

fn unwritable(error: &ArrowError) -> Error {
    Error::new(ErrorKind::Query, format!("the result cannot be handed over: {error}"))
}

/// A stream in parts. The schema comes with the first.
struct Writer {
    stream: StreamWriter<Vec<u8>>,
    schema: SchemaRef,
}

impl Writer {
    fn new(schema: &SchemaRef) -> Result<Self, ArrowError> {
        let schema = plain::schema(schema);
        Ok(Self { stream: StreamWriter::try_new(Vec::new(), &schema)?, schema })
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        self.stream.write(&plain::batch(batch, &self.schema)?)?;
        Ok(std::mem::take(self.stream.get_mut()))
    }

    fn end(mut self) -> Result<Vec<u8>, ArrowError> {
        self.stream.finish()?;
        self.stream.into_inner()
    }
}
