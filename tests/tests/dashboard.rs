//! Many queries over the same files: what a session asks again, and what it does not.

use farquet_core::{Error, Freshness};
use farquet_sql::Session;
use farquet_testkit::fixture::{SizeClass, logs, minutes, trips};
use farquet_testkit::{EntryTags, Origin, RequestLog};
use farquet_tests::{World, answer, ms, rows, tiles, unlimited};
use futures::future::join_all;
use futures::stream::{self, StreamExt};

struct Dashboard {
    origin: Origin,
    location: String,
}

impl Dashboard {
    async fn new(cache_control: Option<&str>) -> Self {
        let set = minutes(60, SizeClass::Small);
        let mut origin = Origin::builder().latency(ms(5));
        for (name, bytes) in set.load().expect("fixtures") {
            let tags = EntryTags { cache_control: cache_control.map(str::to_owned), ..EntryTags::default() };
            origin = origin.file_with(&format!("/d/{name}"), bytes, tags);
        }
        let origin = origin.start().await;
        let urls: Vec<_> = set.file_names().map(|name| origin.url(&format!("/d/{name}")).to_string()).collect();
        Self { origin, location: urls.join(",") }
    }

    fn session(&self, freshness: Freshness) -> Session {
        let mut settings = unlimited();
        // Enough for the files once, however many queries hold them.
        settings.held_bytes = 10 << 20;
        let session = World { settings, ..World::default() }.session();
        session.register_files_with("t", &self.location, freshness).expect("a table");
        session
    }

    /// The answers without any cache.
    async fn uncached(&self) -> Vec<Vec<String>> {
        let mut settings = unlimited();
        settings.small_file_cache = false;
        settings.footer_cache.bytes = 0;
        let session = World { settings, ..World::default() }.session();
        session.register_files("t", &self.location).expect("a table");
        let mut answers = Vec::new();
        for tile in tiles() {
            answers.push(answer(&session, tile).await.rows);
        }
        self.origin.clear_log();
        answers
    }

    /// The requests since the last look: all, conditional ones, and body bytes.
    fn cost(&self) -> (usize, usize, u64) {
        let log = self.origin.log();
        self.origin.clear_log();
        (log.requests(), conditional(&log), log.body_bytes())
    }
}

fn conditional(log: &RequestLog) -> usize {
    log.iter().filter(|request| request.header("if-none-match").is_some() && request.status == Some(304)).count()
}

async fn one_after_another(session: &Session) -> Vec<Vec<String>> {
    let mut answers = Vec::new();
    for tile in tiles() {
        answers.push(answer(session, tile).await.rows);
    }
    answers
}

