//! What must hold in the store when the log is drained, checked by SQL that shares nothing with the server's.

use std::time::Duration;

use crate::database::{Session, Sql};
use crate::wait;

/// Rows of a broken invariant that a failure shows.
const SHOWN: usize = 5;

/// (what must hold, a query of the places where it does not)
const INVARIANTS: &[(&str, &str)] = &[
    (
        "every partition has one checkpoint",
        "SELECT 'partition ' || CAST(coalesce(l.id, c.partition) AS text)
         FROM log_partition l FULL JOIN checkpoint c ON c.partition = l.id WHERE l.id IS NULL OR c.partition IS NULL",
    ),
    (
        "the shards, the fold of the log and the rows give the counts",
        "SELECT item_id || ': ' || CAST(sum(row_likes) AS text) || '/' || CAST(sum(row_dislikes) AS text) || ' rows, '
             || CAST(sum(log_likes) AS text) || '/' || CAST(sum(log_dislikes) AS text) || ' log, '
             || CAST(sum(shard_likes) AS text) || '/' || CAST(sum(shard_dislikes) AS text) || ' shards, '
             || CAST(sum(likes) AS text) || '/' || CAST(sum(dislikes) AS text) || ' count'
         FROM (
           SELECT item_id, CASE state WHEN 1 THEN 1 ELSE 0 END AS row_likes, CASE state WHEN 2 THEN 1 ELSE 0 END AS row_dislikes,
             0 AS log_likes, 0 AS log_dislikes, 0 AS shard_likes, 0 AS shard_dislikes, 0 AS likes, 0 AS dislikes FROM reaction
           UNION ALL SELECT item_id, 0, 0, like_delta, dislike_delta, 0, 0, 0, 0 FROM reaction_event
           UNION ALL SELECT item_id, 0, 0, 0, 0, like_count, dislike_count, 0, 0 FROM item_count_shard
           UNION ALL SELECT item_id, 0, 0, 0, 0, 0, 0, like_count, dislike_count FROM item_count) AS numbers
         GROUP BY item_id
         HAVING sum(row_likes) <> sum(likes) OR sum(log_likes) <> sum(likes) OR sum(shard_likes) <> sum(likes)
           OR sum(row_dislikes) <> sum(dislikes) OR sum(log_dislikes) <> sum(dislikes) OR sum(shard_dislikes) <> sum(dislikes)",
    ),
    ("no total is negative", "SELECT item_id FROM item_count WHERE like_count < 0 OR dislike_count < 0"),
    (
        // A heal may leave one: it settles the difference of all shards in the first.
        "no shard of an item that was never healed is negative",
        "SELECT s.item_id || ' in ' || CAST(s.partition AS text) FROM item_count_shard s
         JOIN item_count c ON c.item_id = s.item_id AND c.reconciled_at IS NULL
         WHERE s.like_count < 0 OR s.dislike_count < 0",
    ),
    (
        "no fence is past its partition's checkpoint",
        "SELECT s.item_id || ' in ' || CAST(s.partition AS text) FROM item_count_shard s
         JOIN checkpoint c ON c.partition = s.partition WHERE s.applied_offset > c.\"offset\"",
    ),
    (
        "offsets run from 1 without gaps to the partition's next",
        "SELECT 'partition ' || CAST(l.id AS text) FROM log_partition l
         LEFT JOIN (SELECT partition, min(\"offset\") AS low, max(\"offset\") AS high, count(*) AS events
                    FROM reaction_event GROUP BY partition) e ON e.partition = l.id
         WHERE coalesce(e.events, 0) <> l.next_offset - 1
           OR (e.events > 0 AND (e.low <> 1 OR e.high <> l.next_offset - 1))",
    ),
    (
        "time does not fall along a partition",
        "SELECT 'offset ' || CAST(\"offset\" AS text) || ' of ' || CAST(partition AS text) FROM (
           SELECT partition, \"offset\", created_at,
             lag(created_at) OVER (PARTITION BY partition ORDER BY \"offset\") AS before FROM reaction_event) AS times
         WHERE created_at < before",
    ),
    (
        "all events of a person stand in one partition",
        "SELECT user_id FROM reaction_event WHERE user_id IS NOT NULL GROUP BY user_id HAVING min(partition) <> max(partition)",
    ),
    (
        "versions run from 1 without gaps, and each event starts where the one before ended",
        "SELECT user_id || ' on ' || item_id || ' at ' || CAST(version AS text) FROM (
           SELECT user_id, item_id, version, old_state,
             row_number() OVER (PARTITION BY user_id, item_id ORDER BY \"offset\") AS number,
             lag(new_state, 1, 0) OVER (PARTITION BY user_id, item_id ORDER BY \"offset\") AS before
           FROM reaction_event WHERE user_id IS NOT NULL) AS steps
         WHERE version <> number OR old_state <> before",
    ),
    (
        "an event is a real change, and its deltas are those of its states",
        "SELECT 'offset ' || CAST(\"offset\" AS text) || ' of ' || CAST(partition AS text) FROM reaction_event
         WHERE old_state = new_state
           OR like_delta <> CASE new_state WHEN 1 THEN 1 ELSE 0 END - CASE old_state WHEN 1 THEN 1 ELSE 0 END
           OR dislike_delta <> CASE new_state WHEN 2 THEN 1 ELSE 0 END - CASE old_state WHEN 2 THEN 1 ELSE 0 END",
    ),
    (
        "every event has its row, but for deleted accounts",
        "SELECT e.user_id || ' on ' || e.item_id FROM reaction_event e
         LEFT JOIN reaction r ON r.user_id = e.user_id AND r.item_id = e.item_id
         LEFT JOIN account a ON a.id = e.user_id AND a.erased_at IS NOT NULL
         WHERE e.user_id IS NOT NULL AND r.user_id IS NULL AND a.id IS NULL",
    ),
    (
        "every row has events",
        "SELECT r.user_id || ' on ' || r.item_id FROM reaction r LEFT JOIN (
           SELECT DISTINCT user_id, item_id FROM reaction_event WHERE user_id IS NOT NULL) AS pairs
           ON pairs.user_id = r.user_id AND pairs.item_id = r.item_id
         WHERE pairs.user_id IS NULL",
    ),
    (
        "a row is what its last event says, and its version counts them",
        "SELECT r.user_id || ' on ' || r.item_id FROM (
           SELECT user_id, item_id, \"offset\", new_state,
             row_number() OVER (PARTITION BY user_id, item_id ORDER BY \"offset\" DESC) AS back,
             count(*) OVER (PARTITION BY user_id, item_id) AS events
           FROM reaction_event WHERE user_id IS NOT NULL) AS e
         JOIN reaction r ON r.user_id = e.user_id AND r.item_id = e.item_id
         WHERE e.back = 1 AND (r.version <> e.events OR r.event_offset <> e.\"offset\" OR r.state <> e.new_state)",
    ),
    (
        "an event is a user's, an import's, an erasure's or a retraction's, and only an erasure's names nobody",
        "SELECT 'offset ' || CAST(\"offset\" AS text) || ' of ' || CAST(partition AS text) FROM reaction_event
         WHERE origin NOT IN (0, 1, 2, 3) OR (origin = 2) <> (user_id IS NULL) OR (origin = 2 AND new_state <> 0)",
    ),
    (
        "a deleted account has its erasure, and the other way round",
        "SELECT coalesce(a.id, e.user_id) FROM erasure e
         FULL JOIN (SELECT id FROM account WHERE erased_at IS NOT NULL) AS a ON a.id = e.user_id
         WHERE a.id IS NULL OR e.user_id IS NULL",
    ),
    (
        "a deleted account has no name, and after its erasure nothing else",
        "SELECT id || ' has ' || what FROM (
           SELECT a.id, 'a name' AS what FROM account a WHERE a.erased_at IS NOT NULL AND a.name IS NOT NULL
           UNION ALL SELECT e.user_id, 'a row' FROM erasure e JOIN reaction r ON r.user_id = e.user_id
             WHERE e.finished_at IS NOT NULL
           UNION ALL SELECT e.user_id, 'an idempotency record' FROM erasure e
             JOIN idempotency_record i ON i.user_id = e.user_id WHERE e.finished_at IS NOT NULL
           UNION ALL SELECT e.user_id, 'a friendship' FROM erasure e
             JOIN friendship f ON f.user_id = e.user_id OR f.friend_id = e.user_id WHERE e.finished_at IS NOT NULL
           UNION ALL SELECT e.user_id, 'an item' FROM erasure e JOIN item i ON i.creator_id = e.user_id
             WHERE e.finished_at IS NOT NULL
           UNION ALL SELECT e.user_id, 'a retraction' FROM erasure e JOIN retraction t ON t.user_id = e.user_id
             WHERE e.finished_at IS NOT NULL
           UNION ALL SELECT e.user_id, 'an entry of a retraction' FROM erasure e
             JOIN retraction_entry t ON t.user_id = e.user_id WHERE e.finished_at IS NOT NULL) AS remains",
    ),
    (
        "what a retraction left at a version is not liked at that version",
        "SELECT t.proposal_id || ': ' || t.user_id || ' on ' || t.item_id FROM retraction_entry t
         LEFT JOIN reaction r ON r.user_id = t.user_id AND r.item_id = t.item_id
         WHERE t.version > 0 AND (r.version IS NULL OR r.version < t.version OR (r.version = t.version AND r.state <> 0))",
    ),
    (
        "every counted item stands in the catalogue",
        "SELECT c.item_id FROM item_count c LEFT JOIN item i ON i.id = c.item_id WHERE i.id IS NULL",
    ),
];

/// (an invariant of a whole log, what holds in its place where retention has removed a beginning, and its query)
const WHERE_THE_LOG_BEGINS_LATER: &[(&str, &str, &str)] = &[
    (
        "the shards, the fold of the log and the rows give the counts",
        "the shards and the rows give the counts",
        "SELECT item_id || ': ' || CAST(sum(row_likes) AS text) || ' rows, ' || CAST(sum(likes) AS text) || ' count'
         FROM (
           SELECT item_id, CASE state WHEN 1 THEN 1 ELSE 0 END AS row_likes, CASE state WHEN 2 THEN 1 ELSE 0 END AS row_dislikes,
             0 AS shard_likes, 0 AS shard_dislikes, 0 AS likes, 0 AS dislikes FROM reaction
           UNION ALL SELECT item_id, 0, 0, like_count, dislike_count, 0, 0 FROM item_count_shard
           UNION ALL SELECT item_id, 0, 0, 0, 0, like_count, dislike_count FROM item_count) AS numbers
         GROUP BY item_id
         HAVING sum(row_likes) <> sum(likes) OR sum(shard_likes) <> sum(likes)
           OR sum(row_dislikes) <> sum(dislikes) OR sum(shard_dislikes) <> sum(dislikes)",
    ),
    (
        "offsets run from 1 without gaps to the partition's next",
        "offsets run without gaps from the first that is left to the partition's next",
        "SELECT 'partition ' || CAST(l.id AS text) FROM log_partition l
         JOIN (SELECT partition, min(\"offset\") AS low, max(\"offset\") AS high, count(*) AS events
               FROM reaction_event GROUP BY partition) e ON e.partition = l.id
         WHERE e.high <> l.next_offset - 1 OR e.events <> e.high - e.low + 1",
    ),
    (
        "versions run from 1 without gaps, and each event starts where the one before ended",
        "versions run without gaps from the first that is left, and each event starts where the one before ended",
        "SELECT user_id || ' on ' || item_id || ' at ' || CAST(version AS text) FROM (
           SELECT user_id, item_id, version, old_state,
             lag(version) OVER (PARTITION BY user_id, item_id ORDER BY \"offset\") AS version_before,
             lag(new_state) OVER (PARTITION BY user_id, item_id ORDER BY \"offset\") AS before
           FROM reaction_event WHERE user_id IS NOT NULL) AS steps
         WHERE version <> version_before + 1 OR old_state <> before",
    ),
    (
        "every row has events",
        "a row without events had its last one before the log begins",
        "SELECT r.user_id || ' on ' || r.item_id FROM reaction r
         LEFT JOIN reaction_event e ON e.user_id = r.user_id AND e.item_id = r.item_id
         WHERE e.item_id IS NULL AND r.event_offset >= (SELECT max(begins) FROM (
           SELECT coalesce(min(f.\"offset\"), max(l.next_offset)) AS begins FROM log_partition l
           LEFT JOIN reaction_event f ON f.partition = l.id GROUP BY l.id) AS logs)",
    ),
    (
        "a row is what its last event says, and its version counts them",
        "a row is what its last event says",
        "SELECT r.user_id || ' on ' || r.item_id FROM (
           SELECT user_id, item_id, \"offset\", new_state, version,
             row_number() OVER (PARTITION BY user_id, item_id ORDER BY \"offset\" DESC) AS back
           FROM reaction_event WHERE user_id IS NOT NULL) AS e
         JOIN reaction r ON r.user_id = e.user_id AND r.item_id = e.item_id
         WHERE e.back = 1 AND (r.version <> e.version OR r.event_offset <> e.\"offset\" OR r.state <> e.new_state)",
    ),
];

/// What the log of a test is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    Whole,
    /// The test had events removed: then, and only then, a missing beginning is in order.
    BeginsLater,
}

/// How many partitions have events that are not folded.
const WAITING: &str = "SELECT count(*) FROM log_partition l JOIN checkpoint c ON c.partition = l.id
                       WHERE c.\"offset\" <> l.next_offset - 1";
const DRAINED_MAX: Duration = wait::SOON.saturating_mul(3);

/// Waits until every committed event is folded.
pub async fn drained(sql: &Sql) {
    wait::until_true("the log is drained", DRAINED_MAX, async || sql.number(WAITING).await == 0).await;
}

/// Fails with every invariant that is broken, and where.
pub async fn hold(sql: &Sql) {
    hold_with(sql, Log::Whole).await;
}

/// As `hold`, for a log that may begin later. All is looked at as of one moment at which the log is drained: the server's
/// background work may go on.
pub async fn hold_with(sql: &Sql, log: Log) {
    let broken = wait::until("the log is drained", DRAINED_MAX, async || {
        let moment = sql.moment().await;
        let broken = match moment.number(WAITING).await {
            0 => Some(broken_at(&moment, log).await),
            _ => None,
        };
        moment.rollback().await;
        broken
    })
    .await;
    assert!(broken.is_empty(), "the store breaks what must always hold:\n{}", broken.join("\n"));
}

/// Every invariant that is broken, with the first places.
pub async fn broken(sql: &Sql) -> Vec<String> {
    broken_with(sql, Log::Whole).await
}

/// As `broken`, for a log that may begin later.
pub async fn broken_with(sql: &Sql, log: Log) -> Vec<String> {
    let moment = sql.moment().await;
    let broken = broken_at(&moment, log).await;
    moment.rollback().await;
    broken
}

async fn broken_at(moment: &Session, log: Log) -> Vec<String> {
    let mut broken = Vec::new();
    for (invariant, query) in INVARIANTS {
        let later = WHERE_THE_LOG_BEGINS_LATER.iter().find(|(whole, ..)| log == Log::BeginsLater && whole == invariant);
        let (invariant, query) = later.map_or((invariant, query), |(_, invariant, query)| (invariant, query));
        let places = moment.column::<String>(query).await;
        if !places.is_empty() {
            let shown = places.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; ");
            broken.push(format!("- not so: {invariant}, in {} places: {shown}", places.len()));
        }
    }
    broken
}
