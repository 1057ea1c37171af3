//! What a batch of commands does to the rows that were read: pure, in the order of arrival.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::domain::{ItemId, Micros, Origin, OwnReaction, ProposalId, ReactionState, UserId};
use crate::error::{Error, ErrorCode, Result};
use crate::transition::transition;

/// A wish to be written.
#[derive(Debug, Clone)]
pub struct Command {
    pub user: UserId,
    pub item: ItemId,
    pub wanted: ReactionState,
    /// With a key, the answer is stored and given again to a retry.
    pub key: Option<String>,
    pub from: Source,
}

/// Who sends a command, and so which rules hold for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    User {
        /// Whether an item that is not in the catalogue may be reacted to.
        unknown_items: UnknownItems,
    },
    /// A row of an existing table. It may touch closed and unknown items, its time goes to `reacted_at`, and it
    /// gives way to a reaction that is newer than it.
    Import { reacted_at: Micros },
    /// Removes the row of a deleted account, for good; of nobody else. The event that takes it out of the counts names
    /// nobody.
    Erase,
    /// An abuse system takes back what the row says; it gives way to what happened past the offset `cut`, which was the
    /// end of the user's partition when it was asked.
    Retract { proposal: ProposalId, cut: i64 },
    /// Gives back what a retraction took, with its time, also on a closed item; only where the row is still at the
    /// `version` at which the retraction left it.
    Restore { proposal: ProposalId, version: i64, reacted_at: Micros },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownItems {
    Welcome,
    Refused,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    #[serde(with = "state_word")]
    pub reaction: ReactionState,
    #[serde(with = "state_word")]
    pub previous: ReactionState,
    pub version: i64,
    pub like_delta: i16,
    pub dislike_delta: i16,
    #[serde(skip)]
    pub replayed: bool,
}

impl Answer {
    pub fn changed(&self) -> bool {
        self.reaction != self.previous
    }
}

/// A stored answer and the request that it belongs to.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub fingerprint: String,
    pub answer: String,
}

/// What was read for a batch, after its partition was locked.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub records: HashMap<(UserId, String), Record>,
    pub rows: HashMap<(UserId, ItemId), OwnReaction>,
    /// Whether each known item is open.
    pub items: HashMap<ItemId, bool>,
    pub erased: HashSet<UserId>,
    /// The database's time, after the lock.
    pub now: Micros,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct RowWrite {
    pub user: UserId,
    pub item: ItemId,
    /// The version that was read, which the write is guarded by; 0 inserts.
    pub base_version: i64,
    pub row: OwnReaction,
}

/// A row to delete, guarded by the version that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RowRemoval {
    pub user: UserId,
    pub item: ItemId,
    pub version: i64,
}

