//! Rows of the Likewise tables, one file per table, and the ids and states that stand in them.
//!
//! All times are microseconds since 1970 by the database's clock.

pub mod account;
pub mod checkpoint;
pub mod erasure;
pub mod friendship;
pub mod idempotency_record;
pub mod ids;
pub mod import_progress;
pub mod item;
pub mod item_count;
pub mod item_count_shard;
pub mod log_partition;
pub mod reaction;
pub mod reaction_event;
pub mod retraction;
pub mod retraction_entry;
pub mod state;

pub use ids::{IdError, ItemId, ProposalId, UserId};
pub use state::{Origin, ReactionState};
