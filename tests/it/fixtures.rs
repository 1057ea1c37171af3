//! The fixtures themselves.

use likewise_tests::app::App;
use likewise_tests::harness::Test;
use likewise_tests::invariants::{self, Log};
use likewise_tests::postgres::{Postgres, Shutdown, connect};
use likewise_tests::redis::Redis;
use likewise_tests::views::Reaction;
use likewise_tests::{on_both, plain};
use sea_orm::ConnectionTrait;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        plain!(postgres_keeps_its_data_through_a_crash),
        plain!(redis_comes_back_empty_on_its_port),
        on_both!(each_broken_invariant_is_found),
        on_both!(a_log_that_begins_later_is_in_order_only_where_that_is_expected),
    ]
}

fn postgres_keeps_its_data_through_a_crash() {
    let postgres = Postgres::start().expect("PostgreSQL");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        postgres.create_database("kept").await;
        let before = connect(&postgres.url("kept")).await;
        before.execute_unprepared("CREATE TABLE t (n bigint)").await.expect("a table");
        postgres.restart(Shutdown::Immediate);
        let after = connect(&postgres.url("kept")).await;
        after.execute_unprepared("INSERT INTO t VALUES (1)").await.expect("the table is there");
        after.close().await.expect("an open connection can be closed");
        postgres.copy_database("kept", "copy").await;
        postgres.drop_database("kept").await;
        let copy = connect(&postgres.url("copy")).await;
        let deleted = copy.execute_unprepared("DELETE FROM t").await.expect("the table is there");
        assert_eq!(deleted.rows_affected(), 1);
    });
    postgres.stop(Shutdown::Fast);
}

fn redis_comes_back_empty_on_its_port() {
    use std::io::{Read, Write};
    let redis = Redis::start().expect("Redis");
    let ask = |words: &str| {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", redis.port())).expect("Redis listens");
        stream.write_all(format!("{words}\r\nQUIT\r\n").as_bytes()).expect("a command");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    };
    assert!(ask("SET a b").starts_with("+OK"));
    redis.pause();
    redis.resume();
    assert!(ask("EXISTS a").starts_with(":1"));
    redis.stop();
    redis.start_again();
    assert!(ask("EXISTS a").starts_with(":0"));
}

/// (words of the invariant, what breaks it, what mends it), on a store where ana likes post:1 and took post:2 back.
const DAMAGES: &[(&str, &str, &str)] = &[
    (
        "one checkpoint",
        "INSERT INTO log_partition (id, next_offset, last_at) VALUES (99, 1, 0)",
        "DELETE FROM log_partition WHERE id = 99",
    ),
    (
        "give the counts",
        "UPDATE item_count SET dislike_count = dislike_count + 1",
        "UPDATE item_count SET dislike_count = dislike_count - 1",
    ),
    (
        "give the counts",
        "UPDATE item_count_shard SET like_count = like_count + 1 WHERE item_id = 'post:1'",
        "UPDATE item_count_shard SET like_count = like_count - 1 WHERE item_id = 'post:1'",
    ),
    (
        "no total is negative",
        "UPDATE item_count SET like_count = like_count - 9",
        "UPDATE item_count SET like_count = like_count + 9",
    ),
    (
        "never healed is negative",
        "UPDATE item_count_shard SET like_count = like_count - 9",
        "UPDATE item_count_shard SET like_count = like_count + 9",
    ),
    (
        "no fence is past",
        "UPDATE item_count_shard SET applied_offset = applied_offset + 99",
        "UPDATE item_count_shard SET applied_offset = applied_offset - 99",
    ),
    (
        "offsets run from 1",
        "UPDATE reaction_event SET \"offset\" = 99 WHERE \"offset\" = 3",
        "UPDATE reaction_event SET \"offset\" = 3 WHERE \"offset\" = 99",
    ),
    (
        "time does not fall",
        "UPDATE reaction_event SET created_at = -created_at WHERE \"offset\" = 2",
        "UPDATE reaction_event SET created_at = -created_at WHERE \"offset\" = 2",
    ),
    (
        "stand in one partition",
        "UPDATE reaction_event SET partition = 99 WHERE \"offset\" = 1",
        "UPDATE reaction_event SET partition = (SELECT partition FROM reaction_event WHERE \"offset\" = 2) WHERE \"offset\" = 1",
    ),
    (
        "versions run from 1",
        "UPDATE reaction_event SET version = 7 WHERE \"offset\" = 3",
        "UPDATE reaction_event SET version = 2 WHERE \"offset\" = 3",
    ),
    (
        "versions run from 1",
        "UPDATE reaction_event SET old_state = 2 WHERE \"offset\" = 1",
        "UPDATE reaction_event SET old_state = 0 WHERE \"offset\" = 1",
    ),
    (
        "deltas are those",
        "UPDATE reaction_event SET like_delta = 0 WHERE \"offset\" = 1",
        "UPDATE reaction_event SET like_delta = 1 WHERE \"offset\" = 1",
    ),
    (
        "every event has its row",
        "UPDATE reaction SET item_id = 'post:x' WHERE item_id = 'post:1'",
        "UPDATE reaction SET item_id = 'post:1' WHERE item_id = 'post:x'",
    ),
    (
        "only an erasure's names nobody",
        "UPDATE reaction_event SET user_id = NULL WHERE \"offset\" = 1",
        "UPDATE reaction_event SET user_id = 'ana' WHERE \"offset\" = 1",
    ),
    (
        "only an erasure's names nobody",
        "UPDATE reaction_event SET origin = 2 WHERE \"offset\" = 3",
        "UPDATE reaction_event SET origin = 0 WHERE \"offset\" = 3",
    ),
    (
        "only an erasure's names nobody",
        "UPDATE reaction_event SET origin = 4 WHERE \"offset\" = 3",
        "UPDATE reaction_event SET origin = 0 WHERE \"offset\" = 3",
    ),
    ("has its erasure", "INSERT INTO account (id, erased_at) VALUES ('x', 1)", "DELETE FROM account WHERE id = 'x'"),
    (
        "after its erasure nothing else",
        "INSERT INTO erasure (user_id, requested_at, removed, finished_at, lease_until) VALUES ('ana', 1, 0, 1, 0)",
        "DELETE FROM erasure",
    ),
    (
        "is not liked at that version",
        "INSERT INTO retraction_entry (proposal_id, user_id, item_id, state, reacted_at, version)
         VALUES ('p', 'ana', 'post:1', 1, 1, 1)",
        "DELETE FROM retraction_entry",
    ),
    (
        "every row has events",
        "INSERT INTO reaction (user_id, item_id, state, version, reacted_at, event_offset) VALUES ('x', 'x', 0, 1, 1, 1)",
        "DELETE FROM reaction WHERE user_id = 'x'",
    ),
    (
        "what its last event says",
        "UPDATE reaction SET version = version + 1",
        "UPDATE reaction SET version = version - 1",
    ),
    (
        "stands in the catalogue",
        "UPDATE item SET id = 'post:x' WHERE id = 'post:1'",
        "UPDATE item SET id = 'post:1' WHERE id = 'post:x'",
    ),
];

