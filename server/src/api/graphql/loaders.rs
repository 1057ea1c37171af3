//! Batches the reads of one answer: one statement per kind of field for a whole page.
//!
//! A [`Scope`] belongs to one viewer and one answer: a whole query shares one, each mutation's payload and each event
//! of a subscription gets its own. So nothing that was read for one viewer is seen by another, nothing read before a
//! change is shown after it, and a long subscription remembers nothing.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use dataloader::BatchFn;
use dataloader::cached::Loader;
use futures_util::future::{BoxFuture, FutureExt, Shared};

use crate::domain::{ItemId, UserId};
use crate::error::{Error, Result};
use crate::service::{
    FriendLikers, ItemFacts, ItemView, Page, PerItem, Seen, Service, Slice, UserFacts, Viewer, WhileAway,
};

/// Most keys of one read: above what a document within its cost bound can ask for, so that a page is never split.
const BATCH_MAX: usize = 100_000;

/// How many turns of the scheduler a loader waits for more keys. A list asks for all its entries at once, and all the
/// lists of an answer are resolved in one task, so they arrive within two turns; each turn more is latency under load.
const GATHER_TURNS: usize = 2;

/// Reads for one viewer and one answer.
pub struct Scope {
    service: Arc<Service>,
    viewer: Option<Viewer>,
    facts: Reads<ItemId, Result<Option<ItemFacts>>>,
    views: Reads<ItemId, Result<ItemView>>,
    friend_likers: Reads<ItemId, FriendLikers>,
    likers: Reads<(ItemId, Page), Slice>,
    users: Reads<UserId, UserFacts>,
}

impl Scope {
    /// A query's scope: while the store is away, it shows what is known.
    pub fn new(service: Arc<Service>, viewer: Option<Viewer>) -> Arc<Self> {
        Self::with(service, viewer, HashMap::new(), WhileAway::ServeKnown)
    }

    /// A scope that shows the pinned copies of counts in place of what a read would give.
    fn with(
        service: Arc<Service>,
        viewer: Option<Viewer>,
        pins: HashMap<ItemId, Arc<Seen>>,
        while_away: WhileAway,
    ) -> Arc<Self> {
        let user = viewer.as_ref().map(|viewer| viewer.user.clone());
        let reader = Arc::new(Reader { service: Arc::clone(&service), user, pins, while_away });
        Arc::new(Self {
            facts: reads(&reader, |reader, items| async move { reader.service.known_items(&items).await }.boxed()),
            views: reads(&reader, |reader, items| async move { reader.views(&items).await }.boxed()),
            friend_likers: reads(&reader, |reader, items| async move { reader.friend_likers(&items).await }.boxed()),
            likers: reads(&reader, |reader, keys| async move { reader.likers(keys).await }.boxed()),
            users: reads(&reader, |reader, users| async move { reader.service.users(&users).await }.boxed()),
            service,
            viewer,
        })
    }

    /// A scope of the same viewer that has read nothing yet, for an answer that has to have the viewer's own tap in it:
    /// while the store is away, it refuses.
    pub fn renewed(&self) -> Arc<Self> {
        Self::with(Arc::clone(&self.service), self.viewer.clone(), HashMap::new(), WhileAway::Refuse)
    }

    /// The same for an event about `item`, whose counts are these.
    pub fn for_event(&self, item: ItemId, seen: Arc<Seen>) -> Arc<Self> {
        let pins = HashMap::from([(item, seen)]);
        Self::with(Arc::clone(&self.service), self.viewer.clone(), pins, WhileAway::Refuse)
    }

    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    pub fn viewer(&self) -> Option<&Viewer> {
        self.viewer.as_ref()
    }

    /// What the catalogue knows of items; `None` where it has no row.
    pub async fn facts(&self, items: &[ItemId]) -> Result<PerItem<Option<ItemFacts>>> {
        load(&self.facts, items).await
    }

    /// Counts and the viewer's own reaction, from one read, so that they agree.
    pub async fn views(&self, items: &[ItemId]) -> Result<PerItem<ItemView>> {
        load(&self.views, items).await
    }

    /// Nothing for an anonymous caller.
    pub async fn friend_likers(&self, items: &[ItemId]) -> Result<HashMap<ItemId, FriendLikers>> {
        load(&self.friend_likers, items).await
    }

    /// A page of one item's likers. Items of one list ask one by one, and their requests are gathered.
    pub async fn likers(&self, item: &ItemId, page: Page) -> Result<Slice> {
        let key = (item.clone(), page);
        let mut found = load(&self.likers, std::slice::from_ref(&key)).await?;
        found.remove(&key).ok_or_else(|| missing("likers", item))
    }

