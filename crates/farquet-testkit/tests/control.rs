//! The control listener: what another process can tell an origin, and what it learns.

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use farquet_testkit::{Control, Cors, Origin};
use serde_json::{Value, json};
use support::{End, Raw, bytes, get, send, send_body};

struct Controlled {
    origin: Arc<Origin>,
    control: Control,
}

impl Controlled {
    async fn start() -> Self {
        let builder = Origin::builder().cors(Cors::permissive());
        let origin = Arc::new(builder.file("/a", bytes(1000)).file("/b", bytes(10)).start().await);
        let control = Control::start(Arc::clone(&origin)).expect("a free port");
        Self { origin, control }
    }

    async fn raw(&self, method: &str, path: &str, body: &[u8]) -> (u16, Value) {
        let raw = send_body(self.control.port(), method, path, &[], body).await;
        assert_eq!(raw.header("access-control-allow-origin"), Some("*"));
        (raw.status(), serde_json::from_slice(&raw.body).expect("JSON"))
    }

    async fn command(&self, method: &str, path: &str, body: &[u8]) -> Value {
        let (status, value) = self.raw(method, path, body).await;
        assert_eq!(status, 200, "{value}");
        value
    }

    async fn script(&self, rules: Value) {
        self.command("POST", "/script", rules.to_string().as_bytes()).await;
    }

    /// What `/a` is answered under one fault.
    async fn under(&self, fault: Value) -> Raw {
        self.script(json!([{ "fault": fault }])).await;
        get(&self.origin, "/a", &[]).await
    }
}

#[tokio::test]
async fn log_and_summary() {
    let it = Controlled::start().await;
    get(&it.origin, "/a?v=1", &["range: bytes=0-9", "x-test: 1", "x-test: 2"]).await;
    send(&it.origin, "OPTIONS", "/a", &["access-control-request-method: GET"]).await;
    let log = it.command("GET", "/log", b"").await;
    let entry = &log[0];
    assert_eq!((&entry["method"], &entry["path"], &entry["query"]), (&json!("GET"), &json!("/a"), &json!("v=1")));
    assert_eq!((&entry["range"], &entry["status"], &entry["bytes"]), (&json!("bytes=0-9"), &json!(206), &json!(10)));
    assert_eq!(
        (&entry["complete"], &entry["http"], &entry["in_flight"]),
        (&json!(true), &json!("HTTP/1.1"), &json!(1))
    );
    assert_eq!(entry["headers"]["x-test"], "1, 2");
    assert!(entry["end_ms"].as_f64() >= entry["start_ms"].as_f64());
    assert_eq!((&log[1]["method"], &log[1]["status"]), (&json!("OPTIONS"), &json!(204)));
    let summary = it.command("GET", "/summary", b"").await;
    assert_eq!(
        summary,
        json!({
            "requests": 2, "by_method": {"GET": 1, "OPTIONS": 1}, "by_status": {"204": 1, "206": 1}, "hops": 2,
            "max_in_flight": 1, "connections": 2, "accepted": 2, "body_bytes": 10,
        })
    );
    it.command("POST", "/clear", b"").await;
    assert_eq!(it.command("GET", "/log", b"").await, json!([]));
}

#[tokio::test]
async fn files() {
    let it = Controlled::start().await;
    it.command("PUT", "/file?path=/new%20one.parquet", b"PAR1").await;
    let raw = get(&it.origin, "/new%20one.parquet", &[]).await;
    assert_eq!((raw.status(), &*raw.body), (200, &b"PAR1"[..]));
    let before = get(&it.origin, "/a", &[]).await;
    it.command("PUT", "/file?path=/a", b"other").await;
    let after = get(&it.origin, "/a", &[]).await;
    assert!(before.header("etag") != after.header("etag"));
    assert!(before.header("last-modified") != after.header("last-modified"));

    let tags = "etag=%22v1%22&last_modified=Sat,%2001%20Jan%202000%2000:00:00%20GMT&cache_control=no-store";
    it.command("PUT", &format!("/file?path=/a&{tags}"), b"tagged").await;
    let raw = get(&it.origin, "/a", &[]).await;
    assert_eq!((raw.header("etag"), raw.header("cache-control")), (Some("\"v1\""), Some("no-store")));
    assert_eq!(raw.header("last-modified"), Some("Sat, 01 Jan 2000 00:00:00 GMT"));
    it.command("PUT", "/file?path=/a&no_etag=1&no_last_modified=1", b"bare").await;
    let raw = get(&it.origin, "/a", &[]).await;
    assert_eq!((raw.header("etag"), raw.header("last-modified")), (None, None));
    it.command("PUT", "/file?path=/a&weak_etag=1", b"weak").await;
    assert!(get(&it.origin, "/a", &[]).await.header("etag").is_some_and(|tag| tag.starts_with("W/")));

    it.command("DELETE", "/file?path=/a", b"").await;
    assert_eq!(get(&it.origin, "/a", &[]).await.status(), 404);
}

