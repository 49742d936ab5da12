//! The rows of a query, as they come.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use farquet_core::{Error, ErrorKind, QueryContext, Result};
use futures::{Stream, StreamExt, TryStreamExt};

use crate::error::from_engine;
use crate::explain::http_section;

/// The rows of a query. Dropping it cancels what the query still fetches.
///
/// The first batch is there when the result is: until then a file that changes restarts the query, from then on it
/// fails it with `SourceChanged`.
pub struct QueryResult {
    query: Arc<QueryContext>,
    schema: SchemaRef,
    first: Option<RecordBatch>,
    rest: Option<SendableRecordBatchStream>,
}

impl QueryResult {
    /// Waits for the first batch of `rows`.
    pub(crate) async fn begin(query: Arc<QueryContext>, rows: SendableRecordBatchStream) -> Result<Self> {
        let schema = rows.schema();
        let mut result = Self { query, schema, first: None, rest: Some(rows) };
        result.first = result.next().await.transpose()?;
        Ok(result)
    }

    /// All rows at once, and one more that says what they cost.
    pub(crate) async fn with_http_section(self) -> Result<Self> {
        let (query, schema) = (Arc::clone(&self.query), self.schema());
        let mut batches = self.collect().await?;
        if let Some(last) = batches.last() {
            let section = http_section(last, &query.report())?;
            batches.push(section);
        }
        let rows = futures::stream::iter(batches.into_iter().map(Ok));
        let rows: SendableRecordBatchStream = Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&schema), rows));
        Ok(Self { query, schema, first: None, rest: Some(rows) })
    }

    /// The schema of every batch. A statement that only acts has no columns.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The query's account.
    pub fn query(&self) -> &Arc<QueryContext> {
        &self.query
    }

    /// All rows.
    pub async fn collect(self) -> Result<Vec<RecordBatch>> {
        self.try_collect().await
    }
}

impl fmt::Debug for QueryResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryResult").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl Stream for QueryResult {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(batch) = self.first.take() {
            return Poll::Ready(Some(Ok(batch)));
        }
        let Some(rest) = self.rest.as_mut() else { return Poll::Ready(None) };
        let polled = catch_unwind(AssertUnwindSafe(|| rest.poll_next_unpin(cx)));
        let next = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(next)) => next.map(|batch| batch.map_err(|error| from_engine(&error))),
            Err(_) => Some(Err(gave_up())),
        };
        if !matches!(next, Some(Ok(_))) {
            self.rest = None;
        }
        Poll::Ready(next)
    }
}

/// A panic of the engine ends its query and nothing else.
pub(crate) fn gave_up() -> Error {
    Error::new(ErrorKind::Decoder, "the query made the engine give up")
}
