//! Which likes make up trial data: a function of the options, so the same options make the same likes.
//!
//! Likes are made item by item. How many an item gets follows from its rank, and who gives them from a walk through all
//! the users that meets nobody twice: so the pairs are distinct without being compared. They are handed out user by
//! user, which is how they are stored: neighbours share pages.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::domain::{ItemId, Micros, ReactionState, UserId};

use super::parse::Reacted;

/// Likes are spread over this time.
const SPREAD: Micros = 30 * 86_400 * 1_000_000;
/// Flattens the top: the weight of the item of rank r, from 0, is 1 / (r + this).
const RANK_OFFSET: f64 = 3.0;
/// Pairs that are put into the order of their users at a time, of 8 bytes each.
const SORTED_AT_A_TIME: usize = 4_000_000;
/// Friends to each side: friendships are mutual.
const FRIEND_STEPS: u64 = 3;

const FIRST_NAMES: [&str; 16] = [
    "Ana", "Ben", "Chloé", "Deniz", "Emeka", "Fatima", "Goran", "Hana", "Ines", "Jun", "Kofi", "Lena", "Mateo", "Noor",
    "Oleh", "Priya",
];
const LAST_NAMES: [&str; 16] = [
    "Abe", "Bauer", "Costa", "Diallo", "Eriksen", "Ferrari", "García", "Haddad", "Ito", "Jansen", "Kaya", "Lopez",
    "Mensah", "Novak", "Okafor", "Petrov",
];

/// The numbers that trial data follows from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    pub users: u32,
    pub items: u32,
    /// At most users × items.
    pub likes: u64,
    pub random_seed: u64,
}

impl Trial {
    /// Each like once; `now` is the latest time that one may have.
    pub(super) fn likes(self, now: Micros) -> impl Iterator<Item = Reacted> {
        let mut pairs = self.pairs();
        let block = move || {
            let mut block: Vec<_> = pairs.by_ref().take(SORTED_AT_A_TIME).collect();
            block.sort_unstable();
            Some(block).filter(|block| !block.is_empty())
        };
        std::iter::from_fn(block).flatten().map(move |(user, item)| {
            let age = self.number("time", item.into(), user.into()) % SPREAD.unsigned_abs();
            Reacted {
                user: user_id(user.into()),
                item: ItemId::parse(&format!("item-{}", u64::from(item) + 1)).expect("letters and digits make an id"),
                state: ReactionState::Like,
                at: (now - Micros::try_from(age).unwrap_or_default()).max(0),
            }
        })
    }

    /// User and item of each like, from 0, item by item.
    fn pairs(self) -> impl Iterator<Item = (u32, u32)> {
        self.counts().flat_map(move |(item, count)| {
            let (start, step) = (self.number("walk", item.into(), 0), self.number("walk", item.into(), 1));
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            Walk::new(self.users, start, step).take(count).map(move |user| (user, item))
        })
    }

    /// The items, and how many likes each gets: its share of what is left by its weight among what is left, no more
    /// than there are users, and no less than the items after it cannot take.
    fn counts(self) -> impl Iterator<Item = (u32, u64)> {
        let weight = |rank: u32| 1.0 / (f64::from(rank) + RANK_OFFSET);
        let users = u64::from(self.users);
        // From the small to the large, so that the sum loses little.
        let mut weight_left: f64 = (0..self.items).rev().map(weight).sum();
        let mut likes_left = self.likes;
        (0..self.items).map_while(move |rank| {
            if likes_left == 0 {
                return None;
            }
            let least = likes_left.saturating_sub(users * u64::from(self.items - rank - 1));
            let share = (likes_left as f64 * (weight(rank) / weight_left)).round() as u64;
            let count = share.clamp(least, users.min(likes_left));
            weight_left = (weight_left - weight(rank)).max(f64::MIN_POSITIVE);
            likes_left -= count;
            Some((rank, count))
        })
    }

    pub(super) fn name(self, user: u64) -> String {
        let name = |names: [&'static str; 16], which| {
            let number = self.number("name", user, which) % names.len() as u64;
            names[usize::try_from(number).unwrap_or_default()]
        };
        format!("{} {}", name(FIRST_NAMES, 0), name(LAST_NAMES, 1))
    }