/// What a retraction took back: the row as it was, and the version at which it was left.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EntryWrite {
    pub proposal: ProposalId,
    pub user: UserId,
    pub item: ItemId,
    pub was: OwnReaction,
    pub left_at: i64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct EventWrite {
    pub offset: i64,
    /// Nobody where a deleted account's row was removed.
    pub user: Option<UserId>,
    pub item: ItemId,
    pub old: ReactionState,
    pub new: ReactionState,
    pub like_delta: i16,
    pub dislike_delta: i16,
    pub version: i64,
    pub origin: Origin,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct RecordWrite {
    pub user: UserId,
    pub key: String,
    pub fingerprint: String,
    pub answer: String,
}

/// All that a batch writes, and what it answers, in the order of its commands.
#[derive(Debug)]
pub(super) struct Decision {
    pub answers: Vec<Result<Answer>>,
    /// Each row once, with its last state.
    pub rows: Vec<RowWrite>,
    /// Rows of deleted accounts.
    pub removals: Vec<RowRemoval>,
    pub events: Vec<EventWrite>,
    pub records: Vec<RecordWrite>,
    /// What was taken back, for its proposals.
    pub entries: Vec<EntryWrite>,
    /// The proposal of each reaction that was given back.
    pub restored: Vec<ProposalId>,
    /// Sorted, so that two lanes insert in one order.
    pub new_items: Vec<ItemId>,
    /// Time of everything in the batch.
    pub at: Micros,
}

impl Decision {
    pub(super) fn writes_nothing(&self) -> bool {
        self.events.is_empty() && self.records.is_empty() && self.removals.is_empty()
    }
}

/// Decides all commands against `found`; events take offsets from `next_offset` on, times never fall below `last_at`.
pub(super) fn decide(commands: &[Command], found: Found, next_offset: i64, last_at: Micros) -> Decision {
    let at = found.now.max(last_at);
    let mut batch = Batch {
        found,
        base_versions: HashMap::new(),
        removals: Vec::new(),
        events: Vec::new(),
        new_records: Vec::new(),
        entries: Vec::new(),
        restored: Vec::new(),
        new_items: Vec::new(),
        next_offset,
        at,
    };
    let answers = commands.iter().map(|command| batch.take(command)).collect();
    batch.finish(answers)
}

struct Batch {
    found: Found,
    /// Rows that flipped, with the version they had before the batch.
    base_versions: HashMap<(UserId, ItemId), i64>,
    removals: Vec<RowRemoval>,
    events: Vec<EventWrite>,
    new_records: Vec<(UserId, String)>,
    entries: Vec<EntryWrite>,
    restored: Vec<ProposalId>,
    new_items: Vec<ItemId>,
    next_offset: i64,
    at: Micros,
}

impl Batch {
    /// Deleted account, then replay, then the rules, then the flip. A refusal is not recorded.
    fn take(&mut self, command: &Command) -> Result<Answer> {
        let erased = self.found.erased.contains(&command.user);
        if command.from == Source::Erase {
            return self.erase(command, erased);
        }
        if erased {
            return Err(Error::new(ErrorCode::Unauthenticated, "This account was deleted."));
        }
        if let Some(replay) = self.replay(command) {
            return replay;
        }
        let current = self.current(command);
        let answer = if self.gives_way(command, current) {
            Answer::unchanged(current.state, current.version)
        } else {
            self.check_item(command, current)?;
            self.flip(command, current)
        };
        self.record(command, &answer)?;
        Ok(answer)
    }

    fn replay(&self, command: &Command) -> Option<Result<Answer>> {
        let key = command.key.as_ref()?;
        let record = self.found.records.get(&(command.user.clone(), key.clone()))?;
        if record.fingerprint != fingerprint(command) {
            let message = "This idempotency key was used for another request. Take a new key for each tap.";
            return Some(Err(Error::new(ErrorCode::IdempotencyKeyReused, message).at("input.idempotencyKey")));
        }
        let stored: Result<Answer, _> = serde_json::from_str(&record.answer);
        Some(stored.map(|answer| Answer { replayed: true, ..answer }).map_err(Error::internal))
    }

    fn current(&self, command: &Command) -> OwnReaction {
        let key = (command.user.clone(), command.item.clone());
        self.found.rows.get(&key).copied().unwrap_or(OwnReaction::ABSENT)
    }

    fn gives_way(&self, command: &Command, current: OwnReaction) -> bool {
        match &command.from {
            Source::User { .. } | Source::Erase => false,
            Source::Import { reacted_at } => *reacted_at < current.reacted_at,
            Source::Retract { cut, .. } => current.event_offset > *cut,
            Source::Restore { version, .. } => current.version != *version,
        }
    }

    /// Taking a reaction back always works, and asking for what is there already is success, also on a closed item.
    fn check_item(&self, command: &Command, current: OwnReaction) -> Result<()> {
        let Source::User { unknown_items } = &command.from else {
            return Ok(());
        };
        match self.found.items.get(&command.item) {
            None if *unknown_items == UnknownItems::Refused && current.version == 0 => {
                Err(Error::new(ErrorCode::ItemNotFound, "There is no item with this id.").at("input.itemId"))
            }
            Some(false) if command.wanted != ReactionState::None && command.wanted != current.state => {
                let message = "This item takes no new reactions; taking one back still works.";
                Err(Error::new(ErrorCode::ItemClosed, message).at("input.itemId"))
            }
            _ => Ok(()),
        }
    }

    fn flip(&mut self, command: &Command, current: OwnReaction) -> Answer {
        let Some(deltas) = transition(current.state, command.wanted) else {
            return Answer::unchanged(current.state, current.version);
        };
        let (origin, reacted_at) = match &command.from {
            Source::User { .. } => (Origin::User, self.at),
            Source::Import { reacted_at } => (Origin::Import, *reacted_at),
            Source::Erase => (Origin::Erasure, self.at),
            Source::Retract { .. } => (Origin::Retraction, self.at),
            Source::Restore { reacted_at, .. } => (Origin::Retraction, *reacted_at),
        };
        let key = (command.user.clone(), command.item.clone());
        let row = OwnReaction {
            state: command.wanted,
            version: current.version + 1,
            reacted_at,
            event_offset: self.next_offset,
        };
        self.next_offset += 1;
        self.base_versions.entry(key.clone()).or_insert(current.version);
        self.found.rows.insert(key, row);
        if !self.found.items.contains_key(&command.item) {
            // Known and open to the commands that follow, as it is to the next batch.
            self.found.items.insert(command.item.clone(), true);
            self.new_items.push(command.item.clone());
        }
        self.events.push(EventWrite {
            offset: row.event_offset,
            user: (origin != Origin::Erasure).then(|| command.user.clone()),
            item: command.item.clone(),
            old: current.state,
            new: command.wanted,
            like_delta: deltas.like,
            dislike_delta: deltas.dislike,
            version: row.version,
            origin,
        });
        self.note(command, current, row.version);
        Answer {
            reaction: command.wanted,
            previous: current.state,
            version: row.version,
            like_delta: deltas.like,
            dislike_delta: deltas.dislike,
            replayed: false,
        }
    }

    /// What a proposal has to remember of a flip.
    fn note(&mut self, command: &Command, was: OwnReaction, left_at: i64) {
        match &command.from {
            Source::Retract { proposal, .. } => self.entries.push(EntryWrite {
                proposal: proposal.clone(),
                user: command.user.clone(),
                item: command.item.clone(),
                was,
                left_at,
            }),
            Source::Restore { proposal, .. } => self.restored.push(proposal.clone()),
            Source::User { .. } | Source::Import { .. } | Source::Erase => {}
        }
    }

    fn erase(&mut self, command: &Command, erased: bool) -> Result<Answer> {
        if !erased {
            return Err(Error::internal_detail("a row was to be erased whose account was not deleted"));
        }
        let current = self.current(command);
        if current.version == 0 {
            return Ok(Answer::unchanged(current.state, current.version));
        }
        let answer = self.flip(command, current);
        let key = (command.user.clone(), command.item.clone());
        let version = self.base_versions.remove(&key).unwrap_or(current.version);
        self.found.rows.remove(&key);
        self.removals.push(RowRemoval { user: key.0, item: key.1, version });
        Ok(answer)
    }

    fn record(&mut self, command: &Command, answer: &Answer) -> Result<()> {
        let Some(key) = &command.key else { return Ok(()) };
        let answer = serde_json::to_string(answer).map_err(Error::internal)?;
        let key = (command.user.clone(), key.clone());
        self.new_records.push(key.clone());
        self.found.records.insert(key, Record { fingerprint: fingerprint(command), answer });
        Ok(())
    }

    fn finish(mut self, answers: Vec<Result<Answer>>) -> Decision {
        let rows = self.base_versions.into_iter().map(|((user, item), base_version)| {
            let key = (user, item);
            let row = self.found.rows[&key];
            RowWrite { user: key.0, item: key.1, base_version, row }
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by(|a, b| (&a.user, &a.item).cmp(&(&b.user, &b.item)));
        let records = self.new_records.into_iter().filter_map(|(user, key)| {
            let record = self.found.records.remove(&(user.clone(), key.clone()))?;
            Some(RecordWrite { user, key, fingerprint: record.fingerprint, answer: record.answer })
        });
        let records = records.collect();
        self.new_items.sort();
        Decision {
            answers,
            rows,
            removals: self.removals,
            events: self.events,
            records,
            entries: self.entries,
            restored: self.restored,
            new_items: self.new_items,
            at: self.at,
        }
    }
}

impl Answer {
    fn unchanged(state: ReactionState, version: i64) -> Self {
        Self { reaction: state, previous: state, version, like_delta: 0, dislike_delta: 0, replayed: false }
    }
}

/// What must be the same for a retry to be the same request: the item and the wanted state.
fn fingerprint(command: &Command) -> String {
    format!("{} {}", command.wanted.word(), command.item)
}

mod state_word {
    use super::ReactionState;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(state: &ReactionState, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(state.word())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ReactionState, D::Error> {
        let word = std::borrow::Cow::<'de, str>::deserialize(from)?;
        let states = [ReactionState::None, ReactionState::Like, ReactionState::Dislike];
        states.into_iter().find(|state| state.word() == word).ok_or_else(|| D::Error::custom("an unknown state"))
    }
}

#[cfg(test)]
mod tests;
