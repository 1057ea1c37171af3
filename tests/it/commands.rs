//! The command line: what each command prints, and how it ends.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use likewise_tests::app::App;
use likewise_tests::binary::{self, ServerProcess};
use likewise_tests::client::Client;
use likewise_tests::harness::Test;
use likewise_tests::tokens::SECRET;
use likewise_tests::views::Reaction;
use likewise_tests::wait::{SOON, outage, until};
use likewise_tests::{invariants, on_both, plain, ports, seeded, test_on};
use nix::sys::signal::Signal;
use rand::RngExt;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Exit code of a wrong setting, as sysexits.h has it.
const USAGE: Option<i32> = Some(64);

pub(crate) fn tests() -> Vec<Test> {
    let tests = vec![
        plain!(schema_is_the_committed_one),
        plain!(wrong_settings_end_with_64_and_their_name),
        plain!(a_password_is_never_told),
        plain!(a_file_is_found_however_its_url_is_written),
        test_on!([Sqlite], a_first_start_may_be_killed_at_any_moment).without_nodes(),
        plain!(a_missing_database_is_one_line_with_its_address),
        test_on!([Postgres], a_missing_redis_is_one_line_with_its_address).without_nodes(),
        test_on!([Postgres], serve_refuses_a_schema_that_is_behind).without_nodes(),
        test_on!([Sqlite, Postgres], serve_refuses_a_schema_that_is_newer).without_nodes(),
        on_both!(migrate_may_run_twice_and_at_once).without_nodes(),
        on_both!(a_token_of_the_command_signs_in),
        on_both!(an_answered_like_survives_a_kill).without_nodes(),
        on_both!(sigterm_drains_and_ends_with_0).without_nodes(),
        plain!(the_demo_serves_tokens_and_starts_twice),
        plain!(tokens_are_for_pages_of_our_own_address),
        plain!(origins_may_be_empty_or_have_spaces),
        on_both!(without_the_demo_there_are_no_tokens),
    ];
    tests.into_iter().map(Test::with_binary).collect()
}

fn folder() -> TempDir {
    tempfile::Builder::new().prefix("likewise-command-").tempdir().expect("a temporary folder")
}

fn schema_is_the_committed_one() {
    let printed = binary::run(folder().path(), &["schema"]).success().stdout;
    let committed = std::fs::read_to_string(binary::workspace().join("schema.graphql")).unwrap_or_default();
    assert!(printed == committed, "schema.graphql has drifted from the code: run `make schema` and commit it");
}

fn wrong_settings_end_with_64_and_their_name() {
    let folder = folder();
    let secret = ["--jwt-secret", SECRET];
    let cases: [(&[&str], &str); 9] = [
        (&["serve"], "JWT_SECRET"),
        (&["serve", "--jwt-secret", "short"], "JWT_SECRET"),
        (&["serve", "--listen", "nowhere"], "LISTEN"),
        (&["serve", "--role", "boss"], "ROLE"),
        (&["serve", "--role", "api"], "REDIS_URL"),
        (&["serve", "--role", "worker"], "REDIS_URL"),
        (&["serve", "--catalog", "maybe"], "CATALOG"),
        (&["serve", "--push-interval-ms", "soon"], "PUSH_INTERVAL_MS"),
        (&["serve", "--database-url", "mysql://127.0.0.1/x"], "DATABASE_URL"),
    ];
    for (arguments, setting) in cases {
        let mut arguments = arguments.to_vec();
        if setting != "JWT_SECRET" {
            arguments.extend(secret);
        }
        let output = binary::run(folder.path(), &arguments);
        assert_eq!(output.code, USAGE, "{arguments:?}: {}", output.stderr);
        let text = output.stderr.to_uppercase().replace('-', "_");
        assert!(text.contains(setting), "{arguments:?} names {setting}: {}", output.stderr);
    }
    let variables = BTreeMap::from([("LIKEWISE_JWT_SECRET", SECRET), ("LIKEWISE_CATALOG", "maybe")]);
    let output = binary::run_with(folder.path(), &["serve"], &variables);
    assert_eq!(output.code, USAGE, "a variable: {}", output.stderr);
    assert!(output.stderr.contains("LIKEWISE_CATALOG"), "by its own name: {}", output.stderr);
    let output = binary::run(folder.path(), &["dance"]);
    assert_eq!(output.code, USAGE, "an unknown command: {}", output.stderr);
    binary::run(folder.path(), &["--help"]).success();
    let files: Vec<_> =
        std::fs::read_dir(folder.path()).expect("the folder").flatten().map(|file| file.file_name()).collect();
    assert!(!files.iter().any(|name| name.to_string_lossy().contains(".db")), "no database was made: {files:?}");
}