#[tokio::test]
async fn rules() {
    let it = Controlled::start().await;
    it.script(json!([
        {"path": "/b", "fault": {"status": 403}},
        {"path": "/a*", "range": true, "from": 1, "to": 3, "fault": "unavailable"},
        {"method": "HEAD", "fault": {"status": 405}},
        {"method": "OPTIONS", "from": 1, "fault": "forbidden"},
        {"path": "/*", "range": false, "to": 1, "fault": {"status": 500}},
    ]))
    .await;
    let status = async |method, path, headers: &[&str]| send(&it.origin, method, path, headers).await.status();
    let range = ["range: bytes=0-1"];
    assert_eq!(status("GET", "/b", &range).await, 403);
    for expected in [206, 503, 503, 206] {
        assert_eq!(status("GET", "/a", &range).await, expected);
    }
    assert_eq!(status("HEAD", "/a", &[]).await, 405);
    // The last rule has counted the request that another one decided.
    assert_eq!(status("GET", "/a", &[]).await, 200);
    assert_eq!(status("OPTIONS", "/b", &[]).await, 204);
    assert_eq!(status("OPTIONS", "/b", &[]).await, 403);
    it.command("DELETE", "/script", b"").await;
    assert_eq!(status("GET", "/b", &range).await, 206);
}

#[tokio::test]
async fn faults() {
    let it = Controlled::start().await;
    let raw = it.under(json!({"status": 418, "headers": {"x-a": "b"}, "body": "tea"})).await;
    assert_eq!((raw.status(), raw.header("x-a"), &*raw.body), (418, Some("b"), &b"tea"[..]));
    assert_eq!(raw.header("access-control-allow-origin"), Some("*"));
    let raw = it.under(json!({"redirect": 302, "location": "/b"})).await;
    assert_eq!((raw.status(), raw.header("location")), (302, Some("/b")));
    let raw = it.under(json!({"headers": {"etag": null, "x-a": "b"}})).await;
    assert_eq!((raw.status(), raw.header("etag"), raw.header("x-a")), (200, None, Some("b")));
    let raw = it.under(json!({"gzip": true})).await;
    assert_eq!(raw.header("content-encoding"), Some("gzip"));
    for (name, len, end) in [("cut", 100, End::Reset), ("close", 100, End::Closed), ("stall", 100, End::Silence)] {
        let raw = it.under(json!({ name: 100 })).await;
        assert_eq!((raw.status(), raw.body.len(), raw.end), (200, len, end), "{name}");
    }
    assert_eq!(it.under(json!({"short": 100})).await.body.len(), 100);
    assert_eq!(it.under(json!({"long": 100})).await.body.len(), 1100);
    assert_eq!(it.under(json!("not-modified")).await.status(), 304);
    let start = Instant::now();
    assert_eq!(it.under(json!([{"delay": 60}, {"status": 503}])).await.status(), 503);
    assert!(start.elapsed() >= Duration::from_millis(60));

    it.script(json!([{"fault": {"gather": 2}}])).await;
    let both = tokio::join!(get(&it.origin, "/a", &[]), get(&it.origin, "/b", &[]));
    assert_eq!((both.0.status(), both.1.status()), (200, 200));
}

#[tokio::test]
async fn replacements() {
    let it = Controlled::start().await;
    it.script(json!([{"to": 1, "fault": {"replace_after": "/a", "with": "/b"}}])).await;
    let lengths = [get(&it.origin, "/a", &[]).await.body.len(), get(&it.origin, "/a", &[]).await.body.len()];
    assert_eq!(lengths, [1000, 10]);
    it.command("PUT", "/file?path=/b", &bytes(7)).await;
    assert_eq!(it.under(json!({"replace": "/a", "with": "/b"})).await.body.len(), 7);
}

