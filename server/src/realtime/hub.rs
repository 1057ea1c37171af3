//! Gives each watcher inside this process the newest state of what it watches.
//!
//! An item has one `watch` however many look at it, and a person one bounded `broadcast`; the first watcher makes it
//! and the last takes it away. A version never goes back, and a slow reader finds the newest and nothing older.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::{Stream, stream};
use hashlink::LruCache;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use crate::domain::{CountCopy, Freshness, ItemId, ReactionChange, UserId};

/// Flips a person's slow reader may be behind. Past it the oldest are dropped and the reader is told
/// [`UserNews::Missed`]; it costs about 100 bytes a flip and watched person.
const USER_BACKLOG: usize = 16;
/// Most items whose last copy is remembered beside the watched ones, for when the store cannot be reached. Past it, the
/// one that was read or told longest ago is forgotten. Some 300 bytes each, 6 MB in all.
const KNOWN_MAX: usize = 20_000;

/// Groups of deleted accounts that a socket may be behind; there is about one a second at most. A socket further behind
/// cannot know whether its caller is among them, and is closed.
const ERASED_BACKLOG: usize = 32;

/// What a watcher of an item sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The newest copy offered since the item is watched.
    pub copy: Option<CountCopy>,
    pub freshness: Freshness,
}

/// What a watcher of a person's reactions is told. A flip may come twice or late: its version decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserNews {
    Changed(ReactionChange),
    /// Flips may have been lost: read again.
    Missed,
}

/// The watchers of one process.
pub struct Hub {
    items: Mutex<Items>,
    /// Guards that a person's channel lives exactly as long as it is watched.
    users: Mutex<HashMap<UserId, Watched<broadcast::Sender<UserNews>>>>,
    erased: broadcast::Sender<Arc<HashSet<UserId>>>,
}

/// Under one lock, so that a new watcher cannot miss a flip of the freshness.
struct Items {
    freshness: Freshness,
    watched: HashMap<ItemId, Watched<watch::Sender<Seen>>>,
    /// The newest copy of what was offered lately, watched or not.
    known: LruCache<ItemId, CountCopy>,
}

struct Watched<S> {
    sender: S,
    watchers: usize,
}

impl Hub {
    #[expect(clippy::new_without_default, reason = "a hub is made once, by name, where the node is put together")]
    pub fn new() -> Self {
        let known = LruCache::new(KNOWN_MAX);
        let items = Items { freshness: Freshness::Live, watched: HashMap::new(), known };
        Self {
            items: Mutex::new(items),
            users: Mutex::new(HashMap::new()),
            erased: broadcast::Sender::new(ERASED_BACKLOG),
        }
    }

    /// Registers a watcher until the handle is dropped. Register first and read afterwards: what is offered in between
    /// is then in [`ItemWatch::newest`].
    pub fn watch_item(self: &Arc<Self>, item: &ItemId) -> ItemWatch {
        let mut items = self.items();
        let freshness = items.freshness;
        let watched = items
            .watched
            .entry(item.clone())
            .or_insert_with(|| Watched { sender: watch::Sender::new(Seen { copy: None, freshness }), watchers: 0 });
        watched.watchers += 1;
        let receiver = watched.sender.subscribe();
        ItemWatch { hub: Arc::clone(self), item: item.clone(), receiver }
    }

    /// Tells the watchers of these items, and remembers the copies; older versions are let go. A younger reading of the
    /// same version is kept, and wakes nobody.
    pub fn offer(&self, copies: &[CountCopy]) {
        let mut items = self.items();
        for copy in copies {
            if let Some(watched) = items.watched.get(&copy.item) {
                watched.sender.send_if_modified(|seen| keep_newest(seen, copy));
            }
            if items.known.get(&copy.item).is_none_or(|known| is_newer(copy, known)) {
                items.known.insert(copy.item.clone(), copy.clone());
            }
        }
    }