/// Characters that a URL must encode make it unreadable, and the driver's own message would have all of it.
fn a_password_is_never_told() {
    let folder = folder();
    for url in [
        "postgres://likewise:hunter2/x+y=@127.0.0.1/likewise",
        "postgres://likewise:hunter2@127.0.0.1:port/likewise",
        "postgres://likewise:hunter2@127.0.0.1/likewise?sslmode=perhaps",
        "postgres://likewise:hunter2?34@127.0.0.1/likewise",
        "postgres://likewise:3@hunter2@127.0.0.1/likewise",
        "postgres:///likewise?host=/nowhere&password=3@hunter2",
    ] {
        for command in ["serve", "migrate", "reconcile", "import"] {
            let file = (command == "import").then_some("likes.csv");
            let secret: &[&str] = if command == "serve" { &["--jwt-secret", SECRET] } else { &[] };
            let arguments: Vec<_> = [command, "--database-url", url].into_iter().chain(file).collect();
            let output = binary::run(folder.path(), &[&arguments, secret].concat());
            assert_eq!(output.code, USAGE, "{arguments:?}: {}", output.stderr);
            assert!(output.stderr.contains("LIKEWISE_DATABASE_URL"), "{}", output.stderr);
            assert!(!output.stderr.contains("hunter2"), "{}", output.stderr);
        }
    }
    for url in ["sqlite://likewise.db?mode=perhaps", "sqlite://", "sqlite:?mode=rwc"] {
        let output = binary::run(folder.path(), &["migrate", "--database-url", url]);
        assert_eq!(output.code, USAGE, "{url}: {}", output.stderr);
    }
    let url = "postgres://likewise:x@127.0.0.1:1/likewise?passwd=hunter2";
    let output = binary::run(folder.path(), &["migrate", "--database-url", url]);
    assert_unreachable(&output, "127.0.0.1:1");
}

fn a_file_is_found_however_its_url_is_written() {
    let folder = folder();
    for url in ["sqlite:one.db", "sqlite://my file.db", "sqlite://your%20file.db", "sqlite://a@b.db"] {
        let url = format!("{url}?mode=rwc");
        for command in ["migrate", "reconcile", "events"] {
            binary::run(folder.path(), &[command, "--database-url", &url]).success();
        }
    }
    for name in ["one.db", "my file.db", "your file.db", "a@b.db"] {
        assert!(folder.path().join(name).exists(), "{name}");
    }
}

/// Its tables are made by then, or some of them, or none.
async fn a_first_start_may_be_killed_at_any_moment(_: &App) {
    let mut rng = seeded::rng("a_first_start_may_be_killed_at_any_moment");
    for round in 0..40 {
        let folder = folder();
        let mut serve = binary::command(folder.path(), &["serve", "--demo", "--listen", "127.0.0.1:0"]);
        let mut first = serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts");
        outage(Duration::from_millis(rng.random_range(5..100))).await;
        first.kill().expect("it runs");
        first.wait().expect("it has ended");
        let output = binary::run(folder.path(), &["migrate"]);
        assert_eq!(output.code, Some(0), "round {round}: {}", output.stderr);
    }
}

/// The command ends with 1, after one line that has `address`.
#[track_caller]
fn assert_unreachable(output: &binary::Output, address: &str) {
    assert_eq!(output.code, Some(1), "{}{}", output.stdout, output.stderr);
    let lines: Vec<_> = output.stderr.lines().filter(|line| line.contains(address)).collect();
    assert_eq!(lines.len(), 1, "one line has {address}: {}", output.stderr);
    assert!(!output.stderr.contains("panicked") && !output.stderr.contains("hunter2"), "{}", output.stderr);
}

fn a_missing_database_is_one_line_with_its_address() {
    let folder = folder();
    let address = format!("127.0.0.1:{}", ports::free());
    let url = format!("postgres://likewise:hunter2@{address}/likewise");
    for command in ["serve", "migrate"] {
        let mut arguments = vec![command, "--database-url", &url];
        if command == "serve" {
            arguments.extend(["--jwt-secret", SECRET, "--listen", "127.0.0.1:0"]);
        }
        assert_unreachable(&binary::run(folder.path(), &arguments), &address);
    }
    let nowhere = "/no/such/folder/likewise.db";
    let url = format!("sqlite://{nowhere}?mode=rwc");
    let arguments = ["serve", "--jwt-secret", SECRET, "--listen", "127.0.0.1:0", "--database-url", &url];
    assert_unreachable(&binary::run(folder.path(), &arguments), nowhere);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let arguments = ["serve", "--jwt-secret", SECRET, "--listen", &address];
    assert_unreachable(&binary::run(folder.path(), &arguments), &address);
}