#[tokio::test]
async fn mistakes_change_nothing() {
    let it = Controlled::start().await;
    for (method, path, body) in [
        ("GET", "/nothing", ""),
        ("PUT", "/file", "x"),
        ("PUT", "/file?path=/a&etga=1", "x"),
        ("PUT", "/file?path=/a&last_modified=today", "x"),
        ("PUT", "/file?path=/a&no_etag=yes", "x"),
        ("PUT", "/file?path=/a&etag=%0A", "x"),
        ("POST", "/script", "{"),
        ("POST", "/script", "{}"),
        ("POST", "/script", r#"[{"path": "/a"}]"#),
        ("POST", "/script", r#"[{"fault": "no-such-fault"}]"#),
        ("POST", "/script", r#"[{"fault": {"status": 99}}]"#),
        ("POST", "/script", r#"[{"fault": {"redirect": 302}}]"#),
        ("POST", "/script", r#"[{"fault": {"headers": {"a b": "c"}}}]"#),
        ("POST", "/script", r#"[{"fault": {"headers": {"a": "\n"}}}]"#),
        ("POST", "/script", r#"[{"fault": {"replace": "/a", "with": "/none"}}]"#),
        ("POST", "/script", r#"[{"fault": {"cut": 1, "delay": 1}}]"#),
        ("POST", "/script", r#"[{"fault": {}}]"#),
        ("POST", "/script", r#"[{"from": 1, "to": 1, "fault": "hang"}]"#),
        ("POST", "/script", r#"[{"form": 1, "fault": "hang"}]"#),
        ("POST", "/script", r#"[{"method": "", "fault": "hang"}]"#),
    ] {
        let (status, value) = it.raw(method, path, body.as_bytes()).await;
        assert!(status == 400 && value["error"].is_string(), "{method} {path} {body}: {status} {value}");
    }
    let raw = get(&it.origin, "/a", &[]).await;
    assert_eq!((raw.status(), raw.body), (200, bytes(1000)));
}

#[tokio::test]
async fn pages_may_command() {
    let it = Controlled::start().await;
    let raw = send_body(it.control.port(), "OPTIONS", "/file?path=/a", &[], b"").await;
    assert_eq!((raw.status(), raw.header("access-control-allow-origin")), (200, Some("*")));
    assert!(raw.header("access-control-allow-methods").is_some_and(|methods| methods.contains("PUT")));
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("it ends");
    }
}

/// Starts the binary on a directory with a file `/a`, and reads the ports from its first lines.
fn run(directory: &std::path::Path, options: &[&str]) -> (Running, u16, u16) {
    std::fs::write(directory.join("a"), bytes(100)).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_farquet-origin"));
    let mut child = command.arg(directory).args(options).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut port = |prefix: &str| {
        let line = lines.next().expect("a line").expect("text");
        let port = line.strip_prefix(prefix).and_then(|rest| rest.strip_suffix('/'));
        port.and_then(|port| port.parse().ok()).expect("a base URL")
    };
    let ports = (port("http://127.0.0.1:"), port("control http://127.0.0.1:"));
    (Running(child), ports.0, ports.1)
}

#[tokio::test]
async fn the_binary() {
    let directory = tempfile::tempdir().expect("a directory");
    for (option, exposes, preflight) in
        [("--cors", true, 204), ("--cors-simple", false, 403), ("--cors-refuse-preflight", true, 403)]
    {
        let (_running, port, control) = run(directory.path(), &["--control", option]);
        let asked = ["access-control-request-method: GET"];
        assert_eq!(send_body(port, "OPTIONS", "/a", &asked, b"").await.status(), preflight, "{option}");
        let tag = send_body(port, "HEAD", "/a", &[], b"").await.header("etag").expect("a tag").to_owned();
        let condition = format!("if-none-match: {tag}");
        for (method, path, header, status) in [
            ("GET", "/a", "range: bytes=0-1", 206),
            ("HEAD", "/a", "range: bytes=0-", 200),
            ("GET", "/a", &*condition, 304),
            ("GET", "/a", "if-match: \"other\"", 412),
            ("GET", "/a", "range: bytes=100-", 416),
            ("GET", "/none", "accept: */*", 404),
            ("POST", "/a", "accept: */*", 405),
        ] {
            let raw = send_body(port, method, path, &[header], b"").await;
            assert_eq!((raw.status(), raw.header("access-control-allow-origin")), (status, Some("*")));
            assert_eq!(raw.header("access-control-expose-headers").is_some(), exposes, "{option} {status}");
        }
        let log = send_body(control, "GET", "/log", &[], b"").await;
        let log: Value = serde_json::from_slice(&log.body).expect("JSON");
        assert_eq!(log.as_array().map(Vec::len), Some(9));
    }
}