async fn together(session: &Session) -> Vec<Vec<String>> {
    let queries: Vec<_> = tiles().map(|tile| session.query(tile)).collect();
    let results = join_all(queries.into_iter().map(|query| async { rows(query.await?).await })).await;
    results.into_iter().collect::<Result<_, Error>>().expect("answers")
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_five_queries_together_cost_one_wave_and_a_reload_none() {
    let dashboard = Dashboard::new(None).await;
    let expected = dashboard.uncached().await;
    let session = dashboard.session(Freshness::Validate);
    assert_eq!(together(&session).await, expected);
    let (requests, conditional, _) = dashboard.cost();
    assert_eq!((requests, conditional), (60, 0), "cold");
    assert_eq!(together(&session).await, expected);
    assert_eq!(dashboard.cost(), (60, 60, 0), "reload: all files are asked about once, and no byte is sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_snapshot_is_read_once() {
    let dashboard = Dashboard::new(None).await;
    let expected = dashboard.uncached().await;
    let session = dashboard.session(Freshness::Validate);
    let snapshot = session.snapshot();
    let answers: Vec<_> = stream::iter(tiles())
        .map(|tile| {
            let query = snapshot.query(tile);
            async { rows(query.await.expect("an answer")).await.expect("rows") }
        })
        .buffered(4)
        .collect()
        .await;
    assert_eq!(answers, expected);
    assert_eq!((dashboard.cost().0, dashboard.origin.requests()), (60, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_after_another_validates_every_file_once_a_query() {
    let dashboard = Dashboard::new(None).await;
    let expected = dashboard.uncached().await;
    let session = dashboard.session(Freshness::Validate);
    assert_eq!(one_after_another(&session).await, expected);
    let log = dashboard.origin.log();
    assert_eq!((log.requests(), conditional(&log)), (25 * 60, 24 * 60));
    let bodies: Vec<_> = log.iter().filter(|request| request.body_bytes > 0).collect();
    assert_eq!(bodies.len(), 60, "only the first query was sent bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promise_of_immutability_costs_nothing_again() {
    for (freshness, cache_control) in
        [(Freshness::Immutable, None), (Freshness::Http, Some("public, max-age=31536000, immutable"))]
    {
        let dashboard = Dashboard::new(cache_control).await;
        let expected = dashboard.uncached().await;
        let session = dashboard.session(freshness);
        assert_eq!(one_after_another(&session).await, expected);
        assert_eq!(dashboard.cost().0, 60, "{freshness:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http_freshness_needs_the_servers_word() {
    for cache_control in [None, Some("no-cache"), Some("max-age=0")] {
        let dashboard = Dashboard::new(cache_control).await;
        let session = dashboard.session(Freshness::Http);
        answer(&session, "SELECT count(host) FROM t").await;
        dashboard.cost();
        answer(&session, "SELECT count(host) FROM t").await;
        assert_eq!(dashboard.cost(), (60, 60, 0), "{cache_control:?}");
    }
    let dashboard = Dashboard::new(Some("no-store, max-age=60")).await;
    let session = dashboard.session(Freshness::Http);
    answer(&session, "SELECT count(host) FROM t").await;
    dashboard.cost();
    answer(&session, "SELECT count(host) FROM t").await;
    let (requests, conditional, bytes) = dashboard.cost();
    assert_eq!((requests, conditional), (60, 0), "no-store");
    assert!(bytes > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn warm_counts_cost_a_conditional_request_a_file() {
    let set = trips(120, 50_000);
    let folder = set.on_disk().expect("fixtures on disk");
    let origin = Origin::builder().latency(ms(5)).directory("/d/", folder).start().await;
    let urls: Vec<_> = set.file_names().map(|name| origin.url(&format!("/d/{name}")).to_string()).collect();
    let session = World { settings: unlimited(), ..World::default() }.session();
    session.register_files("t", &urls.join(",")).expect("a table");
    let cold = answer(&session, "SELECT count(*) FROM t").await;
    origin.clear_log();
    let warm = answer(&session, "SELECT count(*) FROM t").await;
    assert_eq!(warm.rows, cold.rows);
    assert_eq!((warm.report.total_requests(), warm.report.hops, warm.report.bytes_received), (120, 1, 0));
    let log = origin.log();
    assert_eq!((log.requests(), conditional(&log)), (120, 120));
}

#[tokio::test(flavor = "multi_thread")]
async fn warm_footers_are_proved_by_the_data() {
    let set = logs(4);
    let folder = set.on_disk().expect("fixtures on disk");
    let origin = Origin::builder().latency(ms(5)).directory("/d/", folder).start().await;
    let urls: Vec<_> = set.file_names().map(|name| origin.url(&format!("/d/{name}")).to_string()).collect();
    let session = World { settings: unlimited(), ..World::default() }.session();
    session.register_files("t", &urls.join(",")).expect("a table");
    let sql =
        "SELECT body_message, count(*) FROM t WHERE severity_text = 'ERROR' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20";
    let cold = answer(&session, sql).await;
    let warm = answer(&session, sql).await;
    assert_eq!(warm.rows, cold.rows);
    assert_eq!(warm.report.hops, 1);
    assert!(warm.report.records.iter().all(|request| request.cause.as_str() == "data"));
    assert_eq!(warm.report.total_requests(), cold.report.total_requests() - 4);
    // Three files are pruned by their footers: each is asked about, beside the data of the fourth.
    let point = "SELECT count(body_message) FROM t WHERE p_timestamp >= TIMESTAMP '2024-06-01 05:15:00' \
                 AND p_timestamp < TIMESTAMP '2024-06-01 05:15:20'";
    let report = answer(&session, point).await.report;
    let asked = report.records.iter().filter(|request| request.cause.as_str() == "validation").count();
    assert_eq!((asked, report.hops), (3, 1));
}
