//! What the origin saw: one entry per request, and what can be counted from them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Deref;
use std::time::Duration;

use http::{HeaderMap, Method, Version};
use serde_json::{Value, json};

/// A request as it arrived. This is all that a script may look at.
#[derive(Debug, Clone)]
pub struct Seen {
    /// 0 for the first request since the log was last cleared.
    pub index: usize,
    /// 0 for the first request of this path since the log was last cleared.
    pub index_of_path: usize,
    /// The method.
    pub method: Method,
    /// The path as it was on the wire: percent-encoding is kept.
    pub path: String,
    /// The query string, without the question mark.
    pub query: Option<String>,
    /// The `Range` header, as it was sent.
    pub range: Option<String>,
    /// All headers.
    pub headers: HeaderMap,
    /// Which TCP connection carried it; 0 is the first since the origin started.
    pub connection: u64,
    /// The HTTP version.
    pub version: Version,
}

impl Seen {
    /// A header's value, where it is present and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A request and what became of it.
#[derive(Debug, Clone)]
pub struct Logged {
    /// The request.
    pub seen: Seen,
    /// The status that was answered; none when the request ended before its head was sent, or still waits for it.
    pub status: Option<u16>,
    /// When the request's head had arrived, since the start of the origin.
    pub start: Duration,
    /// When the last byte had been handed to the socket, or the exchange was cut; none while it runs.
    pub end: Option<Duration>,
    /// Body bytes that were handed to the socket. Some of them may never have reached a client that went away.
    pub body_bytes: u64,
    /// Whether the whole answer was handed over: neither did the client leave mid-way nor did a fault cut it.
    pub complete: bool,
}

impl Logged {
    /// Whether the exchange has ended, completely or not.
    pub fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// What is of use in most logs, as a JSON object. Times are in milliseconds.
    pub fn to_json(&self) -> Value {
        json!({
            "start_ms": self.start.as_secs_f64() * 1e3,
            "end_ms": self.end.map(|end| end.as_secs_f64() * 1e3),
            "method": self.method.as_str(),
            "path": self.path,
            "range": self.range,
            "status": self.status,
            "bytes": self.body_bytes,
            "complete": self.complete,
            "connection": self.connection,
            "http": format!("{:?}", self.version),
        })
    }
}

impl Deref for Logged {
    type Target = Seen;

    fn deref(&self) -> &Seen {
        &self.seen
    }
}

/// Requests in the order of their arrival.
#[derive(Debug, Clone, Default)]
pub struct RequestLog(Vec<Logged>);

impl RequestLog {
    /// How many requests there were, of any method.
    pub fn requests(&self) -> usize {
        self.0.len()
    }

    /// How many requests there were of each method.
    pub fn by_method(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for entry in &self.0 {
            *counts.entry(entry.method.to_string()).or_insert(0) += 1;
        }
        counts
    }

    /// How many requests were answered by each status. Requests without an answer are left out.
    pub fn by_status(&self) -> BTreeMap<u16, usize> {
        let mut counts = BTreeMap::new();
        for status in self.0.iter().filter_map(|entry| entry.status) {
            *counts.entry(status).or_insert(0) += 1;
        }
        counts
    }

    /// The most requests that were in flight at one time.
    pub fn max_in_flight(&self) -> usize {
        let mut ends = BinaryHeap::new();
        let mut most = 0;
        for (start, end) in self.intervals() {
            while ends.peek().is_some_and(|Reverse(ended)| *ended <= start) {
                ends.pop();
            }
            ends.push(Reverse(end));
            most = most.max(ends.len());
        }
        most
    }

    /// The longest chain of requests each of which began after the one before it had ended.
    ///
    /// This is what a server can know. It is never less than the hops of the client's plan, and it is more where
    /// requests waited for a free connection.
    pub fn hops(&self) -> usize {
        let mut running = BinaryHeap::new();
        let mut ended_chain = 0;
        let mut longest = 0;
        for (start, end) in self.intervals() {
            while let Some(&Reverse((ended, chain))) = running.peek() {
                if ended > start {
                    break;
                }
                ended_chain = ended_chain.max(chain);
                running.pop();
            }
            let chain = ended_chain + 1;
            running.push(Reverse((end, chain)));
            longest = longest.max(chain);
        }
        longest
    }

