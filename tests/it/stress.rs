//! Loads and values at their extremes: clients that hang up, many writers on one file, counts past 31 bits.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use likewise_server::domain::ReactionState;
use likewise_tests::app::App;
use likewise_tests::bare::{Bare, wish};
use likewise_tests::binary::ServerProcess;
use likewise_tests::client::Client;
use likewise_tests::harness::Test;
use likewise_tests::views::{Payload, Reaction};
use likewise_tests::wait::{SOON, outage, until_true};
use likewise_tests::{on_both, seeded, test_on};
use nix::sys::signal::Signal;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::reconcile::{folder, serve};
use crate::reconcile_load::Load;

/// Fewer connections than there are partitions.
const TWO_LANE_CONNECTIONS: &[(&str, &str)] = &[("--lane-connections", "2")];
/// The reconciler passes again and again.
const RECONCILING: &[(&str, &str)] = &[("--reconcile-seconds", "1")];
const HANG_UPS: usize = 10_000;
/// Beside them, so many wait for their answer, however slow the machine is.
const PATIENT: usize = 1_000;
/// Requests under way at a time.
const CALLERS: usize = 48;
/// Past what the database lets a transaction stand idle before it ends it.
const IDLE_IN_TRANSACTION: Duration = Duration::from_millis(2_500);
/// How long a server on a slow disk holds SQLite's write lock for a commit, who taps there all the time, and how many
/// commits come from elsewhere.
const SLOW_COMMIT: Duration = Duration::from_millis(20);
const PEOPLE: usize = 50;
const TURNS: usize = 60;
const COUNT_MAX: i64 = (1 << 53) - 1;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test_on!([Postgres], ten_thousand_clients_hang_up_and_nothing_is_lost)
            .with_own_servers()
            .with(TWO_LANE_CONNECTIONS),
        test_on!([Sqlite], fifty_writers_never_meet_a_busy_file).with(RECONCILING),
        test_on!([Sqlite], a_command_gets_its_turn_beside_a_server_that_never_rests).without_nodes().with_binary(),
        on_both!(counts_past_31_bits_are_exact),
    ]
}

/// A tap that was answered before its client hung up.
struct Answered {
    user: String,
    item: String,
    key: Option<String>,
    payload: Payload,
}

async fn ten_thousand_clients_hang_up_and_nothing_is_lost(app: &App) {
    let mut random = seeded::rng("ten_thousand_clients_hang_up");
    let callers = Arc::new(Semaphore::new(CALLERS));
    let all = HANG_UPS + PATIENT;
    let mut taps = Vec::with_capacity(all);
    for number in 0..all {
        let slot = Arc::clone(&callers).acquire_owned().await.expect("the semaphore stays open");
        let (user, item) = (format!("user{}", random.random_range(0..500)), format!("post:{}", number % 20));
        let reaction = Reaction::ALL[random.random_range(0..3)];
        // Without a key, a tap that changes nothing writes nothing: a batch that is rolled back.
        let key = (number % 3 != 0).then(|| format!("tap{number}"));
        let patience = match number % (all / PATIENT) {
            0 => SOON,
            _ => Duration::from_millis(random.random_range(0..=60)),
        };
        let client = app.as_user(&user);
        taps.push(tokio::spawn(async move {
            let _slot = slot;
            // Dropping the request closes its connection.
            let answer = tokio::time::timeout(patience, client.tap(&item, reaction, key.as_deref())).await;
            let payload = answer.ok()?.ok()?;
            Some(Answered { user, item, key, payload })
        }));
    }
    let mut answered = Vec::new();
    for tap in join_all(taps).await {
        answered.extend(tap.expect("no client panics"));
    }
    let hung_up = all - answered.len();
    likewise_tests::say(&format!("{} were answered, {hung_up} hung up", answered.len()));
    assert!(answered.len() > PATIENT / 2 && hung_up > HANG_UPS / 100, "{} were answered", answered.len());

    let sql = app.sql().await;
    let in_transaction = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND application_name LIKE 'likewise%' AND state LIKE 'idle in transaction%'";
    until_true("no session is in a transaction", SOON, async || sql.number(in_transaction).await == 0).await;
    let records: HashSet<String> =
        sql.column::<String>("SELECT user_id || ' ' || key FROM idempotency_record").await.into_iter().collect();
    let flips = "SELECT user_id || ' ' || item_id || ' ' || version || ' ' || new_state FROM reaction_event";
    let flips: HashSet<String> = sql.column::<String>(flips).await.into_iter().collect();
    for Answered { user, item, key, payload } in &answered {
        let record = key.as_ref().map(|key| format!("{user} {key}"));
        assert!(
            record.is_none_or(|record| records.contains(&record)),
            "{user} was answered {key:?}, which is not stored"
        );
        let code = match payload.reaction {
            Reaction::None => 0,
            Reaction::Like => 1,
            Reaction::Dislike => 2,
        };
        let flip = format!("{user} {item} {} {code}", payload.version);
        assert!(payload.version == 0 || flips.contains(&flip), "{user} was answered {payload:?}");
    }
    sql.close().await;

    // A connection that was left in a transaction would be ended by the database, which says so.
    outage(IDLE_IN_TRANSACTION).await;
    let log = app.database.postgres().log();
    assert!(!log.contains("idle-in-transaction"), "a connection was left in a transaction");
    for number in 0..50 {
        let payload = app.as_user(&format!("late{number}")).like("post:late").await;
        assert!(payload.changed && payload.version == 1, "the service goes on: {payload:?}");
    }
}

