//! Deleted accounts: nothing of the person is left, nothing comes back, and nobody can tell from the counts.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use likewise_tests::app::App;
use likewise_tests::binary;
use likewise_tests::client::Client;
use likewise_tests::database::Sql;
use likewise_tests::harness::Test;
use likewise_tests::socket::{Frame, Socket};
use likewise_tests::views::Reaction;
use likewise_tests::wait::{SOON, until, until_true};
use likewise_tests::{invariants, on_all, on_both, test_on};
use rand::RngExt;
use serde_json::{Value, json};
use tempfile::TempDir;

/// No other id and no other text holds this one.
const GONE: &str = "the-one-who-left";
/// Where the id stays: the tombstone, the order that made it, and events until the log's retention ends.
const KEPT: [&str; 3] = ["account.id", "erasure.user_id", "reaction_event.user_id"];
/// The sockets of a deleted account are closed within about a second; four of them are allowed.
const SOCKET_CLOSED: Duration = Duration::from_secs(4);
const REFUSED: u16 = 4403;
/// Kills the process after some batches.
const DEADLY: &str = "eraser_between_batches=3*off->1*return(kill)";

/// Places where these tests kill or hold up a process; one that is not reached fails its test.
pub(crate) const PLACES: [&str; 2] = ["catalog_before_commit", "eraser_between_batches"];

pub(crate) fn tests() -> Vec<Test> {
    vec![
        on_all!(an_erased_user_is_nowhere),
        on_all!(nothing_comes_back_however_many_likes_are_under_way),
        on_all!(an_erased_users_token_is_refused_on_every_node),
        test_on!([Cluster], cut_connections_let_no_erased_user_write),
        on_all!(sockets_of_an_erased_user_are_closed_on_every_node),
        on_both!(an_upsert_brings_nothing_of_an_erased_user_back),
        on_both!(erasing_needs_the_service_scope),
        test_on!([Postgres], a_like_that_commits_after_the_tombstone_is_removed).without_nodes().with_binary(),
        test_on!([Postgres], a_friendship_that_commits_late_is_removed).without_nodes().with_binary(),
        on_both!(a_killed_erasure_goes_on_elsewhere).without_nodes().with_binary(),
        test_on!([Sqlite], the_command_says_where_it_could_write_nothing).without_nodes().with_binary(),
        on_both!(the_command_erases_and_goes_on_after_a_kill).without_nodes().with_binary(),
    ]
}

fn last_node(app: &App) -> usize {
    app.running_nodes() - 1
}

/// Waits until nothing of the user is left; the answer's `erasure`.
async fn finished(service: &Client, user: &str) -> Value {
    let document = "query ($id: ID!) { erasure(userId: $id) { removedReactions finishedAt } }";
    until("the account is erased", SOON * 2, async || {
        let erasure = service.query(document, json!({ "id": user })).await.data()["erasure"].clone();
        (!erasure["finishedAt"].is_null()).then_some(erasure)
    })
    .await
}

/// Every text column of every table, as `table.column`.
async fn text_columns(app: &App, sql: &Sql) -> Vec<String> {
    let query = if app.database.is_postgres() {
        "SELECT table_name || '.' || column_name FROM information_schema.columns
         WHERE table_schema = 'public' AND data_type = 'text'"
    } else {
        "SELECT m.name || '.' || c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
         WHERE m.type = 'table' AND lower(c.type) LIKE '%text%'"
    };
    sql.column(query).await
}

/// Where the person's id still stands, but for the places where it stays.
async fn places_of(app: &App, user: &str) -> Vec<String> {
    let sql = app.sql().await;
    let columns = text_columns(app, &sql).await;
    assert!(KEPT.iter().all(|kept| columns.iter().any(|column| column == kept)), "{columns:?}");
    let mut places = Vec::new();
    for place in columns.into_iter().filter(|column| !KEPT.contains(&column.as_str())) {
        let (table, column) = place.split_once('.').expect("a table and a column");
        let count = format!("SELECT count(*) FROM {table} WHERE \"{column}\" LIKE '%{user}%'");
        if sql.number(&count).await > 0 {
            places.push(place);
        }
    }
    sql.close().await;
    places
}

