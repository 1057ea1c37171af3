//! Two nodes on one PostgreSQL and one Redis, and roles.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use likewise_tests::app::App;
use likewise_tests::harness::Test;
use likewise_tests::test_on;
use likewise_tests::views::Reaction;

/// After a worker died between commit and publish, watchers know by the checkpoints, which are read once a second.
const FOUND_BY_POLL: Duration = Duration::from_secs(3);

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test_on!([Cluster], a_like_on_one_node_is_pushed_on_both),
        test_on!([Cluster], what_a_node_answered_is_true_on_the_other),
        test_on!([Cluster], api_and_worker_share_the_work).without_nodes(),
        test_on!([Cluster], a_fold_that_nobody_published_is_found).without_nodes(),
        test_on!([Cluster], nodes_come_and_go_under_load),
        test_on!([Postgres], two_counters_without_a_bus_count_once),
    ]
}

async fn a_like_on_one_node_is_pushed_on_both(app: &App) {
    let mut pages = [app.node(0).watch(&["post:1"]).await, app.node(1).watch(&["post:1"]).await];
    for page in &mut pages {
        page.next("the first event").await;
    }
    for count in 1..=20 {
        let node = usize::try_from(count % 2).expect("0 or 1");
        app.node(node).as_user(&format!("user{count}")).like("post:1").await;
        for page in &mut pages {
            page.until(&format!("like {count} is shown"), |item| item.like_count == count).await;
        }
    }
}

async fn what_a_node_answered_is_true_on_the_other(app: &App) {
    for round in 0..100 {
        let (here, there) = (app.node(round % 2).as_user("ana"), app.node((round + 1) % 2).as_user("ana"));
        let item = format!("post:{}", round % 5);
        let reaction = Reaction::ALL[round % 3];
        let payload = here.set(&item, reaction).await;
        let again = there.set(&item, reaction).await;
        assert!(!again.changed, "round {round}: the other node knew nothing of it");
        assert_eq!(again.version, payload.version);
        let liked = there.liked_items(serde_json::json!({ "first": 100 })).await.ids;
        assert_eq!(liked.contains(&item), reaction == Reaction::Like, "round {round}");
    }
}

async fn api_and_worker_share_the_work(app: &App) {
    let api = app.start_node(&[("--role", "api")]).await;
    let worker = app.start_node(&[("--role", "worker")]).await;
    let mut page = app.node(api).watch(&["post:1"]).await;
    app.node(api).as_user("ana").like("post:1").await;
    page.until("the like is shown", |item| item.like_count == 1).await;
    assert_eq!(app.node(worker).get("/livez").await.0, 200);
    let (status, _) =
        app.node(worker).post("/graphql", &serde_json::json!({ "query": "{ viewer { user { id } } }" })).await;
    assert_eq!(status, 404, "a worker answers no requests");
}

/// A worker that commits a fold and dies before it publishes looks to the others as one whose messages are all lost:
/// here it publishes where nobody listens.
async fn a_fold_that_nobody_published_is_found(app: &App) {
    let api = app.start_node(&[("--role", "api")]).await;
    app.start_node(&[("--role", "worker"), ("--redis-namespace", "elsewhere")]).await;
    let mut page = app.node(api).watch(&["post:1"]).await;
    page.next("the first event").await;
    for count in 1..=5 {
        app.node(api).as_user(&format!("user{count}")).like("post:1").await;
        let since = Instant::now();
        page.until(&format!("like {count} is shown"), |item| item.like_count == count).await;
        assert!(since.elapsed() < FOUND_BY_POLL, "like {count} took {:?}", since.elapsed());
    }
}

async fn nodes_come_and_go_under_load(app: &App) {
    let mut page = app.node(0).watch(&["post:1"]).await;
    let writer = app.node(0);
    let likes = (0..300).map(|number| {
        let user = writer.as_user(&format!("user{number}"));
        tokio::spawn(async move { user.tap_until_done("post:1", Reaction::Like, "first").await })
    });
    let likes = likes.collect::<Vec<_>>();
    for _ in 0..3 {
        app.restart_node(1).await;
    }
    for like in join_all(likes).await {
        like.expect("every like succeeds");
    }
    page.until("all likes are shown", |item| item.like_count == 300).await;
}

/// Two whole nodes on one database that cannot hear each other: both fold, and nothing counts twice.
async fn two_counters_without_a_bus_count_once(app: &App) {
    let other = app.start_node(&[]).await;
    let nodes = [app.node(0), app.node(other)];
    let taps = (0..600).map(|number: usize| {
        let user = nodes[number % 2].as_user(&format!("user{}", number % 50));
        let (item, reaction) = (format!("post:{}", number % 7), Reaction::ALL[number % 3]);
        tokio::spawn(async move { user.tap_until_done(&item, reaction, &format!("tap{number}")).await })
    });
    for tap in join_all(taps).await {
        tap.expect("every tap succeeds");
    }
}
