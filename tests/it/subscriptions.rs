//! Live pages: the state first, then every change, and the last one always.

use std::time::Duration;

use futures_util::future::join_all;
use likewise_tests::app::App;
use likewise_tests::client::Client;
use likewise_tests::harness::Test;
use likewise_tests::on_both;
use likewise_tests::socket::{Frame, Socket};
use likewise_tests::tokens::{SECRET, claims, seconds_from_now, sign};
use likewise_tests::views::Reaction;
use likewise_tests::wait::SOON;
use likewise_tests::{on_all, seeded};
use rand::RngExt;
use serde_json::{Value, json};

const QUICK: &[(&str, &str)] = &[("--push-interval-ms", "5"), ("--fold-window-ms", "5")];
const REGISTERED: &[(&str, &str)] = &[("--catalog", "registered")];
const ROUNDS: usize = 1000;
/// Rounds at once.
const LANES: usize = 10;
/// Long enough for several folds and pushes that should not be there.
const QUIET: Duration = Duration::from_millis(700);

pub(crate) fn tests() -> Vec<Test> {
    vec![
        on_both!(the_first_event_is_the_state),
        on_both!(a_like_is_pushed_to_every_watcher),
        on_both!(each_item_has_its_own_events),
        on_both!(the_last_push_after_a_burst_is_the_truth),
        on_both!(a_slow_reader_gets_the_newest),
        on_both!(an_untouched_item_is_silent),
        on_both!(an_unknown_item_is_silent_until_it_exists).with(REGISTERED),
        on_all!(watchers_that_join_under_load_end_with_the_truth).with(QUICK).limit(400),
        on_all!(another_tab_sees_the_tap),
        on_both!(my_reactions_begin_with_the_state_only_where_items_are_named),
        on_both!(my_reactions_are_of_the_viewer_only),
        on_both!(my_reactions_need_a_viewer),
        on_both!(a_bad_token_opens_no_socket),
        on_both!(too_many_items_are_refused),
        on_both!(stopping_a_node_closes_its_sockets),
        on_both!(an_expired_token_ends_the_socket),
        on_both!(an_event_with_bad_arguments_is_refused_once),
    ]
}

async fn the_first_event_is_the_state(app: &App) {
    for user in ["ana", "ben"] {
        app.as_user(user).like("post:1").await;
    }
    app.drained().await;
    let mut page = app.as_user("ana").watch(&["post:1", "post:2"]).await;
    let mut first = [page.next("the first event").await, page.next("the second event").await];
    first.sort_by(|one, other| one.id.cmp(&other.id));
    assert_eq!((first[0].like_count, first[0].liked_by_me), (2, Some(true)));
    assert_eq!((first[1].like_count, first[1].liked_by_me), (0, Some(false)));
    page.silent(QUIET).await;
}

async fn a_like_is_pushed_to_every_watcher(app: &App) {
    let mut pages = Vec::new();
    for client in [app.client(), app.as_user("ana"), app.as_user("ben")] {
        let mut page = client.watch(&["post:1"]).await;
        page.next("the first event").await;
        pages.push(page);
    }
    app.as_user("ana").like("post:1").await;
    let hearts = [Some(false), Some(true), Some(false)];
    for (page, heart) in pages.iter_mut().zip(hearts) {
        let item = page.until("the like is shown", |item| item.like_count == 1).await;
        assert_eq!(item.liked_by_me, heart);
    }
    app.as_user("ana").unlike("post:1").await;
    for page in &mut pages {
        let item = page.until("the unlike is shown", |item| item.like_count == 0).await;
        assert_eq!(item.liked_by_me, Some(false));
    }
}

async fn each_item_has_its_own_events(app: &App) {
    let mut page = app.client().watch(&["post:1", "post:2", "post:1"]).await;
    app.as_user("ana").set("post:2", Reaction::Dislike).await;
    let item = page.until("the dislike is shown", |item| item.dislike_count == 1).await;
    assert_eq!(item.id, "post:2");
    app.as_user("ana").like("post:1").await;
    let item = page.until("the like is shown", |item| item.like_count == 1).await;
    assert_eq!(item.id, "post:1");
}

async fn burst(app: &App, users: usize) {
    let likes = (0..users).map(|number| {
        let user = app.as_user(&format!("user{number}"));
        tokio::spawn(async move { user.like("post:1").await })
    });
    for like in join_all(likes).await {
        like.expect("every like succeeds");
    }
}

async fn the_last_push_after_a_burst_is_the_truth(app: &App) {
    let mut page = app.client().watch(&["post:1"]).await;
    let (_, last) = tokio::join!(burst(app, 200), page.until("all likes are shown", |item| item.like_count == 200));
    assert_eq!(last.like_count, 200);
    app.drained().await;
    assert_eq!(app.client().item("post:1").await.count_version, last.count_version, "nothing newer is held back");
}

