//! The database as it is at the end, read by plain SQL.

use std::collections::{BTreeMap, BTreeSet};

use crate::database::{Database, Sql};
use crate::views::Reaction;

/// Who made an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    User,
    Retraction,
    Other,
}

/// An event of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub partition: i64,
    pub offset: i64,
    /// `None` where the event is an erasure's.
    pub user: Option<String>,
    pub item: String,
    pub old: Reaction,
    pub new: Reaction,
    pub like_delta: i64,
    pub dislike_delta: i64,
    pub version: i64,
    pub origin: Origin,
    pub at: i64,
}

/// The row of a user and an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub state: Reaction,
    pub version: i64,
    pub event_offset: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub likes: i64,
    pub dislikes: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Total {
    pub counts: Counts,
    pub version: i64,
    /// The reconciler found drift here and healed it.
    pub healed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    pub next_offset: i64,
    pub checkpoint: i64,
}

/// Something of an erased user that is still there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    pub user: String,
    pub place: String,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    /// By partition, then offset.
    pub events: Vec<Event>,
    /// By user and item.
    pub rows: BTreeMap<(String, String), Row>,
    pub totals: BTreeMap<String, Total>,
    /// By item and partition.
    pub shards: BTreeMap<(String, i64), Counts>,
    pub partitions: BTreeMap<i64, Partition>,
    pub erased: BTreeSet<String>,
    pub traces: Vec<Trace>,
}

/// Where an erased user may still stand: the tombstone itself, and events from before, which the log keeps until its
/// retention removes them.
const MAY_NAME_ERASED: &[&str] = &["account.id", "reaction_event.user_id", "erasure.user_id"];

impl Counts {
    pub fn of(reaction: Reaction) -> Self {
        let (likes, dislikes) = reaction.counts();
        Self { likes, dislikes }
    }

    pub fn add(&mut self, likes: i64, dislikes: i64) {
        self.likes += likes;
        self.dislikes += dislikes;
    }
}

impl Snapshot {
    pub async fn take(database: &Database) -> Self {
        let sql = database.connect().await;
        let mut snapshot = Self {
            events: read_events(&sql).await,
            rows: read_rows(&sql).await,
            totals: read_totals(&sql).await,
            shards: read_shards(&sql).await,
            partitions: read_partitions(&sql).await,
            ..Self::default()
        };
        let erased = sql.column::<String>("SELECT id FROM account WHERE erased_at IS NOT NULL").await;
        snapshot.erased = erased.into_iter().collect();
        snapshot.traces = read_traces(&sql, database.is_postgres()).await;
        sql.close().await;
        snapshot
    }

    /// The events of each user and item, in the order of the log.
    pub fn chains(&self) -> BTreeMap<(&str, &str), Vec<&Event>> {
        let mut chains: BTreeMap<_, Vec<&Event>> = BTreeMap::new();
        for event in &self.events {
            if let Some(user) = &event.user {
                chains.entry((user.as_str(), event.item.as_str())).or_default().push(event);
            }
        }
        chains
    }
}

/// The totals alone, for whoever waits for them.
pub async fn read_totals(sql: &Sql) -> BTreeMap<String, Total> {
    let columns = ["item_id", "like_count", "dislike_count", "version", "coalesce(reconciled_at, 0)"];
    let lines = lines(sql, &columns, "item_count").await;
    let total = |words: &Words| {
        let counts = Counts { likes: words.number(1), dislikes: words.number(2) };
        (words.text(0), Total { counts, version: words.number(3), healed: words.number(4) != 0 })
    };
    lines.iter().map(total).collect()
}

/// Events that no checkpoint has passed.
pub async fn unfolded(sql: &Sql) -> i64 {
    let numbers = sql.column::<i64>(
        "SELECT CAST(coalesce(sum(l.next_offset - 1 - c.\"offset\"), 0) AS bigint)
         FROM log_partition l JOIN checkpoint c ON c.partition = l.id",
    );
    numbers.await.first().copied().unwrap_or_default()
}

