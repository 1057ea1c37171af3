//! Random sequences through the public API against a model of maps: every answer is checked whole.

use std::collections::{BTreeMap, BTreeSet};

use likewise_tests::app::{App, Settings};
use likewise_tests::client::Client;
use likewise_tests::database::Sql;
use likewise_tests::harness::Test;
use likewise_tests::views::{Failure, Item, Page, Payload, Reaction};
use likewise_tests::{invariants, on_both, property};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

mod truth;

use truth::{Stored, Truth};

const CASES: u32 = 80;
const USERS: u8 = 5;
const ITEMS: u8 = 3;
/// So few that they are used again, for the same request and for others.
const KEYS: u8 = 4;
const REGISTERED: Settings = &[("--catalog", "registered")];
/// The fragment `item` of the fixtures, with null for an item that does not exist.
const ITEMS_DOCUMENT: &str = "query ($ids: [ID!]!) { items(ids: $ids) { id type likeCount dislikeCount countAsOf \
     countVersion countFreshness likedByMe myReaction myReactionVersion myReactionAt } }";
const FRIENDS_DOCUMENT: &str = "query ($id: ID!, $first: Int) { item(id: $id) { likeCount likedByMe \
     friendLikers(first: $first) { users { id } othersCount complete } } }";

pub(crate) fn tests() -> Vec<Test> {
    vec![on_both!(an_open_catalogue_is_its_model), on_both!(a_registered_catalogue_is_its_model).with(REGISTERED)]
}

#[derive(Debug, Clone)]
enum Op {
    /// By `like` and `unlike` where `short`, else by `setReaction`.
    Tap {
        user: u8,
        item: u8,
        wanted: Reaction,
        short: bool,
        key: Option<u8>,
    },
    /// The user's keyed wish so many back, once more.
    Retry {
        user: u8,
        back: usize,
    },
    Upsert {
        item: u8,
        open: bool,
    },
    Befriend {
        user: u8,
        friends: BTreeSet<u8>,
    },
    Read {
        viewer: Option<u8>,
    },
    /// Waits until all is folded; then all counts are exact for everybody.
    Drain,
    Likers {
        item: u8,
        size: usize,
        backward: bool,
    },
    LikedItems {
        user: u8,
        size: usize,
        backward: bool,
    },
    FriendLikers {
        viewer: Option<u8>,
        item: u8,
        first: usize,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let wanted = prop_oneof![3 => Just(Reaction::Like), 2 => Just(Reaction::None), 2 => Just(Reaction::Dislike)];
    let (user, item, viewer) = (0..USERS, 0..ITEMS, proptest::option::of(0..USERS));
    let tap = (user.clone(), item.clone(), wanted, any::<bool>(), proptest::option::of(0..KEYS));
    let friends = proptest::collection::btree_set(0..USERS, 0..5);
    let page = (1..4_usize, any::<bool>());
    prop_oneof![
        10 => tap.prop_map(|(user, item, wanted, short, key)| Op::Tap { user, item, wanted, short, key }),
        3 => (user.clone(), 0..4_usize).prop_map(|(user, back)| Op::Retry { user, back }),
        2 => (item.clone(), proptest::bool::weighted(0.7)).prop_map(|(item, open)| Op::Upsert { item, open }),
        1 => (user.clone(), friends).prop_map(|(user, friends)| Op::Befriend { user, friends }),
        3 => viewer.clone().prop_map(|viewer| Op::Read { viewer }),
        1 => Just(Op::Drain),
        2 => (item.clone(), page.clone()).prop_map(|(item, (size, backward))| Op::Likers { item, size, backward }),
        2 => (user, page).prop_map(|(user, (size, backward))| Op::LikedItems { user, size, backward }),
        1 => (viewer, item, 0..4_usize).prop_map(|(viewer, item, first)| Op::FriendLikers { viewer, item, first }),
    ]
}

async fn an_open_catalogue_is_its_model(app: &App) {
    sequences(app, "an_open_catalogue_is_its_model", false).await;
}

async fn a_registered_catalogue_is_its_model(app: &App) {
    sequences(app, "a_registered_catalogue_is_its_model", true).await;
}

/// One app serves all runs: each has users and items of its own.
async fn sequences(app: &App, test: &str, registered_only: bool) {
    let sql = app.sql().await;
    let mut run = 0;
    property::holds(test, CASES, proptest::collection::vec(op(), 1..60), async |ops| {
        run += 1;
        let truth = Truth::new(registered_only);
        let mut run = Run { app, sql: &sql, number: run, truth, versions: BTreeMap::new(), folded: BTreeMap::new() };
        for op in ops {
            run.take(op).await;
        }
        run.take(Op::Drain).await;
    })
    .await;
    sql.close().await;
}

struct Run<'a> {
    app: &'a App,
    sql: &'a Sql,
    number: usize,
    truth: Truth,
    /// The highest `countVersion` that anybody was shown, per item.
    versions: BTreeMap<u8, i64>,
    /// `countVersion` when all was last folded.
    folded: BTreeMap<u8, i64>,
}

