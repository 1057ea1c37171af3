//! Bulk loading: an existing like table, and trial data.

use std::fmt::Write as _;
use std::path::Path;

use likewise_tests::app::App;
use likewise_tests::binary;
use likewise_tests::harness::Test;
use likewise_tests::process::Process;
use likewise_tests::wait::{self, SOON};
use likewise_tests::{invariants, on_both};
use nix::sys::signal::Signal;
use tempfile::TempDir;

pub(crate) fn tests() -> Vec<Test> {
    let tests = vec![
        on_both!(csv_and_ndjson_are_imported_with_their_times).without_nodes(),
        on_both!(an_import_again_changes_nothing).without_nodes(),
        on_both!(bad_lines_are_named_and_skipped_only_when_asked).without_nodes(),
        on_both!(a_killed_import_goes_on_where_it_was).without_nodes(),
        on_both!(seeded_data_is_consistent).without_nodes(),
        on_both!(an_import_beside_a_running_server_is_counted),
    ];
    tests.into_iter().map(Test::with_binary).collect()
}

fn folder() -> TempDir {
    tempfile::Builder::new().prefix("likewise-import-").tempdir().expect("a temporary folder")
}

fn import(app: &App, folder: &Path, file: &str, more: &[&str]) -> binary::Output {
    let url = app.database.url();
    let arguments: Vec<&str> =
        ["import", file, "--database-url", &url].into_iter().chain(more.iter().copied()).collect();
    binary::run(folder, &arguments)
}

async fn holds(app: &App) {
    let sql = app.sql().await;
    invariants::hold(&sql).await;
    sql.close().await;
}

/// Makes the schema where `serve` would.
fn migrate(app: &App, folder: &Path) {
    binary::run(folder, &["migrate", "--database-url", &app.database.url()]).success();
}

async fn csv_and_ndjson_are_imported_with_their_times(app: &App) {
    let folder = folder();
    migrate(app, folder.path());
    let csv = "user,item,state,time\nana,post:1,LIKE,2024-05-01T10:00:00Z\nben,post:1,DISLIKE,2024-05-02T10:00:00.500Z\n\
               ana,post:2,LIKE,2024-05-03T10:00:00Z\nana,post:2,NONE,2024-05-04T10:00:00Z\n";
    std::fs::write(folder.path().join("likes.csv"), csv).expect("a file");
    let ndjson = "{\"user\":\"cem\",\"item\":\"post:1\",\"state\":\"LIKE\",\"time\":\"2024-05-05T10:00:00Z\"}\n";
    std::fs::write(folder.path().join("likes.ndjson"), ndjson).expect("a file");
    import(app, folder.path(), "likes.csv", &[]).success();
    import(app, folder.path(), "likes.ndjson", &[]).success();
    let at = "SELECT reacted_at FROM reaction WHERE user_id = 'ben' AND item_id = 'post:1'";
    assert_eq!(app.number(at).await, 1_714_644_000_500_000);
    assert_eq!(app.number("SELECT count(*) FROM reaction_event WHERE origin = 1").await, 5, "one event for each row");
    assert_eq!(app.number("SELECT like_count FROM item_count WHERE item_id = 'post:1'").await, 2);
    assert_eq!(app.number("SELECT dislike_count FROM item_count WHERE item_id = 'post:1'").await, 1);
    assert_eq!(app.number("SELECT like_count FROM item_count WHERE item_id = 'post:2'").await, 0);
    holds(app).await;
}

fn lines(rows: usize) -> String {
    let mut csv = "user,item,state,time\n".to_owned();
    for row in 0..rows {
        let (user, item) = (row % 997, row / 997);
        writeln!(csv, "user{user},item{item},LIKE,2024-01-01T00:00:00Z").expect("text");
    }
    csv
}

async fn an_import_again_changes_nothing(app: &App) {
    let folder = folder();
    migrate(app, folder.path());
    std::fs::write(folder.path().join("likes.csv"), lines(5000)).expect("a file");
    import(app, folder.path(), "likes.csv", &[]).success();
    import(app, folder.path(), "likes.csv", &[]).success();
    assert_eq!(app.number("SELECT count(*) FROM reaction_event").await, 5000);
    holds(app).await;
}

