//! The same against servers that people run: nginx and caddy, with their own entity tags, conditions and ranges.
//!
//! Both make the tag of a file's size and the time of its modification; nginx takes whole seconds. Two versions of one size
//! within one second have one tag then: no client can tell them apart, and this one does not claim to.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use farquet_core::ErrorKind;
use farquet_tests::files::{BY_VERSION, large, large_row, tiny, tiny_row, versioned};
use farquet_tests::{answer, refusal, session};
use tempfile::TempDir;

/// A server over a folder, ended on drop.
pub(crate) struct Server {
    process: Child,
    port: u16,
    folder: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port()
}

impl Server {
    fn start(name: &str, command: impl FnOnce(&Path, u16) -> Command) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("www")).expect("a folder");
        let port = free_port();
        let log = File::create(folder.path().join("log")).expect("a file");
        let process = command(folder.path(), port)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a file"))
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {error}; scripts/setup installs it"));
        let server = Self { process, port, folder };
        for _ in 0..500 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return server;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{name} does not listen: {}", fs::read_to_string(server.folder.path().join("log")).unwrap_or_default());
    }

    fn nginx() -> Self {
        Self::start("nginx", |folder, port| {
            let shown = folder.display();
            let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                .map(|name| format!("{name}_temp_path {shown}/{name};"))
                .join(" ");
            let config = format!(
                "daemon off; master_process off; pid {shown}/pid; error_log stderr; events {{}}\n\
                 http {{ access_log off; {temporary} server {{ listen 127.0.0.1:{port}; root {shown}/www; }} }}"
            );
            // One process, so that none is left behind when it is ended.
            fs::write(folder.join("conf"), config).expect("a file");
            let mut command = Command::new("nginx");
            command.arg("-p").arg(folder).arg("-c").arg(folder.join("conf")).args(["-e", "stderr"]);
            command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
            command
        })
    }

    fn caddy() -> Self {
        Self::start("caddy", |folder, port| {
            let shown = folder.display();
            let config = format!(
                "{{\n admin off\n auto_https off\n}}\nhttp://127.0.0.1:{port} {{\n root * {shown}/www\n file_server\n}}\n"
            );
            fs::write(folder.join("Caddyfile"), config).expect("a file");
            let mut command = Command::new("caddy");
            command.args(["run", "--adapter", "caddyfile", "--config"]).arg(folder.join("Caddyfile"));
            command.env("XDG_DATA_HOME", folder).env("XDG_CONFIG_HOME", folder).env("HOME", folder);
            command
        })
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("www").join(name)
    }

    /// Puts a file in place at once, modified so many seconds after some moment of the past.
    pub(crate) fn put(&self, name: &str, bytes: &Bytes, second: u64) {
        let part = self.file(&format!("{name}.part"));
        fs::write(&part, bytes).expect("a file");
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + second);
        File::options().write(true).open(&part).and_then(|file| file.set_modified(modified)).expect("a time");
        fs::rename(part, self.file(name)).expect("a file in place");
    }

    pub(crate) fn sql(&self, name: &str, sql: &str) -> String {
        sql.replace(" t ", &format!(" 'http://127.0.0.1:{}/{name}' ", self.port))
    }
}