impl Run<'_> {
    async fn take(&mut self, op: Op) {
        match op {
            Op::Tap { user, item, wanted, short, key } => {
                self.tap(user, item, wanted, short, key.map(|key| format!("k{key}"))).await;
            }
            Op::Retry { user, back } => {
                if let Some(wish) = self.truth.earlier(user, back) {
                    self.tap(user, wish.item, wish.wanted, false, Some(wish.key)).await;
                }
            }
            Op::Upsert { item, open } => {
                self.app.as_service().upsert_items(json!([{ "id": self.item(item), "open": open }])).await.data();
                self.truth.upsert(item, open);
            }
            Op::Befriend { user, friends } => {
                let ids: Vec<_> = friends.iter().map(|friend| self.user(*friend)).collect();
                self.app.as_service().upsert_users(json!([{ "id": self.user(user), "friendIds": ids }])).await.data();
                self.truth.befriend(user, friends);
            }
            Op::Read { viewer } => self.read(viewer).await,
            Op::Drain => self.drain().await,
            Op::Likers { item, size, backward } => {
                if self.truth.is_known(item) {
                    let (client, id) = (self.app.client(), self.item(item));
                    let rows: Vec<_> = self.truth.likers(item).into_iter().map(|user| self.user(user)).collect();
                    walk(&rows, size, backward, async |page| client.likers(&id, page).await).await;
                }
            }
            Op::LikedItems { user, size, backward } => {
                let client = self.client(Some(user));
                let rows: Vec<_> = self.truth.liked_items(user).into_iter().map(|item| self.item(item)).collect();
                walk(&rows, size, backward, async |page| client.liked_items(page).await).await;
            }
            Op::FriendLikers { viewer, item, first } => self.friend_likers(viewer, item, first).await,
        }
    }

    fn user(&self, user: u8) -> String {
        format!("user{user}-{}", self.number)
    }

    fn item(&self, item: u8) -> String {
        format!("post:{item}-{}", self.number)
    }

    fn client(&self, viewer: Option<u8>) -> Client {
        viewer.map_or_else(|| self.app.client(), |user| self.app.as_user(&self.user(user)))
    }

    async fn tap(&mut self, user: u8, item: u8, wanted: Reaction, short: bool, key: Option<String>) {
        let (client, id) = (self.client(Some(user)), self.item(item));
        let answer = match short {
            true => client.tap(&id, wanted, key.as_deref()).await,
            false => client.set_reaction(&id, wanted, key.as_deref()).await,
        };
        let expected = self.truth.tap(user, item, wanted, key.as_deref());
        match (answer, expected) {
            (Ok(payload), Ok((stored, replayed))) => {
                check_payload(&payload, stored, replayed);
                self.check_item(&payload.item, Some(user), item);
            }
            (Err(failure), Err(code)) => check_refusal(&failure, code),
            (answer, expected) => panic!("answered {answer:?}, expected {expected:?}"),
        }
    }

    async fn read(&mut self, viewer: Option<u8>) {
        let ids: Vec<_> = (0..ITEMS).map(|item| self.item(item)).collect();
        let data = self.client(viewer).query(ITEMS_DOCUMENT, json!({ "ids": ids })).await.data();
        let found = Vec::<Option<Item>>::deserialize(&data["items"]).expect("items");
        for (item, found) in (0..ITEMS).zip(found) {
            assert_eq!(found.is_some(), self.truth.is_known(item), "item {item} exists");
            if let Some(found) = found {
                self.check_item(&found, viewer, item);
            }
        }
    }

    fn check_item(&mut self, found: &Item, viewer: Option<u8>, item: u8) {
        let (state, version) = viewer.map_or((Reaction::None, 0), |user| self.truth.own(user, item));
        let own = (found.liked_by_me, found.my_reaction, found.my_reaction_version, found.my_reaction_at.is_some());
        let expected = (Some(state == Reaction::Like), Some(state), Some(version), version > 0);
        assert_eq!(own, expected, "the viewer's own state in {found:?}");
        assert_eq!((found.id.as_str(), found.kind.as_str()), (self.item(item).as_str(), "item"));
        let (likes, dislikes) = self.truth.counts(viewer, item);
        let counts_are_right = likes.contains(&found.like_count) && dislikes.contains(&found.dislike_count);
        assert!(counts_are_right, "{likes:?} likes and {dislikes:?} dislikes are right for {viewer:?}: {found:?}");
        let shown = self.versions.entry(item).or_default();
        assert!(found.count_version >= *shown, "countVersion went back from {shown}: {found:?}");
        *shown = found.count_version;
    }

    async fn drain(&mut self) {
        invariants::drained(self.sql).await;
        let moved = self.truth.drained();
        for viewer in [None, Some(0), Some(USERS - 1)] {
            self.read(viewer).await;
        }
        for item in 0..ITEMS {
            let now = self.versions.get(&item).copied().unwrap_or_default();
            let before = self.folded.insert(item, now).unwrap_or_default();
            let as_it_must = if moved.contains(&item) { now > before } else { now == before };
            assert!(as_it_must, "countVersion of item {item} went from {before} to {now}; moved are {moved:?}");
        }
    }

    async fn friend_likers(&self, viewer: Option<u8>, item: u8, first: usize) {
        let variables = json!({ "id": self.item(item), "first": first });
        let data = self.client(viewer).query(FRIENDS_DOCUMENT, variables).await.data();
        let found = &data["item"];
        if !self.truth.is_known(item) {
            assert!(found.is_null(), "{found}");
            return;
        }
        let friends = viewer.map_or(Vec::new(), |user| self.truth.friend_likers(user, item));
        let friends: Vec<_> = friends.into_iter().take(first).map(|user| json!({ "id": self.user(user) })).collect();
        let line = &found["friendLikers"];
        let named = friends.len() + usize::from(found["likedByMe"] == true);
        let others = found["likeCount"].as_i64().expect("a count") - i64::try_from(named).expect("few");
        assert_eq!(line["users"], Value::from(friends), "{found}");
        assert_eq!((&line["othersCount"], &line["complete"]), (&json!(others.max(0)), &json!(true)), "{found}");
    }
}