/// A person with something in every table.
async fn a_full_life(app: &App) {
    let service = app.as_service();
    let user = json!({ "id": GONE, "name": format!("Name of {GONE}"), "friendIds": ["ana", "ben"] });
    service.upsert_users(json!([user, { "id": "ana", "friendIds": [GONE, "ben"] }])).await.data();
    service.upsert_items(json!([{ "id": "post:own", "creatorId": GONE }])).await.data();
    let gone = app.node(last_node(app)).as_user(GONE);
    for number in 0..250 {
        let (item, key) = (format!("post:{}", number % 120), format!("tap-{number}"));
        gone.set_with_key(&item, Reaction::ALL[number % 3], &key).await;
    }
    for user in ["ana", "ben"] {
        app.as_user(user).like("post:0").await;
    }
    // What was retracted and given back leaves entries that name the person.
    let pair = json!([{ "userId": GONE, "itemId": "post:0" }, { "userId": "ana", "itemId": "post:7" }]);
    let reason = format!("{GONE} looks odd");
    service.retract("some", json!({ "reactions": pair, "reason": reason })).await.data();
    service.retract("all", json!({ "userId": GONE, "reason": format!("{GONE} is a bot") })).await.data();
    service.restore("all").await.data();
    until_true("the reactions are given back", SOON, async || {
        app.number("SELECT count(*) FROM retraction WHERE status = 3").await == 1
    })
    .await;
    app.drained().await;
}

async fn an_erased_user_is_nowhere(app: &App) {
    a_full_life(app).await;
    let places = places_of(app, GONE).await;
    assert!(places.len() >= 9, "the person is in every table: {places:?}");
    let rows = app.number(&format!("SELECT count(*) FROM reaction WHERE user_id = '{GONE}'")).await;

    let service = app.as_service();
    let erasure = service.erase_user(GONE).await;
    assert_eq!((&erasure["userId"], erasure["requestedAt"].is_string()), (&json!(GONE), true));
    let unknown = service.query("{ user(id: \"the-one-who-left\") { name } }", json!({})).await.data();
    assert!(unknown["user"].is_null(), "the name is gone at once");
    assert_eq!(finished(&service, GONE).await["removedReactions"], rows);
    assert_eq!(places_of(app, GONE).await, Vec::<String>::new());

    app.drained().await;
    let ana = app.node(last_node(app)).as_user("ana");
    let document = "{ item(id: \"post:0\") { likeCount likers { edges { node { id } } } \
         friendLikers { users { id } complete } } user(id: \"the-one-who-left\") { id } }";
    let seen = ana.query(document, json!({})).await;
    assert!(!seen.text.contains(GONE), "{}", seen.text);
    assert_eq!(seen.data()["item"]["likeCount"], 2);
    assert_eq!(app.number("SELECT CAST(sum(like_count + dislike_count) AS bigint) FROM item_count").await, 2);
    assert_eq!(service.erase_user(GONE).await["removedReactions"], rows, "asked again, it answers the same");
}

async fn nothing_comes_back_however_many_likes_are_under_way(app: &App) {
    const CLIENTS: usize = 100;
    let mut rng = likewise_tests::seeded::rng("nothing_comes_back_however_many_likes_are_under_way");
    let likes = (0..CLIENTS).map(|number| {
        let client = app.node(number % app.running_nodes()).as_user(GONE);
        let first: usize = rng.random_range(0..1_000);
        tokio::spawn(async move {
            let mut likes = 0;
            loop {
                let (item, key) = (format!("post:{}", (first + likes * 7) % 1_000), format!("{number}-{likes}"));
                match client.tap(&item, Reaction::Like, Some(&key)).await {
                    Ok(_) => likes += 1,
                    Err(refused) if refused.code == "UNAUTHENTICATED" => return likes,
                    Err(busy) => assert_eq!(busy.retryable, Some(true), "{busy:?}"),
                }
            }
        })
    });
    let likes = likes.collect::<Vec<_>>();
    until_true("likes come in", SOON, async || app.number("SELECT count(*) FROM reaction").await > 200).await;
    let service = app.node(last_node(app)).as_service();
    service.erase_user(GONE).await;
    let mut answered = 0;
    for client in join_all(likes).await {
        answered += client.expect("every client ends with a refusal");
    }
    assert!(answered > 200, "{answered} likes were answered");
    finished(&service, GONE).await;
    assert_eq!(places_of(app, GONE).await, Vec::<String>::new());
    app.drained().await;
    assert_eq!(app.number("SELECT CAST(sum(like_count) AS bigint) FROM item_count").await, 0);
}