pub(crate) fn both() -> [(&'static str, Server); 2] {
    [("nginx", Server::nginx()), ("caddy", Server::caddy())]
}

#[tokio::test(flavor = "multi_thread")]
async fn small_files_are_revalidated_and_replaced() {
    for (name, server) in both() {
        let session = session();
        let sql = server.sql("a.parquet", BY_VERSION);
        for version in 1..4 {
            server.put("a.parquet", &tiny(version), u64::try_from(version).expect("few"));
            let first = answer(&session, &sql).await;
            assert_eq!((first.rows, first.report.status), (vec![tiny_row(version)], [(206, 1)].into()), "{name}");
            let again = answer(&session, &sql).await;
            assert_eq!((again.rows, again.report.status), (vec![tiny_row(version)], [(304, 1)].into()), "{name}");
            assert_eq!((again.report.bytes_received, again.report.cache.revalidated), (0, 1), "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_files_are_proved_by_their_data() {
    for (name, server) in both() {
        let session = session();
        let sql = server.sql("a.parquet", BY_VERSION);
        server.put("a.parquet", &large(1), 1);
        assert_eq!(answer(&session, &sql).await.report.status, [(206, 4)].into(), "{name}");
        let warm = answer(&session, &sql).await;
        assert_eq!((warm.rows, warm.report.status), (vec![large_row(1)], [(206, 3)].into()), "{name}");
        let count = answer(&session, &server.sql("a.parquet", "SELECT count(*) FROM t ")).await;
        assert_eq!((count.report.status, count.report.bytes_received), ([(304, 1)].into(), 0), "{name}");

        server.put("a.parquet", &large(2), 2);
        let changed = answer(&session, &sql).await;
        assert_eq!((changed.rows, changed.report.restarts), (vec![large_row(2)], 1), "{name}");
        assert!(changed.report.status.contains_key(&412), "{name}: {:?}", changed.report.status);
        // Pruned by its footer, or answered from it, a file is asked about.
        server.put("a.parquet", &large(7), 3);
        let hidden = answer(&session, &server.sql("a.parquet", "SELECT count(n) FROM t WHERE v = 7")).await;
        assert_eq!(hidden.rows, ["120000"], "{name}");
        server.put("a.parquet", &large(8), 4);
        assert_eq!(answer(&session, &server.sql("a.parquet", "SELECT max(v) FROM t ")).await.rows, ["8"], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_come_and_go_grow_and_shrink() {
    for (name, server) in both() {
        let session = session();
        let sql = server.sql("a.parquet", BY_VERSION);
        let versions =
            [(tiny(1), 100), (large(2), 120_000), (versioned(3, 1, 5_000), 5_000), (large(4), 120_000), (tiny(5), 100)];
        for (second, (bytes, rows)) in versions.into_iter().enumerate() {
            server.put("a.parquet", &bytes, second as u64);
            for _ in 0..2 {
                let found = answer(&session, &sql).await;
                assert_eq!(found.rows, [format!("{}|{rows}", second + 1)], "{name}");
                assert!(found.report.restarts <= 1, "{name}");
            }
            fs::remove_file(server.file("a.parquet")).expect("a file");
            assert_eq!(refusal(&session, &sql).await.kind(), ErrorKind::NotFound, "{name}");
        }
    }
}

/// What nginx cannot tell: same size, same second. The footer is believed, since the server says that nothing has changed.
#[tokio::test(flavor = "multi_thread")]
async fn nginx_has_one_tag_for_versions_of_one_size_and_second() {
    let server = Server::nginx();
    let session = session();
    let sql = server.sql("a.parquet", "SELECT max(v) FROM t ");
    server.put("a.parquet", &tiny(1), 1);
    assert_eq!(answer(&session, &sql).await.rows, ["1"]);
    assert_eq!(tiny(1).len(), tiny(2).len());
    server.put("a.parquet", &tiny(2), 1);
    assert_eq!(answer(&session, &sql).await.rows, ["1"], "the server says 304");
    // A second or a byte more, and everybody sees it.
    server.put("a.parquet", &tiny(2), 2);
    assert_eq!(answer(&session, &sql).await.rows, ["2"]);
    server.put("a.parquet", &versioned(3, 1, 101), 2);
    assert_eq!(answer(&session, &sql).await.rows, ["3"]);
    // Who cannot live with it reads without the cache.
    session.client().clear_caches();
    server.put("a.parquet", &versioned(4, 1, 101), 2);
    session.client().clear_caches();
    assert_eq!(answer(&session, &sql).await.rows, ["4"]);
}
