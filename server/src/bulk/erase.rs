//! Deletes one account from the command line, as a serving node would in the background.

use std::cell::Cell;
use std::time::Instant;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::error::BulkError;
use super::progress::Progress;
use super::report::EraseReport;
use super::write::{self, FAILURES_MAX, RETRY_PAUSE};
use crate::domain::UserId;
use crate::error::Error;
use crate::pipeline::eraser::{Eraser, EraserStats};
use crate::store::Store;
use crate::store::catalog::{CatalogRefusal, CatalogWrite};

/// Returns when nothing is left and the counts are right. After a kill, the same call goes on with what is left.
pub async fn erase(store: Store, user: UserId) -> Result<EraseReport, BulkError> {
    let started = Instant::now();
    if store.partitions() == 0 {
        return Err(BulkError::NoSchema);
    }
    let entombed = store.write_catalog(&CatalogWrite::Erase(user.clone())).await;
    entombed.map_err(|refusal| BulkError::Tombstone(refused(refusal)))?;
    let progress = Progress::new("erasing", store.reactions_len(&user).await?);
    let eraser = Eraser::new(store.clone(), EraserStats::default());
    let removed = Cell::new(0);
    let mut failures = 0;
    loop {
        let note = |rows| {
            removed.set(removed.get() + rows);
            progress.add(rows);
        };
        match eraser.erase(&user, &CancellationToken::new(), note).await {
            Ok(()) => break,
            Err(failed) if failed.code().retryable() && failures + 1 < FAILURES_MAX => {
                failures += 1;
                warn!(cause = %failed, "a batch is tried again");
                sleep(RETRY_PAUSE).await;
            }
            Err(failed) => return Err(BulkError::Erasure(failed)),
        }
    }
    progress.finish();
    write::fold(&store).await?;
    let removed_in_all = store.erasure(&user).await?.map_or(0, |erasure| erasure.removed);
    Ok(EraseReport {
        removed: removed.get(),
        removed_in_all: u64::try_from(removed_in_all).unwrap_or_default(),
        elapsed: started.elapsed(),
    })
}

fn refused(refusal: CatalogRefusal) -> Error {
    match refusal {
        CatalogRefusal::Failed(error) => error,
        CatalogRefusal::Erased(user) | CatalogRefusal::TooManyFriends(user) => {
            Error::internal_detail(format!("an erasure was refused as an upsert of {user}"))
        }
    }
}
