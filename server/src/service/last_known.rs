//! What is served while the store cannot be reached: the counts and types that this node knows, never a guess.
//!
//! Counts are remembered by the hub, which sees every copy that is read or told; see [`crate::realtime::Hub::known`].

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use hashlink::LruCache;
use tokio::sync::watch;
use tokio::time::sleep;

use super::{ItemFacts, PerItem, Seen, Service};
use crate::domain::{CountCopy, Freshness, ItemId};
use crate::error::{Error, ErrorCode, Result};

/// How long a read goes on once the store is known to be away. Before that, a read waits as long as the store's pool
/// lets it, five seconds.
const AWAY_READ_MAX: Duration = Duration::from_millis(500);
/// Most items whose type is remembered; past it, the one that was used longest ago is forgotten. Some 200 bytes each.
const TYPES_MAX: usize = 20_000;

/// Whether the store is away, and what the catalogue last said.
pub(super) struct LastKnown {
    away: watch::Sender<bool>,
    facts: Mutex<LruCache<ItemId, Option<ItemFacts>>>,
}

/// What a read of counts came to.
pub(super) struct Counts {
    pub seen: PerItem<Seen>,
    /// Why the counts are the last known ones, where they are.
    pub away: Option<Error>,
}

#[derive(Debug, thiserror::Error)]
#[error("the store did not answer its last look")]
struct Away;

impl Default for LastKnown {
    fn default() -> Self {
        Self { away: watch::Sender::new(false), facts: Mutex::new(LruCache::new(TYPES_MAX)) }
    }
}

impl LastKnown {
    /// Whoever looks at the store says what it has seen.
    pub(super) fn set_away(&self, away: bool) {
        self.away.send_if_modified(|known| std::mem::replace(known, away) != away);
    }

    /// Runs a read of the store; while the store is known to be away, for [`AWAY_READ_MAX`] at most.
    pub(super) async fn read<T>(&self, read: impl Future<Output = Result<T>>) -> Result<T> {
        let mut away = self.away.subscribe();
        let given_up = async {
            // The sender lives as long as `self`.
            let _ = away.wait_for(|away| *away).await;
            sleep(AWAY_READ_MAX).await;
        };
        tokio::select! {
            biased;
            answer = read => answer,
            () = given_up => Err(Error::unavailable(Away)),
        }
    }

    fn facts(&self) -> MutexGuard<'_, LruCache<ItemId, Option<ItemFacts>>> {
        self.facts.lock().expect("nothing panics under this lock")
    }
}

impl Service {
    /// Counts from the store, or the last known ones where it cannot be reached. What is not known then is an error and
    /// never a zero.
    pub(super) async fn counts(&self, ids: &[ItemId]) -> Result<Counts> {
        match self.read_counts(ids).await {
            Ok(read) => Ok(Counts { seen: read.into_iter().map(|(id, seen)| (id, Ok(seen))).collect(), away: None }),
            Err(away) if away.code() == ErrorCode::Unavailable => {
                let mut known = self.known_counts(ids);
                let seen = |id: &ItemId| (id.clone(), known.remove(id).ok_or_else(|| away.clone()));
                Ok(Counts { seen: ids.iter().map(seen).collect(), away: Some(away.clone()) })
            }
            Err(error) => Err(error),
        }
    }

    /// The last known counts, for as many as are known. They are stale whatever their age: nothing confirms them.
    pub(super) fn known_counts(&self, ids: &[ItemId]) -> HashMap<ItemId, Seen> {
        let stale = |copy: CountCopy| (copy.item.clone(), Seen { copy, freshness: Freshness::Stale });
        self.bus.hub().known(ids).into_iter().map(stale).collect()
    }

    /// What the catalogue knows of each item, `None` where it has no row; or what it last knew, where the store cannot
    /// be reached.
    pub async fn known_items(&self, ids: &[ItemId]) -> Result<PerItem<Option<ItemFacts>>> {
        match self.items(ids).await {
            Ok(mut found) => {
                let facts: Vec<_> = ids.iter().map(|id| (id.clone(), found.remove(id))).collect();
                let mut remembered = self.last_known.facts();
                for (id, facts) in &facts {
                    remembered.insert(id.clone(), facts.clone());
                }
                Ok(facts.into_iter().map(|(id, facts)| (id, Ok(facts))).collect())
            }
            Err(away) if away.code() == ErrorCode::Unavailable => {
                let mut remembered = self.last_known.facts();
                let last = |id: &ItemId| (id.clone(), remembered.get(id).cloned().ok_or_else(|| away.clone()));
                Ok(ids.iter().map(last).collect())
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_read_that_waits_is_given_up_once_the_store_is_known_to_be_away() {
        let known = LastKnown::default();
        let mut waiting = Box::pin(known.read(pending::<Result<()>>()));
        assert!(waiting.as_mut().now_or_never().is_none(), "nothing says that the store is away");
        known.set_away(true);
        assert!(waiting.as_mut().now_or_never().is_none(), "it may answer yet");
        assert_eq!(waiting.await.expect_err("no answer").code(), ErrorCode::Unavailable);
        assert!(known.read(async { Ok(1) }).await.is_ok(), "an answer is an answer");
    }
}
