//! What a watcher of items is told: the present state of each first, then the newest whenever it changes.
//!
//! It registers at the hub before it reads, so that nothing falls in between, and never gives out a version older than
//! one it gave before. At most one event per item and push interval; the last one is always given.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::{BoxStream, SelectAll, StreamExt};
use tokio::time::{Instant, sleep_until};
use tracing::warn;

use super::{Catalog, Service};
use crate::domain::{CountCopy, Freshness, ItemId};
use crate::error::{Result, chain};

/// Pause before an event that could not be read is tried again, and between looks for items that do not exist yet.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Counts as a watcher sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub copy: CountCopy,
    pub freshness: Freshness,
}

/// A subscription to items. Dropping it ends the watch.
pub struct ItemsWatch {
    service: Arc<Service>,
    news: SelectAll<BoxStream<'static, (ItemId, Option<Seen>)>>,
    items: HashMap<ItemId, Watched>,
    /// Items to read from the store, and when: at first all of them.
    unread: Vec<ItemId>,
    read_at: Instant,
}

#[derive(Default)]
struct Watched {
    newest: Option<Seen>,
    given: Option<(i64, Freshness)>,
    /// No event before this.
    not_before: Option<Instant>,
}

impl Watched {
    /// The instant at which the newest state is to be given out, where it is news.
    fn due(&self, now: Instant) -> Option<Instant> {
        let newest = self.newest.as_ref()?;
        let state = (newest.copy.version, newest.freshness);
        let news = self.given.is_none_or(|given| state.0 > given.0 || (state.0 == given.0 && state.1 != given.1));
        news.then(|| self.not_before.unwrap_or(now))
    }

    fn take_note(&mut self, seen: Seen) {
        let newer = self.newest.as_ref().is_none_or(|newest| seen.copy.version >= newest.copy.version);
        if newer {
            self.newest = Some(seen);
        }
    }
}

impl Service {
    /// Watches items, each once however often it is named. Registered when this returns.
    pub fn watch_items(self: &Arc<Self>, ids: Vec<ItemId>) -> ItemsWatch {
        let mut items = HashMap::with_capacity(ids.len());
        let mut news = SelectAll::new();
        let mut unread = Vec::with_capacity(ids.len());
        for id in ids {
            if items.insert(id.clone(), Watched::default()).is_some() {
                continue;
            }
            let watch = self.bus.hub().watch_item(&id);
            unread.push(id.clone());
            let changes = watch.into_stream().map(move |seen| {
                let freshness = seen.freshness;
                (id.clone(), seen.copy.map(|copy| Seen { copy, freshness }))
            });
            news.push(changes.boxed());
        }
        ItemsWatch { service: Arc::clone(self), news, items, unread, read_at: Instant::now() }
    }
}

impl ItemsWatch {
    /// The next event. Safe to cancel.
    pub async fn next(&mut self) -> Arc<Seen> {
        loop {
            if !self.unread.is_empty() && self.read_at <= Instant::now() {
                self.read().await;
            }
            // Whatever has come meanwhile goes first, so that a slow reader gets the newest.
            while let Some(Some((id, seen))) = self.news.next().now_or_never() {
                self.take_note(&id, seen);
            }
            let now = Instant::now();
            let due = self.items.iter().filter_map(|(id, watched)| Some((watched.due(now)?, id)));
            let due = due.min_by_key(|(at, _)| *at).map(|(at, id)| (at, id.clone()));
            match due {
                Some((at, id)) if at <= now => {
                    if let Some(seen) = self.give(&id, now) {
                        return seen;
                    }
                }
                due => self.wait(due.map(|(at, _)| at)).await,
            }
        }
    }

    /// The event of this item could not be read whole: it is given out again, after a pause, as it is then.
    pub fn put_back(&mut self, id: &ItemId) {
        if let Some(watched) = self.items.get_mut(id) {
            watched.given = watched.given.map(|(version, _)| (version - 1, Freshness::Live));
            watched.not_before = Some(Instant::now() + TRY_AGAIN);
        }
    }

    async fn wait(&mut self, due: Option<Instant>) {
        let read_at = (!self.unread.is_empty()).then_some(self.read_at);
        let wake = due.into_iter().chain(read_at).min();
        let timer = async {
            match wake {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = timer => {}
            news = self.news.next() => match news {
                Some((id, seen)) => self.take_note(&id, seen),
                // An empty list of ids watches nothing, for ever.
                None => std::future::pending().await,
            },
        }
    }

    fn take_note(&mut self, id: &ItemId, seen: Option<Seen>) {
        let unknown = self.unread.contains(id) && self.service.rules.catalog == Catalog::Registered;
        if let (Some(watched), Some(seen), false) = (self.items.get_mut(id), seen, unknown) {
            watched.take_note(seen);
        }
    }

    fn give(&mut self, id: &ItemId, now: Instant) -> Option<Arc<Seen>> {
        let interval = self.service.rules.push_interval;
        let watched = self.items.get_mut(id)?;
        let seen = watched.newest.clone()?;
        watched.given = Some((seen.copy.version, seen.freshness));
        watched.not_before = Some(now + interval);
        Some(Arc::new(seen))
    }

    /// Reads what is unread; what cannot be read or does not exist stays unread, to be tried again.
    async fn read(&mut self) {
        self.read_at = Instant::now() + TRY_AGAIN;
        match read_existing(Arc::clone(&self.service), self.unread.clone()).await {
            Ok(read) => {
                self.unread.retain(|id| !read.contains_key(id));
                let freshness = self.service.bus.hub().freshness();
                for (id, seen) in read {
                    if let Some(watched) = self.items.get_mut(&id) {
                        // Only the hub says when freshness flips, so its word holds in events.
                        watched.take_note(Seen { freshness, ..seen });
                    }
                }
            }
            Err(unread) => {
                warn!(error = %chain(&unread), "a subscription's first state is tried again");
                self.show_known();
            }
        }
    }

    /// Until the store can be read, what this node knows; it stays to be read. A closed catalogue cannot be asked whether
    /// the items exist.
    fn show_known(&mut self) {
        if self.service.rules.catalog == Catalog::Open {
            for (id, seen) in self.service.known_counts(&self.unread) {
                self.take_note(&id, Some(seen));
            }
        }
    }
}

/// Owns what it needs: the watch itself is not to be shared between threads.
async fn read_existing(service: Arc<Service>, unread: Vec<ItemId>) -> Result<HashMap<ItemId, Seen>> {
    let ids = match service.rules.catalog {
        Catalog::Open => unread,
        Catalog::Registered => service.items(&unread).await?.into_keys().collect(),
    };
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    service.read_counts(&ids).await
}
