//! Like, unlike, dislike: what one call does, and many at once.

use futures_util::future::join_all;
use likewise_tests::app::App;
use likewise_tests::harness::Test;
use likewise_tests::on_all;
use likewise_tests::on_both;
use likewise_tests::views::Reaction;
use serde_json::json;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        on_both!(each_row_of_the_transition_table),
        on_both!(six_calls_of_a_like_button),
        on_both!(unlike_twice_is_one_event),
        on_both!(unlike_takes_a_dislike_back),
        on_both!(set_reaction_says_what_like_and_unlike_say),
        on_both!(client_mutation_id_comes_back),
        on_both!(closed_item_refuses_new_reactions_and_allows_unlike),
        on_all!(parallel_likes_of_one_user_are_one_row),
        on_all!(parallel_likes_and_unlikes_of_one_user_end_in_the_row),
        on_all!(a_thousand_users_on_one_item_are_a_thousand),
        on_both!(restart_keeps_the_numbers),
        on_both!(reading_creates_nothing),
    ]
}

async fn each_row_of_the_transition_table(app: &App) {
    let ana = app.as_user("ana");
    for old in Reaction::ALL {
        for new in Reaction::ALL {
            let item = format!("{old:?}-{new:?}");
            let before = if old == Reaction::None { 0 } else { ana.set(&item, old).await.version };
            let payload = ana.set(&item, new).await;
            let ((old_likes, old_dislikes), (likes, dislikes)) = (old.counts(), new.counts());
            let changed = old != new;
            assert_eq!(payload.previous_reaction, old, "{item}");
            assert_eq!(payload.reaction, new, "{item}");
            assert_eq!(payload.changed, changed, "{item}");
            assert_eq!(payload.version, before + i64::from(changed), "{item}");
            assert_eq!(payload.client_like_delta, likes - old_likes, "{item}");
            assert_eq!(payload.client_dislike_delta, dislikes - old_dislikes, "{item}");
            assert_eq!(payload.count_status, if changed { "QUEUED" } else { "UNCHANGED" }, "{item}");
            assert!(!payload.replayed, "{item}");
            assert_eq!((payload.item.like_count, payload.item.dislike_count), (likes, dislikes), "{item}");
            assert_eq!(payload.item.my_reaction, Some(new), "{item}");
            assert_eq!(payload.item.liked_by_me, Some(new == Reaction::Like), "{item}");
            assert_eq!(payload.item.my_reaction_version, Some(payload.version), "{item}");
        }
    }
    app.drained().await;
    for old in Reaction::ALL {
        for new in Reaction::ALL {
            let item = app.client().item(&format!("{old:?}-{new:?}")).await;
            assert_eq!((item.like_count, item.dislike_count), new.counts(), "{item:?}");
        }
    }
}

async fn six_calls_of_a_like_button(app: &App) {
    let (ana, ben) = (app.as_user("ana"), app.as_user("ben"));
    let calls = [
        ("Ana's first like", &ana, Reaction::Like, 1),
        ("her like, retried", &ana, Reaction::Like, 0),
        ("Ana's unlike", &ana, Reaction::None, -1),
        ("her unlike, retried", &ana, Reaction::None, 0),
        ("Ben's unlike, who never liked", &ben, Reaction::None, 0),
        ("Ana's like again, later", &ana, Reaction::Like, 1),
    ];
    let mut count = 0;
    for (call, who, reaction, effect) in calls {
        let payload = who.set("post:42", reaction).await;
        count += effect;
        assert_eq!(payload.client_like_delta, effect, "{call}");
        assert_eq!(payload.changed, effect != 0, "{call}");
        app.drained().await;
        assert_eq!(app.client().item("post:42").await.like_count, count, "{call}");
    }
    assert_eq!(app.number("SELECT count(*) FROM reaction_event").await, 3, "three calls changed something");
}

async fn unlike_twice_is_one_event(app: &App) {
    let ana = app.as_user("ana");
    ana.like("post:1").await;
    let first = ana.unlike("post:1").await;
    let second = ana.unlike("post:1").await;
    assert!(first.changed && !second.changed);
    assert_eq!(first.version, second.version);
    let unlikes = "SELECT count(*) FROM reaction_event WHERE new_state = 0";
    assert_eq!(app.number(unlikes).await, 1);
    assert_eq!(app.number("SELECT count(*) FROM reaction").await, 1, "an unlike keeps the row");
}

async fn unlike_takes_a_dislike_back(app: &App) {
    let ana = app.as_user("ana");
    ana.set("post:1", Reaction::Dislike).await;
    let payload = ana.unlike("post:1").await;
    assert_eq!((payload.client_like_delta, payload.client_dislike_delta), (0, -1));
    assert_eq!(payload.item.dislike_count, 0);
}

async fn set_reaction_says_what_like_and_unlike_say(app: &App) {
    let ana = app.as_user("ana");
    for reaction in [Reaction::Like, Reaction::Dislike, Reaction::None] {
        let payload = ana.set_reaction("post:1", reaction, None).await.expect("an answer");
        assert_eq!(payload.reaction, reaction);
        assert!(payload.changed);
    }
    assert!(!ana.unlike("post:1").await.changed);
}

