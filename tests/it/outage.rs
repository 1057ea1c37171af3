//! What readers get while the store or the counter is away: what is known, marked as stale, and nothing that is guessed.

use std::time::{Duration, Instant};

use likewise_tests::app::App;
use likewise_tests::binary::ServerProcess;
use likewise_tests::client::Client;
use likewise_tests::harness::Test;
use likewise_tests::postgres::Shutdown;
use likewise_tests::test_on;
use likewise_tests::views::{ITEM, Response};
use likewise_tests::wait::{SOON, until_true};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

const IMPATIENT: &[(&str, &str)] = &[("--staleness-bound-ms", "500")];
const CLOSED: &[(&str, &str)] = &[("--catalog", "registered")];
/// Four times what a read may take once the store is known to be away, and before that.
const KNOWN_AWAY_MAX: Duration = Duration::from_secs(2);
const AT_FIRST_MAX: Duration = Duration::from_secs(26);

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test_on!([Postgres, Cluster], what_is_known_is_served_stale_while_the_store_is_away).with_own_servers(),
        test_on!([Postgres, Cluster], pages_go_on_while_the_store_is_away).with_own_servers().with(IMPATIENT),
        test_on!([Cluster], a_node_knows_what_it_was_told).with_own_servers(),
        test_on!([Postgres], a_closed_catalogue_serves_what_it_knows).with_own_servers().with(CLOSED),
        test_on!([Cluster], a_stopped_worker_makes_counts_stale_and_no_older_than_they_say)
            .without_nodes()
            .with(IMPATIENT)
            .with_binary(),
    ]
}

async fn items(client: &Client, ids: &[&str]) -> Response {
    let document = format!("query ($ids: [ID!]!) {{ items(ids: $ids) {{ ...item }} }} {ITEM}");
    client.query(&document, json!({ "ids": ids })).await
}

/// Stops the store and waits until the node has seen it: from then on, reads are short.
async fn lose_store(app: &App, client: &Client) {
    app.database.postgres().stop(Shutdown::Fast);
    let since = Instant::now();
    let first = items(client, &["never:seen"]).await;
    assert_eq!(first.code(), "UNAVAILABLE", "{}", first.text);
    assert!(since.elapsed() < AT_FIRST_MAX, "the first read took {:?}", since.elapsed());
    let is_known = async || client.get("/metrics").await.1.contains("likewise_store_away 1\n");
    until_true("the node knows that the store is away", SOON, is_known).await;
}

/// `count` likes, and stale, as of the instant that an answer named before.
#[track_caller]
fn assert_known(item: &Value, count: i64, before: &Value) {
    assert_eq!((&item["likeCount"], &item["countFreshness"]), (&json!(count), &json!("STALE")), "{item}");
    assert_eq!((&item["countAsOf"], &item["countVersion"]), (&before["countAsOf"], &before["countVersion"]), "{item}");
}

