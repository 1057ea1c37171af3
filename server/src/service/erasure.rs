//! Deletion of accounts, with service scope, and the refusal of those that are deleted.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::broadcast;
use tracing::debug;

use super::catalog::check_service;
use super::{Erasure, Service, Viewer};
use crate::domain::UserId;
use crate::error::{Error, ErrorCode, Result, chain};
use crate::store::catalog::{CatalogRefusal, CatalogWrite};

impl Service {
    /// Keeps a user out for good, durably when this returns; the rows are removed by an eraser. Asked again, it tells
    /// how far that is.
    pub async fn erase_user(&self, viewer: &Viewer, user: UserId) -> Result<Erasure> {
        check_service(viewer)?;
        self.write_to_catalog(CatalogWrite::Erase(user.clone())).await?;
        let erasure = self.store.erasure(&user).await?;
        erasure.ok_or_else(|| Error::internal_detail("an erasure is committed and cannot be found"))
    }

    /// How far a user's erasure is; `None` where none was asked for.
    pub async fn erasure(&self, viewer: &Viewer, user: &UserId) -> Result<Option<Erasure>> {
        check_service(viewer)?;
        self.store.erasure(user).await
    }

    /// UNAUTHENTICATED where the caller's account was deleted. Where the store cannot tell, the caller is let in: then
    /// nothing that is the caller's can be read either.
    pub async fn check_not_erased(&self, viewer: &Viewer) -> Result<()> {
        match self.last_known.read(self.store.is_erased(&viewer.user)).await {
            Ok(true) => Err(Error::new(ErrorCode::Unauthenticated, "This account was deleted.")),
            Ok(false) => Ok(()),
            Err(unread) => {
                debug!(error = %chain(&unread), "whether a caller's account was deleted cannot be read");
                Ok(())
            }
        }
    }

    /// The accounts that are deleted from now on, in groups; told within about a second, on every node.
    pub fn erased_users(&self) -> broadcast::Receiver<Arc<HashSet<UserId>>> {
        self.bus.hub().erased()
    }

    pub(super) async fn write_to_catalog(&self, write: CatalogWrite) -> Result<()> {
        self.catalog.write(write).await.map_err(|refusal| match refusal {
            CatalogRefusal::Failed(error) => error,
            // Only upserts of users are refused so.
            CatalogRefusal::TooManyFriends(user) | CatalogRefusal::Erased(user) => {
                Error::internal_detail(format!("a write that has no users to upsert was refused for {user}"))
            }
        })
    }
}
