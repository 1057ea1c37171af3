//! Redis and PostgreSQL that stop, hang, restart and drop connections under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use likewise_tests::app::App;
use likewise_tests::client::Client;
use likewise_tests::harness::Test;
use likewise_tests::postgres::Shutdown;
use likewise_tests::views::Reaction;
use likewise_tests::wait::{SOON, outage, until_true};
use likewise_tests::{seeded, test_on};
use rand::RngExt;
use tokio::task::JoinHandle;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test_on!([Cluster], redis_stopped_for_ten_seconds_and_restarted_empty).with_own_servers(),
        test_on!([Cluster], redis_that_hangs_loses_nothing).with_own_servers(),
        test_on!([Cluster], local_watchers_need_no_redis).with_own_servers(),
        test_on!([Cluster], postgres_crashes_under_load).with_own_servers().limit(240),
        test_on!([Postgres], writes_say_unavailable_while_the_database_is_away).with_own_servers(),
        test_on!([Cluster], connections_cut_at_random_lose_and_double_nothing).limit(240),
    ]
}

/// People who tap for as long as they are let, each on their own, each tap until it is answered.
struct Load {
    stop: Arc<AtomicBool>,
    taps: Arc<AtomicUsize>,
    people: Vec<JoinHandle<()>>,
}

impl Load {
    fn start(nodes: &[Client], people: usize) -> Self {
        let (stop, taps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let person = |number: usize| {
            let client = nodes[number % nodes.len()].as_user(&format!("user{number}"));
            let (stop, taps) = (Arc::clone(&stop), Arc::clone(&taps));
            tokio::spawn(async move {
                for round in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let item = format!("post:{}", (number + round) % 4);
                    let reaction = Reaction::ALL[(number + round) % 3];
                    client.tap_until_done(&item, reaction, &format!("tap{round}")).await;
                    taps.fetch_add(1, Ordering::Relaxed);
                    outage(Duration::from_millis(20)).await;
                }
                client.tap_until_done("post:0", Reaction::Like, "last").await;
            })
        };
        let people = (0..people).map(person).collect();
        Self { stop, taps, people }
    }

    async fn has_done(&self, more: usize) {
        let until = self.taps.load(Ordering::Relaxed) + more;
        let done = async || self.taps.load(Ordering::Relaxed) >= until;
        until_true("the load goes on", SOON * 3, done).await;
    }

    /// Everybody's last tap likes post:0.
    async fn finish(self) -> i64 {
        self.stop.store(true, Ordering::Relaxed);
        let people = i64::try_from(self.people.len()).expect("a few");
        for person in self.people {
            person.await.expect("every tap is answered in the end");
        }
        people
    }
}

fn both(app: &App) -> [Client; 2] {
    [app.node(0), app.node(1)]
}

async fn redis_stopped_for_ten_seconds_and_restarted_empty(app: &App) {
    let mut pages = [app.node(0).watch(&["post:0"]).await, app.node(1).watch(&["post:0"]).await];
    let load = Load::start(&both(app), 10);
    load.has_done(50).await;
    app.redis().stop();
    outage(Duration::from_secs(10)).await;
    load.has_done(50).await;
    app.redis().start_again();
    load.has_done(50).await;
    let people = load.finish().await;
    for page in &mut pages {
        page.until("pushes resume on the same socket and end with the truth", |item| item.like_count == people).await;
    }
    app.node(0).as_user("late").like("post:0").await;
    for page in &mut pages {
        page.until("a like after the outage is shown", |item| item.like_count == people + 1).await;
    }
}

async fn redis_that_hangs_loses_nothing(app: &App) {
    let mut pages = [app.node(0).watch(&["post:0"]).await, app.node(1).watch(&["post:0"]).await];
    let load = Load::start(&both(app), 10);
    load.has_done(50).await;
    app.redis().pause();
    load.has_done(200).await;
    app.redis().resume();
    let people = load.finish().await;
    for page in &mut pages {
        page.until("pushes end with the truth", |item| item.like_count == people).await;
    }
}

async fn local_watchers_need_no_redis(app: &App) {
    app.redis().stop();
    let mut pages = [app.node(0).watch(&["post:1"]).await, app.node(1).watch(&["post:1"]).await];
    for page in &mut pages {
        page.next("the first event").await;
    }
    for (count, user) in (1..).zip(["ana", "ben", "cem"]) {
        assert!(app.node(0).as_user(user).like("post:1").await.changed);
        for page in &mut pages {
            page.until("the like is shown without Redis", |item| item.like_count == count).await;
        }
    }
    app.redis().start_again();
}

async fn postgres_crashes_under_load(app: &App) {
    let mut page = app.node(0).watch(&["post:0"]).await;
    let load = Load::start(&both(app), 10);
    for how in [Shutdown::Immediate, Shutdown::Fast] {
        load.has_done(50).await;
        app.database.postgres().stop(how);
        outage(Duration::from_secs(1)).await;
        app.database.postgres().start_again();
    }
    load.has_done(50).await;
    let people = load.finish().await;
    page.until("the page ends with the truth", |item| item.like_count == people).await;
}

async fn writes_say_unavailable_while_the_database_is_away(app: &App) {
    let ana = app.as_user("ana");
    ana.like("post:1").await;
    app.drained().await;
    app.database.postgres().stop(Shutdown::Fast);
    let refused = ana.tap("post:2", Reaction::Like, Some("tap-1")).await.expect_err("no database");
    assert_eq!((refused.code.as_str(), refused.retryable), ("UNAVAILABLE", Some(true)));
    assert!(refused.retry_after_ms.is_some());
    let heart = ana.query("{ item(id: \"post:1\") { likedByMe } }", serde_json::json!({})).await;
    assert_eq!(
        heart.data["item"],
        serde_json::json!({ "likedByMe": null }),
        "a heart is never guessed: {}",
        heart.text
    );
    assert!(!heart.errors.is_empty());
    let heart = app.client().query("{ item(id: \"post:1\") { likedByMe } }", serde_json::json!({})).await;
    assert_eq!(heart.data()["item"]["likedByMe"], false, "an anonymous caller has none, whatever is away");
    assert_eq!(app.client().get("/livez").await.0, 200);
    until_true("the node is not ready", SOON, async || app.client().get("/readyz").await.0 == 503).await;
    app.database.postgres().start_again();
    let payload = ana.tap_until_done("post:2", Reaction::Like, "tap-1").await;
    assert_eq!(payload.version, 1);
    until_true("the node is ready", SOON, async || app.client().get("/readyz").await.0 == 200).await;
}

/// Lanes, counters and readers lose connections at any point of their transactions: before COMMIT, and after it with
/// its answer lost. Every tap is answered in the end, and what must hold is checked as after every test.
async fn connections_cut_at_random_lose_and_double_nothing(app: &App) {
    let mut rng = seeded::rng("connections_cut_at_random_lose_and_double_nothing");
    let mut page = app.node(0).watch(&["post:0"]).await;
    let load = Load::start(&both(app), 16);
    let sql = app.sql().await;
    for _ in 0..150 {
        let share: f64 = rng.random_range(0.02..0.3);
        sql.execute(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name LIKE 'likewise%' AND random() < {share}"
        ))
        .await;
        outage(Duration::from_millis(rng.random_range(5..100))).await;
    }
    sql.close().await;
    load.has_done(50).await;
    let people = load.finish().await;
    page.until("the page ends with the truth", |item| item.like_count == people).await;
}
