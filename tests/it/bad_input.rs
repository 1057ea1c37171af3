//! What bad input gets: a code, a sentence that helps, no secrets of the house, and nothing changed.

use likewise_tests::app::App;
use likewise_tests::client::Client;
use likewise_tests::harness::Test;
use likewise_tests::on_both;
use likewise_tests::views::{Reaction, Response};
use serde_json::{Value, json};

const REGISTERED: &[(&str, &str)] = &[("--catalog", "registered")];
/// Words that only the inside of the server knows.
const SECRETS: &[&str] = &[
    "SELECT",
    "INSERT",
    "sqlx",
    "sea_orm",
    "SeaOrm",
    "DbErr",
    "reaction_event",
    "log_partition",
    "likewise_",
    "panick",
    "ReactionState",
    "ItemId",
    "UserId",
    "src/",
    ".rs:",
    "Err(",
    "Some(",
    "postgres:",
    "sqlite",
];

pub(crate) fn tests() -> Vec<Test> {
    vec![
        on_both!(malformed_item_ids_are_refused),
        on_both!(ids_at_the_edge_of_the_alphabet_work),
        on_both!(malformed_keys_are_refused),
        on_both!(keys_at_the_edge_of_the_alphabet_work),
        on_both!(unknown_enum_values_are_refused),
        on_both!(page_sizes_out_of_bounds_are_refused),
        on_both!(foreign_and_cut_cursors_are_refused),
        on_both!(a_hundred_items_are_the_most),
        on_both!(friend_likers_are_at_most_twenty),
        on_both!(a_closed_catalogue_knows_only_its_items).with(REGISTERED),
        on_both!(one_bad_item_refuses_all_and_is_named),
        on_both!(one_bad_user_refuses_all_and_is_named),
        on_both!(a_thousand_upserts_are_the_most),
        on_both!(what_is_no_graphql_is_refused),
        on_both!(a_refused_field_leaves_the_others),
        on_both!(a_hundred_mutations_are_the_most),
        on_both!(introspection_can_be_off).with(&[("--introspection", "false")]),
    ]
}

/// The answer is refused with `code`, says why, and names nothing of the inside.
#[track_caller]
fn assert_refused(what: &str, response: &Response, code: &str) {
    assert_eq!(response.code(), code, "{what}: {}", response.text);
    for failure in &response.errors {
        assert!(failure.message.len() > 15, "{what}: a sentence that helps, not {:?}", failure.message);
        for secret in SECRETS {
            assert!(!failure.message.contains(secret), "{what}: {secret:?} in {:?}", failure.message);
        }
        if code == "BAD_USER_INPUT" {
            assert_eq!(failure.retryable, Some(false), "{what}: {failure:?}");
        }
    }
}

async fn assert_nothing_changed(app: &App) {
    for table in ["reaction", "reaction_event", "item", "account", "friendship", "idempotency_record", "item_count"] {
        assert_eq!(app.number(&format!("SELECT count(*) FROM {table}")).await, 0, "{table}");
    }
}

fn bad_ids() -> Vec<String> {
    ["", " ", "a b", "a\tb", "a\nb", "é", "a\u{0}", "\u{7f}", "👍"]
        .map(str::to_owned)
        .into_iter()
        .chain(["x".repeat(256)])
        .collect()
}

async fn like(client: &Client, input: Value) -> Response {
    client.query("mutation ($input: LikeInput!) { like(input: $input) { changed } }", json!({ "input": input })).await
}

async fn malformed_item_ids_are_refused(app: &App) {
    let ana = app.as_user("ana");
    for id in bad_ids() {
        let shown = format!("{id:?}");
        assert_refused(&shown, &like(&ana, json!({ "itemId": id })).await, "BAD_USER_INPUT");
        let item = ana.query("query ($id: ID!) { item(id: $id) { id } }", json!({ "id": id })).await;
        assert_refused(&shown, &item, "BAD_USER_INPUT");
        let items = ana.query("query ($ids: [ID!]!) { items(ids: $ids) { id } }", json!({ "ids": ["ok", id] })).await;
        assert_refused(&shown, &items, "BAD_USER_INPUT");
        assert_eq!(items.errors[0].argument.as_deref(), Some("ids[1]"), "{shown}");
        let user = ana.query("query ($id: ID!) { user(id: $id) { id } }", json!({ "id": id })).await;
        assert_refused(&shown, &user, "BAD_USER_INPUT");
    }
    assert_nothing_changed(app).await;
}