/// A server commits without a rest, on a slow disk: each commit of another process still gets the write lock, and the
/// server goes on.
async fn a_command_gets_its_turn_beside_a_server_that_never_rests(app: &App) {
    let folder = folder();
    let slow = format!("lane_before_commit=return(pause {})", SLOW_COMMIT.as_millis());
    let settings = serve(app, &["--log", "off"]);
    let server = ServerProcess::start_with(folder.path(), &settings, &[("FAILPOINTS", slow.as_str())]);
    let load = Load::start(&Client::new(app.http(), &server.address), PEOPLE);
    until_true("the server is at work", SOON, async || load.taps() > 2 * PEOPLE as u64).await;
    let bare = Bare::open(&app.database).await;
    let before = load.taps();
    for round in 0..TURNS {
        let like = wish("ana", &format!("post:{round}"), ReactionState::Like, None);
        let answer = bare.one_by_one(&[like]).await.remove(0);
        answer.unwrap_or_else(|error| panic!("in round {round}: {error:?}"));
    }
    assert!(load.taps() > before, "the server goes on");
    load.finish().await;
    bare.close().await;
    assert_eq!(server.stop(Signal::SIGTERM), Some(0));
}

/// Fifty writers, the counter, the reconciler and readers share one file: every answer is OK or OVERLOADED.
async fn fifty_writers_never_meet_a_busy_file(app: &App) {
    let mut random = seeded::rng("fifty_writers");
    let mut work = Vec::new();
    for number in 0..50 {
        let (client, mut random) = (app.as_user(&format!("user{number}")), StdRng::from_rng(&mut random));
        work.push(tokio::spawn(async move {
            let mut overloaded = 0;
            for round in 0..60 {
                let item = format!("post:{}", random.random_range(0..10));
                let (reaction, key) = (Reaction::ALL[random.random_range(0..3)], format!("tap{round}"));
                match client.tap(&item, reaction, Some(&key)).await {
                    Ok(payload) => assert!(payload.item.like_count >= 0),
                    Err(failure) if failure.code == "OVERLOADED" => overloaded += 1,
                    Err(failure) => panic!("user{number}, {key}: {failure:?}"),
                }
            }
            overloaded
        }));
    }
    for _ in 0..5 {
        let client = app.client();
        work.push(tokio::spawn(async move {
            let ids: Vec<_> = (0..10).map(|number| format!("post:{number}")).collect();
            for _ in 0..60 {
                assert_eq!(client.items(&ids).await.len(), 10);
            }
            0
        }));
    }
    let mut overloaded = 0;
    for worker in join_all(work).await {
        overloaded += worker.expect("every answer is as it may be");
    }
    likewise_tests::say(&format!("{overloaded} of 3000 taps were answered OVERLOADED"));
}

/// Counts are 64 bits in the store and numbers that every JSON reader keeps exact outside: to 2^53 − 1, and past it they
/// are shown as that.
async fn counts_past_31_bits_are_exact(app: &App) {
    app.tampers();
    for (item, base) in [("post:31", 1 << 31), ("post:32", 1 << 32), ("post:53", COUNT_MAX - 2)] {
        app.as_user("ana").like(item).await;
        app.drained().await;
        let sql = app.sql().await;
        for table in ["item_count_shard", "item_count"] {
            let set =
                format!("UPDATE {table} SET like_count = {base}, dislike_count = {base} WHERE item_id = '{item}'");
            sql.execute(&set).await;
        }
        sql.close().await;
        let mut page = app.client().watch(&[item]).await;
        page.until("the count is pushed", |event| event.like_count == base && event.dislike_count == base).await;

        let ben = app.as_user("ben");
        let liked = ben.like(item).await;
        assert_eq!((liked.item.like_count, liked.item.dislike_count), (base + 1, base));
        page.until("one like more is pushed", |event| event.like_count == base + 1).await;
        let disliked = ben.set(item, Reaction::Dislike).await;
        assert_eq!((disliked.item.like_count, disliked.item.dislike_count), (base, base + 1));
        page.until("it moves over", |event| event.like_count == base && event.dislike_count == base + 1).await;
        app.drained().await;
        let text =
            app.client().query("query ($id: ID!) { item(id: $id) { dislikeCount } }", json!({ "id": item })).await;
        assert!(text.text.contains(&format!("\"dislikeCount\":{}", base + 1)), "a JSON number: {}", text.text);
        ben.unlike(item).await;
        page.until("it is gone", |event| event.like_count == base && event.dislike_count == base).await;
    }
    // 2^53 − 3 likes, and four more.
    let mut page = app.client().watch(&["post:53"]).await;
    for (user, shown) in [("a", COUNT_MAX - 1), ("b", COUNT_MAX), ("c", COUNT_MAX), ("d", COUNT_MAX)] {
        assert_eq!(app.as_user(user).like("post:53").await.item.like_count, shown);
        app.drained().await;
        page.until("the count is pushed", |event| event.like_count == shown).await;
    }
    let stored = "SELECT like_count FROM item_count WHERE item_id = 'post:53'";
    assert_eq!(app.number(stored).await, COUNT_MAX + 2, "the store goes on counting");
    for (user, shown) in [("a", COUNT_MAX), ("b", COUNT_MAX), ("c", COUNT_MAX - 1)] {
        assert_eq!(app.as_user(user).unlike("post:53").await.item.like_count, shown);
        app.drained().await;
    }
    page.until("the count comes back below its top", |event| event.like_count == COUNT_MAX - 1).await;
}
