//! Reactions that an abuse system has taken back, and given back: exactly those, and never what a person did since.

use futures_util::future::join_all;
use likewise_tests::app::App;
use likewise_tests::client::Client;
use likewise_tests::harness::Test;
use likewise_tests::views::Reaction;
use likewise_tests::wait::{SOON, until, until_true};
use likewise_tests::{on_all, on_both, test_on};
use serde_json::{Value, json};

/// Where these tests kill a process; a place that is not reached fails its test.
pub(crate) const PLACE: &str = "retractor_between_batches";

pub(crate) fn tests() -> Vec<Test> {
    vec![
        on_all!(what_is_taken_back_can_be_given_back),
        on_all!(what_a_person_does_afterwards_stays),
        on_all!(all_reactions_of_a_user_are_taken_back),
        on_all!(likes_under_way_are_taken_back_or_stay_and_counts_are_exact),
        test_on!([Cluster], a_like_between_the_proposal_and_its_work_stays).without_nodes(),
        on_both!(a_proposal_is_known_by_its_id),
        on_both!(retracting_needs_the_service_scope),
        on_both!(a_killed_retraction_goes_on).without_nodes().with_binary(),
        on_both!(a_restoration_asked_for_early_comes_after_the_retraction),
        on_both!(nothing_is_given_back_to_an_erased_user),
    ]
}

/// Waits until the proposal has this status; its counts.
async fn until_status(service: &Client, proposal: &str, status: &str) -> (i64, i64) {
    let document = "query ($id: ID!) { retraction(proposalId: $id) { status retracted restored createdAt } }";
    until(&format!("{proposal} is {status}"), SOON * 2, async || {
        let retraction = service.query(document, json!({ "id": proposal })).await.data()["retraction"].clone();
        assert!(retraction["createdAt"].is_string(), "{retraction}");
        let count = |name: &str| retraction[name].as_i64().expect("a count");
        (retraction["status"] == status).then(|| (count("retracted"), count("restored")))
    })
    .await
}

fn pairs(pairs: &[(&str, &str)]) -> Value {
    let pair = |(user, item): &(&str, &str)| json!({ "userId": user, "itemId": item });
    json!({ "reactions": pairs.iter().map(pair).collect::<Vec<_>>(), "reason": "a test" })
}

async fn what_is_taken_back_can_be_given_back(app: &App) {
    let (service, ana) = (app.as_service(), app.as_user("ana"));
    ana.like("post:1").await;
    ana.set("post:2", Reaction::Dislike).await;
    ana.like("post:3").await;
    app.as_user("ben").like("post:1").await;
    app.drained().await;
    let before = ana.item("post:1").await;
    let order = ana.liked_items(json!({})).await.ids;
    let mut page = app.node(app.running_nodes() - 1).as_user("ana").watch(&["post:1"]).await;
    page.next("the first event").await;

    let suspects = pairs(&[("ana", "post:1"), ("ana", "post:2"), ("ana", "post:4"), ("cem", "post:1")]);
    service.retract("p", suspects).await.data();
    assert_eq!(until_status(&service, "p", "APPLIED").await, (2, 0));
    let taken = page.until("the heart is gone", |item| item.liked_by_me == Some(false)).await;
    assert_eq!((taken.like_count, taken.my_reaction_version), (1, Some(2)));
    assert_eq!(ana.item("post:2").await.dislike_count, 0);
    assert_eq!(ana.liked_items(json!({})).await.ids, ["post:3"]);
    assert_eq!(app.number("SELECT count(*) FROM reaction_event WHERE origin = 3 AND user_id = 'ana'").await, 2);

    service.upsert_items(json!([{ "id": "post:1", "open": false }])).await.data();
    service.restore("p").await.data();
    assert_eq!(until_status(&service, "p", "RESTORED").await, (2, 2));
    let given = page.until("the heart is back", |item| item.liked_by_me == Some(true)).await;
    assert_eq!((given.like_count, given.my_reaction_version), (2, Some(3)));
    assert_eq!(given.my_reaction_at, before.my_reaction_at, "as it was");
    assert_eq!(ana.liked_items(json!({})).await.ids, order);
    assert_eq!(ana.item("post:2").await.my_reaction, Some(Reaction::Dislike));
    service.restore("p").await.data();
    assert_eq!(until_status(&service, "p", "RESTORED").await, (2, 2), "once");
}

