//! A disk that is full or fails: SQLite then ends a transaction by itself, and what comes after it must be durable again.

use std::fmt::Write;
use std::fs::metadata;
use std::path::PathBuf;

use likewise_tests::app::App;
use likewise_tests::binary::{self, ServerProcess};
use likewise_tests::client::Client;
use likewise_tests::database::{Database, Sql};
use likewise_tests::harness::Test;
use likewise_tests::views::Reaction;
use likewise_tests::wait::{SOON, until_true};
use likewise_tests::{invariants, test_on};
use nix::sys::signal::Signal;

use crate::reconcile::{folder, serve};

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test_on!([Sqlite], a_full_disk_loses_no_like_that_was_answered).without_nodes().with_binary(),
        test_on!([Sqlite], a_server_outlives_a_log_that_cannot_be_written).without_nodes().with_binary().limit(240),
        test_on!([Sqlite], an_import_onto_a_full_disk_ends_and_can_go_on).without_nodes().with_binary(),
    ]
}

async fn likes_in_the_file(sql: &Sql, item: &str) -> i64 {
    sql.number(&format!("SELECT count(*) FROM reaction WHERE item_id = '{item}' AND state = 1")).await
}

fn log_of(database: &Database) -> PathBuf {
    match database {
        Database::Sqlite { folder } => folder.path().join("likewise.db-wal"),
        Database::Postgres { .. } => panic!("SQLite's log"),
    }
}

async fn a_full_disk_loses_no_like_that_was_answered(app: &App) {
    let folder = folder();
    let server = ServerProcess::start_on_a_small_disk(folder.path(), &serve(app, &["--log", "off"]));
    let client = Client::new(app.http(), &server.address);
    client.as_user("ana").like("post:1").await;
    let sql = app.sql().await;
    for round in 0..2 {
        server.limit_files(Some(metadata(log_of(&app.database)).expect("SQLite's log").len()));
        let mut kept = likes_in_the_file(&sql, "post:1").await;
        for number in 0..2 {
            let tap = client.as_user(&format!("early{round}-{number}")).tap("post:1", Reaction::Like, None).await;
            // A checkpoint may have made room.
            match tap {
                Ok(_) => kept += 1,
                Err(failure) => assert!(failure.code == "UNAVAILABLE", "{failure:?}"),
            }
        }
        assert_eq!(likes_in_the_file(&sql, "post:1").await, kept);
        server.limit_files(None);
        for number in 0..4 {
            let late = client.as_user(&format!("late{round}-{number}"));
            late.tap_until_done("post:1", Reaction::Like, "late").await;
            kept += 1;
            assert_eq!(likes_in_the_file(&sql, "post:1").await, kept);
        }
        let counted = async || client.item("post:1").await.like_count == kept;
        until_true("all are counted", SOON, counted).await;
    }
    sql.close().await;
    assert_eq!(server.stop(Signal::SIGTERM), Some(0));
}

async fn an_import_onto_a_full_disk_ends_and_can_go_on(app: &App) {
    const ROWS: usize = 20_000;
    let (folder, url) = (folder(), app.database.url());
    let mut csv = "user,item,state,time\n".to_owned();
    for row in 0..ROWS {
        writeln!(csv, "user{row},post:{},LIKE,2024-01-01T00:00:00Z", row % 10).expect("text");
    }
    std::fs::write(folder.path().join("likes.csv"), csv).expect("a file");
    let import = ["import", "likes.csv", "--database-url", &url];
    binary::run(folder.path(), &["migrate", "--database-url", &url]).success();
    let output = binary::run_on_a_small_disk(folder.path(), &import, 4_000_000);
    assert_eq!(output.code, Some(1), "{}{}", output.stdout, output.stderr);
    let kept = app.number("SELECT count(*) FROM reaction").await;
    assert!(kept > 0 && kept < 20_000, "{kept} rows were committed before the disk was full");
    binary::run(folder.path(), &import).success();
    assert_eq!(app.number("SELECT count(*) FROM reaction_event").await, 20_000, "each row once");
    assert_eq!(app.number("SELECT like_count FROM item_count WHERE item_id = 'post:3'").await, 2_000);
    let sql = app.sql().await;
    invariants::hold(&sql).await;
    sql.close().await;
}

async fn a_server_outlives_a_log_that_cannot_be_written(app: &App) {
    let folder = folder();
    let server = ServerProcess::start_with_a_full_log(folder.path(), &serve(app, &[]));
    let client = Client::new(app.http(), &server.address);
    client.as_user("ana").like("post:1").await;
    // What the lane cannot commit it warns of.
    let sql = app.sql().await;
    let session = sql.begin().await;
    let failure = client.as_user("ben").tap("post:1", Reaction::Like, None).await.expect_err("the file is taken");
    assert_eq!(failure.code, "UNAVAILABLE");
    session.rollback().await;
    client.as_user("ben").tap_until_done("post:1", Reaction::Like, "later").await;
    assert_eq!(likes_in_the_file(&sql, "post:1").await, 2);
    sql.close().await;
    assert_eq!(server.stop(Signal::SIGTERM), Some(0));
    let nowhere = ["import", "likes.csv", "--database-url", "sqlite:///nowhere/likewise.db"];
    assert_eq!(binary::run_with_a_full_log(folder.path(), &nowhere).code, Some(1), "the code says it too");
}