async fn bad_lines_are_named_and_skipped_only_when_asked(app: &App) {
    let folder = folder();
    migrate(app, folder.path());
    let csv = "user,item,state,time\nana,post:1,LIKE,2024-05-01T10:00:00Z\nben,post 1,LIKE,2024-05-01T10:00:00Z\n\
               cem,post:1,LOVE,2024-05-01T10:00:00Z\ndia,post:1,LIKE,yesterday\neve,post:1,LIKE,2024-05-01T10:00:00Z\n";
    std::fs::write(folder.path().join("likes.csv"), csv).expect("a file");
    let output = import(app, folder.path(), "likes.csv", &[]);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(output.stderr.contains("line 3"), "the first bad line is named: {}", output.stderr);
    let output = import(app, folder.path(), "likes.csv", &["--skip-bad-lines"]).success();
    let text = format!("{}{}", output.stdout, output.stderr);
    for line in ["line 3", "line 4", "line 5"] {
        assert!(text.contains(line), "{line} is reported: {text}");
    }
    assert_eq!(app.number("SELECT like_count FROM item_count WHERE item_id = 'post:1'").await, 2);
    holds(app).await;
}

async fn a_killed_import_goes_on_where_it_was(app: &App) {
    const ROWS: usize = 50_000;
    let folder = folder();
    migrate(app, folder.path());
    std::fs::write(folder.path().join("likes.csv"), lines(ROWS)).expect("a file");
    let url = app.database.url();
    let mut killed = 0;
    for events in [1, 15_000, 30_000] {
        let mut command = std::process::Command::new(binary::path());
        command.args(["import", "likes.csv", "--database-url", &url]).current_dir(folder.path());
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let file = folder.path().join("watchdog");
        let mut process = Process::start("likewise import", &mut command, &file, Signal::SIGKILL).expect("it starts");
        let sql = app.sql().await;
        wait::until_true("the import has come that far", SOON * 3, async || {
            sql.number("SELECT count(*) FROM reaction_event").await >= events || process.ended().is_some()
        })
        .await;
        sql.close().await;
        killed += i32::from(process.ended().is_none());
        process.stop(Signal::SIGKILL);
    }
    assert!(killed > 0, "the import was never met alive");
    import(app, folder.path(), "likes.csv", &[]).success();
    assert_eq!(app.number("SELECT count(*) FROM reaction_event").await, i64::try_from(ROWS).expect("small"));
    holds(app).await;
}

async fn seeded_data_is_consistent(app: &App) {
    let folder = folder();
    migrate(app, folder.path());
    let url = app.database.url();
    let size = ["--users", "500", "--items", "100", "--likes", "10000"];
    let arguments: Vec<&str> = ["seed", "--database-url", &url].into_iter().chain(size).collect();
    binary::run(folder.path(), &arguments).success();
    let likes = app.number("SELECT count(*) FROM reaction WHERE state = 1").await;
    assert!((9_000..=10_000).contains(&likes), "{likes} likes");
    assert_eq!(app.number("SELECT CAST(sum(like_count) AS bigint) FROM item_count").await, likes);
    binary::run(folder.path(), &["erase", "--user", "user-1", "--database-url", &url]).success();
    binary::run(folder.path(), &arguments).success();
    assert_eq!(
        app.number("SELECT count(*) FROM reaction WHERE user_id = 'user-1'").await,
        0,
        "it leaves the deleted out"
    );
    holds(app).await;
}

async fn an_import_beside_a_running_server_is_counted(app: &App) {
    if !app.database.is_postgres() {
        // SQLite is of one process: the command must say so rather than wait or break something.
        let folder = folder();
        std::fs::write(folder.path().join("likes.csv"), lines(10)).expect("a file");
        app.as_user("ana").like("post:1").await;
        let output = import(app, folder.path(), "likes.csv", &[]);
        assert!(matches!(output.code, Some(0 | 1)), "{}{}", output.stdout, output.stderr);
        assert!(app.as_user("ana").unlike("post:1").await.changed, "the server goes on");
        return;
    }
    let folder = folder();
    std::fs::write(folder.path().join("likes.csv"), lines(3000)).expect("a file");
    let mut page = app.client().watch(&["item0"]).await;
    page.next("the first event").await;
    import(app, folder.path(), "likes.csv", &[]).success();
    page.until("the imported likes are pushed", |item| item.like_count == 997).await;
    assert!(!app.as_user("user0").like("item0").await.changed);
}
