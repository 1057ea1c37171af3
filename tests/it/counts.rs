//! What a count says about itself, and what reading it costs.

use std::time::Duration;

use likewise_tests::app::App;
use likewise_tests::client::Client;
use likewise_tests::harness::Test;
use likewise_tests::views::Reaction;
use likewise_tests::wait::{SOON, until, until_true};
use likewise_tests::{on_all, on_both, test_on};
use serde_json::json;

const IMPATIENT: &[(&str, &str)] = &[("--staleness-bound-ms", "500")];

pub(crate) fn tests() -> Vec<Test> {
    vec![
        on_both!(a_like_is_in_everybodys_count_soon),
        on_both!(count_as_of_passes_every_like_that_is_counted),
        on_all!(count_version_never_goes_back),
        on_both!(a_flip_back_and_forth_still_moves_the_version),
        on_both!(items_come_in_the_order_that_was_asked_for),
        on_both!(a_feed_of_fifty_takes_as_many_statements_as_one_of_five),
        on_both!(an_event_on_a_socket_takes_few_statements),
        test_on!([Cluster], without_a_worker_counts_say_that_they_are_stale).without_nodes().with(IMPATIENT),
        on_both!(health_and_metrics_answer),
    ]
}

async fn a_like_is_in_everybodys_count_soon(app: &App) {
    app.as_user("ana").like("post:1").await;
    let count = async || app.client().item("post:1").await.like_count == 1;
    until_true("others see the like", SOON, count).await;
    let item = app.client().item("post:1").await;
    assert_eq!(item.count_freshness, "LIVE");
}

async fn count_as_of_passes_every_like_that_is_counted(app: &App) {
    let (ana, anonymous) = (app.as_user("ana"), app.client());
    let mut before = String::new();
    for round in 0..20 {
        let liked_at = ana.set("post:1", if round % 2 == 0 { Reaction::Like } else { Reaction::None }).await;
        let liked_at = liked_at.item.my_reaction_at.expect("the viewer has reacted");
        let item = until("countAsOf passes the like", SOON, async || {
            let item = anonymous.item("post:1").await;
            (item.count_as_of > liked_at).then_some(item)
        })
        .await;
        assert_eq!(item.like_count, i64::from(round % 2 == 0), "the like is counted by countAsOf, {item:?}");
        assert!(item.count_as_of >= before, "countAsOf rises while the clock does");
        before = item.count_as_of;
    }
    let is_rfc_3339 = before.len() == "2026-01-01T00:00:00.000Z".len() && before.ends_with('Z');
    assert!(is_rfc_3339, "{before} has milliseconds and is UTC");
}

async fn count_version_never_goes_back(app: &App) {
    let nodes = app.running_nodes();
    let mut last = 0;
    for round in 0..60 {
        let client = app.node(round % nodes);
        // Everybody in turn likes, then dislikes, and so on: each round is a change.
        let reaction = if (round / 7).is_multiple_of(2) { Reaction::Like } else { Reaction::Dislike };
        client.as_user(&format!("user{}", round % 7)).set("post:1", reaction).await;
        app.drained().await;
        let item = client.item("post:1").await;
        assert!(item.count_version > last, "round {round}: {} after {last}", item.count_version);
        last = item.count_version;
        if round % 20 == 19 {
            app.restart_node(round % nodes).await;
        }
    }
}

async fn a_flip_back_and_forth_still_moves_the_version(app: &App) {
    let ana = app.as_user("ana");
    ana.like("post:1").await;
    app.drained().await;
    let before = app.client().item("post:1").await;
    ana.unlike("post:1").await;
    ana.like("post:1").await;
    app.drained().await;
    let after = app.client().item("post:1").await;
    assert_eq!(after.like_count, before.like_count);
    assert!(after.count_version > before.count_version, "{before:?} {after:?}");
}

async fn items_come_in_the_order_that_was_asked_for(app: &App) {
    app.as_user("ana").like("post:1").await;
    let ids = ["post:2", "post:1", "post:2", "post:3"].map(str::to_owned);
    let items = app.as_user("ana").items(&ids).await;
    assert_eq!(items.iter().map(|item| item.id.clone()).collect::<Vec<_>>(), ids);
    assert_eq!(items.iter().map(|item| item.like_count).collect::<Vec<_>>(), [0, 1, 0, 0]);
    assert!(app.client().items(&[]).await.is_empty());
}

const FEED: &str = "fragment feed on Item { id type likeCount dislikeCount countAsOf countVersion countFreshness \
     likedByMe myReaction myReactionVersion myReactionAt friendLikers { users { id name } othersCount complete } \
     likers(first: 3) { edges { node { id name } likedAt } pageInfo { hasNextPage } } }";
/// Counts, own rows, recent likers, friends, names, likers, and one to spare.
const MOST_STATEMENTS: u64 = 8;

