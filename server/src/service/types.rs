//! What the service takes and gives: requests that are parsed, answers that are decided.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::domain::{CountCopy, Freshness, ItemId, Micros, OwnReaction, ReactionState, UserId};
use crate::error::Result;

/// The authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    pub user: UserId,
    /// The token carries the scope `service`: it may fill the catalogue.
    pub is_service: bool,
}

/// Which items exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Catalog {
    /// Any well-formed id is an item.
    Open,
    /// Only items that were upserted.
    Registered,
}

/// Who may list an item's likers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LikersVisibility {
    Public,
    SignedIn,
    Off,
}

/// The rules that an operator sets.
#[derive(Debug, Clone)]
pub struct Rules {
    pub catalog: Catalog,
    pub likers: LikersVisibility,
    /// Counts older than this are served as stale.
    pub staleness_bound: Duration,
    /// A watcher gets at most one event per item in this time while changes keep coming.
    pub push_interval: Duration,
    pub require_idempotency_key: bool,
}

/// An idempotency key: 1 to 128 of `[A-Za-z0-9_.:-]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

/// Longest idempotency key in bytes.
pub const KEY_MAX_BYTES: usize = 128;

impl IdempotencyKey {
    /// `None` where the text is empty, too long or has another character.
    pub fn parse(text: &str) -> Option<Self> {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
        ((1..=KEY_MAX_BYTES).contains(&text.len()) && text.bytes().all(good)).then(|| Self(text.to_owned()))
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

/// The state a viewer wants an item to have.
#[derive(Debug, Clone)]
pub struct Wish {
    pub item: ItemId,
    pub wanted: ReactionState,
    pub key: Option<IdempotencyKey>,
}

/// What became of a wish; a replay gives what was answered first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reacted {
    pub reaction: ReactionState,
    pub previous: ReactionState,
    pub changed: bool,
    /// Of the viewer's row after this wish.
    pub version: i64,
    pub like_delta: i16,
    pub dislike_delta: i16,
    pub replayed: bool,
}

/// What was found of each item that was asked for, or why it could not be.
pub type PerItem<T> = HashMap<ItemId, Result<T>>;

/// What is answered while the store cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhileAway {
    /// The last known counts as everyone sees them, marked stale, and nothing of the viewer's.
    ServeKnown,
    /// An error: for what must have the viewer's own tap in it, and will be asked for again.
    Refuse,
}

/// An item as one viewer should see it now.
#[derive(Debug, Clone)]
pub struct ItemView {
    /// The counts as everyone sees them, with what they include.
    pub copy: CountCopy,
    /// With the viewer's own tap in it, counted once; without, where `own` could not be read.
    pub like_count: u64,
    pub dislike_count: u64,
    pub freshness: Freshness,
    /// The viewer's row; `None` for an anonymous caller.
    pub own: Option<Result<OwnReaction>>,
}

/// What the catalogue knows of an item.
#[derive(Debug, Clone)]
pub struct ItemFacts {
    pub item_type: String,
}

/// What is known of a person who was upserted or has reacted.
#[derive(Debug, Clone)]
pub struct UserFacts {
    pub name: Option<String>,
}

/// The friends among an item's last 100 likers.
#[derive(Debug, Clone, Default)]
pub struct FriendLikers {
    /// Newest like first, at most 20.
    pub friends: Vec<UserId>,
    /// False where the item has more likers than were searched.
    pub searched_all: bool,
}

/// Largest page of a connection, and the page where the caller names none.
pub const PAGE_MAX: u32 = 100;
pub const PAGE_DEFAULT: u32 = 20;

/// A place in a list that is ordered by time and id, both falling.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ListKey {
    pub at: Micros,
    /// The id of the row's other end: a user among likers, an item among liked items.
    pub id: String,
}

/// From which end of the range a page is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageEnd {
    First,
    Last,
}

/// A page of a list: `size` rows strictly between `after` and `before`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Page {
    pub end: PageEnd,
    /// 1 to `PAGE_MAX`.
    pub size: u32,
    pub after: Option<ListKey>,
    pub before: Option<ListKey>,
}

/// The rows of a page, newest like first whichever end it was taken from.
#[derive(Debug, Clone, Default)]
pub struct Slice {
    pub rows: Vec<ListKey>,
    pub has_next: bool,
    pub has_previous: bool,
}

/// A catalogue entry to write; `None` leaves a field as it is.
#[derive(Debug, Clone)]
pub struct ItemEntry {
    pub id: ItemId,
    pub item_type: Option<String>,
    pub creator: Option<UserId>,
    pub open: Option<bool>,
}

/// A person to write; `None` leaves a field as it is. The given list replaces, then the others add and remove.
#[derive(Debug, Clone)]
pub struct UserEntry {
    pub id: UserId,
    pub name: Option<String>,
    pub friends: Option<HashSet<UserId>>,
    pub add_friends: HashSet<UserId>,
    pub remove_friends: HashSet<UserId>,
}

/// Most friends of one user.
pub const FRIENDS_MAX: usize = 5_000;
/// Most entries of one upsert.
pub const UPSERT_MAX: usize = 1_000;
/// Most reactions of one proposal to retract.
pub const RETRACT_MAX: usize = 1_000;
/// Most ids of one `items`, `itemUpdated` or `myReactionChanged`.
pub const IDS_MAX: usize = 100;
/// Most friends shown of `friendLikers`.
pub const FRIENDS_SHOWN_MAX: usize = 20;
