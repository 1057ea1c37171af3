//! What a viewer's devices are told of the viewer's own reactions.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use super::Service;
use crate::domain::{ItemId, OwnReaction, ReactionChange, UserId};
use crate::error::chain;
use crate::realtime::{UserNews, UserWatch};

/// Pause before a state that could not be read is tried again.
const TRY_AGAIN: Duration = Duration::from_millis(500);
/// Versions that are remembered to tell news from repetitions; past it all are forgotten and a repetition may show.
const VERSIONS_MAX: usize = 1_000;

/// A subscription to a viewer's own reactions. Dropping it ends the watch.
pub struct ReactionsWatch {
    service: Arc<Service>,
    user: UserId,
    news: UserWatch,
    /// Of these items the state is read first, and again after the bus lost touch; `None` watches all, best effort.
    items: Option<HashSet<ItemId>>,
    versions: HashMap<ItemId, i64>,
    ready: VecDeque<ReactionChange>,
    to_read: bool,
}

impl Service {
    /// Watches the user's own reactions. Registered when this returns.
    pub fn watch_reactions(self: &Arc<Self>, user: UserId, items: Option<Vec<ItemId>>) -> ReactionsWatch {
        ReactionsWatch {
            service: Arc::clone(self),
            news: self.bus.hub().watch_user(&user),
            user,
            to_read: items.is_some(),
            items: items.map(HashSet::from_iter),
            versions: HashMap::new(),
            ready: VecDeque::new(),
        }
    }
}

impl ReactionsWatch {
    /// The next change. Safe to cancel.
    pub async fn next(&mut self) -> ReactionChange {
        loop {
            if let Some(change) = self.ready.pop_front() {
                return change;
            }
            if self.to_read {
                self.read().await;
                continue;
            }
            match self.news.recv().await {
                UserNews::Changed(change) => self.take_note(change),
                UserNews::Missed => self.to_read = self.items.is_some(),
            }
        }
    }

    /// The event could not be read whole: it is given out again after a pause.
    pub async fn put_back(&mut self, change: ReactionChange) {
        tokio::time::sleep(TRY_AGAIN).await;
        self.ready.push_front(change);
    }

    fn take_note(&mut self, change: ReactionChange) {
        if self.items.as_ref().is_some_and(|items| !items.contains(&change.item)) {
            return;
        }
        if self.versions.get(&change.item).is_some_and(|known| *known >= change.version) {
            return;
        }
        if self.versions.len() >= VERSIONS_MAX {
            self.versions.clear();
        }
        self.versions.insert(change.item.clone(), change.version);
        self.ready.push_back(change);
    }

    async fn read(&mut self) {
        let items: Vec<ItemId> = self.items.iter().flatten().cloned().collect();
        match self.service.last_known.read(self.service.store.own_reactions(&self.user, &items)).await {
            Ok(rows) => {
                self.to_read = false;
                for item in items {
                    let row = rows.get(&item).copied().unwrap_or(OwnReaction::ABSENT);
                    let user = self.user.clone();
                    self.take_note(ReactionChange { user, item, state: row.state, version: row.version });
                }
            }
            Err(unread) => {
                warn!(error = %chain(&unread), "a viewer's reactions are tried again");
                tokio::time::sleep(TRY_AGAIN).await;
            }
        }
    }
}
