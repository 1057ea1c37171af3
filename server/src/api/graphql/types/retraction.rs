//! How far a proposal of an abuse system is.

use async_graphql::{Enum, ID, SimpleObject};

use crate::api::graphql::scalars::{Count, DateTime};
use crate::service;

/// What is being done about a proposal.
#[derive(Enum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetractionStatus {
    /// Reactions are being taken back.
    Applying,
    /// All are taken back.
    Applied,
    /// Reactions are being given back.
    Restoring,
    /// All are given back whose users had done nothing since.
    Restored,
}

/// Reactions that an abuse system has taken back.
#[derive(SimpleObject)]
pub struct Retraction {
    /// The caller's own name for the proposal.
    proposal_id: ID,
    /// What is being done about it.
    status: RetractionStatus,
    /// Reactions taken back so far.
    retracted: Count,
    /// Reactions given back so far.
    restored: Count,
    /// When the proposal was stored. What the users did later is not its matter.
    created_at: DateTime,
}

impl From<service::Retraction> for Retraction {
    fn from(retraction: service::Retraction) -> Self {
        Self {
            proposal_id: ID(retraction.proposal.to_string()),
            status: match retraction.status {
                service::RetractionStatus::Applying => RetractionStatus::Applying,
                service::RetractionStatus::Applied => RetractionStatus::Applied,
                service::RetractionStatus::Restoring => RetractionStatus::Restoring,
                service::RetractionStatus::Restored => RetractionStatus::Restored,
            },
            retracted: retraction.retracted.into(),
            restored: retraction.restored.into(),
            created_at: DateTime(retraction.created_at),
        }
    }
}