/// `serve` and the settings of a node of this test.
fn serve(app: &App, more: &[&str]) -> Vec<String> {
    let settings = app.settings().into_iter().flat_map(|(flag, value)| [flag, value]);
    ["serve".to_owned()].into_iter().chain(settings).chain(more.iter().map(|word| (*word).to_owned())).collect()
}

async fn a_missing_redis_is_one_line_with_its_address(app: &App) {
    let address = format!("127.0.0.1:{}", ports::free());
    let output = binary::run(folder().path(), &serve(app, &["--redis-url", &format!("redis://:hunter2@{address}")]));
    assert_unreachable(&output, &address);
    let output = binary::run(folder().path(), &serve(app, &["--redis-url", "redis://:hunter2@127.0.0.1:port"]));
    assert_eq!(output.code, USAGE, "{}", output.stderr);
    assert!(output.stderr.contains("LIKEWISE_REDIS_URL") && !output.stderr.contains("hunter2"), "{}", output.stderr);
}

async fn serve_refuses_a_schema_that_is_behind(app: &App) {
    let empty = app.database.empty(&app.services).await;
    let arguments = ["serve", "--jwt-secret", SECRET, "--listen", "127.0.0.1:0", "--database-url", &empty.url()];
    let output = binary::run(folder().path(), &arguments);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(output.stderr.contains("likewise migrate"), "{}", output.stderr);
    empty.remove().await;
}

/// As an older node meets it in a rolling upgrade.
async fn serve_refuses_a_schema_that_is_newer(app: &App) {
    app.tampers();
    binary::run(folder().path(), &["migrate", "--database-url", &app.database.url()]).success();
    let sql = app.sql().await;
    sql.execute("INSERT INTO seaql_migrations (version, applied_at) VALUES ('m20990101_000001_future', 1)").await;
    sql.close().await;
    let output = binary::run(folder().path(), &serve(app, &[]));
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(output.stderr.contains("newer than this binary"), "{}", output.stderr);
}

async fn migrate_may_run_twice_and_at_once(app: &App) {
    let empty = app.database.empty(&app.services).await;
    let url = empty.url();
    let at_once = if empty.is_postgres() { 4 } else { 1 };
    binary::path();
    let runs: Vec<_> = (0..at_once)
        .map(|_| {
            let url = url.clone();
            std::thread::spawn(move || binary::run(folder().path(), &["migrate", "--database-url", &url]))
        })
        .collect();
    for run in runs {
        run.join().expect("no panic").success();
    }
    for scheme in ["postgres://", "postgresql://"] {
        let url = url.replace("postgres://", scheme);
        binary::run(folder().path(), &["migrate", "--database-url", &url]).success();
    }
    let sql = empty.connect().await;
    let partitions = sql.number("SELECT count(*) FROM log_partition").await;
    assert_eq!(partitions, if empty.is_postgres() { 4 } else { 1 }, "the default number of partitions");
    invariants::hold(&sql).await;
    sql.close().await;
    empty.remove().await;
}

async fn a_token_of_the_command_signs_in(app: &App) {
    let arguments = ["token", "--user", "ana", "--ttl", "1h", "--jwt-secret", SECRET];
    let output = binary::run(folder().path(), &arguments).success();
    let client = app.client().with_token(output.stdout.trim());
    assert!(client.like("post:1").await.changed);
    assert_eq!(client.liked_items(json!({})).await.ids, ["post:1"]);
    assert_eq!(client.upsert_items(json!([{ "id": "post:1" }])).await.code(), "FORBIDDEN");
    let arguments = ["token", "--user", "shop", "--scope", "service", "--jwt-secret", SECRET];
    let output = binary::run(folder().path(), &arguments).success();
    app.client().with_token(output.stdout.trim()).upsert_items(json!([{ "id": "post:1" }])).await.data();
}