async fn ids_at_the_edge_of_the_alphabet_work(app: &App) {
    let ana = app.as_user("ana");
    let printable: String = ('!'..='~').collect();
    for id in ["!", "~", "'; DROP TABLE reaction; --", "%", "_", "\\"].map(|id| id.replace(' ', "_")) {
        assert!(ana.like(&id).await.changed, "{id}");
    }
    assert!(ana.like(&printable).await.changed);
    assert!(ana.like(&"x".repeat(255)).await.changed);
    assert!(ana.like("post:a").await.changed && ana.like("post:A").await.changed, "compared byte by byte");
    let liked = ana.liked_items(json!({ "first": 100 })).await.ids;
    assert_eq!(liked.len(), 10);
    assert!(liked.contains(&printable));
    assert!(app.as_user(&"u".repeat(255)).like("post:a").await.changed);
}

async fn malformed_keys_are_refused(app: &App) {
    let ana = app.as_user("ana");
    let keys = ["", " ", "a b", "a/b", "é", "a\u{0}", "{}"].map(str::to_owned).into_iter().chain(["k".repeat(129)]);
    for key in keys {
        let answer = like(&ana, json!({ "itemId": "post:1", "idempotencyKey": key })).await;
        assert_refused(&format!("key {key:?}"), &answer, "BAD_USER_INPUT");
    }
    assert_nothing_changed(app).await;
}

async fn keys_at_the_edge_of_the_alphabet_work(app: &App) {
    let ana = app.as_user("ana");
    for key in ["A", "_.:-09azAZ", &"k".repeat(128)] {
        ana.set_with_key("post:1", Reaction::Like, key).await;
    }
    let null = like(&ana, json!({ "itemId": "post:1", "idempotencyKey": null })).await;
    assert_eq!(null.data()["like"]["changed"], false, "a null key is as an absent one");
}

async fn unknown_enum_values_are_refused(app: &App) {
    let ana = app.as_user("ana");
    let literal = "mutation { setReaction(input: { itemId: \"post:1\", reaction: LOVE }) { changed } }";
    assert_refused("a literal", &ana.query(literal, json!({})).await, "BAD_USER_INPUT");
    let variable = "mutation ($input: SetReactionInput!) { setReaction(input: $input) { changed } }";
    for reaction in [json!("LOVE"), json!("like"), json!(1), Value::Null] {
        let answer = ana.query(variable, json!({ "input": { "itemId": "post:1", "reaction": reaction } })).await;
        assert_refused(&reaction.to_string(), &answer, "BAD_USER_INPUT");
    }
    assert_nothing_changed(app).await;
}

const LISTS: [(&str, &str); 2] = [
    (
        "likedItems",
        "query ($first: Int, $last: Int, $after: String, $before: String) { viewer { likedItems(first: $first, last: $last, after: $after, before: $before) { pageInfo { hasNextPage } } } }",
    ),
    (
        "likers",
        "query ($first: Int, $last: Int, $after: String, $before: String) { item(id: \"post:1\") { likers(first: $first, last: $last, after: $after, before: $before) { pageInfo { hasNextPage } } } }",
    ),
];

async fn page_sizes_out_of_bounds_are_refused(app: &App) {
    let ana = app.as_user("ana");
    ana.like("post:1").await;
    for (list, document) in LISTS {
        for arguments in [
            json!({ "first": 0 }),
            json!({ "first": -1 }),
            json!({ "first": 101 }),
            json!({ "first": 2_147_483_647 }),
            json!({ "last": 0 }),
            json!({ "last": -1 }),
            json!({ "last": 101 }),
            json!({ "first": 1, "last": 1 }),
        ] {
            let answer = ana.query(document, arguments.clone()).await;
            assert_refused(&format!("{list} {arguments}"), &answer, "BAD_USER_INPUT");
        }
        ana.query(document, json!({ "first": 100 })).await.data();
        ana.query(document, json!({ "last": 100 })).await.data();
    }
}

