//! A clock under the database that is set back by a minute: nothing is lost, versions rise, and counts say truly what
//! they include once the clock has caught up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use likewise_tests::app::App;
use likewise_tests::client::Client;
use likewise_tests::database::Sql;
use likewise_tests::harness::Test;
use likewise_tests::test_on;
use likewise_tests::views::Reaction;
use likewise_tests::wait::{SOON, until, until_true};

const IMPATIENT: &[(&str, &str)] = &[("--staleness-bound-ms", "500")];
const MINUTE: i64 = 60;
const MICROS: i64 = 1_000_000;
const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test_on!([Cluster], a_clock_set_back_under_postgres_loses_nothing)
            .without_nodes()
            .with_own_servers()
            .with(IMPATIENT),
        test_on!([Sqlite], a_clock_set_back_under_sqlite_loses_nothing),
    ]
}

/// People who tap until they are told to stop; everybody's last tap likes post:0.
async fn while_people_tap(node: &Client, meanwhile: impl AsyncFnOnce()) -> i64 {
    let stop = Arc::new(AtomicBool::new(false));
    let person = |number: usize| {
        let (client, stop) = (node.as_user(&format!("user{number}")), Arc::clone(&stop));
        tokio::spawn(async move {
            let mut last = 0;
            for round in 0_usize.. {
                let item = format!("post:{}", (number + round) % 4);
                let payload =
                    client.tap_until_done(&item, Reaction::ALL[(number + round) % 3], &format!("tap{round}")).await;
                last += usize::from(payload.changed);
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
            client.tap_until_done("post:0", Reaction::Like, "last").await;
            assert!(last > 0, "user{number} did something");
        })
    };
    let people: Vec<_> = (0..8).map(person).collect();
    meanwhile().await;
    stop.store(true, Ordering::Relaxed);
    let likes = i64::try_from(people.len()).expect("a few");
    for person in people {
        person.await.expect("every tap is answered");
    }
    likes
}

async fn events(sql: &Sql) -> i64 {
    sql.number("SELECT count(*) FROM reaction_event").await
}

/// Waits until so many more events are committed.
async fn more_events(sql: &Sql, more: i64) {
    let until = events(sql).await + more;
    until_true("the log grows", SOON * 2, async || events(sql).await >= until).await;
}

/// The server process of PostgreSQL runs on a clock that the test sets; everything else keeps the machine's.
async fn a_clock_set_back_under_postgres_loses_nothing(app: &App) {
    let postgres = app.database.postgres();
    postgres.restart_on_own_clock();
    let api = app.start_node(&[("--role", "api")]).await;
    let worker = app.start_node(&[("--role", "worker")]).await;
    let (anonymous, sql) = (app.node(api), app.sql().await);
    let mut page = anonymous.watch(&["post:0"]).await;
    let likes = while_people_tap(&anonymous, async || {
        more_events(&sql, 200).await;
        let before = sql.number(NOW).await;
        postgres.set_clock(-MINUTE);
        let after = sql.number(NOW).await;
        assert!(after < before - (MINUTE - 10) * MICROS, "the clock went back: {before}, then {after}");
        more_events(&sql, 200).await;
    })
    .await;
    // The page checks by itself that no version goes back.
    let shown = page.until("the page ends with the truth", |item| item.like_count == likes).await;
    app.drained().await;
    let behind = anonymous.item("post:0").await;
    assert_eq!(behind.like_count, likes);
    assert!(behind.count_version >= shown.count_version, "{shown:?} {behind:?}");
    let future = format!("SELECT count(*) FROM reaction_event WHERE created_at > ({NOW})");
    assert!(sql.number(&future).await > 200, "what came after the change is timed no earlier than what came before");
    assert_eq!(app.node(api).as_user("ana").like("post:0").await.item.like_count, likes + 1);
    page.until("a like is shown while the clock is behind", |item| item.like_count == likes + 1).await;

    postgres.set_clock(0);
    assert_eq!(sql.number(&future).await, 0, "the clock has caught up");
    let ben = app.node(api).as_user("ben").like("post:0").await;
    let liked_at = ben.item.my_reaction_at.expect("ben has reacted");
    let passed = async || anonymous.item("post:0").await.count_as_of > liked_at;
    until_true("countAsOf passes a like again", SOON, passed).await;
    assert_eq!(anonymous.item("post:0").await.like_count, likes + 2);
    app.stop_node(worker).await;
    let cem = app.node(api).as_user("cem").like("post:0").await;
    let stale = async || {
        let item = anonymous.item("post:0").await;
        (item.count_freshness == "STALE").then_some(item)
    };
    let stale = until("counts are stale again where nobody folds", SOON, stale).await;
    assert_eq!(stale.like_count, likes + 2);
    assert!(stale.count_as_of <= cem.item.my_reaction_at.expect("cem has reacted"), "{}", stale.count_as_of);
    app.start_stopped_node(worker, &[("--role", "worker")]).await;
    page.until("the last like is shown", |item| item.like_count == likes + 3 && item.count_freshness == "LIVE").await;
    sql.close().await;
}

/// SQLite has no clock but this process's. Only differences count: moving all that is stored a minute ahead is setting
/// the clock back by a minute, and moving it back again is the clock that catches up.
async fn a_clock_set_back_under_sqlite_loses_nothing(app: &App) {
    let (anonymous, sql) = (app.client(), app.sql().await);
    let mut page = anonymous.watch(&["post:0"]).await;
    let likes = while_people_tap(&anonymous, async || {
        more_events(&sql, 200).await;
        move_stored_times(&sql, MINUTE).await;
        more_events(&sql, 200).await;
    })
    .await;
    page.until("the page ends with the truth", |item| item.like_count == likes).await;
    app.drained().await;
    assert_eq!(anonymous.item("post:0").await.like_count, likes);
    let ana = app.as_user("ana").like("post:0").await;
    assert_eq!(ana.item.like_count, likes + 1);
    let shown = page.until("a like is shown while the clock is behind", |item| item.like_count == likes + 1).await;
    assert!(shown.count_as_of < ana.item.my_reaction_at.expect("ana has reacted"), "nothing is claimed of the future");

    // Two seconds stay to be waited for.
    move_stored_times(&sql, 2 - MINUTE).await;
    let ben = app.as_user("ben").like("post:0").await;
    let liked_at = ben.item.my_reaction_at.expect("ben has reacted");
    let passed = async || anonymous.item("post:0").await.count_as_of > liked_at;
    until_true("countAsOf passes a like again", SOON, passed).await;
    let item = anonymous.item("post:0").await;
    assert_eq!((item.like_count, item.count_freshness.as_str()), (likes + 2, "LIVE"));
    page.until("the last like is shown", |item| item.like_count == likes + 2).await;
    sql.close().await;
}

/// Versions never go back, so they only move ahead.
async fn move_stored_times(sql: &Sql, seconds: i64) {
    let micros = seconds * MICROS;
    sql.execute(&format!(
        "BEGIN IMMEDIATE;
         UPDATE log_partition SET last_at = last_at + {micros};
         UPDATE reaction_event SET created_at = created_at + {micros};
         UPDATE reaction SET reacted_at = reacted_at + {micros};
         UPDATE idempotency_record SET created_at = created_at + {micros};
         UPDATE item_count SET version = version + {};
         COMMIT",
        seconds.max(0) * 1_000
    ))
    .await;
}
