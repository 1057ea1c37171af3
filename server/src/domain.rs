//! The nouns that several layers hand to each other. Plain data: no I/O, no rules.

use std::sync::Arc;

pub use likewise_entity::{ItemId, Origin, ProposalId, ReactionState, UserId};

/// Microseconds since 1970 by the database's clock.
pub type Micros = i64;

/// What was true of the whole log when counts were read; shared by all the copies of one statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basis {
    /// Per partition, the last offset that the counts include.
    pub offsets: Vec<i64>,
    /// Every reaction committed before this instant is in the counts.
    pub as_of: Micros,
    /// The database's time of the reading, so that `read_at - as_of` is the counts' age then.
    pub read_at: Micros,
}

/// An item's counts as they were read, with what they include.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountCopy {
    pub item: ItemId,
    pub like_count: i64,
    pub dislike_count: i64,
    /// 0 where nobody has reacted yet; never goes back.
    pub version: i64,
    pub basis: Arc<Basis>,
}

/// A person's own row, or what stands for it where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnReaction {
    pub state: ReactionState,
    /// 0 where there is no row.
    pub version: i64,
    /// Microseconds; 0 where there is no row.
    pub reacted_at: Micros,
    /// Offset of the row's last event in the user's partition; 0 where there is no row.
    pub event_offset: i64,
}

impl OwnReaction {
    pub const ABSENT: Self = Self { state: ReactionState::None, version: 0, reacted_at: 0, event_offset: 0 };
}

/// A committed flip, told to the person's other devices and to the counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReactionChange {
    pub user: UserId,
    pub item: ItemId,
    pub state: ReactionState,
    pub version: i64,
}

/// A place in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPosition {
    pub partition: usize,
    /// From 1.
    pub offset: i64,
}

/// The stretch of one partition's log that a fold has added: offsets after `from`, up to and with `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoldedRange {
    pub partition: usize,
    pub from: i64,
    pub to: i64,
}

/// Whether counts are younger than the staleness bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Freshness {
    Live,
    /// The last known value, older than the bound.
    Stale,
}