async fn an_erased_users_token_is_refused_on_every_node(app: &App) {
    let nodes: Vec<Client> = (0..app.running_nodes()).map(|number| app.node(number).as_user(GONE)).collect();
    for node in &nodes {
        node.like("post:1").await;
        assert!(node.is_let_in().await);
    }
    app.as_service().erase_user(GONE).await;
    for node in &nodes {
        for document in ["{ item(id: \"post:1\") { likeCount } }", "{ viewer { likedItems { edges { cursor } } } }"] {
            let answer = node.query(document, json!({})).await;
            assert_eq!((answer.status, answer.code()), (401, "UNAUTHENTICATED"), "{}", answer.text);
            assert!(answer.data.is_null(), "{}", answer.text);
        }
        for reaction in Reaction::ALL {
            let refused = node.tap("post:1", reaction, Some("a-new-key")).await.expect_err("the account is deleted");
            assert_eq!(
                (refused.code.as_str(), refused.message.as_str()),
                ("UNAUTHENTICATED", "This account was deleted.")
            );
        }
        let service_of_gone = node.with_token(service_token_of(GONE));
        assert_eq!(service_of_gone.upsert_items(json!([{ "id": "post:2" }])).await.code(), "UNAUTHENTICATED");
    }
    assert!(app.as_user("ana").is_let_in().await);
}

/// A connection that was cut off shows it at its first use, which may be the look for the tombstone.
async fn cut_connections_let_no_erased_user_write(app: &App) {
    app.as_service().erase_user(GONE).await;
    let sql = app.sql().await;
    let nodes: Vec<Client> = (0..app.running_nodes()).map(|number| app.node(number)).collect();
    for _ in 0..10 {
        // Every connection of the read pools is used, and then cut.
        let looks = (0..40).map(|look| {
            let ana = nodes[look % nodes.len()].as_user("ana");
            async move { ana.is_let_in().await }
        });
        assert!(join_all(looks).await.into_iter().all(|let_in| let_in));
        sql.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name LIKE 'likewise%'",
        )
        .await;
        for node in &nodes {
            let service_of_gone = node.with_token(service_token_of(GONE));
            let answer = service_of_gone.upsert_users(json!([{ "id": "made-by-nobody" }])).await;
            let refused = answer.code();
            assert!(["UNAUTHENTICATED", "UNAVAILABLE"].contains(&refused), "{}", answer.text);
        }
    }
    assert_eq!(sql.number("SELECT count(*) FROM account WHERE id = 'made-by-nobody'").await, 0);
    sql.close().await;
}

fn service_token_of(user: &str) -> String {
    let mut claims = likewise_tests::tokens::claims(user);
    claims["scope"] = "service".into();
    likewise_tests::tokens::sign(&claims, likewise_tests::tokens::SECRET)
}

async fn sockets_of_an_erased_user_are_closed_on_every_node(app: &App) {
    let mut of_gone = Vec::new();
    let mut of_others = Vec::new();
    for number in 0..app.running_nodes() {
        let node = app.node(number);
        of_gone.push(node.as_user(GONE).watch(&["post:1"]).await);
        of_others.extend([node.as_user("ana").watch(&["post:1"]).await, node.watch(&["post:1"]).await]);
    }
    for page in of_gone.iter_mut().chain(&mut of_others) {
        page.next("the first event").await;
    }
    let mut busy = app.node(last_node(app)).as_user(GONE).socket().await;
    app.as_service().erase_user(GONE).await;

    busy.subscribe("{ viewer { user { id } } }", json!({})).await;
    match busy.next("the operation is refused", SOON).await {
        Frame::Message(message) => assert!(message.to_string().contains("UNAUTHENTICATED"), "{message}"),
        Frame::Closed(code) => assert_eq!(code, Some(REFUSED)),
    }
    for page in &mut of_gone {
        assert_eq!(page.closed(SOCKET_CLOSED).await, Some(REFUSED));
    }
    let token = likewise_tests::tokens::of_user(GONE);
    for number in 0..app.running_nodes() {
        let mut late = Socket::open(app.node(number).address()).await;
        late.init(Some(&token)).await;
        assert_eq!(late.closed(SOON).await, Some(REFUSED));
    }
    app.as_user("ben").like("post:1").await;
    for page in &mut of_others {
        page.until("others go on", |item| item.like_count == 1).await;
    }
}