async fn an_answered_like_survives_a_kill(app: &App) {
    let folder = folder();
    for round in 1..=5 {
        let server = ServerProcess::start(folder.path(), &serve(app, &[]));
        let client = Client::new(app.http(), &server.address);
        for user in 0..10 {
            let payload =
                client.as_user(&format!("user{round}-{user}")).set_with_key("post:1", Reaction::Like, "k").await;
            assert!(payload.changed);
        }
        assert_eq!(server.stop(Signal::SIGKILL), None, "killed");
    }
    let server = ServerProcess::start(folder.path(), &serve(app, &[]));
    let client = Client::new(app.http(), &server.address);
    let replay = client.as_user("user5-9").set_with_key("post:1", Reaction::Like, "k").await;
    assert!(replay.replayed);
    app.drained().await;
    assert_eq!(client.item("post:1").await.like_count, 50);
    assert_eq!(server.stop(Signal::SIGTERM), Some(0));
    let sql = app.sql().await;
    invariants::hold(&sql).await;
    sql.close().await;
}

async fn sigterm_drains_and_ends_with_0(app: &App) {
    let folder = folder();
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let server = ServerProcess::start(folder.path(), &serve(app, &[]));
        let client = Client::new(app.http(), &server.address);
        let mut page = client.watch(&["post:1"]).await;
        page.next("the first event").await;
        client.as_user(signal.as_str()).like("post:1").await;
        server.signal(signal);
        let code = page.closed(SOON).await;
        assert!(matches!(code, Some(1001 | 1012)), "{signal}: closed with {code:?}");
        assert_eq!(server.ended(), Some(0), "{signal}");
    }
    assert_eq!(app.number("SELECT count(*) FROM reaction").await, 2);
}

fn the_demo_serves_tokens_and_starts_twice() {
    let folder = folder();
    let server = ServerProcess::start(folder.path(), &["serve", "--demo", "--listen", "127.0.0.1:0"]);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let http = reqwest::Client::builder().no_proxy().build().expect("a client without TLS");
        let client = Client::new(http, &server.address);
        let (status, body) = client.post("/dev/token", &json!({ "user": "ana" })).await;
        assert_eq!(status, 200, "{body}");
        let answer: Value = serde_json::from_str(&body).expect("JSON");
        assert!(answer["expiresAt"].is_string(), "{body}");
        let ana = client.with_token(answer["token"].as_str().expect("a token"));
        ana.like("anything").await;
        let (status, _) = client.post("/dev/token", &json!({ "user": "a b" })).await;
        assert_eq!(status, 400);
        let greeting = async || (server.printed().matches("curl ").count() >= 3).then(|| server.printed());
        let greeting = until("the greeting has three commands to try", SOON, greeting).await;
        assert!(greeting.contains(&server.address), "{greeting}");
    });
    assert_eq!(server.stop(Signal::SIGTERM), Some(0));
    // One of its people may be deleted meanwhile.
    binary::run(folder.path(), &["erase", "--user", "ana"]).success();
    ServerProcess::start(folder.path(), &["serve", "--demo", "--listen", "127.0.0.1:0"]);
}

/// A page whose name was made to lead to this machine is of one origin with the server for a browser.
fn tokens_are_for_pages_of_our_own_address() {
    let folder = folder();
    let arguments = ["serve", "--demo", "--listen", "127.0.0.1:0", "--allowed-origins", "http://demo.example:4000"];
    let server = ServerProcess::start(folder.path(), &arguments);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let http = reqwest::Client::builder().no_proxy().build().expect("a client without TLS");
        let (_, port) = server.address.rsplit_once(':').expect("an address with a port");
        let hosts = [
            (server.address.clone(), 200),
            (format!("localhost:{port}"), 200),
            ("demo.example:4000".to_owned(), 200),
            (format!("evil.example:{port}"), 403),
        ];
        for (host, status) in hosts {
            let request = http.post(format!("http://{}/dev/token", server.address)).header("host", &host);
            let answer = request.body(r#"{"user":"ana"}"#).send().await.expect("an answer");
            assert_eq!(answer.status(), status, "{host}");
            assert_eq!(answer.headers()["cache-control"], "no-store", "{host}");
            let text = answer.text().await.expect("a text");
            assert_eq!(text.contains("LIKEWISE_ALLOWED_ORIGINS"), status == 403, "{host}: {text}");
        }
    });
}

fn origins_may_be_empty_or_have_spaces() {
    for origins in ["", "http://a.example, http://b.example"] {
        let folder = folder();
        let variables = [("LIKEWISE_JWT_SECRET", SECRET), ("LIKEWISE_ALLOWED_ORIGINS", origins)];
        ServerProcess::start_with(folder.path(), &["serve", "--listen", "127.0.0.1:0"], &variables);
    }
}

async fn without_the_demo_there_are_no_tokens(app: &App) {
    assert_eq!(app.client().post("/dev/token", &json!({ "user": "ana" })).await.0, 404);
}