    /// Nothing where nobody of an id was upserted or has reacted.
    pub async fn users(&self, users: &[UserId]) -> Result<HashMap<UserId, UserFacts>> {
        load(&self.users, users).await
    }

    /// Whether this viewer may list likers at all.
    pub fn check_likers_visible(&self) -> Result<()> {
        self.service.check_likers_visible(self.viewer.as_ref())
    }
}

/// The service answers for every item; this is for the day it does not.
pub fn missing(what: &str, item: &ItemId) -> Error {
    Error::internal_detail(format!("the service left out the {what} of {item:?}"))
}

/// What the reads of a scope need.
struct Reader {
    service: Arc<Service>,
    user: Option<UserId>,
    pins: HashMap<ItemId, Arc<Seen>>,
    while_away: WhileAway,
}

impl Reader {
    async fn views(&self, items: &[ItemId]) -> Result<PerItem<ItemView>> {
        self.service.views(self.user.as_ref(), items, &self.pins, self.while_away).await
    }

    async fn friend_likers(&self, items: &[ItemId]) -> Result<HashMap<ItemId, FriendLikers>> {
        match &self.user {
            Some(user) => self.service.friend_likers(user, items).await,
            None => Ok(HashMap::new()),
        }
    }

    /// One read per distinct page: items of one list ask for the same.
    async fn likers(&self, keys: Vec<(ItemId, Page)>) -> Result<HashMap<(ItemId, Page), Slice>> {
        let mut by_page: HashMap<Page, Vec<ItemId>> = HashMap::new();
        for (item, page) in keys {
            by_page.entry(page).or_default().push(item);
        }
        let mut all = HashMap::new();
        for (page, items) in by_page {
            let slices = self.service.likers(&items, &page).await?;
            all.extend(slices.into_iter().map(|(item, slice)| ((item, page.clone()), slice)));
        }
        Ok(all)
    }
}

/// Gathers keys, and reads each once.
type Reads<K, V> = Loader<K, Reading<K, V>, Batch<K, V>>;

/// What a read gives; a key without an entry has none.
type Found<K, V> = Result<HashMap<K, V>>;

/// How the keys of a batch are read.
type Read<K, V> = fn(Arc<Reader>, Vec<K>) -> BoxFuture<'static, Found<K, V>>;

/// A read that runs, or has run, for a whole batch.
struct Reading<K, V>(Shared<BoxFuture<'static, Arc<Found<K, V>>>>);

impl<K, V> Clone for Reading<K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// The reading side of a loader.
struct Batch<K, V> {
    reader: Arc<Reader>,
    read: Read<K, V>,
}

impl<K, V> BatchFn<K, Reading<K, V>> for Batch<K, V>
where
    K: Eq + Hash + Clone + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    /// Hands out the read, not its answer: the loader keeps its lock while it loads, and keys that came meanwhile would
    /// leave the queue one by one, each in a batch of its own.
    async fn load(&mut self, keys: &[K]) -> HashMap<K, Reading<K, V>> {
        let read = (self.read)(Arc::clone(&self.reader), keys.to_vec());
        let reading = Reading(read.map(Arc::new).boxed().shared());
        keys.iter().map(|key| (key.clone(), reading.clone())).collect()
    }
}

fn reads<K, V>(reader: &Arc<Reader>, read: Read<K, V>) -> Reads<K, V>
where
    K: Eq + Hash + Clone + Debug + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    let batch = Batch { reader: Arc::clone(reader), read };
    Loader::new(batch).with_max_batch_size(BATCH_MAX).with_yield_count(GATHER_TURNS)
}

/// The answers for `keys`. The gathering is outside tokio's budget: a task that takes its 128th lock would be sent to
/// the back of the queue, and the lists of a page would arrive in several batches.
async fn load<K, V>(reads: &Reads<K, V>, keys: &[K]) -> Result<HashMap<K, V>>
where
    K: Eq + Hash + Clone + Debug + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    let gathered = tokio::task::coop::unconstrained(reads.try_load_many(keys.to_vec())).await;
    let mut answers = HashMap::with_capacity(keys.len());
    for (key, reading) in gathered.map_err(Error::internal)? {
        match &*reading.0.await {
            Ok(found) => answers.extend(found.get(&key).cloned().map(|answer| (key, answer))),
            Err(error) => return Err(error.clone()),
        }
    }
    Ok(answers)
}
