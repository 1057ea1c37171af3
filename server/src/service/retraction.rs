//! Reactions that an abuse system has taken back, and given back, with service scope.

use super::catalog::check_service;
use super::{Proposal, Retraction, Service, Viewer};
use crate::domain::ProposalId;
use crate::error::{Error, Result};
use crate::store::catalog::CatalogWrite;

impl Service {
    /// Stores a proposal, durably when this returns; it is carried out by a retractor. The same proposal again tells how
    /// far that is.
    pub async fn retract(&self, viewer: &Viewer, proposal: Proposal) -> Result<Retraction> {
        check_service(viewer)?;
        let id = proposal.id.clone();
        self.write_to_catalog(CatalogWrite::Retract(proposal)).await?;
        self.known_retraction(&id).await
    }

    /// Has what a proposal took given back where the person has done nothing since.
    pub async fn restore(&self, viewer: &Viewer, proposal: ProposalId) -> Result<Retraction> {
        check_service(viewer)?;
        self.write_to_catalog(CatalogWrite::Restore(proposal.clone())).await?;
        self.known_retraction(&proposal).await
    }

    /// How far a proposal is; `None` where there is none of this id.
    pub async fn retraction(&self, viewer: &Viewer, proposal: &ProposalId) -> Result<Option<Retraction>> {
        check_service(viewer)?;
        self.last_known.read(self.store.retraction(proposal)).await
    }

    async fn known_retraction(&self, proposal: &ProposalId) -> Result<Retraction> {
        let retraction = self.last_known.read(self.store.retraction(proposal)).await?;
        retraction.ok_or_else(|| Error::internal_detail("a proposal is committed and cannot be found"))
    }
}
