//! The origin in good order: what it answers, how slowly, and what it writes down.

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use farquet_core::fetch::{CacheMode, Fetch, FetchRequest};
use farquet_testkit::{Cors, EntryTags, Fault, Origin, Preflight, Tag};
use futures::TryStreamExt;
use futures::future::join_all;
use http::{HeaderMap, Method, Version};
use support::hyper_fetch::HyperFetch;
use support::{End, bytes, get, read, send};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

const PATH: &str = "/data/x.parquet";

async fn origin_of(len: usize) -> Origin {
    Origin::builder().file(PATH, bytes(len)).start().await
}

#[tokio::test]
async fn a_whole_object() {
    let origin = origin_of(1000).await;
    let raw = get(&origin, PATH, &[]).await;
    assert_eq!((raw.status(), raw.end), (200, End::Complete));
    assert_eq!(raw.body, bytes(1000));
    assert_eq!(raw.header("content-length"), Some("1000"));
    assert_eq!(raw.header("accept-ranges"), Some("bytes"));
    assert_eq!(raw.header("content-type"), Some("application/vnd.apache.parquet"));
    assert!(raw.header("etag").is_some_and(|tag| tag.starts_with('"')));
    assert!(raw.header("date").is_some() && raw.header("last-modified").is_some());
    assert!(raw.header("access-control-allow-origin").is_none());
}

#[tokio::test]
async fn ranges() {
    let origin = origin_of(1000).await;
    for (range, told, part) in [
        ("bytes=10-19", "bytes 10-19/1000", 10..20),
        ("bytes=990-", "bytes 990-999/1000", 990..1000),
        ("bytes=-5", "bytes 995-999/1000", 995..1000),
        ("bytes=0-999999", "bytes 0-999/1000", 0..1000),
    ] {
        let raw = get(&origin, PATH, &[&format!("range: {range}")]).await;
        assert_eq!((raw.status(), raw.header("content-range")), (206, Some(told)));
        assert_eq!(raw.body, bytes(1000)[part]);
    }
    let raw = get(&origin, PATH, &["range: bytes=1000-"]).await;
    assert_eq!((raw.status(), raw.header("content-range")), (416, Some("bytes */1000")));
    let raw = get(&origin, PATH, &["range: bytes=0-1,5-6"]).await;
    assert_eq!((raw.status(), raw.body.len()), (200, 1000));
    let raw = send(&origin, "HEAD", PATH, &["range: bytes=0-1"]).await;
    assert_eq!((raw.status(), raw.header("content-length"), raw.body.len()), (200, Some("1000"), 0));
    let ignoring = Origin::builder().file(PATH, bytes(10)).no_ranges().start().await;
    let raw = get(&ignoring, PATH, &["range: bytes=0-1"]).await;
    assert_eq!((raw.status(), raw.header("accept-ranges"), raw.body.len()), (200, Some("none"), 10));
}

#[tokio::test]
async fn conditions() {
    let origin = origin_of(1000).await;
    let raw = get(&origin, PATH, &[]).await;
    let tag = raw.header("etag").expect("a tag").to_owned();
    let date = raw.header("last-modified").expect("a date").to_owned();
    let status = async |headers: &[&str]| {
        let raw = get(&origin, PATH, headers).await;
        (raw.status(), raw.body.len())
    };
    assert_eq!(status(&[&format!("if-none-match: \"other\", {tag}")]).await, (304, 0));
    assert_eq!(status(&[&format!("if-none-match: W/{tag}")]).await, (304, 0));
    assert_eq!(status(&["if-none-match: *"]).await, (304, 0));
    assert_eq!(status(&["if-none-match: \"other\""]).await, (200, 1000));
    assert_eq!(status(&[&format!("if-match: {tag}"), "range: bytes=0-1"]).await, (206, 2));
    assert_eq!(status(&[&format!("if-match: W/{tag}")]).await, (412, 0));
    assert_eq!(status(&["if-match: \"other\""]).await, (412, 0));
    assert_eq!(status(&[&format!("if-modified-since: {date}")]).await, (304, 0));
    assert_eq!(status(&["if-unmodified-since: Sat, 01 Jan 2000 00:00:00 GMT"]).await, (412, 0));
    assert_eq!(status(&[&format!("if-range: {tag}"), "range: bytes=0-1"]).await, (206, 2));
    assert_eq!(status(&[&format!("if-range: {date}"), "range: bytes=0-1"]).await, (206, 2));
    assert_eq!(status(&["if-range: \"other\"", "range: bytes=0-1"]).await, (200, 1000));
    let raw = get(&origin, PATH, &[&format!("if-none-match: {tag}")]).await;
    assert_eq!((raw.header("etag"), raw.header("content-length")), (Some(&*tag), None));
}