    /// The friends of one of the first `count` users, among these: the same steps to both sides for everybody, so that
    /// each friend has the user for a friend too.
    pub(super) fn friends(self, user: u64, count: u64) -> impl Iterator<Item = u64> {
        let step = move |which| 1 + self.number("friend", which, 0) % count.max(1);
        let both = move |step: u64| [(user + step) % count, (user + count - step % count) % count];
        (0..FRIEND_STEPS).map(step).flat_map(both).filter(move |friend| *friend != user)
    }

    fn number(self, what: &str, a: u64, b: u64) -> u64 {
        let mut bytes = [0; 32];
        bytes[..what.len()].copy_from_slice(what.as_bytes());
        bytes[16..24].copy_from_slice(&a.to_le_bytes());
        bytes[24..].copy_from_slice(&b.to_le_bytes());
        xxh3_64_with_seed(&bytes, self.random_seed)
    }
}

pub(super) fn user_id(user: u64) -> UserId {
    UserId::parse(&format!("user-{}", user + 1)).expect("letters and digits make an id")
}

/// All numbers below a bound, each once: steps of a length that has no divisor in common with the bound.
struct Walk {
    bound: u32,
    place: u32,
    step: u64,
    left: u32,
}

impl Walk {
    fn new(bound: u32, start: u64, step: u64) -> Self {
        let mut step = 1 + step % u64::from(bound);
        while common_divisor(step, bound.into()) != 1 {
            step += 1;
        }
        Self { bound, place: below(bound, start), step, left: bound }
    }
}

impl Iterator for Walk {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let place = self.place;
        self.place = below(self.bound, u64::from(place) + self.step);
        Some(place)
    }
}

fn below(bound: u32, number: u64) -> u32 {
    u32::try_from(number % u64::from(bound)).expect("a remainder is below its divisor")
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use super::*;

    const NOW: Micros = 1_800_000_000_000_000;

    fn trial(users: u32, items: u32, likes: u64) -> Trial {
        Trial { users, items, likes, random_seed: 7 }
    }

    #[test]
    fn likes_are_distinct_and_as_many_as_asked_for() {
        let cases = [
            (1, 1, 0),
            (1, 1, 1),
            (10, 10, 100),
            (10, 10, 99),
            (3, 1_000, 5),
            (1_000, 3, 2_999),
            (1, 500, 250),
            (500, 1, 250),
            (997, 40, 20_000),
            (2_000, 500, 100_000),
        ];
        for (users, items, likes) in cases {
            let mut pairs = HashSet::new();
            for like in trial(users, items, likes).likes(NOW) {
                assert!(like.at <= NOW && like.at > NOW - SPREAD);
                assert!(pairs.insert((like.user, like.item)), "twice of {users} users, {items} items, {likes} likes");
            }
            assert_eq!(pairs.len() as u64, likes, "{users} users, {items} items");
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_likes() {
        let likes = |random_seed| Trial { random_seed, ..trial(100, 20, 500) }.likes(NOW).collect::<Vec<_>>();
        assert_eq!(likes(1), likes(1));
        assert_ne!(likes(1), likes(2));
    }

    #[test]
    fn few_items_are_hot_and_the_tail_is_long() {
        let counts: Vec<_> = trial(10_000, 1_000, 100_000).counts().map(|(_, count)| count).collect();
        assert_eq!(counts.len(), 1_000);
        let hottest: u64 = counts[..10].iter().sum();
        assert!(hottest > 20_000, "{hottest} of 100,000 likes for ten of 1,000 items");
        assert!(counts[999] > 0 && counts[0] > 100 * counts[999]);
    }

    #[test]
    fn ten_million_likes_of_a_hundred_million_pairs_are_counted_without_memory() {
        let sum: u64 = trial(1_000_000, 100_000, 10_000_000).counts().map(|(_, count)| count).sum();
        assert_eq!(sum, 10_000_000);
    }

    #[test]
    fn friendships_are_mutual() {
        for count in [1, 2, 3, 4, 50] {
            let friends: BTreeMap<u64, HashSet<u64>> =
                (0..count).map(|user| (user, trial(50, 1, 1).friends(user, count).collect())).collect();
            for (user, theirs) in &friends {
                assert!(!theirs.contains(user));
                assert!(theirs.iter().all(|friend| friends[friend].contains(user)), "{user} of {count}");
            }
        }
        assert!(trial(50, 1, 1).friends(0, 50).count() >= 2);
    }
}