async fn fill_feed(app: &App) -> Vec<String> {
    let ids: Vec<_> = (0..50).map(|number| format!("post:{number}")).collect();
    app.as_service().upsert_users(json!([{ "id": "ana", "friendIds": ["ben"] }])).await.data();
    for id in &ids {
        app.as_user("ben").like(id).await;
        app.as_user("cem").like(id).await;
    }
    app.drained().await;
    ids
}

async fn statements(client: &Client) -> u64 {
    let (status, text) = client.get("/metrics").await;
    assert_eq!(status, 200);
    let lines = text.lines().filter(|line| line.starts_with("likewise_store_reads_total"));
    let values = lines.map(|line| line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok()));
    let total: f64 = values.map(|value| value.expect("a number")).sum();
    assert!(total > 0.0, "no statements are counted:\n{text}");
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small whole number")]
    let total = total as u64;
    total
}

/// The fewest reads between two looks at the metric: where a machine is so busy that a batch of fields goes out before
/// all of it has been asked for, a request takes more.
async fn cost(client: &Client, request: impl AsyncFn()) -> u64 {
    let mut fewest = u64::MAX;
    for _ in 0..30 {
        let before = statements(client).await;
        request().await;
        fewest = fewest.min(statements(client).await - before);
    }
    fewest
}

async fn a_feed_of_fifty_takes_as_many_statements_as_one_of_five(app: &App) {
    let ids = fill_feed(app).await;
    let ana = app.as_user("ana");
    let document = format!("query ($ids: [ID!]!) {{ items(ids: $ids) {{ ...feed }} }} {FEED}");
    let feed = async |size: usize| {
        let data = ana.query(&document, json!({ "ids": &ids[..size] })).await.data();
        let items = data["items"].as_array().expect("a list");
        assert_eq!(items.len(), size);
        assert_eq!(items[size - 1]["friendLikers"]["users"][0]["id"], "ben");
    };
    let (five, fifty) = (cost(&ana, async || feed(5).await).await, cost(&ana, async || feed(50).await).await);
    assert_eq!(fifty, five, "one statement for each kind of field, whatever the size");
    assert!(fifty <= MOST_STATEMENTS, "{fifty} statements for a feed");
}

async fn an_event_on_a_socket_takes_few_statements(app: &App) {
    let ids = fill_feed(app).await;
    let ana = app.as_user("ana");
    let document = format!("subscription ($ids: [ID!]!) {{ itemUpdated(ids: $ids) {{ ...feed }} }} {FEED}");
    let feed = async |size: usize| {
        let mut socket = ana.socket().await;
        socket.subscribe(&document, json!({ "ids": &ids[..size] })).await;
        for _ in 0..size {
            socket.payload("the first state of each item", SOON).await;
        }
    };
    let (one, fifty) = (cost(&ana, async || feed(1).await).await, cost(&ana, async || feed(50).await).await);
    assert!(one <= MOST_STATEMENTS, "{one} statements for the first event of one item");
    assert!(fifty <= MOST_STATEMENTS * 50, "{fifty} statements for the first events of fifty");
}

async fn without_a_worker_counts_say_that_they_are_stale(app: &App) {
    let api = app.start_node(&[("--role", "api")]).await;
    let anonymous = app.node(api);
    let mut page = anonymous.watch(&["post:1"]).await;
    assert_eq!(page.next("the first event").await.count_freshness, "LIVE");
    app.node(api).as_user("ana").like("post:1").await;
    let stale = page.until("the page says that it is stale", |item| item.count_freshness == "STALE").await;
    assert_eq!(stale.like_count, 0);
    assert_eq!(anonymous.item("post:1").await.count_freshness, "STALE");
    let own = app.node(api).as_user("ana").item("post:1").await;
    assert_eq!((own.like_count, own.liked_by_me), (1, Some(true)), "the viewer's own tap never waits");
    app.start_node(&[("--role", "worker")]).await;
    let live = page.until("the page is live again", |item| item.count_freshness == "LIVE").await;
    let live =
        if live.like_count == 1 { live } else { page.until("the like is shown", |item| item.like_count == 1).await };
    assert_eq!(live.count_freshness, "LIVE");
}

async fn health_and_metrics_answer(app: &App) {
    let client = app.client();
    app.as_user("ana").like("post:1").await;
    assert_eq!(client.get("/livez").await.0, 200);
    assert_eq!(client.get("/readyz").await.0, 200);
    let wanted = ["write_duration_seconds", "writes_total", "lane_batch_size", "log_lag_events", "subscriptions"];
    let missing = async || {
        let (status, text) = client.get("/metrics").await;
        assert_eq!(status, 200);
        let missing = wanted.iter().find(|name| !text.contains(&format!("likewise_{name}"))).copied();
        (missing.is_none()).then_some(())
    };
    until("the metrics have the names that they are promised by", Duration::from_secs(5), missing).await;
}