async fn what_is_known_is_served_stale_while_the_store_is_away(app: &App) {
    let (ana, anonymous) = (app.as_user("ana"), app.client());
    ana.like("post:1").await;
    app.drained().await;
    let before = items(&anonymous, &["post:1", "post:0"]).await.data()["items"].clone();
    assert_eq!((&before[0]["likeCount"], &before[1]["likeCount"]), (&json!(1), &json!(0)));
    lose_store(app, &anonymous).await;

    let since = Instant::now();
    let away = items(&anonymous, &["post:1", "never:seen", "post:0"]).await;
    assert!(since.elapsed() < KNOWN_AWAY_MAX, "it took {:?}", since.elapsed());
    let seen = &away.data["items"];
    assert_known(&seen[0], 1, &before[0]);
    assert_eq!(seen[0]["likedByMe"], false, "an anonymous caller likes nothing, whatever is away");
    assert_known(&seen[2], 0, &before[1]);
    assert_eq!(seen[1], Value::Null, "what is not known is no zero: {}", away.text);
    assert!(!away.errors.is_empty() && away.errors.iter().all(|error| error.code == "UNAVAILABLE"), "{}", away.text);
    assert!(away.errors.iter().all(|error| error.retry_after_ms.is_some()), "{}", away.text);

    for client in [&anonymous, &ana] {
        let counts = "{ items(ids: [\"post:1\", \"never:seen\"]) { likeCount } }";
        let counts = client.query(counts, json!({})).await;
        assert_eq!(counts.data["items"], json!([{ "likeCount": 1 }, null]), "{}", counts.text);
        assert_eq!((counts.code(), counts.errors.len()), ("UNAVAILABLE", 1), "{}", counts.text);
    }

    let since = Instant::now();
    let own = items(&ana, &["post:1"]).await;
    assert!(since.elapsed() < KNOWN_AWAY_MAX, "it took {:?}", since.elapsed());
    let seen = &own.data["items"][0];
    assert_known(seen, 1, &before[0]);
    for heart in ["likedByMe", "myReaction", "myReactionVersion", "myReactionAt"] {
        assert_eq!(seen[heart], Value::Null, "{heart} is never guessed: {}", own.text);
    }
    assert!(own.errors.len() == 4 && own.errors.iter().all(|error| error.code == "UNAVAILABLE"), "{}", own.text);
    let friends = "{ item(id: \"post:1\") { likeCount friendLikers { othersCount } likers { edges { cursor } } } }";
    let lists = ana.query(friends, json!({})).await;
    assert_eq!(lists.data["item"], json!({ "likeCount": 1, "friendLikers": null, "likers": null }), "{}", lists.text);

    app.database.postgres().start_again();
    let is_live = async || {
        let answer = items(&ana, &["post:1", "never:seen"]).await;
        answer.errors.is_empty() && answer.data["items"][0]["countFreshness"] == "LIVE"
    };
    until_true("all is read again", SOON, is_live).await;
    let after = items(&ana, &["post:1", "never:seen"]).await.data();
    assert_eq!(after["items"][0]["likedByMe"], true);
    assert_eq!(after["items"][1]["likeCount"], 0, "a zero that the store has confirmed");
}

async fn pages_go_on_while_the_store_is_away(app: &App) {
    let ana = app.as_user("ana");
    ana.like("post:1").await;
    app.drained().await;
    let anonymous = app.client();
    let mut page = anonymous.watch(&["post:1"]).await;
    let before = page.until("the like is shown", |item| item.like_count == 1).await;
    let mut signed_in = ana.watch(&["post:1"]).await;
    signed_in.until("the like is shown", |item| item.like_count == 1).await;
    lose_store(app, &anonymous).await;

    let stale = page.until("the page is told that it is stale", |item| item.count_freshness == "STALE").await;
    assert_eq!((stale.like_count, stale.count_version), (1, before.count_version));
    let mut late = anonymous.watch(&["never:seen", "post:1"]).await;
    let first = late.next("what is known comes first").await;
    assert_eq!((first.id.as_str(), first.like_count, first.count_freshness.as_str()), ("post:1", 1, "STALE"));

    app.database.postgres().start_again();
    page.until("the page is live again", |item| item.count_freshness == "LIVE").await;
    let unknown = late.until("what was unknown comes once it is read", |item| item.id == "never:seen").await;
    assert_eq!(unknown.like_count, 0);
    let is_live = |item: &likewise_tests::views::Item| item.id == "post:1" && item.count_freshness == "LIVE";
    if !late.latest("post:1").is_some_and(is_live) {
        late.until("the late page is live too", is_live).await;
    }
    ana.tap_until_done("post:1", likewise_tests::views::Reaction::None, "tap").await;
    for page in [&mut page, &mut late, &mut signed_in] {
        page.until("pages go on", |item| item.id == "post:1" && item.like_count == 0).await;
    }
}