#[tokio::test]
async fn objects_come_change_and_go() {
    let origin = origin_of(10).await;
    let before = get(&origin, PATH, &[]).await;
    origin.put(PATH, "other bytes");
    let after = get(&origin, PATH, &[]).await;
    assert_eq!(after.body, b"other bytes");
    assert_ne!(before.header("etag"), after.header("etag"));
    assert_ne!(before.header("last-modified"), after.header("last-modified"));
    origin.remove(PATH);
    assert_eq!(get(&origin, PATH, &[]).await.status(), 404);
    assert_eq!(send(&origin, "DELETE", PATH, &[]).await.status(), 405);
}

#[tokio::test]
async fn tags() {
    let origin = origin_of(10).await;
    let date = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    origin.put_with(
        PATH,
        "x",
        EntryTags { etag: Tag::Weak, last_modified: Some(date), cache_control: Some("max-age=60".to_owned()) },
    );
    let raw = get(&origin, PATH, &[]).await;
    assert!(raw.header("etag").is_some_and(|tag| tag.starts_with("W/\"")));
    assert_eq!(raw.header("last-modified"), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
    assert_eq!(raw.header("cache-control"), Some("max-age=60"));
    origin.put_with(PATH, "x", EntryTags { etag: Tag::None, last_modified: None, cache_control: None });
    let raw = get(&origin, PATH, &[]).await;
    assert_eq!((raw.header("etag"), raw.header("last-modified")), (None, None));
}

#[tokio::test]
async fn a_directory_is_served_by_range() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("big.parquet"), bytes(1_000_000)).expect("a file");
    let origin = Origin::builder().directory("/files", directory.path()).start().await;
    let raw = get(&origin, "/files/big.parquet", &["range: bytes=500000-899999"]).await;
    assert_eq!(raw.status(), 206);
    assert!(raw.body == bytes(1_000_000)[500_000..900_000]);
    let tag = raw.header("etag").expect("a tag").to_owned();
    assert_eq!(get(&origin, "/files/big.parquet", &[&format!("if-none-match: {tag}")]).await.status(), 304);
    assert_eq!(get(&origin, "/files/none.parquet", &[]).await.status(), 404);
    origin.script(|_| Some(Fault::Gzip));
    assert_eq!(get(&origin, "/files/big.parquet", &["range: bytes=0-9"]).await.body[..2], [0x1f, 0x8b]);
}

#[tokio::test]
async fn latency_comes_before_each_answer() {
    let origin = Origin::builder().file(PATH, bytes(10)).latency(Duration::from_millis(60)).start().await;
    let start = Instant::now();
    get(&origin, PATH, &[]).await;
    get(&origin, "/none", &[]).await;
    assert!(start.elapsed() >= Duration::from_millis(120));
    let log = origin.log();
    assert!(log.iter().all(|entry| entry.end.is_some_and(|end| end >= entry.start + Duration::from_millis(60))));
    assert_eq!(log.hops(), 2);
}

#[tokio::test]
async fn one_bandwidth_for_all_bodies() {
    let origin = Origin::builder().file(PATH, bytes(50_000)).bandwidth(1_000_000).start().await;
    let start = Instant::now();
    let answers = join_all((0..8).map(|_| get(&origin, PATH, &[]))).await;
    // 400 kB at 1 MB/s.
    assert!(start.elapsed() >= Duration::from_millis(380));
    assert!(answers.iter().all(|raw| raw.body == bytes(50_000)));
    assert_eq!(origin.body_bytes(), 400_000);
    // They share the line: none is done long before the others.
    let ends: Vec<_> = origin.log().iter().filter_map(|entry| entry.end).collect();
    assert!(ends.iter().max().zip(ends.iter().min()).is_some_and(|(last, first)| *first > *last / 2));
}

#[tokio::test]
async fn too_many_requests_at_once() {
    let origin = Origin::builder().file(PATH, bytes(10)).max_in_flight(3).retry_after("7").start().await;
    origin.script(|_| Some(Fault::Delay(Duration::from_secs(1))));
    let answers = join_all((0..8).map(|_| get(&origin, PATH, &[]))).await;
    assert_eq!(answers.iter().filter(|raw| raw.status() == 200).count(), 3);
    assert!(answers.iter().filter(|raw| raw.status() == 503).all(|raw| raw.header("retry-after") == Some("7")));
    assert_eq!(get(&origin, PATH, &[]).await.status(), 200);
    assert_eq!(origin.log().by_status().get(&503), Some(&5));
}

