//! The enums of the schema and the viewer's own reaction as an event.

use async_graphql::{Enum, SimpleObject};

use super::item::Item;
use crate::api::graphql::scalars::Count;
use crate::domain;

/// What a person thinks of an item.
#[derive(Enum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// Counted in `likeCount`.
    Like,
    /// Counted in `dislikeCount`.
    Dislike,
    /// Neither: never reacted, or taken back.
    None,
}

impl From<domain::ReactionState> for Reaction {
    fn from(state: domain::ReactionState) -> Self {
        match state {
            domain::ReactionState::Like => Self::Like,
            domain::ReactionState::Dislike => Self::Dislike,
            domain::ReactionState::None => Self::None,
        }
    }
}

impl From<Reaction> for domain::ReactionState {
    fn from(reaction: Reaction) -> Self {
        match reaction {
            Reaction::Like => Self::Like,
            Reaction::Dislike => Self::Dislike,
            Reaction::None => Self::None,
        }
    }
}

/// Whether a call changed what others will see.
#[derive(Enum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountStatus {
    /// The change is stored; others see it when it has been folded into the counts, normally within a second.
    Queued,
    /// Nothing changed, so there is nothing to wait for.
    Unchanged,
}

/// How old an item's counts are.
#[derive(Enum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// Younger than the staleness bound, 5 seconds unless the operator set another.
    Live,
    /// The last known value, older than the staleness bound; or, whatever its age, while the store cannot be reached.
    Stale,
}

impl From<domain::Freshness> for Freshness {
    fn from(freshness: domain::Freshness) -> Self {
        match freshness {
            domain::Freshness::Live => Self::Live,
            domain::Freshness::Stale => Self::Stale,
        }
    }
}

/// The viewer's reaction to an item after a change.
#[derive(SimpleObject)]
pub struct MyReaction {
    /// The item, as the viewer should see it now.
    pub item: Item,
    /// The viewer's reaction.
    pub reaction: Reaction,
    /// Version of the viewer's row; a client drops what is older than what it has. 0 where there is no row.
    pub version: Count,
}
