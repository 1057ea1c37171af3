//! Keys: a retry gets the first answer and has no second effect.

use futures_util::future::join_all;
use likewise_tests::app::App;
use likewise_tests::harness::Test;
use likewise_tests::views::{Payload, Reaction};
use likewise_tests::wait::{SOON, until_true};
use likewise_tests::{on_all, on_both};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        on_both!(a_retry_gets_the_first_answer),
        on_both!(an_old_key_after_an_unlike_changes_nothing),
        on_both!(a_key_of_another_item_is_refused),
        on_both!(a_key_of_another_verb_is_refused),
        on_both!(a_key_belongs_to_its_user),
        on_both!(like_and_set_reaction_share_a_key),
        on_both!(what_changed_nothing_is_recorded_too),
        on_both!(refusals_are_not_recorded),
        on_both!(a_replay_is_answered_before_other_checks),
        on_all!(parallel_retries_are_one_effect),
        on_both!(a_lost_answer_is_replayed),
        on_both!(a_lost_answer_and_a_new_key_change_nothing_twice),
        on_both!(keys_survive_a_restart),
    ]
}

/// What a replay repeats; `item`, `replayed` and `clientMutationId` are of the new request.
fn stored(payload: &Payload) -> (Reaction, Reaction, bool, i64, i64, i64) {
    (
        payload.reaction,
        payload.previous_reaction,
        payload.changed,
        payload.version,
        payload.client_like_delta,
        payload.client_dislike_delta,
    )
}

async fn a_retry_gets_the_first_answer(app: &App) {
    let ana = app.as_user("ana");
    let first = ana.set_with_key("post:1", Reaction::Like, "tap-1").await;
    let again = ana.set_with_key("post:1", Reaction::Like, "tap-1").await;
    assert!(!first.replayed && again.replayed);
    assert_eq!(stored(&first), stored(&again));
    assert_eq!(again.item.like_count, 1);
    assert_eq!(app.number("SELECT count(*) FROM reaction_event").await, 1);
    let input = json!({ "itemId": "post:1", "idempotencyKey": "tap-1", "clientMutationId": "second" });
    let third = ana.mutate("like", "LikeInput", input).await.expect("a replay");
    assert_eq!(third.client_mutation_id.as_deref(), Some("second"));
}

async fn an_old_key_after_an_unlike_changes_nothing(app: &App) {
    let ana = app.as_user("ana");
    let like = ana.set_with_key("post:1", Reaction::Like, "tap-1").await;
    ana.set_with_key("post:1", Reaction::None, "tap-2").await;
    let late = ana.set_with_key("post:1", Reaction::Like, "tap-1").await;
    assert_eq!(stored(&late), stored(&like));
    assert!(late.replayed);
    assert_eq!(late.item.my_reaction, Some(Reaction::None), "the late retry did not like again");
    assert_eq!(late.item.like_count, 0);
    let new = ana.set_with_key("post:1", Reaction::Like, "tap-3").await;
    assert!(new.changed && !new.replayed);
    assert_eq!(new.version, 3);
    app.drained().await;
    assert_eq!(app.client().item("post:1").await.like_count, 1);
}

