//! How far the deletion of an account is.

use async_graphql::{ID, SimpleObject};

use crate::api::graphql::scalars::{Count, DateTime};
use crate::service;

/// The deletion of an account. The id itself stays, as a tombstone that keeps the person out.
#[derive(SimpleObject)]
pub struct Erasure {
    /// Whose account.
    user_id: ID,
    /// From then on the user's tokens are refused and nothing of the user is written.
    requested_at: DateTime,
    /// Reactions removed so far, those that the user had taken back among them.
    removed_reactions: Count,
    /// When nothing of the user was left but events of the log, which its retention removes. Null while rows are still
    /// being removed.
    finished_at: Option<DateTime>,
}

impl From<service::Erasure> for Erasure {
    fn from(erasure: service::Erasure) -> Self {
        Self {
            user_id: ID(erasure.user.to_string()),
            requested_at: DateTime(erasure.requested_at),
            removed_reactions: erasure.removed.into(),
            finished_at: erasure.finished_at.map(DateTime),
        }
    }
}
