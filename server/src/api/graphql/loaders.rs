//! Batches the reads of one answer: one statement per kind of field for a whole page.
//!
//! A [`Scope`] belongs to one viewer and one answer: a whole query shares one, each mutation's payload and each event
//! of a subscription gets its own. So nothing that was read for one viewer is seen by another, nothing read before a
//! change is shown after it, and a long subscription remembers nothing.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use dataloader::BatchFn;
use dataloader::cached::Loader;

use crate::domain::{ItemId, UserId};
use crate::error::{Error, Result};
use crate::service::{FriendLikers, ItemFacts, ItemView, Page, Seen, Service, Slice, UserFacts, Viewer};

/// Most keys of one read: above what a document within its cost bound can ask for, so that a page is never split.
const BATCH_MAX: usize = 20_000;

/// How many turns of the scheduler a loader waits for more keys. All the fields of an answer are resolved in one
/// task, so the keys of a level arrive within two turns; each turn more is latency under load.
const GATHER_TURNS: usize = 3;

/// Answers by key; a failed read fails each of its keys.
type Batch<K, V> = HashMap<K, Result<Option<V>>>;

/// Reads for one viewer and one answer.
pub struct Scope {
    service: Arc<Service>,
    viewer: Option<Viewer>,
    facts: Loader<ItemId, Result<Option<ItemFacts>>, Facts>,
    views: Loader<ItemId, Result<Option<ItemView>>, Views>,
    friend_likers: Loader<ItemId, Result<Option<FriendLikers>>, FriendsOf>,
    likers: Loader<(ItemId, Page), Result<Option<Slice>>, Likers>,
    users: Loader<UserId, Result<Option<UserFacts>>, Users>,
}

impl Scope {
    pub fn new(service: Arc<Service>, viewer: Option<Viewer>) -> Arc<Self> {
        Self::pinned(service, viewer, HashMap::new())
    }

    /// A scope that shows these copies of counts in place of what a read would give.
    fn pinned(service: Arc<Service>, viewer: Option<Viewer>, pins: HashMap<ItemId, Arc<Seen>>) -> Arc<Self> {
        let user = viewer.as_ref().map(|viewer| viewer.user.clone());
        Arc::new(Self {
            facts: loader(Facts(Arc::clone(&service))),
            views: loader(Views { service: Arc::clone(&service), user: user.clone(), pins }),
            friend_likers: loader(FriendsOf { service: Arc::clone(&service), user }),
            likers: loader(Likers(Arc::clone(&service))),
            users: loader(Users(Arc::clone(&service))),
            service,
            viewer,
        })
    }

    /// A scope of the same viewer that has read nothing yet.
    pub fn renewed(&self) -> Arc<Self> {
        Self::new(Arc::clone(&self.service), self.viewer.clone())
    }

    /// The same for an event about `item`, whose counts are these.
    pub fn for_event(&self, item: ItemId, seen: Arc<Seen>) -> Arc<Self> {
        Self::pinned(Arc::clone(&self.service), self.viewer.clone(), HashMap::from([(item, seen)]))
    }

    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    pub fn viewer(&self) -> Option<&Viewer> {
        self.viewer.as_ref()
    }

    /// `None` where the catalogue has no row.
    pub async fn facts(&self, item: &ItemId) -> Result<Option<ItemFacts>> {
        load(&self.facts, item.clone()).await
    }

    /// Counts and the viewer's own reaction, from one read, so that they agree.
    pub async fn view(&self, item: &ItemId) -> Result<ItemView> {
        load(&self.views, item.clone()).await?.ok_or_else(|| missing("view of", item.as_str()))
    }

    /// `None` for an anonymous caller.
    pub async fn friend_likers(&self, item: &ItemId) -> Result<Option<FriendLikers>> {
        if self.viewer.is_none() {
            return Ok(None);
        }
        load(&self.friend_likers, item.clone()).await
    }

    pub async fn likers(&self, item: &ItemId, page: Page) -> Result<Slice> {
        let key = (item.clone(), page);
        load(&self.likers, key).await?.ok_or_else(|| missing("likers of", item.as_str()))
    }