    /// On how many connections the requests arrived.
    pub fn connections(&self) -> usize {
        self.0.iter().map(|entry| entry.connection).collect::<BTreeSet<_>>().len()
    }

    /// Body bytes handed to sockets.
    pub fn body_bytes(&self) -> u64 {
        self.0.iter().map(|entry| entry.body_bytes).sum()
    }

    /// The requests of one path.
    #[must_use]
    pub fn of_path(&self, path: &str) -> Self {
        self.0.iter().filter(|entry| entry.path == path).cloned().collect()
    }

    /// Start and end of each request, by start. One that still runs ends never.
    fn intervals(&self) -> Vec<(Duration, Duration)> {
        let mut all: Vec<_> = self.0.iter().map(|entry| (entry.start, entry.end.unwrap_or(Duration::MAX))).collect();
        all.sort_unstable();
        all
    }
}

impl Deref for RequestLog {
    type Target = [Logged];

    fn deref(&self) -> &[Logged] {
        &self.0
    }
}

impl FromIterator<Logged> for RequestLog {
    fn from_iter<I: IntoIterator<Item = Logged>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl IntoIterator for RequestLog {
    type Item = Logged;
    type IntoIter = std::vec::IntoIter<Logged>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a RequestLog {
    type Item = &'a Logged;
    type IntoIter = std::slice::Iter<'a, Logged>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(connection: u64, start: u64, end: Option<u64>) -> Logged {
        Logged {
            seen: Seen {
                index: 0,
                index_of_path: 0,
                method: Method::GET,
                path: "/x".to_owned(),
                query: None,
                range: None,
                headers: HeaderMap::new(),
                connection,
                version: Version::HTTP_11,
            },
            status: Some(206),
            start: Duration::from_millis(start),
            end: end.map(Duration::from_millis),
            body_bytes: 10,
            complete: true,
        }
    }

    fn log(spans: &[(u64, u64)]) -> RequestLog {
        spans.iter().map(|&(start, end)| entry(0, start, Some(end))).collect()
    }

    #[test]
    fn hops_are_the_longest_chain() {
        assert_eq!(log(&[]).hops(), 0);
        assert_eq!(log(&[(0, 5)]).hops(), 1);
        assert_eq!(log(&[(0, 5), (1, 6), (4, 9)]).hops(), 1);
        assert_eq!(log(&[(0, 5), (6, 9), (1, 7)]).hops(), 2);
        // The long one runs beside a chain of three.
        assert_eq!(log(&[(0, 100), (0, 5), (6, 9), (9, 11)]).hops(), 3);
        // Two connections, each carrying one request after the other.
        assert_eq!(log(&[(0, 10), (0, 11), (10, 20), (12, 20), (20, 30)]).hops(), 3);
    }

    #[test]
    fn order_of_arrival_does_not_matter() {
        assert_eq!(log(&[(9, 11), (6, 9), (0, 5)]).hops(), 3);
    }

    #[test]
    fn requests_without_duration_still_follow_each_other() {
        assert_eq!(log(&[(3, 3)]).hops(), 1);
        assert_eq!(log(&[(3, 3), (4, 4)]).hops(), 2);
    }

    #[test]
    fn a_running_request_is_followed_by_nothing() {
        let log: RequestLog = [entry(0, 0, None), entry(1, 50, Some(60))].into_iter().collect();
        assert_eq!(log.hops(), 1);
        assert_eq!(log.max_in_flight(), 2);
        assert_eq!(log.connections(), 2);
        assert_eq!(log.body_bytes(), 20);
    }

    #[test]
    fn in_flight_counts_what_overlaps() {
        assert_eq!(log(&[(0, 5), (5, 9)]).max_in_flight(), 1);
        assert_eq!(log(&[(0, 5), (4, 9), (1, 2)]).max_in_flight(), 2);
        assert_eq!(log(&[(0, 5), (1, 9), (2, 7), (8, 9)]).max_in_flight(), 3);
    }
}
