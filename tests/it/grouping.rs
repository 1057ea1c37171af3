//! A lane's groups: commands that are committed together end as they would one after the other.

use std::fmt::Debug;

use likewise_server::domain::ReactionState;
use likewise_server::store::decide::Command;
use likewise_tests::app::App;
use likewise_tests::bare::{Bare, wish};
use likewise_tests::harness::Test;
use likewise_tests::{on_both, property};
use proptest::prelude::*;

const CASES: u32 = 40;
/// Batches of a lane that found all its commands queued: one for what it had taken before it waited, and the rest.
const BATCHES_MAX: i64 = 2;

/// What is left in the store, without times.
const TABLES: [&str; 4] = [
    "SELECT user_id || ' ' || item_id || ' ' || CAST(state AS text) || ' ' || CAST(version AS text) || ' '
         || CAST(event_offset AS text) FROM reaction ORDER BY 1",
    "SELECT CAST(partition AS text) || ' ' || CAST(\"offset\" AS text) || ' ' || user_id || ' ' || item_id || ' '
         || CAST(old_state AS text) || CAST(new_state AS text) || ' ' || CAST(like_delta AS text) || ' '
         || CAST(dislike_delta AS text) || ' ' || CAST(version AS text) FROM reaction_event ORDER BY 1",
    "SELECT user_id || ' ' || key || ' ' || fingerprint || ' ' || answer FROM idempotency_record ORDER BY 1",
    "SELECT id FROM item ORDER BY 1",
];

pub(crate) fn tests() -> Vec<Test> {
    vec![on_both!(a_full_batch_ends_as_one_command_after_the_other).limit(240).without_nodes()]
}

fn command() -> impl Strategy<Value = Command> {
    let state = prop_oneof![Just(ReactionState::None), Just(ReactionState::Like), Just(ReactionState::Dislike)];
    let item = prop_oneof![8 => Just("a"), 4 => Just("b"), 1 => Just("closed")];
    (0..10_u8, item, state, proptest::option::of(0..6_u8))
        .prop_map(|(user, item, state, key)| wish(&format!("u{user}"), item, state, key.map(|key| format!("k{key}"))))
}

async fn a_full_batch_ends_as_one_command_after_the_other(app: &App) {
    let second = app.database.empty(&app.services).await;
    let (slow, fast) = (Bare::open(&app.database).await, Bare::open(&second).await);
    let commands = proptest::collection::vec(command(), 1..120);
    property::holds("a_full_batch_ends_as_one_command_after_the_other", CASES, commands, async |commands| {
        for bare in [&slow, &fast] {
            bare.empty().await;
            bare.sql.execute("INSERT INTO item (id, is_open, created_at) VALUES ('closed', false, 1)").await;
        }
        let one_by_one = slow.one_by_one(&commands).await;
        let together = fast.in_full_batches(&commands).await;
        for (number, (one, other)) in one_by_one.iter().zip(&together).enumerate() {
            assert_eq!(shown(one), shown(other), "command {number}: {:?}", commands[number]);
        }
        for table in TABLES {
            let rows = [&slow, &fast].map(|bare| bare.sql.column::<String>(table));
            let [one, other] = futures_util::future::join_all(rows).await.try_into().expect("two");
            assert_eq!(one, other, "{table}");
        }
        let batches = "SELECT count(*) FROM (SELECT DISTINCT partition, batch FROM reaction_event) b";
        let partitions = i64::try_from(fast.store.partitions()).expect("few");
        let batches = fast.sql.number(batches).await;
        assert!(batches <= BATCHES_MAX * partitions, "{batches} batches are no groups");
    })
    .await;
    slow.close().await;
    fast.close().await;
    second.remove().await;
}

/// Answers, and codes of refusals.
fn shown<T: Debug>(answer: &likewise_server::error::Result<T>) -> String {
    answer.as_ref().map_or_else(|refusal| refusal.code().to_string(), |answer| format!("{answer:?}"))
}