async fn client_mutation_id_comes_back(app: &App) {
    let ana = app.as_user("ana");
    for (verb, input) in [("like", "LikeInput"), ("unlike", "UnlikeInput")] {
        let value = json!({ "itemId": "post:1", "clientMutationId": "tap 7" });
        let payload = ana.mutate(verb, input, value).await.expect("an answer");
        assert_eq!(payload.client_mutation_id.as_deref(), Some("tap 7"));
    }
    assert_eq!(ana.like("post:1").await.client_mutation_id, None);
}

async fn closed_item_refuses_new_reactions_and_allows_unlike(app: &App) {
    let (ana, ben) = (app.as_user("ana"), app.as_user("ben"));
    ana.like("post:1").await;
    app.as_service().upsert_items(json!([{ "id": "post:1", "open": false }])).await.data();
    let refused = ben.tap("post:1", Reaction::Like, None).await.expect_err("the item is closed");
    assert_eq!(refused.code, "ITEM_CLOSED");
    let refused = ana.tap("post:1", Reaction::Dislike, None).await.expect_err("the item is closed");
    assert_eq!(refused.code, "ITEM_CLOSED");
    assert!(!ana.like("post:1").await.changed, "what is liked may be liked again");
    assert!(!ben.unlike("post:1").await.changed, "nothing to take back is no error");
    assert!(ana.unlike("post:1").await.changed);
    app.as_service().upsert_items(json!([{ "id": "post:1", "open": true }])).await.data();
    assert!(ben.like("post:1").await.changed);
}

async fn parallel_likes_of_one_user_are_one_row(app: &App) {
    let nodes = nodes(app);
    let likes = (0..100).map(|number: usize| {
        let ana = nodes[number % nodes.len()].as_user("ana");
        tokio::spawn(async move { ana.like("post:1").await })
    });
    let payloads: Vec<_> = join_all(likes).await.into_iter().map(|like| like.expect("every like succeeds")).collect();
    assert_eq!(payloads.iter().filter(|payload| payload.changed).count(), 1);
    assert!(payloads.iter().all(|payload| payload.version == 1 && payload.item.like_count == 1), "{payloads:?}");
    assert_eq!(app.number("SELECT count(*) FROM reaction").await, 1);
    assert_eq!(app.number("SELECT count(*) FROM reaction_event").await, 1);
    app.drained().await;
    assert_eq!(app.client().item("post:1").await.like_count, 1);
}

async fn parallel_likes_and_unlikes_of_one_user_end_in_the_row(app: &App) {
    let nodes = nodes(app);
    let taps = (0..200).map(|number: usize| {
        let ana = nodes[number / 2 % nodes.len()].as_user("ana");
        let reaction = if number.is_multiple_of(2) { Reaction::Like } else { Reaction::None };
        tokio::spawn(async move { ana.set("post:1", reaction).await })
    });
    let payloads: Vec<_> = join_all(taps).await.into_iter().map(|tap| tap.expect("every tap succeeds")).collect();
    let last = payloads.iter().max_by_key(|payload| payload.version).expect("two hundred answers");
    let flips: i64 = payloads.iter().map(|payload| payload.client_like_delta).sum();
    app.drained().await;
    let (anonymous, own) = (app.client().item("post:1").await, app.as_user("ana").item("post:1").await);
    assert_eq!(anonymous.like_count, last.reaction.counts().0, "the count is what the row says");
    assert_eq!(anonymous.like_count, flips, "the deltas that callers were told add up");
    assert_eq!(own.my_reaction, Some(last.reaction));
    assert_eq!(own.my_reaction_version, Some(last.version));
}

async fn a_thousand_users_on_one_item_are_a_thousand(app: &App) {
    let nodes = nodes(app);
    let likes = (0..1000).map(|number: usize| {
        let user = nodes[number % nodes.len()].as_user(&format!("user{number}"));
        tokio::spawn(async move { user.tap_until_done("post:1", Reaction::Like, "first").await })
    });
    for like in join_all(likes).await {
        assert!(like.expect("every like succeeds").changed);
    }
    app.drained().await;
    for node in nodes {
        assert_eq!(node.item("post:1").await.like_count, 1000);
    }
}

async fn restart_keeps_the_numbers(app: &App) {
    for user in ["ana", "ben", "cem"] {
        app.as_user(user).like("post:1").await;
    }
    app.as_user("ben").set("post:1", Reaction::Dislike).await;
    app.drained().await;
    let before = app.as_user("ana").item("post:1").await;
    app.restart_node(0).await;
    let after = app.as_user("ana").item("post:1").await;
    assert_eq!((after.like_count, after.dislike_count), (2, 1));
    assert_eq!(after.liked_by_me, Some(true));
    assert_eq!(after.my_reaction_at, before.my_reaction_at);
    assert!(after.count_version >= before.count_version, "countVersion never goes back");
    assert!(!app.as_user("ana").like("post:1").await.changed);
}

async fn reading_creates_nothing(app: &App) {
    let item = app.as_user("ana").item("never:seen").await;
    assert_eq!((item.like_count, item.dislike_count), (0, 0));
    assert_eq!(item.kind, "item");
    assert_eq!(item.my_reaction_version, Some(0));
    assert_eq!(app.as_user("ana").unlike("never:seen").await.version, 0);
    for table in ["item", "item_count", "reaction", "reaction_event", "account"] {
        assert_eq!(app.number(&format!("SELECT count(*) FROM {table}")).await, 0, "{table}");
    }
}

/// Anonymous clients of every node.
fn nodes(app: &App) -> Vec<likewise_tests::client::Client> {
    (0..app.running_nodes()).map(|number| app.node(number)).collect()
}