async fn an_upsert_brings_nothing_of_an_erased_user_back(app: &App) {
    let service = app.as_service();
    service.upsert_items(json!([{ "id": "post:1", "creatorId": "ben" }])).await.data();
    service.erase_user(GONE).await;
    finished(&service, GONE).await;
    let refused = service.upsert_users(json!([{ "id": "ana" }, { "id": GONE, "name": "Back" }])).await;
    assert_eq!((refused.code(), refused.errors[0].argument.as_deref()), ("BAD_USER_INPUT", Some("input.users[1].id")));
    service.upsert_users(json!([{ "id": "ana", "friendIds": ["ben", GONE] }])).await.data();
    service.upsert_users(json!([{ "id": "ben", "addFriendIds": [GONE, "ana"] }])).await.data();
    service
        .upsert_items(json!([{ "id": "post:1", "creatorId": GONE }, { "id": "post:2", "creatorId": GONE }]))
        .await
        .data();
    let pairs = json!([{ "userId": GONE, "itemId": "post:1" }, { "userId": "ana", "itemId": "post:1" }]);
    service.retract("pairs", json!({ "reactions": pairs })).await.data();
    service.retract("user", json!({ "userId": GONE, "reason": GONE })).await.data();
    assert_eq!(places_of(app, GONE).await, Vec::<String>::new());
    assert_eq!(app.number("SELECT count(*) FROM friendship").await, 2, "the other friends are there");
    assert_eq!(app.number("SELECT count(*) FROM item WHERE creator_id = 'ben'").await, 1, "the creator is as before");
    assert_eq!(app.number("SELECT count(*) FROM retraction_entry").await, 1);
    until_true("both proposals are applied", SOON, async || {
        app.number("SELECT count(*) FROM retraction WHERE status = 1").await == 2
    })
    .await;
}

async fn erasing_needs_the_service_scope(app: &App) {
    let erase =
        "mutation ($id: ID!) { eraseUser(input: { userId: $id, clientMutationId: \"m\" }) { clientMutationId } }";
    let look = "query ($id: ID!) { erasure(userId: $id) { userId } }";
    let (ana, service) = (app.as_user("ana"), app.as_service());
    for document in [erase, look] {
        assert_eq!(app.client().query(document, json!({ "id": "ana" })).await.code(), "UNAUTHENTICATED");
        assert_eq!(ana.query(document, json!({ "id": "ana" })).await.code(), "FORBIDDEN");
        assert_eq!(service.query(document, json!({ "id": "a na" })).await.code(), "BAD_USER_INPUT");
    }
    assert_eq!(app.number("SELECT count(*) FROM account").await, 0);
    assert!(service.query(look, json!({ "id": "ana" })).await.data()["erasure"].is_null());
    assert!(ana.is_let_in().await);
    assert_eq!(service.query(erase, json!({ "id": "ana" })).await.data()["eraseUser"]["clientMutationId"], "m");
    assert_eq!(service.query(look, json!({ "id": "ana" })).await.data()["erasure"]["userId"], "ana");
    assert!(!ana.is_let_in().await);
}

fn folder() -> TempDir {
    tempfile::Builder::new().prefix("likewise-erasure-").tempdir().expect("a temporary folder")
}

/// Waits until a connection of this name stands in its transaction.
async fn until_idle_in_transaction(app: &App, name: &str) {
    let standing = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = '{name}'
           AND state = 'idle in transaction' AND clock_timestamp() - state_change > interval '0.1 s'"
    );
    until_true("a transaction stands before its commit", SOON, async || app.number(&standing).await == 1).await;
}

/// It read that the account is there, and stands before its commit while the tombstone is written and the eraser looks.
async fn a_like_that_commits_after_the_tombstone_is_removed(app: &App) {
    let folder = folder();
    let server = app.start_process(folder.path(), &[], "lane_before_commit=1*return(pause 1500)");
    let client = Client::new(app.http(), &server.address);
    let gone = client.as_user(GONE);
    let like = tokio::spawn(async move { gone.set_with_key("post:1", Reaction::Like, "late").await });
    until_idle_in_transaction(app, "likewise-lanes").await;
    client.as_service().erase_user(GONE).await;
    assert!(!like.is_finished(), "the tombstone does not wait for the lane");
    assert!(like.await.expect("an answer").changed, "the like was committed");
    assert_eq!(finished(&client.as_service(), GONE).await["removedReactions"], 1);
    assert_eq!(places_of(app, GONE).await, Vec::<String>::new());
    server.stop(nix::sys::signal::Signal::SIGTERM);
    let sql = app.sql().await;
    invariants::hold(&sql).await;
    sql.close().await;
}

/// The same for a write of the catalogue: the tombstone waits for it.
async fn a_friendship_that_commits_late_is_removed(app: &App) {
    let folder = folder();
    let server = app.start_process(folder.path(), &[], "catalog_before_commit=1*return(pause 1500)");
    let service = Client::new(app.http(), &server.address).as_service();
    let upsert = tokio::spawn(async move { service.upsert_users(json!([{ "id": "ana", "friendIds": [GONE] }])).await });
    until_idle_in_transaction(app, "likewise-pipeline").await;
    app.start_node(&[]).await;
    app.as_service().erase_user(GONE).await;
    finished(&app.as_service(), GONE).await;
    upsert.await.expect("an answer").data();
    assert_eq!(places_of(app, GONE).await, Vec::<String>::new());
    server.stop(nix::sys::signal::Signal::SIGTERM);
}