async fn a_slow_reader_gets_the_newest(app: &App) {
    let mut page = app.client().watch(&["post:1"]).await;
    page.next("the first event").await;
    for _ in 0..5 {
        burst(app, 50).await;
        for number in 0..50 {
            app.as_user(&format!("user{number}")).unlike("post:1").await;
        }
    }
    app.as_user("last").like("post:1").await;
    page.until("only the last like is shown", |item| item.like_count == 1).await;
}

async fn an_untouched_item_is_silent(app: &App) {
    let mut page = app.client().watch(&["post:1"]).await;
    page.next("the first event").await;
    app.as_user("ana").like("post:2").await;
    app.as_user("ana").unlike("post:1").await;
    app.drained().await;
    page.silent(QUIET).await;
}

async fn an_unknown_item_is_silent_until_it_exists(app: &App) {
    let mut page = app.client().watch(&["post:1"]).await;
    page.silent(QUIET).await;
    app.as_service().upsert_items(json!([{ "id": "post:1" }])).await.data();
    app.as_user("ana").like("post:1").await;
    page.until("the like is shown", |item| item.like_count == 1).await;
}

/// Each round: a new item, three users who like it, one of whom may take it back, and a page that opens somewhere in
/// between. The page must end with what is true.
async fn watchers_that_join_under_load_end_with_the_truth(app: &App) {
    let mut rng = seeded::rng("watchers_that_join_under_load_end_with_the_truth");
    let nodes: Vec<_> = (0..app.running_nodes()).map(|number| app.node(number)).collect();
    let lanes = (0..LANES).map(|lane| {
        let rounds: Vec<(usize, bool)> =
            (0..ROUNDS / LANES).map(|_| (rng.random_range(0..4), rng.random_bool(0.3))).collect();
        let nodes = nodes.clone();
        tokio::spawn(async move {
            for (round, (joins_after, takes_back)) in rounds.into_iter().enumerate() {
                let item = format!("lane{lane}:{round}");
                let watched = &nodes[(lane + round) % nodes.len()];
                watch_one(&nodes, watched, &item, joins_after, takes_back).await;
            }
        })
    });
    for lane in join_all(lanes.collect::<Vec<_>>()).await {
        lane.expect("every page ends with the truth");
    }
}

async fn watch_one(nodes: &[Client], watched: &Client, item: &str, joins_after: usize, takes_back: bool) {
    let mut taps = Vec::new();
    let mut page = None;
    for user in 0..3 {
        if user == joins_after {
            page = Some(watched.watch(&[item]).await);
        }
        let (client, item) = (nodes[user % nodes.len()].as_user(&format!("user{user}")), item.to_owned());
        taps.push(tokio::spawn(async move {
            client.like(&item).await;
            if user == 2 && takes_back {
                client.unlike(&item).await;
            }
        }));
    }
    let mut page = match page {
        Some(page) => page,
        None => watched.watch(&[item]).await,
    };
    for tap in join_all(taps).await {
        tap.expect("every tap succeeds");
    }
    let truth = if takes_back { 2 } else { 3 };
    let last = page.until(&format!("{item} shows {truth}"), |item| item.like_count == truth).await;
    if takes_back {
        // Two may have been a step on the way to three: what comes after it ends at two again.
        let now = nodes[0].item(item).await;
        if now.count_version > last.count_version {
            page.until(&format!("{item} ends with {truth}"), |item| item.count_version >= now.count_version).await;
        }
    }
}

const MINE: &str = "subscription ($ids: [ID!]) { myReactionChanged(itemIds: $ids) { item { id likeCount likedByMe } reaction version } }";

async fn mine(client: &Client, ids: Value) -> Socket {
    let mut socket = client.socket().await;
    socket.subscribe(MINE, json!({ "ids": ids })).await;
    socket
}

fn facts(data: &Value) -> (String, String, i64) {
    let change = &data["myReactionChanged"];
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    (text(&change["item"]["id"]), text(&change["reaction"]), change["version"].as_i64().expect("a version"))
}

async fn another_tab_sees_the_tap(app: &App) {
    let last = app.running_nodes() - 1;
    let mut tab = mine(&app.node(last).as_user("ana"), json!(["post:1"])).await;
    let first = facts(&tab.payload("the state", SOON).await);
    assert_eq!(first, ("post:1".into(), "NONE".into(), 0));
    for (version, reaction) in (1..).zip([Reaction::Like, Reaction::Dislike, Reaction::None, Reaction::Like]) {
        app.as_user("ana").set("post:1", reaction).await;
        let wanted = serde_json::to_value(reaction).expect("a word");
        loop {
            let (item, word, seen) = facts(&tab.payload("the tap is shown", SOON).await);
            assert_eq!(item, "post:1");
            assert!(seen <= version, "a version from the future");
            if seen == version {
                assert_eq!(json!(word), wanted);
                break;
            }
        }
    }
}

