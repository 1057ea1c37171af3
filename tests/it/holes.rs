//! A hole in the network: what was under way never comes, and nobody says so. New connections work again afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use likewise_tests::app::App;
use likewise_tests::chaos::half_open::HalfOpen;
use likewise_tests::database::{Session, Sql};
use likewise_tests::harness::Test;
use likewise_tests::test_on;
use likewise_tests::views::Reaction;
use likewise_tests::wait::{SOON, outage, until, until_true, within};
use serde_json::json;

/// The hole, long enough that every task of the node has met it.
const HOLE: Duration = Duration::from_secs(3);
/// The longest silence that a task bears is 30 s.
const GOES_ON: Duration = Duration::from_secs(60);

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test_on!([Postgres], all_work_goes_on_after_a_hole_in_the_network).without_nodes().limit(400),
        test_on!([Postgres], a_recount_whose_answer_is_lost_is_given_up).without_nodes(),
        test_on!([Postgres], a_recount_that_takes_long_is_waited_for).without_nodes(),
    ]
}

async fn all_work_goes_on_after_a_hole_in_the_network(app: &App) {
    let port = app.database.postgres().port();
    let proxy = HalfOpen::start(port).await;
    let url = app.database.url().replace(&format!(":{port}/"), &format!(":{}/", proxy.port()));
    app.start_node(&[("--database-url", &url), ("--reconcile-seconds", "0.2")]).await;
    let stop = Arc::new(AtomicBool::new(false));
    let people: Vec<_> = (0..8)
        .map(|number| {
            let (client, stop) = (app.as_user(&format!("user{number}")), Arc::clone(&stop));
            tokio::spawn(async move {
                for round in 0.. {
                    let reaction = Reaction::ALL[(number + round) % 3];
                    client.tap_until_done(&format!("post:{}", round % 4), reaction, &format!("tap{round}")).await;
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                }
            })
        })
        .collect();
    until_true("people react", SOON, async || app.number("SELECT count(*) FROM reaction").await > 20).await;
    proxy.swallow(true);
    outage(HOLE).await;
    proxy.swallow(false);
    stop.store(true, Ordering::Relaxed);
    let people = within("every tap is answered", GOES_ON, join_all(people)).await;
    people.into_iter().for_each(|person| person.expect("every tap is answered in the end"));

    app.as_user("late").tap_until_done("post:0", Reaction::Like, "late").await;
    let unfolded = "SELECT count(*) FROM log_partition l JOIN checkpoint c ON c.partition = l.id
                    WHERE c.\"offset\" <> l.next_offset - 1";
    until_true("the counter goes on", GOES_ON, async || app.number(unfolded).await == 0).await;
    let sql = app.sql().await;
    sql.execute(SPOIL).await;
    until_true("the reconciler goes on", GOES_ON, async || sql.number(HEALED).await == 1).await;
    let erase = "mutation { eraseUser(input: {userId: \"user0\"}) { erasure { finishedAt } } }";
    let service = app.as_service();
    let erased = async || {
        let answer = service.query(erase, json!({})).await;
        answer.data["eraseUser"]["erasure"]["finishedAt"].is_string()
    };
    until_true("the eraser goes on", GOES_ON, erased).await;
    sql.close().await;
}

const RECOUNTS: &str =
    "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'likewise-recounts'";
const SPOIL: &str = "UPDATE item_count SET like_count = like_count + 77 WHERE item_id = 'post:1'";
const HEALED: &str = "SELECT count(*) FROM item_count WHERE item_id = 'post:1' AND reconciled_at IS NOT NULL";

/// Locks what a recount reads, and waits until one is at it; returns its session's number.
async fn hold_recount(session: &Session, sql: &Sql) -> i64 {
    session.execute("LOCK TABLE item_count_shard IN ACCESS EXCLUSIVE MODE").await;
    let waits = format!("SELECT CAST(pid AS bigint) {RECOUNTS} AND state = 'active' AND wait_event_type = 'Lock'");
    until("a recount waits", SOON, async || sql.column::<i64>(&waits).await.first().copied()).await
}

async fn a_recount_whose_answer_is_lost_is_given_up(app: &App) {
    let port = app.database.postgres().port();
    let proxy = HalfOpen::start(port).await;
    let url = app.database.url().replace(&format!(":{port}/"), &format!(":{}/", proxy.port()));
    app.start_node(&[("--database-url", &url), ("--reconcile-seconds", "0.2")]).await;
    app.as_user("ana").like("post:1").await;
    app.drained().await;
    let sql = app.sql().await;
    let session = sql.begin().await;
    let lost = hold_recount(&session, &sql).await;
    proxy.swallow(true);
    session.commit().await;
    let active = format!("SELECT count(*) {RECOUNTS} AND pid = {lost} AND state = 'active'");
    until_true("the answer is on its way", SOON, async || sql.number(&active).await == 0).await;
    proxy.swallow(false);
    sql.execute(SPOIL).await;
    until_true("another recount heals", GOES_ON, async || sql.number(HEALED).await == 1).await;
    sql.close().await;
}

async fn a_recount_that_takes_long_is_waited_for(app: &App) {
    app.start_node(&[("--reconcile-seconds", "0.2")]).await;
    app.as_user("ana").like("post:1").await;
    app.drained().await;
    let sql = app.sql().await;
    let session = sql.begin().await;
    let counting = hold_recount(&session, &sql).await;
    // Some looks.
    outage(Duration::from_secs(12)).await;
    session.execute(SPOIL).await;
    session.commit().await;
    until_true("the count is healed", GOES_ON, async || sql.number(HEALED).await == 1).await;
    let still = format!("SELECT count(*) {RECOUNTS} AND pid = {counting}");
    assert_eq!(sql.number(&still).await, 1, "the same session counts on");
    sql.close().await;
}