async fn a_key_of_another_item_is_refused(app: &App) {
    let ana = app.as_user("ana");
    ana.set_with_key("post:1", Reaction::Like, "tap-1").await;
    let refused = ana.tap("post:2", Reaction::Like, Some("tap-1")).await.expect_err("another item");
    assert_eq!(refused.code, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(refused.retryable, Some(false));
    assert_eq!(ana.item("post:2").await.liked_by_me, Some(false));
}

async fn a_key_of_another_verb_is_refused(app: &App) {
    let ana = app.as_user("ana");
    ana.set_with_key("post:1", Reaction::Like, "tap-1").await;
    let refused = ana.tap("post:1", Reaction::None, Some("tap-1")).await.expect_err("another verb");
    assert_eq!(refused.code, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(ana.item("post:1").await.liked_by_me, Some(true));
}

async fn a_key_belongs_to_its_user(app: &App) {
    app.as_user("ana").set_with_key("post:1", Reaction::Like, "tap-1").await;
    let ben = app.as_user("ben").set_with_key("post:2", Reaction::Dislike, "tap-1").await;
    assert!(ben.changed && !ben.replayed);
}

async fn like_and_set_reaction_share_a_key(app: &App) {
    let ana = app.as_user("ana");
    let like = ana.set_with_key("post:1", Reaction::Like, "tap-1").await;
    let again = ana.set_reaction("post:1", Reaction::Like, Some("tap-1")).await.expect("the same wish");
    assert!(again.replayed);
    assert_eq!(stored(&like), stored(&again));
}

async fn what_changed_nothing_is_recorded_too(app: &App) {
    let ana = app.as_user("ana");
    let nothing = ana.set_with_key("post:1", Reaction::None, "tap-1").await;
    assert!(!nothing.changed);
    ana.set_with_key("post:1", Reaction::Like, "tap-2").await;
    let late = ana.set_with_key("post:1", Reaction::None, "tap-1").await;
    assert!(late.replayed && !late.changed);
    assert_eq!(ana.item("post:1").await.liked_by_me, Some(true), "the late retry took nothing back");
}

async fn refusals_are_not_recorded(app: &App) {
    let ana = app.as_user("ana");
    let open = async |open: bool| {
        app.as_service().upsert_items(json!([{ "id": "post:1", "open": open }])).await.data();
    };
    open(false).await;
    let refused = ana.tap("post:1", Reaction::Like, Some("tap-1")).await.expect_err("closed");
    assert_eq!(refused.code, "ITEM_CLOSED");
    open(true).await;
    let payload = ana.set_with_key("post:1", Reaction::Like, "tap-1").await;
    assert!(payload.changed && !payload.replayed);
}

async fn a_replay_is_answered_before_other_checks(app: &App) {
    let ana = app.as_user("ana");
    let first = ana.set_with_key("post:1", Reaction::Like, "tap-1").await;
    ana.set_with_key("post:1", Reaction::None, "tap-2").await;
    app.as_service().upsert_items(json!([{ "id": "post:1", "open": false }])).await.data();
    let replay = ana.set_with_key("post:1", Reaction::Like, "tap-1").await;
    assert_eq!(stored(&replay), stored(&first), "the item was open when the tap was made");
}

async fn parallel_retries_are_one_effect(app: &App) {
    let retries = (0..50).map(|number: usize| {
        let ana = app.node(number % app.running_nodes()).as_user("ana");
        tokio::spawn(async move { ana.set_with_key("post:1", Reaction::Like, "tap-1").await })
    });
    let payloads: Vec<_> = join_all(retries).await.into_iter().map(|retry| retry.expect("an answer")).collect();
    assert_eq!(payloads.iter().filter(|payload| !payload.replayed).count(), 1, "one had the effect");
    assert!(payloads.iter().all(|payload| stored(payload) == stored(&payloads[0])), "all hear the same");
    assert_eq!(app.number("SELECT count(*) FROM idempotency_record").await, 1);
}

/// Sends a like and hangs up before the answer.
async fn like_and_hang_up(app: &App, key: &str) {
    let ana = app.as_user("ana");
    let query =
        format!("mutation {{ like(input: {{ itemId: \"post:1\", idempotencyKey: \"{key}\" }}) {{ version }} }}");
    let body = json!({ "query": query }).to_string();
    let (address, token) = (ana.address(), ana.token().expect("a token"));
    let head = format!("POST /graphql HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n");
    let rest = format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let mut stream = TcpStream::connect(address).await.expect("the node listens");
    stream.write_all(format!("{head}{rest}").as_bytes()).await.expect("the request is sent");
    let row = "SELECT count(*) FROM idempotency_record";
    until_true("the like is stored", SOON, async || app.number(row).await == 1).await;
    drop(stream);
}

async fn a_lost_answer_is_replayed(app: &App) {
    like_and_hang_up(app, "tap-1").await;
    let retry = app.as_user("ana").set_with_key("post:1", Reaction::Like, "tap-1").await;
    assert!(retry.replayed && retry.changed);
    assert_eq!((retry.version, retry.item.like_count), (1, 1));
}

async fn a_lost_answer_and_a_new_key_change_nothing_twice(app: &App) {
    like_and_hang_up(app, "tap-1").await;
    let retry = app.as_user("ana").set_with_key("post:1", Reaction::Like, "tap-2").await;
    assert!(!retry.replayed && !retry.changed);
    assert_eq!((retry.version, retry.item.like_count), (1, 1));
    assert_eq!(app.number("SELECT count(*) FROM reaction_event").await, 1);
}

async fn keys_survive_a_restart(app: &App) {
    let first = app.as_user("ana").set_with_key("post:1", Reaction::Like, "tap-1").await;
    app.restart_node(0).await;
    let replay = app.as_user("ana").set_with_key("post:1", Reaction::Like, "tap-1").await;
    assert!(replay.replayed);
    assert_eq!(stored(&replay), stored(&first));
}