const ROWS: i64 = 1_000;

/// A user with many reactions, and another with one to the same items each.
fn import_rows(app: &App, folder: &TempDir) {
    let url = app.database.url();
    binary::run(folder.path(), &["migrate", "--database-url", &url]).success();
    let line = |number: i64| format!("{GONE},post:{number},LIKE,{number}\nana,post:{number},DISLIKE,{number}\n");
    std::fs::write(folder.path().join("likes.csv"), (0..ROWS).map(line).collect::<String>()).expect("a file");
    binary::run(folder.path(), &["import", "likes.csv", "--database-url", &url]).success();
}

async fn rows_of_gone(app: &App) -> i64 {
    app.number(&format!("SELECT count(*) FROM reaction WHERE user_id = '{GONE}'")).await
}

async fn a_killed_erasure_goes_on_elsewhere(app: &App) {
    let folder = folder();
    import_rows(app, &folder);
    let server = app.start_process(folder.path(), &[], DEADLY);
    Client::new(app.http(), &server.address).as_service().erase_user(GONE).await;
    assert_eq!(server.ended(), None, "it was killed");
    let left = rows_of_gone(app).await;
    assert!(0 < left && left < ROWS, "{left} rows are left");

    app.start_node(&[]).await;
    assert!(!app.as_user(GONE).is_let_in().await, "the tombstone stands");
    let erasure = finished(&app.as_service(), GONE).await;
    assert_eq!(erasure["removedReactions"], ROWS, "each row was counted once");
    assert_eq!(places_of(app, GONE).await, Vec::<String>::new());
    app.drained().await;
    assert_eq!(app.number("SELECT CAST(sum(like_count) AS bigint) FROM item_count").await, 0);
    assert_eq!(app.number("SELECT CAST(sum(dislike_count) AS bigint) FROM item_count").await, ROWS);
}

async fn the_command_erases_and_goes_on_after_a_kill(app: &App) {
    let folder = folder();
    import_rows(app, &folder);
    let url = app.database.url();
    let erase = ["erase", "--user", GONE, "--database-url", &url];
    let deadly = BTreeMap::from([("FAILPOINTS", DEADLY)]);
    let killed = binary::run_with(folder.path(), &erase, &deadly);
    assert_eq!(killed.code, None, "it was killed: {}{}", killed.stdout, killed.stderr);
    let left = rows_of_gone(app).await;
    assert!(0 < left && left < ROWS, "{left} rows are left");

    let output = binary::run(folder.path(), &erase).success();
    assert!(output.stdout.contains(&format!("{left} reactions removed")), "{}", output.stdout);
    assert!(output.stdout.contains(&format!("{ROWS} in all")), "{}", output.stdout);
    assert_eq!(places_of(app, GONE).await, Vec::<String>::new());
    let sql = app.sql().await;
    assert_eq!(sql.number("SELECT CAST(sum(like_count) AS bigint) FROM item_count").await, 0, "it has folded");
    let again = binary::run(folder.path(), &["import", "likes.csv", "--database-url", &url]).success();
    assert!(again.stdout.contains("earlier run"), "{}", again.stdout);
    let line = format!("{GONE},post:1,LIKE,999\n");
    std::fs::write(folder.path().join("late.csv"), line).expect("a file");
    binary::run(folder.path(), &["import", "late.csv", "--database-url", &url]).success();
    assert_eq!(places_of(app, GONE).await, Vec::<String>::new(), "an import brings nothing back");
    invariants::hold(&sql).await;
    sql.close().await;
    let wrong = binary::run(folder.path(), &["erase", "--user", "two words", "--database-url", &url]);
    assert_eq!(wrong.code, Some(64), "{}", wrong.stderr);
}

async fn the_command_says_where_it_could_write_nothing(app: &App) {
    let (folder, url) = (folder(), app.database.url());
    binary::run(folder.path(), &["migrate", "--database-url", &url]).success();
    let sql = app.sql().await;
    let elsewhere = sql.begin().await;
    let output = binary::run(folder.path(), &["erase", "--user", GONE, "--database-url", &url]);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(output.stderr.contains("the account is as it was"), "{}", output.stderr);
    elsewhere.rollback().await;
    assert_eq!(sql.number("SELECT count(*) FROM erasure").await, 0);
    sql.close().await;
}