async fn what_a_person_does_afterwards_stays(app: &App) {
    let (service, ana) = (app.as_service(), app.as_user("ana"));
    for item in ["post:1", "post:2", "post:3"] {
        ana.set_with_key(item, Reaction::Like, &format!("first-{item}")).await;
    }
    service.retract("p", json!({ "userId": "ana" })).await.data();
    assert_eq!(until_status(&service, "p", "APPLIED").await, (3, 0));
    let retry = ana.set_with_key("post:1", Reaction::Like, "first-post:1").await;
    assert!(retry.replayed && retry.changed && retry.version == 1, "the old answer: {retry:?}");
    assert_eq!(retry.item.liked_by_me, Some(false), "and no like");
    assert!(ana.set_with_key("post:1", Reaction::Like, "second").await.changed);
    ana.set("post:2", Reaction::Like).await;
    ana.set("post:2", Reaction::None).await;

    service.restore("p").await.data();
    assert_eq!(until_status(&service, "p", "RESTORED").await, (3, 1));
    let versions = ana.items(&["post:1", "post:2", "post:3"].map(str::to_owned)).await;
    let states: Vec<_> = versions.iter().map(|item| (item.my_reaction, item.my_reaction_version)).collect();
    let (like, none) = (Some(Reaction::Like), Some(Reaction::None));
    assert_eq!(states, [(like, Some(3)), (none, Some(4)), (like, Some(3))]);
}

async fn all_reactions_of_a_user_are_taken_back(app: &App) {
    const ITEMS: usize = 250;
    let (service, ana) = (app.as_service(), app.as_user("ana"));
    for number in 0..ITEMS {
        ana.set(&format!("post:{number}"), Reaction::ALL[number % 2]).await;
    }
    ana.unlike("post:0").await;
    service.retract("p", json!({ "userId": "ana" })).await.data();
    ana.like("post:new").await;
    ana.like("post:0").await;
    let taken = i64::try_from(ITEMS).expect("small") - 1;
    assert_eq!(until_status(&service, "p", "APPLIED").await, (taken, 0));
    let mut left = ana.liked_items(json!({ "first": 100 })).await.ids;
    left.sort();
    assert_eq!(left, ["post:0", "post:new"], "what came later is not its matter");
    app.drained().await;
    assert_eq!(app.number("SELECT CAST(sum(like_count + dislike_count) AS bigint) FROM item_count").await, 2);
    service.restore("p").await.data();
    assert_eq!(until_status(&service, "p", "RESTORED").await, (taken, taken));
    app.drained().await;
    assert_eq!(app.number("SELECT CAST(sum(like_count + dislike_count) AS bigint) FROM item_count").await, taken + 2);
}

async fn likes_under_way_are_taken_back_or_stay_and_counts_are_exact(app: &App) {
    let service = app.as_service();
    let taps = (0..40).map(|number: usize| {
        let client = app.node(number % app.running_nodes()).as_user(&format!("user{}", number % 4));
        tokio::spawn(async move {
            for round in 0..15 {
                let (item, reaction) = (format!("post:{}", (number + round) % 9), Reaction::ALL[(number + round) % 3]);
                client.tap_until_done(&item, reaction, &format!("{number}-{round}")).await;
            }
        })
    });
    let taps = taps.collect::<Vec<_>>();
    for user in ["user0", "user1", "user2"] {
        service.retract(user, json!({ "userId": user })).await.data();
        service.restore(user).await.data();
    }
    for tap in join_all(taps).await {
        tap.expect("every tap succeeds");
    }
    for user in ["user0", "user1", "user2"] {
        until_status(&service, user, "RESTORED").await;
    }
}

async fn a_like_between_the_proposal_and_its_work_stays(app: &App) {
    let api = app.start_node(&[("--role", "api")]).await;
    let (service, ana) = (app.node(api).as_service(), app.node(api).as_user("ana"));
    for item in ["post:1", "post:2", "post:3"] {
        ana.like(item).await;
    }
    service.retract("all", json!({ "userId": "ana" })).await.data();
    service.retract("one", pairs(&[("ana", "post:3")])).await.data();
    for item in ["post:1", "post:3"] {
        ana.unlike(item).await;
        ana.like(item).await;
    }
    ana.unlike("post:2").await;
    app.start_node(&[("--role", "worker")]).await;
    assert_eq!(until_status(&service, "all", "APPLIED").await, (0, 0));
    assert_eq!(until_status(&service, "one", "APPLIED").await, (0, 0));
    assert_eq!(ana.liked_items(json!({})).await.ids, ["post:3", "post:1"]);
}