/// Nobody has asked this node for the item; the bus has told it.
async fn a_node_knows_what_it_was_told(app: &App) {
    let told = app.node(1);
    let mut page = told.watch(&["post:2"]).await;
    page.next("the first event").await;
    for item in ["post:1", "post:2"] {
        app.node(0).as_user("ana").like(item).await;
        app.drained().await;
    }
    // Folds reach a node in their order, the first one's before the second one's.
    page.until("what came after is shown", |item| item.like_count == 1).await;
    lose_store(app, &told).await;
    let answer = told.query("{ item(id: \"post:1\") { likeCount countFreshness } }", json!({})).await;
    assert_eq!(answer.data()["item"], json!({ "likeCount": 1, "countFreshness": "STALE" }));
    app.database.postgres().start_again();
}

async fn a_closed_catalogue_serves_what_it_knows(app: &App) {
    app.as_service().upsert_items(json!([{ "id": "post:1", "type": "post" }])).await.data();
    app.as_user("ana").like("post:1").await;
    app.drained().await;
    let before = items(&app.client(), &["post:1", "gone:1"]).await.data()["items"].clone();
    assert_eq!(before[1], Value::Null);
    lose_store(app, &app.client()).await;
    let away = items(&app.client(), &["post:1", "gone:1", "never:seen"]).await;
    let seen = &away.data["items"];
    assert_known(&seen[0], 1, &before[0]);
    assert_eq!(seen[0]["type"], "post");
    assert_eq!((&seen[1], &seen[2]), (&Value::Null, &Value::Null));
    assert_eq!(
        away.errors.len(),
        1,
        "an id that the catalogue did not have is null, one that nobody knows is an error"
    );
    app.database.postgres().start_again();
}

async fn a_stopped_worker_makes_counts_stale_and_no_older_than_they_say(app: &App) {
    let api = app.start_node(&[("--role", "api")]).await;
    let settings = app.settings().into_iter().flat_map(|(flag, value)| [flag, value]);
    let role = ["serve", "--role", "worker"].map(str::to_owned).into_iter();
    let folder = tempfile::Builder::new().prefix("likewise-worker-").tempdir().expect("a temporary folder");
    let worker = ServerProcess::start(folder.path(), &role.chain(settings).collect::<Vec<_>>());
    let anonymous = app.node(api);
    let mut page = anonymous.watch(&["post:1"]).await;
    app.node(api).as_user("ana").like("post:1").await;
    let folded = page.until("the worker folds", |item| item.like_count == 1 && item.count_freshness == "LIVE").await;

    worker.signal(Signal::SIGSTOP);
    let liked = app.node(api).as_user("ben").like("post:1").await;
    assert_eq!(liked.item.like_count, 2, "the own tap never waits");
    let stale = page.until("the page is told that it is stale", |item| item.count_freshness == "STALE").await;
    let read = anonymous.item("post:1").await;
    for item in [&stale, &read] {
        assert_eq!((item.like_count, item.count_freshness.as_str()), (1, "STALE"), "{item:?}");
        assert!(item.count_as_of <= liked.item.my_reaction_at.clone().expect("ben has reacted"), "{item:?}");
        assert!(item.count_as_of >= folded.count_as_of, "{item:?} {folded:?}");
    }
    worker.signal(Signal::SIGCONT);
    page.until("the like is shown", |item| item.like_count == 2 && item.count_freshness == "LIVE").await;
    let read = anonymous.item("post:1").await;
    assert_eq!((read.like_count, read.count_freshness.as_str()), (2, "LIVE"));
    let (_, metrics) = Client::new(app.http(), &worker.address).get("/metrics").await;
    let sum = metrics.lines().find_map(|line| line.strip_prefix("likewise_count_staleness_seconds_sum "));
    let sum: f64 = sum.and_then(|sum| sum.parse().ok()).unwrap_or_else(|| panic!("a sum in {metrics}"));
    assert!(sum >= 0.5, "the like waited longer than the bound, and the metric says so: {sum}");
    assert_eq!(worker.stop(Signal::SIGTERM), Some(0));
}