    /// The newest copies that this process has seen of these items: of all that are watched, and of those that were read
    /// or told lately.
    pub fn known(&self, ids: &[ItemId]) -> Vec<CountCopy> {
        let mut items = self.items();
        let known = |id: &ItemId| {
            let watched = items.watched.get(id).and_then(|watched| watched.sender.borrow().copy.clone());
            watched.or_else(|| items.known.get(id).cloned())
        };
        ids.iter().filter_map(known).collect()
    }

    /// All items that are watched here, in no order.
    pub fn watched(&self) -> Vec<ItemId> {
        self.items().watched.keys().cloned().collect()
    }

    pub fn watched_len(&self) -> usize {
        self.items().watched.len()
    }

    /// A flip wakes every watcher of an item; the same freshness again wakes nobody.
    pub fn set_freshness(&self, freshness: Freshness) {
        let mut items = self.items();
        if items.freshness == freshness {
            return;
        }
        items.freshness = freshness;
        for watched in items.watched.values() {
            watched.sender.send_modify(|seen| seen.freshness = freshness);
        }
    }

    pub fn freshness(&self) -> Freshness {
        self.items().freshness
    }

    /// Registers a watcher of a person's reactions until the handle is dropped.
    pub fn watch_user(self: &Arc<Self>, user: &UserId) -> UserWatch {
        let mut users = self.users();
        let watched = users
            .entry(user.clone())
            .or_insert_with(|| Watched { sender: broadcast::Sender::new(USER_BACKLOG), watchers: 0 });
        watched.watchers += 1;
        let receiver = watched.sender.subscribe();
        UserWatch { hub: Arc::clone(self), user: user.clone(), receiver }
    }

    /// Tells the person's watchers, where there are any.
    pub fn announce(&self, change: &ReactionChange) {
        if let Some(watched) = self.users().get(&change.user) {
            // An error says that nobody listens any more, and then nobody misses it.
            let _ = watched.sender.send(UserNews::Changed(change.clone()));
        }
    }

    /// Tells all watchers of persons that flips may have been lost. Items need no word: they are read again.
    pub fn lost_touch(&self) {
        for watched in self.users().values() {
            let _ = watched.sender.send(UserNews::Missed);
        }
    }

    /// Tells all sockets whose accounts were deleted just now.
    pub fn tell_erased(&self, users: HashSet<UserId>) {
        // An error says that no socket is open.
        let _ = self.erased.send(Arc::new(users));
    }

    /// The accounts that are deleted from now on, in groups.
    pub fn erased(&self) -> broadcast::Receiver<Arc<HashSet<UserId>>> {
        self.erased.subscribe()
    }

    fn items(&self) -> MutexGuard<'_, Items> {
        self.items.lock().expect("nothing panics under this lock")
    }

    fn users(&self) -> MutexGuard<'_, HashMap<UserId, Watched<broadcast::Sender<UserNews>>>> {
        self.users.lock().expect("nothing panics under this lock")
    }
}

/// True where the watchers have to be woken.
fn keep_newest(seen: &mut Seen, copy: &CountCopy) -> bool {
    if seen.copy.as_ref().is_some_and(|held| !is_newer(copy, held)) {
        return false;
    }
    let held = seen.copy.replace(copy.clone());
    held.is_none_or(|held| copy.version > held.version)
}

fn is_newer(copy: &CountCopy, held: &CountCopy) -> bool {
    (copy.version, copy.basis.as_of) > (held.version, held.basis.as_of)
}

/// One watcher of an item; dropping it unregisters.
pub struct ItemWatch {
    hub: Arc<Hub>,
    item: ItemId,
    receiver: watch::Receiver<Seen>,
}

impl ItemWatch {
    pub fn item(&self) -> &ItemId {
        &self.item
    }

    /// The newest state, taken note of: [`Self::changed`] then waits for a newer one.
    pub fn newest(&mut self) -> Seen {
        self.receiver.borrow_and_update().clone()
    }

