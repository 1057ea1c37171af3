//! Likes that the program itself brings along.

use futures_util::future::join;

use super::error::BulkError;
use super::parse::Reacted;
use super::progress::Progress;
use super::write::{self, Chunks, Row};
use crate::domain::{ItemId, Micros, ReactionState, UserId};
use crate::store::Store;

/// Writes the likes and folds them. As with an import, what is newer than its `at` stays, so the same likes change
/// nothing the second time, and take back nothing that people did meanwhile. Deleted accounts are left out.
pub async fn add_likes(store: &Store, likes: Vec<(UserId, ItemId, Micros)>) -> Result<u64, BulkError> {
    let progress = Progress::new("likes", likes.len() as u64);
    let (feed, writing) = write::open(store, None, Chunks::default());
    let feeding = async move {
        for (number, (user, item, at)) in (1..).zip(likes) {
            let like = Reacted { user, item, state: ReactionState::Like, at };
            if !feed.push(Row::of(number, like)).await {
                // A writer has failed, and tells why.
                return;
            }
        }
    };
    let ((), written) = join(feeding, writing.run(&progress)).await;
    progress.finish();
    let changed = written?.changed;
    if changed > 0 {
        write::fold(store).await?;
    }
    Ok(changed)
}