async fn a_proposal_is_known_by_its_id(app: &App) {
    let service = app.as_service();
    app.as_user("ana").like("post:1").await;
    service.retract("p", pairs(&[("ana", "post:1"), ("ben", "post:1")])).await.data();
    until_status(&service, "p", "APPLIED").await;
    let again = service.retract("p", pairs(&[("ben", "post:1"), ("ana", "post:1")])).await.data();
    assert_eq!(again["retractReactions"]["retraction"]["retracted"], 1);
    for other in [pairs(&[("ana", "post:1")]), json!({ "userId": "ana" })] {
        let refused = service.retract("p", other).await;
        assert_eq!(
            (refused.code(), refused.errors[0].argument.as_deref()),
            ("BAD_USER_INPUT", Some("input.proposalId"))
        );
    }
    let refused = service.restore("unknown").await;
    assert_eq!((refused.code(), refused.errors[0].argument.as_deref()), ("BAD_USER_INPUT", Some("input.proposalId")));
    let unknown = service.query("{ retraction(proposalId: \"unknown\") { status } }", json!({})).await.data();
    assert!(unknown["retraction"].is_null());
    let many: Vec<_> = (0..1_000).map(|number| format!("user{number}")).collect();
    let many: Vec<_> = many.iter().map(|user| (user.as_str(), "post:1")).collect();
    service.retract("many", pairs(&many)).await.data();
    assert_eq!(until_status(&service, "many", "APPLIED").await, (0, 0));
    let more: Vec<_> = many.iter().copied().chain([("one-more", "post:1")]).collect();
    assert_eq!(service.retract("more", pairs(&more)).await.code(), "LIMIT_EXCEEDED");
}

async fn retracting_needs_the_service_scope(app: &App) {
    let ana = app.as_user("ana");
    ana.like("post:1").await;
    let look = "{ retraction(proposalId: \"p\") { status } }";
    for (client, code) in [(&app.client(), "UNAUTHENTICATED"), (&ana, "FORBIDDEN")] {
        assert_eq!(client.retract("p", pairs(&[("ben", "post:1")])).await.code(), code);
        assert_eq!(client.restore("p").await.code(), code);
        assert_eq!(client.query(look, json!({})).await.code(), code);
    }
    assert_eq!(app.number("SELECT count(*) FROM retraction").await, 0);
}

/// Between two batches, first of the retraction and then of the restoration.
async fn a_killed_retraction_goes_on(app: &App) {
    const ITEMS: i64 = 250;
    let folder = tempfile::Builder::new().prefix("likewise-retraction-").tempdir().expect("a temporary folder");
    let deadly = format!("{PLACE}=1*off->1*return(kill)");
    let server = app.start_process(folder.path(), &[], &deadly);
    let client = Client::new(app.http(), &server.address);
    for number in 0..ITEMS {
        client.as_user("ana").like(&format!("post:{number}")).await;
    }
    client.as_service().retract("p", json!({ "userId": "ana" })).await.data();
    assert_eq!(server.ended(), None, "it was killed");
    let left = app.number("SELECT count(*) FROM reaction WHERE state = 1").await;
    assert!(0 < left && left < ITEMS, "{left} likes are left");

    let server = app.start_process(folder.path(), &[], "");
    let service = Client::new(app.http(), &server.address).as_service();
    assert_eq!(until_status(&service, "p", "APPLIED").await, (ITEMS, 0));
    server.stop(nix::sys::signal::Signal::SIGKILL);

    let server = app.start_process(folder.path(), &[], &deadly);
    Client::new(app.http(), &server.address).as_service().restore("p").await.data();
    assert_eq!(server.ended(), None, "it was killed");
    app.start_node(&[]).await;
    assert_eq!(until_status(&app.as_service(), "p", "RESTORED").await, (ITEMS, ITEMS));
    assert_eq!(app.number("SELECT count(*) FROM reaction WHERE state = 1").await, ITEMS);
}

async fn a_restoration_asked_for_early_comes_after_the_retraction(app: &App) {
    let (service, ana) = (app.as_service(), app.as_user("ana"));
    for number in 0..120 {
        ana.like(&format!("post:{number}")).await;
    }
    service.retract("p", json!({ "userId": "ana" })).await.data();
    let asked = service.restore("p").await.data();
    let status = asked["restoreReactions"]["retraction"]["status"].clone();
    assert!(["RESTORING", "RESTORED"].contains(&status.as_str().expect("a status")), "{status}");
    assert_eq!(until_status(&service, "p", "RESTORED").await, (120, 120));
    assert_eq!(app.number("SELECT count(*) FROM reaction WHERE state = 1 AND version = 3").await, 120);
}

async fn nothing_is_given_back_to_an_erased_user(app: &App) {
    let service = app.as_service();
    for user in ["ana", "ben"] {
        app.as_user(user).like("post:1").await;
    }
    service.retract("p", pairs(&[("ana", "post:1"), ("ben", "post:1")])).await.data();
    assert_eq!(until_status(&service, "p", "APPLIED").await, (2, 0));
    service.erase_user("ana").await;
    service.restore("p").await.data();
    assert_eq!(until_status(&service, "p", "RESTORED").await, (2, 1));
    until_true("the account is erased", SOON, async || {
        app.number("SELECT count(*) FROM erasure WHERE finished_at IS NOT NULL").await == 1
    })
    .await;
    assert_eq!(app.number("SELECT count(*) FROM reaction WHERE state = 1").await, 1);
    assert_eq!(app.number("SELECT count(*) FROM retraction_entry WHERE user_id = 'ana'").await, 0);
}
