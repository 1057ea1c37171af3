//! “Liked by Ana and N others”.

use futures_util::future::join_all;
use likewise_tests::app::App;
use likewise_tests::client::Client;
use likewise_tests::harness::Test;
use likewise_tests::on_both;
use serde_json::json;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        on_both!(friends_are_named_newest_like_first),
        on_both!(others_are_everybody_else),
        on_both!(friends_are_directed),
        on_both!(friend_lists_are_replaced_added_to_and_taken_from),
        on_both!(anonymous_callers_have_no_friends),
        on_both!(a_friend_past_the_last_hundred_likers_may_be_missing),
        on_both!(an_unlike_takes_the_name_off),
        on_both!(users_are_known_once_upserted_or_seen),
    ]
}

#[derive(Debug, PartialEq)]
struct Line {
    names: Vec<String>,
    others: i64,
    complete: bool,
}

fn line(names: &[&str], others: i64, complete: bool) -> Line {
    Line { names: names.iter().map(|name| (*name).to_owned()).collect(), others, complete }
}

async fn friend_likers(viewer: &Client, first: u32) -> Line {
    let document = "query ($first: Int) { item(id: \"post:1\") { \
         friendLikers(first: $first) { users { id } othersCount complete } } }";
    let data = viewer.query(document, json!({ "first": first })).await.data();
    let found = &data["item"]["friendLikers"];
    let users = found["users"].as_array().expect("a list of users").iter();
    Line {
        names: users.map(|user| user["id"].as_str().expect("an id").to_owned()).collect(),
        others: found["othersCount"].as_i64().expect("a count"),
        complete: found["complete"].as_bool().expect("a flag"),
    }
}

async fn befriend(app: &App, user: &str, friends: &[&str]) {
    app.as_service().upsert_users(json!([{ "id": user, "friendIds": friends }])).await.data();
}

async fn like_in_order(app: &App, users: &[&str]) {
    for user in users {
        app.as_user(user).like("post:1").await;
    }
    app.drained().await;
}

async fn friends_are_named_newest_like_first(app: &App) {
    befriend(app, "ana", &["ben", "cem", "dia", "eve"]).await;
    like_in_order(app, &["ben", "cem", "dia", "fay"]).await;
    let ana = app.as_user("ana");
    assert_eq!(friend_likers(&ana, 3).await, line(&["dia", "cem", "ben"], 1, true));
    assert_eq!(friend_likers(&ana, 2).await, line(&["dia", "cem"], 2, true));
    assert_eq!(friend_likers(&ana, 0).await, line(&[], 4, true));
}

async fn others_are_everybody_else(app: &App) {
    befriend(app, "ana", &["ben"]).await;
    let ana = app.as_user("ana");
    assert_eq!(friend_likers(&ana, 3).await, line(&[], 0, true));
    ana.like("post:1").await;
    assert_eq!(friend_likers(&ana, 3).await, line(&[], 0, true), "the viewer is no other");
    like_in_order(app, &["ben", "cem", "dia"]).await;
    assert_eq!(friend_likers(&ana, 3).await, line(&["ben"], 2, true));
    ana.unlike("post:1").await;
    assert_eq!(friend_likers(&ana, 3).await, line(&["ben"], 2, true));
}

async fn friends_are_directed(app: &App) {
    befriend(app, "ana", &["ben"]).await;
    like_in_order(app, &["ana", "ben"]).await;
    assert_eq!(friend_likers(&app.as_user("ana"), 3).await.names, ["ben"]);
    assert!(friend_likers(&app.as_user("ben"), 3).await.names.is_empty(), "Ben may not see Ana named");
}

async fn friend_lists_are_replaced_added_to_and_taken_from(app: &App) {
    like_in_order(app, &["ben", "cem", "dia"]).await;
    let ana = app.as_user("ana");
    let steps = [
        (json!({ "id": "ana", "friendIds": ["ben", "cem"] }), vec!["cem", "ben"]),
        (json!({ "id": "ana", "addFriendIds": ["dia"] }), vec!["dia", "cem", "ben"]),
        (json!({ "id": "ana", "addFriendIds": ["dia"], "removeFriendIds": ["cem"] }), vec!["dia", "ben"]),
        (json!({ "id": "ana", "name": "Ana" }), vec!["dia", "ben"]),
        (json!({ "id": "ana", "friendIds": [] }), vec![]),
    ];
    for (user, expected) in steps {
        app.as_service().upsert_users(json!([user])).await.data();
        assert_eq!(friend_likers(&ana, 3).await.names, expected, "after {user}");
    }
}

async fn anonymous_callers_have_no_friends(app: &App) {
    like_in_order(app, &["ben", "cem"]).await;
    let line = friend_likers(&app.client(), 3).await;
    assert!(line.names.is_empty());
    assert_eq!(line.others, 2);
}

async fn a_friend_past_the_last_hundred_likers_may_be_missing(app: &App) {
    befriend(app, "ana", &["old", "new"]).await;
    like_in_order(app, &["old"]).await;
    let strangers = (0..99).map(|number| {
        let user = app.as_user(&format!("stranger{number}"));
        tokio::spawn(async move { user.like("post:1").await })
    });
    for like in join_all(strangers).await {
        like.expect("every like succeeds");
    }
    app.drained().await;
    let ana = app.as_user("ana");
    assert_eq!(friend_likers(&ana, 3).await, line(&["old"], 99, true), "a hundred likers are searched");
    like_in_order(app, &["new"]).await;
    assert_eq!(friend_likers(&ana, 3).await, line(&["new"], 100, false), "the hundred and first is not");
}

async fn an_unlike_takes_the_name_off(app: &App) {
    befriend(app, "ana", &["ben", "cem"]).await;
    like_in_order(app, &["ben", "cem"]).await;
    app.as_user("cem").unlike("post:1").await;
    app.drained().await;
    assert_eq!(friend_likers(&app.as_user("ana"), 3).await, line(&["ben"], 0, true));
}

async fn users_are_known_once_upserted_or_seen(app: &App) {
    let document = "query ($id: ID!) { user(id: $id) { id name } }";
    let user = async |id: &str| app.client().query(document, json!({ "id": id })).await.data()["user"].clone();
    assert!(user("ana").await.is_null());
    app.as_user("ana").like("post:1").await;
    assert_eq!(user("ana").await, json!({ "id": "ana", "name": null }));
    app.as_service().upsert_users(json!([{ "id": "ben", "name": "Ben" }])).await.data();
    assert_eq!(user("ben").await, json!({ "id": "ben", "name": "Ben" }));
    app.as_service().upsert_users(json!([{ "id": "ben" }])).await.data();
    assert_eq!(user("ben").await["name"], "Ben", "an absent field stays as it is");
}
