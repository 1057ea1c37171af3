//! What `serve --demo` finds and writes.

use likewise_tests::app::App;
use likewise_tests::binary::{self, ServerProcess};
use likewise_tests::client::Client;
use likewise_tests::harness::Test;
use likewise_tests::wait::{SOON, until_true};
use likewise_tests::{on_both, say, test_on};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::time::Instant;
use tempfile::TempDir;

/// Of `photo:sunrise` in the catalogue: its guests, and Dan and Eva.
const SUNRISE: i64 = 1203 + 2;
/// Likes of guests in the whole catalogue.
const GUEST_LIKES: i64 = 4022;

pub(crate) fn tests() -> Vec<Test> {
    let tests = vec![
        on_both!(a_demo_looks_like_a_product).without_nodes(),
        on_both!(a_restart_moves_nothing_that_people_did).without_nodes(),
        on_both!(a_demo_fills_in_what_is_missing).without_nodes(),
        on_both!(a_database_of_somebody_is_no_place_for_a_demo).without_nodes(),
        test_on!([Cluster], a_worker_leaves_the_demo_to_those_who_serve_it).without_nodes(),
    ];
    tests.into_iter().map(Test::with_binary).collect()
}

fn folder() -> TempDir {
    tempfile::Builder::new().prefix("likewise-demo-").tempdir().expect("a temporary folder")
}

fn start(app: &App, folder: &TempDir, more: &[&str]) -> (ServerProcess, Client) {
    let settings = app.settings().into_iter().flat_map(|(flag, value)| [flag, value]);
    let mut arguments: Vec<String> = ["serve".to_owned()].into_iter().chain(settings).collect();
    arguments.extend(more.iter().map(|word| (*word).to_owned()));
    let server = ServerProcess::start(folder.path(), &arguments);
    let client = Client::new(app.http(), &server.address);
    (server, client)
}

async fn friends(client: &Client, item: &str) -> Value {
    let query = "query($id: ID!) { item(id: $id) { friendLikers { users { name } othersCount } } }";
    client.query(query, json!({ "id": item })).await.data()["item"]["friendLikers"].clone()
}

async fn likes(client: &Client, item: &str) -> i64 {
    client.item(item).await.like_count
}

async fn a_demo_looks_like_a_product(app: &App) {
    let folder = folder();
    let began = Instant::now();
    let (server, client) = start(app, &folder, &["--demo"]);
    assert_eq!(likes(&client, "photo:sunrise").await, SUNRISE, "the first answer has the whole count");
    say(&format!("a demo with {GUEST_LIKES} guests' likes started in {:?}", began.elapsed()));
    let guests = app.number("SELECT count(*) FROM reaction WHERE user_id LIKE 'guest:%' AND state = 1").await;
    assert_eq!(guests, GUEST_LIKES);
    let of_ana = friends(&client.as_user("ana"), "photo:sunrise").await;
    assert_eq!(of_ana, json!({ "users": [{ "name": "Eva" }, { "name": "Dan" }], "othersCount": 1203 }));
    let of_eva = friends(&client.as_user("eva"), "photo:sunrise").await;
    assert_eq!(of_eva, json!({ "users": [{ "name": "Dan" }], "othersCount": 1203 }));
    assert_eq!(server.stop(Signal::SIGTERM), Some(0));
}

async fn a_restart_moves_nothing_that_people_did(app: &App) {
    let folder = folder();
    let (server, client) = start(app, &folder, &["--demo"]);
    assert!(client.as_user("ana").unlike("post:1").await.changed);
    assert!(client.as_user("ana").like("photo:sunrise").await.changed);
    assert!(client.as_user("guest:1").unlike("photo:sunrise").await.changed);
    let (users, items) = (
        json!([{ "id": "ben", "name": "Benjamin", "removeFriendIds": ["ana"] }]),
        json!([{ "id": "post:2", "open": false }]),
    );
    client.as_service().upsert_users(users).await.data();
    client.as_service().upsert_items(items).await.data();
    client.as_user("zoe").like("shoe:1").await;
    assert_eq!(server.stop(Signal::SIGTERM), Some(0));
    let events = "SELECT count(*) FROM reaction_event";
    let before = app.number(events).await;

    let (server, client) = start(app, &folder, &["--demo"]);
    assert_eq!(app.number(events).await, before, "nothing was written");
    assert_eq!(client.as_user("ana").item("post:1").await.liked_by_me, Some(false));
    assert_eq!(likes(&client, "photo:sunrise").await, SUNRISE);
    assert_eq!(friends(&client.as_user("eva"), "post:2").await["users"][1]["name"], "Ana", "she likes it as before");
    for (kept, count) in [
        ("account WHERE id = 'ben' AND name = 'Benjamin'", 1),
        ("friendship WHERE user_id = 'ben' AND friend_id = 'ana'", 0),
        ("item WHERE id = 'post:2' AND NOT is_open", 1),
    ] {
        assert_eq!(app.number(&format!("SELECT count(*) FROM {kept}")).await, count, "{kept}");
    }
    assert_eq!(server.stop(Signal::SIGTERM), Some(0));
}