    /// `None` where nobody of this id was upserted or has reacted.
    pub async fn user(&self, user: &UserId) -> Result<Option<UserFacts>> {
        load(&self.users, user.clone()).await
    }

    /// Whether this viewer may list likers at all.
    pub fn check_likers_visible(&self) -> Result<()> {
        self.service.check_likers_visible(self.viewer.as_ref())
    }
}

fn loader<K, V, F>(batch: F) -> Loader<K, Result<Option<V>>, F>
where
    K: Eq + Hash + Clone + std::fmt::Debug,
    V: Clone,
    F: BatchFn<K, Result<Option<V>>>,
{
    Loader::new(batch).with_max_batch_size(BATCH_MAX).with_yield_count(GATHER_TURNS)
}

/// Outside tokio's budget: a task that takes its 128th lock would be sent to the back of the queue, and a page of a
/// hundred items would arrive at the loader in several batches.
async fn load<K, V, F>(loader: &Loader<K, Result<Option<V>>, F>, key: K) -> Result<Option<V>>
where
    K: Eq + Hash + Clone + std::fmt::Debug,
    V: Clone,
    F: BatchFn<K, Result<Option<V>>>,
{
    let found = tokio::task::coop::unconstrained(loader.try_load(key)).await;
    found.unwrap_or_else(|error| Err(Error::internal(error)))
}

fn missing(what: &str, id: &str) -> Error {
    Error::internal_detail(format!("the service left out the {what} {id:?}"))
}

/// An entry for each key, so that an absent one is remembered as absent.
fn spread<K: Eq + Hash + Clone, V>(keys: &[K], found: Result<HashMap<K, V>>) -> Batch<K, V> {
    match found {
        Ok(mut found) => keys.iter().map(|key| (key.clone(), Ok(found.remove(key)))).collect(),
        Err(error) => keys.iter().map(|key| (key.clone(), Err(error.clone()))).collect(),
    }
}

struct Facts(Arc<Service>);

impl BatchFn<ItemId, Result<Option<ItemFacts>>> for Facts {
    async fn load(&mut self, items: &[ItemId]) -> Batch<ItemId, ItemFacts> {
        spread(items, self.0.items(items).await)
    }
}

struct Views {
    service: Arc<Service>,
    user: Option<UserId>,
    pins: HashMap<ItemId, Arc<Seen>>,
}

impl BatchFn<ItemId, Result<Option<ItemView>>> for Views {
    async fn load(&mut self, items: &[ItemId]) -> Batch<ItemId, ItemView> {
        spread(items, self.service.views(self.user.as_ref(), items, &self.pins).await)
    }
}

struct FriendsOf {
    service: Arc<Service>,
    user: Option<UserId>,
}

impl BatchFn<ItemId, Result<Option<FriendLikers>>> for FriendsOf {
    async fn load(&mut self, items: &[ItemId]) -> Batch<ItemId, FriendLikers> {
        match &self.user {
            Some(user) => spread(items, self.service.friend_likers(user, items).await),
            None => spread(items, Ok(HashMap::new())),
        }
    }
}

struct Likers(Arc<Service>);

impl BatchFn<(ItemId, Page), Result<Option<Slice>>> for Likers {
    /// One read per distinct page: items of one list ask for the same.
    async fn load(&mut self, keys: &[(ItemId, Page)]) -> Batch<(ItemId, Page), Slice> {
        let mut by_page: HashMap<&Page, Vec<ItemId>> = HashMap::new();
        for (item, page) in keys {
            by_page.entry(page).or_default().push(item.clone());
        }
        let mut all = HashMap::with_capacity(keys.len());
        for (page, items) in by_page {
            let slices = spread(&items, self.0.likers(&items, page).await);
            all.extend(slices.into_iter().map(|(item, slice)| ((item, page.clone()), slice)));
        }
        all
    }
}

struct Users(Arc<Service>);

impl BatchFn<UserId, Result<Option<UserFacts>>> for Users {
    async fn load(&mut self, users: &[UserId]) -> Batch<UserId, UserFacts> {
        spread(users, self.0.users(users).await)
    }
}
