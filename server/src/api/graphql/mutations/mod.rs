//! The root of writes, one file per pair of input and payload.

pub mod erase_user;
pub mod reactions;
pub mod retract_reactions;
pub mod upsert_items;
pub mod upsert_users;

use async_graphql::MergedObject;

/// Writes. Each needs a valid token.
#[derive(MergedObject, Default)]
pub struct Mutation(
    reactions::Reactions,
    upsert_items::UpsertItems,
    upsert_users::UpsertUsers,
    erase_user::EraseUser,
    retract_reactions::RetractReactions,
);
