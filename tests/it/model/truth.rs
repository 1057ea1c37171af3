//! The model: what the public API must answer, kept in maps.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use likewise_tests::views::Reaction;

/// An answered wish, as far as it is stored for a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stored {
    pub reaction: Reaction,
    pub previous: Reaction,
    pub version: i64,
}

/// A wish with a key, which may be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wish {
    pub item: u8,
    pub wanted: Reaction,
    pub key: String,
}

/// What a viewer may see of a count: others may not be folded yet, oneself always is.
pub(super) type Range = std::ops::RangeInclusive<i64>;

#[derive(Debug)]
struct Row {
    state: Reaction,
    version: i64,
    /// When it last changed: the number of the flip.
    flip: u64,
    /// The state when all was last known to be folded, and each since: the counts hold one of them.
    since_drain: Vec<Reaction>,
}

/// Users, items and what is between them, by small numbers.
#[derive(Debug, Default)]
pub(super) struct Truth {
    /// Only items that were upserted exist.
    registered_only: bool,
    /// Whether each known item is open.
    items: HashMap<u8, bool>,
    /// By (user, item).
    rows: HashMap<(u8, u8), Row>,
    records: HashMap<(u8, String), (u8, Reaction, Stored)>,
    /// Every keyed wish of a user, answered or refused.
    wishes: HashMap<u8, Vec<Wish>>,
    friends: HashMap<u8, BTreeSet<u8>>,
    /// Items that flipped since all was last known to be folded.
    moved: BTreeSet<u8>,
    flips: u64,
}

impl Truth {
    pub(super) fn new(registered_only: bool) -> Self {
        Self { registered_only, ..Self::default() }
    }

    pub(super) fn is_known(&self, item: u8) -> bool {
        !self.registered_only || self.items.contains_key(&item)
    }

    pub(super) fn upsert(&mut self, item: u8, open: bool) {
        self.items.insert(item, open);
    }

    pub(super) fn befriend(&mut self, user: u8, friends: BTreeSet<u8>) {
        self.friends.insert(user, friends);
    }

    /// The user's keyed wish so many back, if there are any.
    pub(super) fn earlier(&self, user: u8, back: usize) -> Option<Wish> {
        let wishes = self.wishes.get(&user)?;
        wishes.iter().rev().nth(back % wishes.len()).cloned()
    }

    /// What is answered, and whether it is a replay; or the code of the refusal.
    pub(super) fn tap(
        &mut self,
        user: u8,
        item: u8,
        wanted: Reaction,
        key: Option<&str>,
    ) -> Result<(Stored, bool), &'static str> {
        if let Some(key) = key {
            let wish = Wish { item, wanted, key: key.to_owned() };
            self.wishes.entry(user).or_default().push(wish);
            match self.records.get(&(user, key.to_owned())) {
                Some((of, state, stored)) if (*of, *state) == (item, wanted) => return Ok((*stored, true)),
                Some(_) => return Err("IDEMPOTENCY_KEY_REUSED"),
                None => {}
            }
        }
        let (state, version) = self.own(user, item);
        if self.registered_only && version == 0 && !self.items.contains_key(&item) {
            return Err("ITEM_NOT_FOUND");
        }
        if self.items.get(&item) == Some(&false) && wanted != Reaction::None && wanted != state {
            return Err("ITEM_CLOSED");
        }
        let flips = wanted != state;
        if flips {
            self.flip(user, item, wanted);
        }
        let stored = Stored { reaction: wanted, previous: state, version: version + i64::from(flips) };
        if let Some(key) = key {
            self.records.insert((user, key.to_owned()), (item, wanted, stored));
        }
        Ok((stored, false))
    }

    fn flip(&mut self, user: u8, item: u8, wanted: Reaction) {
        self.flips += 1;
        self.moved.insert(item);
        self.items.entry(item).or_insert(true);
        let first = || Row { state: Reaction::None, version: 0, flip: 0, since_drain: vec![Reaction::None] };
        let row = self.rows.entry((user, item)).or_insert_with(first);
        row.state = wanted;
        row.version += 1;
        row.flip = self.flips;
        row.since_drain.push(wanted);
    }

    /// State and version of a row; NONE and 0 where there is none.
    pub(super) fn own(&self, user: u8, item: u8) -> (Reaction, i64) {
        self.rows.get(&(user, item)).map_or((Reaction::None, 0), |row| (row.state, row.version))
    }

    /// Likes and dislikes that a viewer may see.
    pub(super) fn counts(&self, viewer: Option<u8>, item: u8) -> (Range, Range) {
        let (mut likes, mut dislikes) = ((0, 0), (0, 0));
        for ((user, of), row) in &self.rows {
            if *of != item {
                continue;
            }
            let own = [row.state];
            let seen: &[Reaction] = if viewer == Some(*user) { &own } else { &row.since_drain };
            for (count, one) in [(&mut likes, Reaction::Like), (&mut dislikes, Reaction::Dislike)] {
                let all = seen.iter().all(|state| *state == one);
                count.0 += i64::from(all);
                count.1 += i64::from(seen.contains(&one));
            }
        }
        (likes.0..=likes.1, dislikes.0..=dislikes.1)
    }

    /// All is folded; returns the items that moved since this was last so.
    pub(super) fn drained(&mut self) -> BTreeSet<u8> {
        for row in self.rows.values_mut() {
            row.since_drain = vec![row.state];
        }
        std::mem::take(&mut self.moved)
    }

    /// Newest like first.
    pub(super) fn likers(&self, item: u8) -> Vec<u8> {
        self.likes(|(user, of)| (of == item).then_some(user))
    }

    /// Newest like first.
    pub(super) fn liked_items(&self, user: u8) -> Vec<u8> {
        self.likes(|(by, item)| (by == user).then_some(item))
    }

    /// Friends of a viewer among an item's likers, newest like first.
    pub(super) fn friend_likers(&self, viewer: u8, item: u8) -> Vec<u8> {
        let none = BTreeSet::new();
        let friends = self.friends.get(&viewer).unwrap_or(&none);
        let likers = self.likers(item).into_iter();
        likers.filter(|liker| *liker != viewer && friends.contains(liker)).collect()
    }

    fn likes(&self, of: impl Fn((u8, u8)) -> Option<u8>) -> Vec<u8> {
        let liked = self.rows.iter().filter(|(_, row)| row.state == Reaction::Like);
        let in_order: BTreeMap<_, _> = liked.filter_map(|(key, row)| Some((row.flip, of(*key)?))).collect();
        in_order.into_values().rev().collect()
    }
}