async fn read_events(sql: &Sql) -> Vec<Event> {
    let columns = [
        "partition",
        "\"offset\"",
        "coalesce(user_id, ' ')",
        "item_id",
        "old_state",
        "new_state",
        "like_delta",
        "dislike_delta",
        "version",
        "origin",
        "created_at",
    ];
    let lines = lines(sql, &columns, "reaction_event ORDER BY partition, \"offset\"").await;
    let event = |words: &Words| Event {
        partition: words.number(0),
        offset: words.number(1),
        user: Some(words.text(2)).filter(|user| user != " "),
        item: words.text(3),
        old: state(words.number(4)),
        new: state(words.number(5)),
        like_delta: words.number(6),
        dislike_delta: words.number(7),
        version: words.number(8),
        origin: match words.number(9) {
            0 => Origin::User,
            3 => Origin::Retraction,
            _ => Origin::Other,
        },
        at: words.number(10),
    };
    lines.iter().map(event).collect()
}

async fn read_rows(sql: &Sql) -> BTreeMap<(String, String), Row> {
    let lines = lines(sql, &["user_id", "item_id", "state", "version", "event_offset"], "reaction").await;
    let row = |words: &Words| {
        let row = Row { state: state(words.number(2)), version: words.number(3), event_offset: words.number(4) };
        ((words.text(0), words.text(1)), row)
    };
    lines.iter().map(row).collect()
}

async fn read_shards(sql: &Sql) -> BTreeMap<(String, i64), Counts> {
    let lines = lines(sql, &["item_id", "partition", "like_count", "dislike_count"], "item_count_shard").await;
    let shard = |words: &Words| {
        ((words.text(0), words.number(1)), Counts { likes: words.number(2), dislikes: words.number(3) })
    };
    lines.iter().map(shard).collect()
}

async fn read_partitions(sql: &Sql) -> BTreeMap<i64, Partition> {
    let from = "log_partition l JOIN checkpoint c ON c.partition = l.id";
    let lines = lines(sql, &["l.id", "l.next_offset", "c.\"offset\""], from).await;
    let partition =
        |words: &Words| (words.number(0), Partition { next_offset: words.number(1), checkpoint: words.number(2) });
    lines.iter().map(partition).collect()
}

/// Every column of every table that names an erased user.
async fn read_traces(sql: &Sql, postgres: bool) -> Vec<Trace> {
    let columns = match postgres {
        true => {
            "SELECT table_name || '.' || column_name FROM information_schema.columns
             WHERE table_schema = 'public' AND data_type IN ('text', 'character varying')"
        }
        false => {
            "SELECT m.name || '.' || c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
             WHERE m.type = 'table' AND lower(c.type) LIKE '%text%'"
        }
    };
    let mut traces = Vec::new();
    for place in sql.column::<String>(columns).await {
        let Some((table, column)) = place.split_once('.') else { continue };
        if MAY_NAME_ERASED.contains(&place.as_str()) {
            continue;
        }
        let users = format!(
            "SELECT DISTINCT CAST(\"{column}\" AS text) FROM \"{table}\"
             WHERE \"{column}\" IN (SELECT id FROM account WHERE erased_at IS NOT NULL)"
        );
        let users = sql.column::<String>(&users).await;
        traces.extend(users.into_iter().map(|user| Trace { user, place: place.clone() }));
    }
    traces
}

/// The values of one row as text.
struct Words(Vec<String>);

impl Words {
    fn text(&self, place: usize) -> String {
        self.0[place].clone()
    }

    fn number(&self, place: usize) -> i64 {
        self.0[place].parse().unwrap_or_else(|error| panic!("{error}: {}", self.0[place]))
    }
}

/// All rows with their columns as text; no id of a run has a bar in it.
async fn lines(sql: &Sql, columns: &[&str], from: &str) -> Vec<Words> {
    let columns: Vec<_> = columns.iter().map(|column| format!("CAST({column} AS text)")).collect();
    let query = format!("SELECT {} FROM {from}", columns.join(" || '|' || "));
    let rows = sql.column::<String>(&query).await;
    rows.iter().map(|row| Words(row.split('|').map(str::to_owned).collect())).collect()
}

fn state(code: i64) -> Reaction {
    match code {
        0 => Reaction::None,
        1 => Reaction::Like,
        2 => Reaction::Dislike,
        _ => panic!("{code} is no state"),
    }
}