#[tokio::test]
async fn the_log_tells_what_happened() {
    let origin = origin_of(1000).await;
    let mut stream = TcpStream::connect(("127.0.0.1", origin.port())).await.expect("the origin listens");
    for path in ["/data/x.parquet?sig=1", "/none", "/data/x.parquet"] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: h\r\nrange: bytes=0-9\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("the request is sent");
        read(&mut stream, false).await;
    }
    send(&origin, "HEAD", PATH, &[]).await;
    let log = origin.log();
    assert_eq!(log.requests(), 4);
    assert_eq!(log.iter().map(|entry| entry.index).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(log.iter().map(|entry| entry.index_of_path).collect::<Vec<_>>(), [0, 0, 1, 2]);
    assert_eq!(log.iter().map(|entry| entry.connection).collect::<Vec<_>>(), [0, 0, 0, 1]);
    assert_eq!(log.iter().map(|entry| entry.status).collect::<Vec<_>>(), [206, 404, 206, 200].map(Some));
    assert_eq!((log[0].query.as_deref(), log[0].range.as_deref()), (Some("sig=1"), Some("bytes=0-9")));
    assert_eq!((log[0].body_bytes, log[3].body_bytes), (10, 0));
    assert!(log.iter().all(|entry| entry.complete && entry.version == Version::HTTP_11));
    assert_eq!((log.hops(), log.connections(), origin.connections()), (4, 2, 2));
    assert_eq!(log.by_method().into_iter().collect::<Vec<_>>(), [("GET".to_owned(), 3), ("HEAD".to_owned(), 1)]);
    assert_eq!(log.of_path(PATH).requests(), 3);
    origin.clear_log();
    assert_eq!((origin.requests(), origin.connections()), (0, 0));
    get(&origin, PATH, &[]).await;
    assert_eq!((origin.log()[0].index, origin.log()[0].index_of_path, origin.connections()), (0, 0, 1));
}

#[tokio::test]
async fn an_observer_sees_each_exchange() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let observer = move |entry: &farquet_testkit::Logged| {
        kept.lock().expect("no panic").push((entry.path.clone(), entry.status));
    };
    let origin = Origin::builder().file(PATH, "x").observer(observer).no_log().start().await;
    get(&origin, PATH, &[]).await;
    get(&origin, "/none", &[]).await;
    assert_eq!(*seen.lock().expect("no panic"), [(PATH.to_owned(), Some(200)), ("/none".to_owned(), Some(404))]);
    assert_eq!(origin.requests(), 0);
}

#[tokio::test]
async fn dropping_it_closes_the_port_and_the_connections() {
    let origin = origin_of(1000).await;
    origin.script(|_| Some(Fault::Stall(10)));
    let port = origin.port();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("the origin listens");
    let request = format!("GET {PATH} HTTP/1.1\r\nhost: h\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("the request is sent");
    assert_eq!(read(&mut stream, false).await.end, End::Silence);
    assert_eq!(origin.open_connections(), 1);
    drop(origin);
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
    assert!(matches!(read(&mut stream, false).await.end, End::Closed | End::Reset));
}

#[tokio::test]
async fn cross_origin_headers() {
    let asks = ["origin: http://page", "access-control-request-method: GET", "access-control-request-headers: range"];
    let origin = Origin::builder().file(PATH, "x").cors(Cors::permissive()).start().await;
    let raw = get(&origin, PATH, &["origin: http://page"]).await;
    assert_eq!(raw.header("access-control-allow-origin"), Some("*"));
    assert!(raw.header("access-control-expose-headers").is_some_and(|names| names.contains("etag")));
    let raw = send(&origin, "OPTIONS", PATH, &asks).await;
    assert_eq!((raw.status(), raw.header("access-control-max-age")), (204, Some("600")));
    assert!(raw.header("access-control-allow-headers").is_some_and(|names| names.contains("if-none-match")));

    let origin = Origin::builder().file(PATH, "x").cors(Cors::simple_only()).start().await;
    assert_eq!(send(&origin, "OPTIONS", PATH, &asks).await.status(), 403);
    assert!(get(&origin, PATH, &[]).await.header("access-control-expose-headers").is_none());

    let cors = Cors { preflight: Preflight::Redirect("/elsewhere".to_owned()), ..Cors::permissive() };
    let origin = Origin::builder().file(PATH, "x").cors(cors).start().await;
    let raw = send(&origin, "OPTIONS", PATH, &asks).await;
    assert_eq!((raw.status(), raw.header("location")), (307, Some("/elsewhere")));
}

#[tokio::test]
async fn protocols_over_tls() {
    let h2 = Origin::builder().file(PATH, bytes(300_000)).http2_tls().start().await;
    let h1 = Origin::builder().file(PATH, bytes(300_000)).http1_tls().start().await;
    for (origin, version) in [(&h2, Version::HTTP_2), (&h1, Version::HTTP_11)] {
        let pem = origin.certificate_pem().expect("a certificate");
        let fetch = HyperFetch::new(&[b"h2", b"http/1.1"], &[pem]);
        let (method, url, headers) = (Method::GET, origin.url(PATH), HeaderMap::new());
        let request = FetchRequest { method, url, headers, cache: CacheMode::NoStore };
        let response = fetch.fetch(request).await.expect("an answer");
        let chunks: Vec<_> = response.body.try_collect().await.expect("a body");
        assert!(chunks.concat() == bytes(300_000));
        assert_eq!(origin.log()[0].version, version);
        assert!(origin.log()[0].complete);
    }
}

#[tokio::test]
async fn many_requests_at_once() {
    let origin = origin_of(1000).await;
    origin.script(|_| Some(Fault::Gather(200)));
    let answers = join_all((0..200).map(|_| get(&origin, PATH, &[]))).await;
    assert!(answers.iter().all(|raw| raw.body.len() == 1000));
    assert_eq!((origin.max_in_flight(), origin.hops()), (200, 1));
}