    /// Waits until there is a newer version, or the freshness has flipped, since the state that was last taken note of.
    /// Safe to cancel.
    pub async fn changed(&mut self) -> Seen {
        self.receiver.changed().await.expect("the sender stays in the hub as long as this handle lives");
        self.newest()
    }

    /// Each change in turn, the newest only where several came meanwhile; never ends.
    pub fn into_stream(self) -> impl Stream<Item = Seen> + Send {
        stream::unfold(self, async |mut watch| Some((watch.changed().await, watch)))
    }
}

impl Drop for ItemWatch {
    fn drop(&mut self) {
        leave(&mut self.hub.items().watched, &self.item);
    }
}

/// One watcher of a person's reactions; dropping it unregisters.
pub struct UserWatch {
    hub: Arc<Hub>,
    user: UserId,
    receiver: broadcast::Receiver<UserNews>,
}

impl UserWatch {
    /// Waits for the next flip, or for word that some were lost. Safe to cancel.
    pub async fn recv(&mut self) -> UserNews {
        match self.receiver.recv().await {
            Ok(news) => news,
            Err(RecvError::Lagged(_)) => UserNews::Missed,
            Err(RecvError::Closed) => unreachable!("the sender stays in the hub as long as this handle lives"),
        }
    }
}

impl Drop for UserWatch {
    fn drop(&mut self) {
        leave(&mut self.hub.users(), &self.user);
    }
}

