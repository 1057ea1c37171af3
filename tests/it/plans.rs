//! How PostgreSQL carries out what the lanes ask, whatever it believes of the tables: by index, and without JIT.

use futures_util::future::join_all;
use likewise_tests::app::App;
use likewise_tests::harness::Test;
use likewise_tests::test_on;
use likewise_tests::views::Reaction;
use likewise_tests::wait::{SOON, until_true};
use serde_json::json;

/// Tables that grow: a lane that reads one of them from end to end gets slower with every like.
const LARGE: [&str; 8] = [
    "reaction",
    "reaction_event",
    "idempotency_record",
    "item",
    "account",
    "friendship",
    "erasure",
    "retraction_entry",
];

pub(crate) fn tests() -> Vec<Test> {
    vec![test_on!([Postgres], lanes_use_indexes_on_empty_young_and_full_tables).without_nodes().with_own_servers()]
}

async fn lanes_use_indexes_on_empty_young_and_full_tables(app: &App) {
    app.tampers();
    explain_everything(app).await;
    app.start_node(&[]).await;
    taps_are_planned_by_index(app, "empty").await;

    // Grown since the statistics were taken, if they were at all.
    fill(app, "young", 3_000).await;
    taps_are_planned_by_index(app, "young").await;

    fill(app, "full", 200_000).await;
    let sql = app.sql().await;
    sql.execute("ANALYZE").await;
    sql.close().await;
    taps_are_planned_by_index(app, "full").await;
}

/// Every plan goes to the server's log, after the name of the application.
async fn explain_everything(app: &App) {
    let sql = app.sql().await;
    let database = app.database.url().rsplit('/').next().expect("a URL ends with a database").to_owned();
    for setting in [
        format!("ALTER DATABASE \"{database}\" SET session_preload_libraries = 'auto_explain'"),
        format!("ALTER DATABASE \"{database}\" SET auto_explain.log_min_duration = 0"),
        "ALTER SYSTEM SET log_line_prefix = '@%a@ '".to_owned(),
        "SELECT pg_reload_conf()".to_owned(),
    ] {
        sql.execute(&setting).await;
    }
    sql.close().await;
}

/// Rows of people and items that no tap of the test touches.
async fn fill(app: &App, name: &str, rows: u32) {
    let sql = app.sql().await;
    for statement in [
        format!(
            "INSERT INTO reaction SELECT '{name}' || n, 'filler:' || n % 50, 1, 1, n, n FROM generate_series(1, {rows}) n"
        ),
        format!("INSERT INTO item (id, created_at) SELECT '{name}:' || n, n FROM generate_series(1, {rows}) n"),
        format!("INSERT INTO account (id) SELECT '{name}' || n FROM generate_series(1, {rows}) n"),
        format!("INSERT INTO friendship SELECT '{name}' || n, '{name}' || n + 1 FROM generate_series(1, {rows}) n"),
        format!("INSERT INTO erasure SELECT '{name}' || n, n, 0, n, 0 FROM generate_series(1, {rows}) n"),
        format!(
            "INSERT INTO retraction_entry SELECT '{name}-filler', '{name}' || n, 'filler', 1, n, 0
             FROM generate_series(1, {rows}) n"
        ),
        format!(
            "INSERT INTO idempotency_record SELECT '{name}' || n, 'k', 'f', 'a', n FROM generate_series(1, {rows}) n"
        ),
    ] {
        sql.execute(&statement).await;
    }
    sql.close().await;
}

async fn taps_are_planned_by_index(app: &App, tables: &str) {
    let before = app.database.postgres().log().len();
    let taps = (0..40).map(|number| {
        let client = app.as_user(&format!("{tables}-user{number}"));
        let item = format!("{tables}-post:{}", number % 3);
        tokio::spawn(async move {
            client.set_with_key(&item, Reaction::Like, "like").await;
            client.set_with_key(&item, Reaction::Dislike, "dislike").await;
            client.set_with_key(&item, Reaction::Like, "like").await;
        })
    });
    for tap in join_all(taps.collect::<Vec<_>>()).await {
        tap.expect("every tap succeeds");
    }
    let service = app.as_service();
    let user = format!("{tables}-user0");
    service.retract(tables, json!({ "userId": format!("{tables}-user1") })).await.data();
    service.restore(tables).await.data();
    service.erase_user(&user).await;
    until_true("an account is erased and another's likes are taken and given back", SOON, async || {
        let done = "SELECT (SELECT count(*) FROM erasure WHERE finished_at IS NULL)
                      + (SELECT count(*) FROM retraction WHERE status <> 3)";
        app.number(done).await == 0
    })
    .await;
    let log = app.database.postgres().log();
    let plans: Vec<&str> = log[before..].split("\n@").filter(|entry| entry.starts_with("likewise-lanes@")).collect();
    let by_index = plans.iter().filter(|plan| plan.contains("using reaction_pkey")).count();
    assert!(by_index > 0, "{tables}: the log holds the lanes' plans, among {} entries", plans.len());
    for plan in plans {
        for table in LARGE {
            let end_to_end = plan.lines().any(|line| {
                let scanned = line.split_once("Seq Scan on ").map(|(_, rest)| rest.split(' ').next());
                scanned == Some(Some(table))
            });
            assert!(!end_to_end, "{tables}: {table} is read from end to end:\n{plan}");
        }
        assert!(!plan.contains("JIT:"), "{tables}: compiled for nothing:\n{plan}");
    }
}