async fn my_reactions_begin_with_the_state_only_where_items_are_named(app: &App) {
    let ana = app.as_user("ana");
    ana.like("post:1").await;
    let mut named = mine(&ana, json!(["post:1", "post:2"])).await;
    let mut states =
        [named.payload("a state", SOON).await, named.payload("a state", SOON).await].map(|data| facts(&data));
    states.sort();
    assert_eq!(states, [("post:1".into(), "LIKE".into(), 1), ("post:2".into(), "NONE".into(), 0)]);
    let mut all = mine(&ana, Value::Null).await;
    // Without items nothing says that the subscription stands; taps go on until one is seen.
    let seen = async { facts(&all.payload("a tap is shown", SOON).await) };
    let taps = async {
        for round in 0.. {
            ana.set("post:3", if round % 2 == 0 { Reaction::Like } else { Reaction::None }).await;
            likewise_tests::wait::outage(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        (item, _, version) = seen => assert!(item == "post:3" && version > 0),
        () = taps => unreachable!("taps go on"),
    }
}

async fn my_reactions_are_of_the_viewer_only(app: &App) {
    let mut tab = mine(&app.as_user("ana"), json!(["post:1"])).await;
    tab.payload("the state", SOON).await;
    app.as_user("ben").like("post:1").await;
    app.as_user("ana").like("post:1").await;
    assert_eq!(facts(&tab.payload("Ana's tap", SOON).await), ("post:1".into(), "LIKE".into(), 1));
}

async fn my_reactions_need_a_viewer(app: &App) {
    let mut socket = mine(&app.client(), json!(["post:1"])).await;
    assert_eq!(refusal(&mut socket).await, "UNAUTHENTICATED");
}

/// The code with which an operation is refused, as `error` or as `next` with errors.
async fn refusal(socket: &mut Socket) -> String {
    let Frame::Message(message) = socket.next("the operation is refused", SOON).await else { panic!("closed") };
    let payload = &message["payload"];
    let errors = if message["type"] == "error" { payload } else { &payload["errors"] };
    errors[0]["extensions"]["code"].as_str().unwrap_or_else(|| panic!("no code: {message}")).to_owned()
}

async fn a_bad_token_opens_no_socket(app: &App) {
    let mut expired = claims("ana");
    expired["exp"] = seconds_from_now(-3600).into();
    for token in [sign(&expired, SECRET), sign(&claims("ana"), "another secret, long enough for HS256"), "x".into()] {
        let mut socket = Socket::open(app.client().address()).await;
        socket.init(Some(&token)).await;
        match socket.next("the socket is refused", SOON).await {
            Frame::Closed(_) => {}
            Frame::Message(message) => {
                assert_ne!(message["type"], "connection_ack", "a bad token was acknowledged");
                socket.closed(SOON).await;
            }
        }
    }
}

async fn too_many_items_are_refused(app: &App) {
    let ids: Vec<_> = (0..101).map(|number| format!("post:{number}")).collect();
    let document = "subscription ($ids: [ID!]!) { itemUpdated(ids: $ids) { id } }";
    for (document, ids, code) in [
        (document, json!(ids), "LIMIT_EXCEEDED"),
        (document, json!(["a b"]), "BAD_USER_INPUT"),
        (MINE, json!(ids), "LIMIT_EXCEEDED"),
    ] {
        let mut socket = app.as_user("ana").socket().await;
        socket.subscribe(document, json!({ "ids": ids })).await;
        assert_eq!(refusal(&mut socket).await, code, "{document}");
    }
}

async fn stopping_a_node_closes_its_sockets(app: &App) {
    let mut page = app.client().watch(&["post:1"]).await;
    page.next("the first event").await;
    let (code, ()) = tokio::join!(page.closed(SOON), app.stop_node(0));
    assert!(matches!(code, Some(1001 | 1012)), "closed with {code:?}");
    app.start_stopped_node(0, &[]).await;
}

/// A token holds for as long as it says, also on a socket that was opened in time.
async fn an_expired_token_ends_the_socket(app: &App) {
    let mut soon_over = claims("ana");
    soon_over["exp"] = seconds_from_now(1).into();
    let mut socket = app.client().with_token(sign(&soon_over, SECRET)).socket().await;
    socket.subscribe("subscription { myReactionChanged { version } }", json!({})).await;
    assert_eq!(socket.closed(Duration::from_secs(30)).await, Some(4403));
}

/// What can never be read is refused once, without data, and the subscription ends.
async fn an_event_with_bad_arguments_is_refused_once(app: &App) {
    let mut socket = app.client().socket().await;
    let document = "subscription { itemUpdated(ids: [\"post:1\"]) { id likers(first: 0) { edges { cursor } } } }";
    socket.subscribe(document, json!({})).await;
    let Frame::Message(refusal) = socket.next("the refusal", SOON).await else { panic!("the socket stays open") };
    assert_eq!(refusal["payload"]["errors"][0]["extensions"]["code"], "BAD_USER_INPUT", "{refusal}");
    assert_eq!(refusal["payload"]["data"], json!(null), "{refusal}");
    let Frame::Message(end) = socket.next("the end", SOON).await else { panic!("the socket stays open") };
    assert_eq!(end["type"], "complete", "{end}");
}
