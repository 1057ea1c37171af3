//! The reconciler of a running server: what it heals, says and counts, and when it waits.

use likewise_tests::app::App;
use likewise_tests::binary::ServerProcess;
use likewise_tests::client::Client;
use likewise_tests::harness::Test;
use likewise_tests::postgres::connect;
use likewise_tests::wait::{SOON, until, until_true};
use likewise_tests::{on_both, test_on};
use nix::sys::signal::Signal;
use sea_orm::{ConnectionTrait, TransactionTrait};

use crate::reconcile::{execute, folder, metric, react, run, serve};

pub(crate) fn tests() -> Vec<Test> {
    let tests = vec![
        on_both!(the_reconciler_heals_by_itself_and_says_so),
        test_on!([Postgres], the_reconciler_waits_while_the_counter_is_behind),
        test_on!([Postgres], cut_connections_do_not_end_the_reconciler),
    ];
    tests.into_iter().map(|test| test.without_nodes().with_binary()).collect()
}

async fn the_reconciler_heals_by_itself_and_says_so(app: &App) {
    let folder = folder();
    let server = ServerProcess::start(folder.path(), &serve(app, &["--reconcile-seconds", "0.2"]));
    let client = Client::new(app.http(), &server.address);
    for item in ["post:1", "post:2"] {
        react(&client, item).await;
    }
    app.drained().await;
    let mut page = client.watch(&["post:1"]).await;
    page.until("the counts are shown", |item| item.like_count == 3).await;
    let passed = async || metric(&client, "likewise_reconcile_last_pass_timestamp_seconds").await > 0;
    until_true("a pass is over", SOON, passed).await;
    assert_eq!(metric(&client, "likewise_count_drift_total").await, 0, "{}", server.log());
    assert!(metric(&client, "likewise_reconciled_ranges_total").await > 0);

    let version = page.latest("post:1").expect("an event").count_version;
    let spoil =
        "UPDATE item_count SET like_count = like_count - 2, dislike_count = dislike_count + 1 WHERE item_id = 'post:1'";
    execute(app, &[spoil.to_owned()]).await;
    page.until("the healed count is pushed", |item| item.count_version > version && item.like_count == 3).await;
    until_true("the heal is counted", SOON, async || metric(&client, "likewise_counts_healed_total").await == 1).await;
    assert_eq!(metric(&client, "likewise_count_drift_total").await, 1);
    assert_eq!(metric(&client, "likewise_count_drift_reactions_total").await, 3);
    let log = server.log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("ERROR")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    for word in ["item=post:1", "row_likes=3", "total_likes=1", "total_dislikes=3"] {
        assert!(lines[0].contains(word), "{word}: {}", lines[0]);
    }
    assert_eq!(server.stop(Signal::SIGTERM), Some(0));
    assert_eq!(run(app, &["reconcile", "--dry-run"]).await.code, Some(0));
}

/// With the checkpoints held the log grows past the bound: the reconciler says so and waits, then goes on.
async fn the_reconciler_waits_while_the_counter_is_behind(app: &App) {
    let connection = connect(&app.database.url()).await;
    let fold = connection.begin().await.expect("a transaction");
    fold.execute_unprepared("SELECT * FROM checkpoint FOR UPDATE").await.expect("the locks");
    let folder = folder();
    let server = ServerProcess::start(folder.path(), &serve(app, &["--reconcile-seconds", "0.2"]));
    let client = Client::new(app.http(), &server.address);
    let likes = "WITH n AS (SELECT n FROM generate_series(1, 60000) AS n),
           r AS (INSERT INTO reaction (user_id, item_id, state, version, reacted_at, event_offset)
                 SELECT 'user' || n, 'post:' || n % 9, 1, 1, n, n FROM n),
           i AS (INSERT INTO item (id, created_at) SELECT 'post:' || n, 1 FROM n WHERE n < 9 UNION SELECT 'post:0', 1),
           e AS (INSERT INTO reaction_event SELECT 0, n, gen_random_uuid(), 'user' || n, 'post:' || n % 9, 0, 1, 1, 0, 1, 0, n
                 FROM n)
         UPDATE log_partition SET next_offset = 60001 WHERE id = 0";
    execute(app, &[likes.to_owned()]).await;
    let waits = until("the reconciler waits", SOON, async || {
        let waits = metric(&client, "likewise_reconcile_waits_total").await;
        (waits > 0).then_some(waits)
    })
    .await;
    until_true("it goes on waiting", SOON, async || metric(&client, "likewise_reconcile_waits_total").await > waits)
        .await;
    let lines = server.log().lines().filter(|line| line.contains("waits for the counter")).count();
    assert_eq!(lines, 1, "{}", server.log());
    fold.rollback().await.expect("the transaction is open");
    connection.close().await.expect("the connection is open");
    app.drained().await;
    let ranges = metric(&client, "likewise_reconciled_ranges_total").await;
    let on = async || metric(&client, "likewise_reconciled_ranges_total").await > ranges;
    until_true("the reconciler goes on", SOON, on).await;
    assert_eq!(metric(&client, "likewise_count_drift_total").await, 0, "{}", server.log());
    assert_eq!(server.stop(Signal::SIGTERM), Some(0));
    assert_eq!(run(app, &["reconcile", "--dry-run"]).await.code, Some(0));
}

/// Its own connection and the pipeline's, while it compares, pauses and heals.
async fn cut_connections_do_not_end_the_reconciler(app: &App) {
    let folder = folder();
    let settings = serve(app, &["--reconcile-seconds", "0.05"]);
    let pause = [("FAILPOINTS", "reconciler_before_heal=return(pause 20)")];
    let server = ServerProcess::start_with(folder.path(), &settings, &pause);
    let client = Client::new(app.http(), &server.address);
    react(&client, "post:1").await;
    app.drained().await;
    let sql = app.sql().await;
    let mut cuts = 0;
    while cuts < 60 {
        sql.execute("UPDATE item_count SET like_count = like_count + 5 WHERE item_id = 'post:1'").await;
        let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database()
                     AND application_name IN ('likewise-recounts', 'likewise-pipeline') AND random() < 0.5";
        cuts += sql.number(cut).await;
    }
    let right = async || sql.number("SELECT like_count FROM item_count WHERE item_id = 'post:1'").await == 3;
    until_true("the last drift is healed", SOON, right).await;
    sql.close().await;
    assert_eq!(server.stop(Signal::SIGTERM), Some(0));
    assert_eq!(run(app, &["reconcile", "--dry-run"]).await.code, Some(0));
}