/// A database that an older demo, or a start that was broken off, left behind; and one of its people was deleted.
async fn a_demo_fills_in_what_is_missing(app: &App) {
    let folder = folder();
    let (server, client) = start(app, &folder, &[]);
    client.as_service().upsert_items(json!([{ "id": "post:1", "type": "post" }])).await.data();
    client.as_service().upsert_users(json!([{ "id": "ana", "name": "Ana", "friendIds": ["cleo"] }])).await.data();
    client.as_user("ana").like("post:1").await;
    client.as_user("cleo").like("post:1").await;
    assert_eq!(server.stop(Signal::SIGTERM), Some(0));
    let mut erase = vec!["erase".to_owned(), "--user".to_owned(), "cleo".to_owned()];
    erase.extend(["--database-url".to_owned(), app.database.url()]);
    binary::run(folder.path(), &erase).success();

    let (server, client) = start(app, &folder, &["--demo"]);
    assert_eq!(likes(&client, "photo:sunrise").await, SUNRISE);
    let whole = async || likes(&client, "post:1").await == 41 + 2;
    until_true("Ana, Dan and the guests like the first item", SOON, whole).await;
    assert_eq!(app.number("SELECT count(*) FROM reaction WHERE user_id = 'cleo'").await, 0, "she stays deleted");
    let names = client.as_user("ana");
    assert_eq!(friends(&names, "photo:sunrise").await["users"], json!([{ "name": "Eva" }, { "name": "Dan" }]));
    assert_eq!(server.stop(Signal::SIGTERM), Some(0));
}

async fn a_database_of_somebody_is_no_place_for_a_demo(app: &App) {
    let folder = folder();
    let refused = || {
        let settings = app.settings().into_iter().flat_map(|(flag, value)| [flag, value]);
        let arguments: Vec<_> = ["serve", "--demo"].map(str::to_owned).into_iter().chain(settings).collect();
        let output = binary::run(folder.path(), &arguments);
        assert_eq!(output.code, Some(64), "{}", output.stderr);
        assert!(output.stderr.contains("LIKEWISE_DEMO: the database at"), "{}", output.stderr);
    };
    let (server, client) = start(app, &folder, &["--log-retention", "365d"]);
    client.as_service().upsert_items(json!([{ "id": "shoe:1" }])).await.data();
    refused();
    client.as_user("zoe").like("shoe:1").await;
    client.as_user("guest:1").like("shoe:1").await;
    app.drained().await;
    // What a server with the usual settings would remove at its start.
    let sql = app.sql().await;
    sql.execute("UPDATE reaction_event SET created_at = created_at - 30 * CAST(86400000000 AS bigint)").await;
    sql.close().await;
    for _ in 0..5 {
        refused();
    }
    assert_eq!(app.number("SELECT count(*) FROM reaction_event").await, 2, "its log is let alone");
    assert_eq!(app.number("SELECT count(*) FROM reaction").await, 2);
    assert_eq!(app.number("SELECT count(*) FROM item").await, 1);
    assert_eq!(server.stop(Signal::SIGTERM), Some(0));
}

async fn a_worker_leaves_the_demo_to_those_who_serve_it(app: &App) {
    let (folder_of_worker, folder_of_api) = (folder(), folder());
    let (worker, client) = start(app, &folder_of_worker, &["--demo", "--role", "worker"]);
    assert_eq!(client.get("/livez").await.0, 200);
    assert_eq!(worker.printed(), "", "it has no demo to show");
    assert_eq!(app.number("SELECT count(*) FROM item").await, 0);
    let (api, client) = start(app, &folder_of_api, &["--demo", "--role", "api"]);
    let whole = async || likes(&client, "photo:sunrise").await == SUNRISE;
    until_true("the worker counts the demo's likes", SOON, whole).await;
    assert_eq!(api.stop(Signal::SIGTERM), Some(0));
    assert_eq!(worker.stop(Signal::SIGTERM), Some(0));
}