async fn foreign_and_cut_cursors_are_refused(app: &App) {
    let ana = app.as_user("ana");
    for item in ["post:1", "post:2", "post:3"] {
        ana.like(item).await;
    }
    let liked = ana.liked_items(json!({ "first": 1 })).await.end.expect("a cursor");
    let liker = ana.likers("post:1", json!({ "first": 1 })).await.end.expect("a cursor");
    for (list, document) in LISTS {
        let (own, foreign) = if list == "likers" { (&liker, &liked) } else { (&liked, &liker) };
        let cursors = [foreign.as_str(), &own[..own.len() / 2], "", "x", "MTox", "////", "é", "null", "-1"];
        for cursor in cursors {
            for side in ["after", "before"] {
                let size = if side == "after" { "first" } else { "last" };
                let answer = ana.query(document, json!({ side: cursor, size: 1 })).await;
                assert_refused(&format!("{list} {side} {cursor:?}"), &answer, "BAD_USER_INPUT");
            }
        }
    }
}

async fn a_hundred_items_are_the_most(app: &App) {
    let ids = |count: usize| (0..count).map(|number| format!("post:{number}")).collect::<Vec<_>>();
    let document = "query ($ids: [ID!]!) { items(ids: $ids) { id } }";
    assert_eq!(app.client().items(&ids(100)).await.len(), 100);
    let answer = app.client().query(document, json!({ "ids": ids(101) })).await;
    assert_refused("101 ids", &answer, "LIMIT_EXCEEDED");
}

async fn friend_likers_are_at_most_twenty(app: &App) {
    let document = "query ($first: Int) { item(id: \"post:1\") { friendLikers(first: $first) { othersCount } } }";
    for first in [-1, 21] {
        let answer = app.as_user("ana").query(document, json!({ "first": first })).await;
        assert_refused(&format!("first {first}"), &answer, "BAD_USER_INPUT");
    }
    for first in [0, 20] {
        app.as_user("ana").query(document, json!({ "first": first })).await.data();
    }
}

async fn a_closed_catalogue_knows_only_its_items(app: &App) {
    let ana = app.as_user("ana");
    let item = ana.query("{ item(id: \"post:1\") { id } }", json!({})).await.data();
    assert!(item["item"].is_null());
    let refused = ana.tap("post:1", Reaction::Like, Some("tap-1")).await.expect_err("unknown");
    assert_eq!((refused.code.as_str(), refused.retryable), ("ITEM_NOT_FOUND", Some(false)));
    assert_nothing_changed(app).await;
    app.as_service().upsert_items(json!([{ "id": "post:1" }])).await.data();
    assert!(ana.set_with_key("post:1", Reaction::Like, "tap-1").await.changed);
    let items = ana.query("{ items(ids: [\"post:2\", \"post:1\"]) { id } }", json!({})).await.data();
    assert_eq!(items["items"], json!([null, { "id": "post:1" }]));
}

async fn one_bad_item_refuses_all_and_is_named(app: &App) {
    let bad = [
        json!({ "id": "a b" }),
        json!({ "id": "post:9", "type": "Post" }),
        json!({ "id": "post:9", "type": "" }),
        json!({ "id": "post:9", "type": "9lives" }),
        json!({ "id": "post:9", "type": "x".repeat(33) }),
        json!({ "id": "post:9", "creatorId": "a b" }),
    ];
    for entry in bad {
        let answer = app.as_service().upsert_items(json!([{ "id": "post:1" }, { "id": "post:2" }, entry])).await;
        assert_refused(&entry.to_string(), &answer, "BAD_USER_INPUT");
        let argument = answer.errors[0].argument.clone().unwrap_or_default();
        assert!(argument.contains("[2]"), "{entry}: the index is named, not {argument:?}");
    }
    assert_nothing_changed(app).await;
}

