//! What the clients did and heard, in the order of its end; times are microseconds since 1970 on this machine's clock,
//! which is also the database's.

use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::views::{Item, Payload, Reaction};

/// One request that wants a reaction. Requests with one key are one tap.
#[derive(Debug, Clone, PartialEq)]
pub struct Op {
    pub node: usize,
    pub user: String,
    pub item: String,
    pub wanted: Reaction,
    pub key: Option<String>,
    pub start: i64,
    pub end: i64,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Ok(Answer),
    /// Refused with this code, and nothing was done.
    Fail(String),
    /// Nobody knows: no answer came, or one that says so.
    Unknown(String),
}

/// What must be the same in all answers under one key, and whether this one was given before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub reaction: Reaction,
    pub previous: Reaction,
    pub changed: bool,
    pub version: i64,
    pub like_delta: i64,
    pub dislike_delta: i64,
    pub replayed: bool,
}

/// What an answer or a push said about an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    pub source: Source,
    pub node: usize,
    /// `None` is an anonymous caller.
    pub user: Option<String>,
    pub item: String,
    pub start: i64,
    pub end: i64,
    pub likes: i64,
    pub dislikes: i64,
    pub count_version: i64,
    pub live: bool,
    /// The viewer's own reaction and its version.
    pub heart: Option<(Reaction, i64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The item in the payload of a tap.
    Payload,
    Read,
    /// An event of this subscription; numbers are never used twice.
    Push(usize),
}

/// All pages of one list, from the first to the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    pub list: List,
    pub start: i64,
    pub end: i64,
    pub pages: usize,
    pub ids: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum List {
    /// Who likes the item.
    Likers(String),
    /// What the user likes.
    Liked(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    pub user: String,
    /// When it was first asked for.
    pub start: i64,
    /// When the first answer came: the tombstone stands.
    pub stands: Option<i64>,
    /// When an answer said that nothing is left.
    pub finished: Option<i64>,
}

/// Reactions that an abuse system takes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub id: String,
    /// User and item.
    pub pairs: Vec<(String, String)>,
    pub start: i64,
    /// When it was first asked to give them back.
    pub restore: Option<i64>,
    /// An answer said that all was done that was last asked for.
    pub settled: bool,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Death {
    pub node: usize,
    pub at: i64,
    pub cause: Cause,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    Killed,
    /// It killed itself at this failpoint, as it was told.
    Failpoint(String),
    /// It did not come up, as when the database is away.
    NotStarted,
    /// Nobody asked it to end: how it ended, and the end of its log.
    ByItself(String),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    pub ops: Vec<Op>,
    pub looks: Vec<Look>,
    pub scans: Vec<Scan>,
    pub erasures: Vec<Erasure>,
    pub proposals: Vec<Proposal>,
    pub deaths: Vec<Death>,
    /// Lines in which a node says that it showed zero in the place of a count below it.
    pub clamped: Vec<String>,
}

/// A history that many tasks write.
#[derive(Debug, Default)]
pub struct Recorder(Mutex<History>);

impl Recorder {
    pub fn write(&self, change: impl FnOnce(&mut History)) {
        change(&mut self.0.lock().expect("no holder panics"));
    }

    pub fn read<T>(&self, look: impl FnOnce(&History) -> T) -> T {
        look(&self.0.lock().expect("no holder panics"))
    }
}

pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    i64::try_from(since.as_micros()).expect("microseconds fit")
}

impl Answer {
    pub fn of(payload: &Payload) -> Self {
        Self {
            reaction: payload.reaction,
            previous: payload.previous_reaction,
            changed: payload.changed,
            version: payload.version,
            like_delta: payload.client_like_delta,
            dislike_delta: payload.client_dislike_delta,
            replayed: payload.replayed,
        }
    }
}

impl Look {
    /// `span` is when the answer was asked for and when it came.
    pub fn of(item: &Item, source: Source, node: usize, user: Option<&str>, span: (i64, i64)) -> Self {
        let heart = user.and(item.my_reaction.zip(item.my_reaction_version));
        Self {
            source,
            node,
            user: user.map(str::to_owned),
            item: item.id.clone(),
            start: span.0,
            end: span.1,
            likes: item.like_count,
            dislikes: item.dislike_count,
            count_version: item.count_version,
            live: item.count_freshness == "LIVE",
            heart,
        }
    }
}
