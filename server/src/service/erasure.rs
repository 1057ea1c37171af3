//! Deletion of accounts, with service scope, and the refusal of those that are deleted.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::time::{Instant, sleep};
use tracing::debug;

use super::catalog::check_service;
use super::{Erasure, Service, Viewer};
use crate::domain::UserId;
use crate::error::{Error, ErrorCode, Result, chain};
use crate::store::catalog::{CatalogRefusal, CatalogWrite};

/// Tries of the question whether an account was deleted, while they fail at once; then it is answered `UNAVAILABLE`.
const TRIES: u32 = 10;
/// No further try after this.
const TRIED_FOR: Duration = Duration::from_secs(1);
/// Pause before the question is put again for a subscription, which waits for as long as the store is away.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

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
        self.last_known.read(self.store.erasure(user)).await
    }

    /// UNAUTHENTICATED where the caller's account was deleted, UNAVAILABLE where the store does not tell.
    pub async fn check_not_erased(&self, viewer: &Viewer) -> Result<()> {
        match self.is_erased(viewer).await? {
            true => Err(Error::new(ErrorCode::Unauthenticated, "This account was deleted.")),
            false => Ok(()),
        }
    }

    /// The same for a caller who writes nothing, and who is let in where the store does not tell: little can be read
    /// then, and of a deleted person nothing is there to be read.
    pub async fn check_reader_not_erased(&self, viewer: &Viewer) -> Result<()> {
        match self.check_not_erased(viewer).await {
            Err(unread) if unread.code() == ErrorCode::Unavailable => {
                debug!(error = %chain(&unread), "whether a caller's account was deleted cannot be read");
                Ok(())
            }
            known => known,
        }
    }

    /// The same for a caller who will be told things for long: waits until the store tells.
    pub async fn wait_until_known_not_erased(&self, viewer: &Viewer) -> Result<()> {
        loop {
            match self.check_not_erased(viewer).await {
                Err(unread) if unread.code() == ErrorCode::Unavailable => sleep(LOOK_AGAIN).await,
                known => return known,
            }
        }
    }

    /// A connection that was cut off shows it at its first use, so one failure says nothing of the store.
    async fn is_erased(&self, viewer: &Viewer) -> Result<bool> {
        let begun = Instant::now();
        let mut tries = 1;
        loop {
            match self.last_known.read(self.store.is_erased(&viewer.user)).await {
                Err(cut) if cut.code() == ErrorCode::Unavailable && tries < TRIES && begun.elapsed() < TRIED_FOR => {
                    tries += 1;
                }
                told => return told,
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
