//! Who is calling: what each may see and do, and that nobody sees another's.

use futures_util::future::join_all;
use likewise_tests::app::App;
use likewise_tests::harness::Test;
use likewise_tests::tokens::{self, SECRET, claims, seconds_from_now, sign};
use likewise_tests::views::Reaction;
use likewise_tests::{on_all, on_both};
use serde_json::{Value, json};

pub(crate) fn tests() -> Vec<Test> {
    vec![
        on_both!(anonymous_callers_read_counts_and_no_heart),
        on_both!(anonymous_callers_change_nothing),
        on_both!(bad_tokens_are_refused),
        on_both!(only_the_service_scope_upserts),
        on_all!(hearts_never_reach_another_viewer),
        on_both!(likers_may_be_for_signed_in_viewers).with(&[("--likers", "signed_in")]),
        on_both!(likers_may_be_for_nobody).with(&[("--likers", "off")]),
    ]
}

async fn anonymous_callers_read_counts_and_no_heart(app: &App) {
    app.as_user("ana").like("post:1").await;
    app.drained().await;
    let item = app.client().item("post:1").await;
    assert_eq!((item.like_count, item.liked_by_me), (1, Some(false)));
    let data = app.client().query("{ viewer { user { id } } }", json!({})).await.data();
    assert!(data["viewer"].is_null());
    let data = app.as_user("ana").query("{ viewer { user { id } } }", json!({})).await.data();
    assert_eq!(data["viewer"]["user"]["id"], "ana");
}

async fn anonymous_callers_change_nothing(app: &App) {
    let anonymous = app.client();
    for reaction in Reaction::ALL {
        let refused = anonymous.tap("post:1", reaction, Some("tap-1")).await.expect_err("no token");
        assert_eq!((refused.code.as_str(), refused.retryable), ("UNAUTHENTICATED", Some(false)));
    }
    for answer in [
        anonymous.upsert_items(json!([{ "id": "post:1" }])).await,
        anonymous.upsert_users(json!([{ "id": "ana" }])).await,
    ] {
        assert_eq!(answer.code(), "UNAUTHENTICATED");
    }
    for table in ["reaction", "item", "account", "idempotency_record"] {
        assert_eq!(app.number(&format!("SELECT count(*) FROM {table}")).await, 0, "{table}");
    }
}

fn claims_with(name: &str, value: Value) -> Value {
    let mut changed = claims("ana");
    if value.is_null() {
        changed.as_object_mut().expect("claims are an object").remove(name);
    } else {
        changed[name] = value;
    }
    changed
}

async fn bad_tokens_are_refused(app: &App) {
    let good = tokens::of_user("ana");
    let unsigned = format!("{}.{}.", good.split('.').next().expect("a head"), good.split('.').nth(1).expect("claims"));
    let tokens = [
        ("forged", sign(&claims("ana"), "another secret, long enough for HS256 as well")),
        ("expired", sign(&claims_with("exp", seconds_from_now(-3600).into()), SECRET)),
        ("without an end", sign(&claims_with("exp", Value::Null), SECRET)),
        ("an end of the wrong type", sign(&claims_with("exp", "tomorrow".into()), SECRET)),
        ("of another issuer", sign(&claims_with("iss", "elsewhere".into()), SECRET)),
        ("for another audience", sign(&claims_with("aud", "elsewhere".into()), SECRET)),
        ("without an audience", sign(&claims_with("aud", Value::Null), SECRET)),
        ("of nobody", sign(&claims_with("sub", Value::Null), SECRET)),
        ("of an id with a space", sign(&claims_with("sub", "a na".into()), SECRET)),
        ("not valid yet", sign(&claims_with("nbf", seconds_from_now(3600).into()), SECRET)),
        ("without a signature", unsigned),
        ("cut", good[..good.len() - 4].to_owned()),
        ("no token at all", "nonsense".to_owned()),
    ];
    for (what, token) in tokens {
        let client = app.client().with_token(token);
        let like = "mutation { like(input: { itemId: \"post:1\" }) { version } }";
        for document in [like, "{ item(id: \"post:1\") { likeCount } }"] {
            let answer = client.query(document, json!({})).await;
            assert_eq!(answer.code(), "UNAUTHENTICATED", "{what}: {}", answer.text);
        }
    }
    assert_eq!(app.number("SELECT count(*) FROM reaction").await, 0);
    assert!(app.client().with_token(good).like("post:1").await.changed, "the good token still works");
}

async fn only_the_service_scope_upserts(app: &App) {
    let ana = app.as_user("ana");
    assert_eq!(ana.upsert_items(json!([{ "id": "post:1" }])).await.code(), "FORBIDDEN");
    assert_eq!(ana.upsert_users(json!([{ "id": "ana", "name": "Ana" }])).await.code(), "FORBIDDEN");
    let items = json!([{ "id": "post:1", "type": "post", "creatorId": "ben" }]);
    let answer = app.as_service().upsert_items(items).await.data();
    assert_eq!(answer["upsertItems"]["items"], json!([{ "id": "post:1", "type": "post" }]));
    assert_eq!(app.client().item("post:1").await.kind, "post");
}

async fn hearts_never_reach_another_viewer(app: &App) {
    let items: Vec<_> = (0..16).map(|number| format!("post:{number}")).collect();
    let likes = |user: usize, item: usize| (user >> (item % 4)) & 1 == 1;
    for user in 0..16 {
        for (number, item) in items.iter().enumerate().filter(|(number, _)| likes(user, *number)) {
            app.node(number % app.running_nodes()).as_user(&format!("user{user}")).like(item).await;
        }
    }
    let looks = (0..160).map(|round: usize| {
        let user = round % 16;
        let viewer = app.node(round % app.running_nodes()).as_user(&format!("user{user}"));
        let items = items.clone();
        tokio::spawn(async move { (user, viewer.items(&items).await) })
    });
    for look in join_all(looks).await {
        let (user, seen) = look.expect("an answer");
        for (number, item) in seen.into_iter().enumerate() {
            assert_eq!(item.liked_by_me, Some(likes(user, number)), "user{user}: {item:?}");
        }
    }
}

const LIKERS: &str = "{ item(id: \"post:1\") { id likers { edges { node { id } } } } }";

async fn likers_may_be_for_signed_in_viewers(app: &App) {
    app.as_user("ana").like("post:1").await;
    let refused = app.client().query(LIKERS, json!({})).await;
    assert_eq!(refused.code(), "FORBIDDEN");
    assert_eq!(refused.data["item"], json!({ "id": "post:1", "likers": null }));
    let seen = app.as_user("ben").query(LIKERS, json!({})).await.data();
    assert_eq!(seen["item"]["likers"]["edges"][0]["node"]["id"], "ana");
}

async fn likers_may_be_for_nobody(app: &App) {
    app.as_user("ana").like("post:1").await;
    for client in [app.client(), app.as_user("ana")] {
        let refused = client.query(LIKERS, json!({})).await;
        assert_eq!(refused.code(), "FORBIDDEN");
        assert_eq!(refused.data["item"], json!({ "id": "post:1", "likers": null }));
    }
}