async fn each_broken_invariant_is_found(app: &App) {
    let ana = app.as_user("ana");
    ana.like("post:1").await;
    ana.like("post:2").await;
    ana.set("post:2", Reaction::None).await;
    app.drained().await;
    // The counter would stop at some of these damages.
    app.stop_node(0).await;
    let sql = app.sql().await;
    for (invariant, damage, mending) in DAMAGES {
        sql.execute(damage).await;
        let broken = invariants::broken(&sql).await;
        assert!(broken.iter().any(|line| line.contains(invariant)), "{damage} breaks “{invariant}”, not {broken:?}");
        sql.execute(mending).await;
        assert_eq!(invariants::broken(&sql).await, Vec::<String>::new(), "after {mending}");
    }
    sql.close().await;
}

/// As `DAMAGES`, on a store whose first event was removed.
const DAMAGES_OF_A_SHORTENED_LOG: &[(&str, &str, &str)] = &[
    (
        "the shards and the rows give the counts",
        "UPDATE item_count SET like_count = like_count + 1",
        "UPDATE item_count SET like_count = like_count - 1",
    ),
    (
        "from the first that is left",
        "UPDATE reaction_event SET \"offset\" = 99 WHERE \"offset\" = 3",
        "UPDATE reaction_event SET \"offset\" = 3 WHERE \"offset\" = 99",
    ),
    (
        "versions run without gaps",
        "UPDATE reaction_event SET version = 7 WHERE \"offset\" = 2",
        "UPDATE reaction_event SET version = 1 WHERE \"offset\" = 2",
    ),
    (
        "had its last one before",
        "UPDATE reaction SET event_offset = 9 WHERE item_id = 'post:1'",
        "UPDATE reaction SET event_offset = 1 WHERE item_id = 'post:1'",
    ),
    (
        "what its last event says",
        "UPDATE reaction SET version = version + 1 WHERE item_id = 'post:2'",
        "UPDATE reaction SET version = version - 1 WHERE item_id = 'post:2'",
    ),
];

async fn a_log_that_begins_later_is_in_order_only_where_that_is_expected(app: &App) {
    app.removes_events();
    let ana = app.as_user("ana");
    ana.like("post:1").await;
    ana.like("post:2").await;
    ana.set("post:2", Reaction::None).await;
    app.drained().await;
    app.stop_node(0).await;
    let sql = app.sql().await;
    sql.execute("DELETE FROM reaction_event WHERE \"offset\" = 1").await;
    let broken = invariants::broken(&sql).await;
    assert!(broken.iter().any(|line| line.contains("offsets run from 1")), "{broken:?}");
    let broken = async || invariants::broken_with(&sql, Log::BeginsLater).await;
    assert_eq!(broken().await, Vec::<String>::new());
    for (invariant, damage, mending) in DAMAGES_OF_A_SHORTENED_LOG {
        sql.execute(damage).await;
        let found = broken().await;
        assert!(found.iter().any(|line| line.contains(invariant)), "{damage} breaks “{invariant}”, not {found:?}");
        sql.execute(mending).await;
        assert_eq!(broken().await, Vec::<String>::new(), "after {mending}");
    }
    sql.close().await;
}