/// Counted under the lock, not by the channel: two receivers that are dropped at once would each still see the other.
fn leave<K: Clone + Eq + std::hash::Hash, S>(watched: &mut HashMap<K, Watched<S>>, key: &K) {
    if let Entry::Occupied(mut entry) = watched.entry(key.clone()) {
        entry.get_mut().watchers -= 1;
        if entry.get().watchers == 0 {
            entry.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicI64, Ordering};

    use futures_util::FutureExt;

    use super::*;
    use crate::domain::{Basis, ReactionState};

    fn item(id: &str) -> ItemId {
        ItemId::parse(id).unwrap()
    }

    fn copy(id: &str, version: i64, as_of: i64) -> CountCopy {
        let basis = Arc::new(Basis { offsets: vec![version], as_of, read_at: as_of });
        CountCopy { item: item(id), like_count: version, dislike_count: 0, version, basis }
    }

    fn version(seen: &Seen) -> i64 {
        seen.copy.as_ref().map_or(0, |copy| copy.version)
    }

    #[test]
    fn the_last_watcher_to_leave_leaves_nothing_behind() {
        let hub = Arc::new(Hub::new());
        let (first, second) = (hub.watch_item(&item("a")), hub.watch_item(&item("a")));
        let ana = hub.watch_user(&UserId::parse("ana").unwrap());
        drop(first);
        assert_eq!(hub.watched(), [item("a")]);
        drop((second, ana));
        assert_eq!(hub.watched_len(), 0);
        assert!(hub.users().is_empty());
    }

    #[test]
    fn an_older_version_never_wins_and_a_younger_reading_wakes_nobody() {
        let hub = Arc::new(Hub::new());
        let mut watch = hub.watch_item(&item("a"));
        hub.offer(&[copy("a", 0, 1)]);
        assert_eq!(watch.changed().now_or_never().map(|seen| seen.copy), Some(Some(copy("a", 0, 1))));
        hub.offer(&[copy("a", 7, 10), copy("a", 6, 20), copy("b", 9, 9)]);
        assert_eq!(watch.changed().now_or_never().map(|seen| version(&seen)), Some(7));
        hub.offer(&[copy("a", 7, 30), copy("a", 7, 20)]);
        assert!(watch.changed().now_or_never().is_none());
        assert_eq!(watch.newest().copy, Some(copy("a", 7, 30)));
    }

    #[test]
    fn what_was_offered_lately_is_remembered_and_no_more() {
        let hub = Arc::new(Hub::new());
        let _watch = hub.watch_item(&item("watched"));
        hub.offer(&[copy("watched", 5, 5), copy("first", 7, 7), copy("second", 3, 3)]);
        hub.offer(&[copy("first", 6, 9)]);
        assert_eq!(hub.known(&[item("first"), item("never")]), [copy("first", 7, 7)]);
        for number in 0..KNOWN_MAX - 1 {
            hub.offer(&[copy(&number.to_string(), 1, 1)]);
        }
        let known = hub.known(&[item("watched"), item("first"), item("second"), item("0")]);
        assert_eq!(known, [copy("watched", 5, 5), copy("first", 7, 7), copy("0", 1, 1)]);
    }

    #[test]
    fn a_flip_of_the_freshness_wakes_once_and_newcomers_see_it() {
        let hub = Arc::new(Hub::new());
        let mut watch = hub.watch_item(&item("a"));
        hub.set_freshness(Freshness::Stale);
        assert_eq!(watch.changed().now_or_never(), Some(Seen { copy: None, freshness: Freshness::Stale }));
        hub.set_freshness(Freshness::Stale);
        assert!(watch.changed().now_or_never().is_none());
        assert_eq!(hub.watch_item(&item("b")).newest().freshness, Freshness::Stale);
    }

    #[test]
    fn a_slow_reader_sees_the_newest() {
        let hub = Arc::new(Hub::new());
        let mut watch = hub.watch_item(&item("a"));
        for version in 1..=100 {
            hub.offer(&[copy("a", version, version)]);
        }
        assert_eq!(watch.changed().now_or_never().map(|seen| version(&seen)), Some(100));
        assert!(watch.changed().now_or_never().is_none());
    }

    #[test]
    fn two_hubs_know_nothing_of_each_other() {
        let (one, two) = (Arc::new(Hub::new()), Arc::new(Hub::new()));
        let mut watch = two.watch_item(&item("a"));
        let _own = one.watch_item(&item("a"));
        one.offer(&[copy("a", 1, 1)]);
        one.set_freshness(Freshness::Stale);
        assert!(watch.changed().now_or_never().is_none());
        assert_eq!(two.freshness(), Freshness::Live);
    }

    #[test]
    fn a_persons_slow_reader_is_told_that_it_missed_flips() {
        let hub = Arc::new(Hub::new());
        let user = UserId::parse("ana").unwrap();
        let mut watch = hub.watch_user(&user);
        let change = ReactionChange { user, item: item("a"), state: ReactionState::Like, version: 1 };
        hub.announce(&change);
        assert_eq!(watch.recv().now_or_never(), Some(UserNews::Changed(change.clone())));
        hub.lost_touch();
        assert_eq!(watch.recv().now_or_never(), Some(UserNews::Missed));
        (0..=USER_BACKLOG).for_each(|_| hub.announce(&change));
        assert_eq!(watch.recv().now_or_never(), Some(UserNews::Missed));
        assert_eq!(watch.recv().now_or_never(), Some(UserNews::Changed(change)));
    }

    #[test]
    fn whoever_registers_and_then_reads_never_loses_the_newest() {
        const LAST: i64 = 50;
        for _ in 0..200 {
            let (hub, stored, start) = (Arc::new(Hub::new()), AtomicI64::new(0), Barrier::new(4));
            let watch_then_read = || {
                start.wait();
                drop(hub.watch_item(&item("a")));
                let watch = hub.watch_item(&item("a"));
                (watch, stored.load(Ordering::SeqCst))
            };
            let watches = std::thread::scope(|scope| {
                scope.spawn(|| {
                    start.wait();
                    for version in 1..=LAST {
                        stored.store(version, Ordering::SeqCst);
                        hub.offer(&[copy("a", version, version)]);
                    }
                });
                let watchers: Vec<_> = (0..3).map(|_| scope.spawn(watch_then_read)).collect();
                watchers.into_iter().map(|watcher| watcher.join().unwrap()).collect::<Vec<_>>()
            });
            for (mut watch, read) in watches {
                assert_eq!(version(&watch.newest()).max(read), LAST);
            }
            assert_eq!(hub.watched_len(), 0);
        }
    }
}