fn check_payload(payload: &Payload, stored: Stored, replayed: bool) {
    let Stored { reaction, previous, version } = stored;
    let ((likes, dislikes), before) = (reaction.counts(), previous.counts());
    let changed = reaction != previous;
    let expected = Payload {
        item: payload.item.clone(),
        reaction,
        previous_reaction: previous,
        changed,
        version,
        client_like_delta: likes - before.0,
        client_dislike_delta: dislikes - before.1,
        count_status: if changed { "QUEUED" } else { "UNCHANGED" }.to_owned(),
        replayed,
        client_mutation_id: None,
    };
    assert_eq!(*payload, expected);
}

fn check_refusal(failure: &Failure, code: &str) {
    let argument = if code == "IDEMPOTENCY_KEY_REUSED" { "input.idempotencyKey" } else { "input.itemId" };
    let found = (failure.code.as_str(), failure.retryable, failure.argument.as_deref());
    assert_eq!(found, (code, Some(false), Some(argument)), "{failure:?}");
}

/// Walks a whole list by pages and compares each with what it must hold.
async fn walk(rows: &[String], size: usize, backward: bool, page: impl AsyncFn(Value) -> Page) {
    let (mut from, mut to) = (0, rows.len());
    let mut cursor: Option<String> = None;
    loop {
        let arguments = match backward {
            false => json!({ "first": size, "after": cursor }),
            true => json!({ "last": size, "before": cursor }),
        };
        let found = page(arguments).await;
        let expected = match backward {
            false => from..to.min(from + size),
            true => from.max(to.saturating_sub(size))..to,
        };
        assert_eq!(found.ids, rows[expected.clone()], "rows {expected:?} of {rows:?}");
        let sides = (found.has_previous, found.has_next);
        assert_eq!(sides, (expected.start > 0, expected.end < rows.len()), "before and after {expected:?}");
        (from, to) = if backward { (from, expected.start) } else { (expected.end, to) };
        cursor = if backward { found.start } else { found.end };
        if from == to {
            return;
        }
    }
}