async fn one_bad_user_refuses_all_and_is_named(app: &App) {
    let many: Vec<_> = (0..5001).map(|number| format!("friend{number}")).collect();
    let bad = [
        (json!({ "id": "" }), "BAD_USER_INPUT"),
        (json!({ "id": "ben", "friendIds": ["cem", "a b"] }), "BAD_USER_INPUT"),
        (json!({ "id": "ben", "addFriendIds": [""] }), "BAD_USER_INPUT"),
        (json!({ "id": "ben", "removeFriendIds": ["é"] }), "BAD_USER_INPUT"),
        (json!({ "id": "ben", "friendIds": many }), "LIMIT_EXCEEDED"),
    ];
    for (entry, code) in bad {
        let what = entry.to_string().chars().take(80).collect::<String>();
        let answer = app.as_service().upsert_users(json!([{ "id": "ana", "name": "Ana" }, entry])).await;
        assert_refused(&what, &answer, code);
        let argument = answer.errors[0].argument.clone().unwrap_or_default();
        assert!(argument.contains("[1]"), "{what}: the index is named, not {argument:?}");
    }
    assert_nothing_changed(app).await;
}

async fn a_thousand_upserts_are_the_most(app: &App) {
    let entries = |count: usize| (0..count).map(|number| json!({ "id": format!("id{number}") })).collect::<Value>();
    assert_refused("1,001 items", &app.as_service().upsert_items(entries(1001)).await, "LIMIT_EXCEEDED");
    assert_refused("1,001 users", &app.as_service().upsert_users(entries(1001)).await, "LIMIT_EXCEEDED");
    assert_nothing_changed(app).await;
    app.as_service().upsert_items(entries(1000)).await.data();
    app.as_service().upsert_users(entries(1000)).await.data();
    assert_eq!(app.number("SELECT count(*) FROM item").await, 1000);
    assert_eq!(app.number("SELECT count(*) FROM account").await, 1000);
}

async fn what_is_no_graphql_is_refused(app: &App) {
    let ana = app.as_user("ana");
    let broken = ana.query("{ item(id: ", json!({})).await;
    assert_eq!(broken.code(), "GRAPHQL_PARSE_FAILED", "{}", broken.text);
    let unknown = ana.query("{ item(id: \"post:1\") { loveCount } }", json!({})).await;
    assert_eq!(unknown.code(), "GRAPHQL_VALIDATION_FAILED", "{}", unknown.text);
    let missing = ana.query("mutation { like(input: {}) { changed } }", json!({})).await;
    assert_refused("a missing field", &missing, "BAD_USER_INPUT");
}

async fn a_refused_field_leaves_the_others(app: &App) {
    let ana = app.as_user("ana");
    let document = "mutation { good: like(input: { itemId: \"post:1\" }) { changed } \
         bad: like(input: { itemId: \"\" }) { changed } last: like(input: { itemId: \"post:2\" }) { changed } }";
    let answer = ana.query(document, json!({})).await;
    assert_eq!(answer.data, json!({ "good": { "changed": true }, "bad": null, "last": { "changed": true } }));
    assert_eq!(answer.errors.len(), 1);
}

async fn a_hundred_mutations_are_the_most(app: &App) {
    let likes = (0..101).map(|number| format!("m{number}: like(input: {{ itemId: \"post:1\" }}) {{ changed }} "));
    let document = format!("mutation {{ {} }}", likes.collect::<String>());
    assert_refused("101 mutations", &app.as_user("ana").query(&document, json!({})).await, "LIMIT_EXCEEDED");
    assert_nothing_changed(app).await;
}

async fn introspection_can_be_off(app: &App) {
    for document in
        ["{ __schema { types { name } } }", "query { ...f } fragment f on Query { __type(name: \"Item\") { name } }"]
    {
        assert_refused(document, &app.client().query(document, json!({})).await, "GRAPHQL_VALIDATION_FAILED");
    }
    assert_eq!(app.client().query("{ __typename }", json!({})).await.data(), json!({ "__typename": "Query" }));
}
