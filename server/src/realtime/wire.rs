//! The messages of the bus and the names of its topics.
//!
//! A fold is one message per topic that has changed items, and each of them names all the topics and the ranges of the
//! fold, so that a receiver knows when it has the whole. What heals a count outside the log has no ranges.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::domain::{Basis, CountCopy, FoldedRange, ItemId, ReactionChange, ReactionState, UserId};

/// Topics of each kind. Changing it while nodes run makes them miss each other's messages.
pub(super) const TOPICS: usize = 16;

/// Items in one message, up to 600 KB of it. A topic with more is not published: the fold then stays incomplete, and the
/// other nodes read their watched items again within about a second, in one query.
pub(super) const MESSAGE_ITEMS_MAX: usize = 2_000;

/// Where a message is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    Counts(usize),
    Reactions(usize),
}

impl Topic {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..TOPICS).map(Self::Counts).chain((0..TOPICS).map(Self::Reactions))
    }

    pub(super) fn name(self, namespace: &str) -> String {
        match self {
            Self::Counts(number) => format!("{namespace}counts:{number}"),
            Self::Reactions(number) => format!("{namespace}reactions:{number}"),
        }
    }

    pub(super) fn parse(name: &str, namespace: &str) -> Option<Self> {
        let (kind, number) = name.strip_prefix(namespace)?.split_once(':')?;
        let number = number.parse().ok().filter(|number| *number < TOPICS)?;
        match kind {
            "counts" => Some(Self::Counts(number)),
            "reactions" => Some(Self::Reactions(number)),
            _ => None,
        }
    }
}

/// Messages to publish, and how many topics were left out because they had too many items.
pub(super) struct Encoded {
    pub(super) messages: Vec<(Topic, Vec<u8>)>,
    pub(super) left_out: usize,
}

/// One topic's part of a fold, as it was received.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FoldPart {
    pub(super) node: u64,
    pub(super) fold: u64,
    pub(super) topics: u16,
    pub(super) ranges: Vec<FoldedRange>,
    pub(super) copies: Vec<CountCopy>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Malformed {
    #[error("it came by an unknown topic")]
    Topic,
    #[error("it is not the JSON of this kind of message")]
    Json(#[from] serde_json::Error),
    #[error("it has a bad id")]
    Id,
    #[error("it has an unknown state {0}")]
    State(i16),
    #[error("it names topics that it is not on")]
    Topics,
}

/// The node that sent a message skips it when it comes back.
#[derive(Serialize, Deserialize)]
struct CountsJson<'a> {
    node: u64,
    fold: u64,
    topics: u16,
    /// partition, from, to
    ranges: Vec<(usize, i64, i64)>,
    groups: Vec<Group<'a>>,
}

/// Items that were read by one statement.
#[derive(Serialize, Deserialize)]
struct Group<'a> {
    offsets: Cow<'a, [i64]>,
    as_of: i64,
    read_at: i64,
    /// item, likes, dislikes, version
    items: Vec<(Cow<'a, str>, i64, i64, i64)>,
}

#[derive(Serialize, Deserialize)]
struct ReactionJson<'a> {
    node: u64,
    user: Cow<'a, str>,
    item: Cow<'a, str>,
    state: i16,
    version: i64,
}

/// `fold` is a number that no other fold has; without copies the ranges still travel, on one topic.
pub(super) fn encode_fold(node: u64, fold: u64, ranges: &[FoldedRange], copies: &[CountCopy]) -> Encoded {
    let mut by_topic: [Vec<&CountCopy>; TOPICS] = Default::default();
    for copy in copies {
        by_topic[topic_of(copy.item.as_str())].push(copy);
    }
    let mut topics = (0..TOPICS).filter(|topic| !by_topic[*topic].is_empty()).fold(0, |set, topic| set | 1 << topic);
    if topics == 0 {
        topics = 1;
    }
    let ranges: Vec<_> = ranges.iter().map(|range| (range.partition, range.from, range.to)).collect();
    let mut encoded = Encoded { messages: Vec::new(), left_out: 0 };
    for (topic, copies) in by_topic.iter().enumerate().filter(|(topic, _)| topics & 1 << topic != 0) {
        if copies.len() > MESSAGE_ITEMS_MAX {
            encoded.left_out += 1;
            continue;
        }
        let groups = copies.chunk_by(|one, next| one.basis == next.basis).map(group).collect();
        let message = CountsJson { node, fold, topics, ranges: ranges.clone(), groups };
        encoded.messages.push((Topic::Counts(topic), to_json(&message)));
    }
    encoded
}

fn group<'a>(copies: &[&'a CountCopy]) -> Group<'a> {
    let basis = &copies[0].basis;
    let items = copies
        .iter()
        .map(|copy| (Cow::Borrowed(copy.item.as_str()), copy.like_count, copy.dislike_count, copy.version));
    Group { offsets: Cow::Borrowed(&basis.offsets), as_of: basis.as_of, read_at: basis.read_at, items: items.collect() }
}

/// `topic` is the one that the message came by.
pub(super) fn decode_fold(topic: usize, payload: &[u8]) -> Result<FoldPart, Malformed> {
    let message: CountsJson = serde_json::from_slice(payload)?;
    if message.topics & 1 << topic == 0 {
        return Err(Malformed::Topics);
    }
    let mut copies = Vec::new();
    for group in message.groups {
        let basis = Arc::new(Basis { offsets: group.offsets.into_owned(), as_of: group.as_of, read_at: group.read_at });
        for (item, like_count, dislike_count, version) in group.items {
            let item = ItemId::parse(&item).map_err(|_| Malformed::Id)?;
            copies.push(CountCopy { item, like_count, dislike_count, version, basis: Arc::clone(&basis) });
        }
    }
    let ranges = message.ranges.into_iter().map(|(partition, from, to)| FoldedRange { partition, from, to }).collect();
    Ok(FoldPart { node: message.node, fold: message.fold, topics: message.topics, ranges, copies })
}

pub(super) fn encode_reaction(node: u64, change: &ReactionChange) -> (Topic, Vec<u8>) {
    let message = ReactionJson {
        node,
        user: Cow::Borrowed(change.user.as_str()),
        item: Cow::Borrowed(change.item.as_str()),
        state: change.state.code(),
        version: change.version,
    };
    (Topic::Reactions(topic_of(change.user.as_str())), to_json(&message))
}

/// The change, and the node that sent it.
pub(super) fn decode_reaction(payload: &[u8]) -> Result<(u64, ReactionChange), Malformed> {
    let message: ReactionJson = serde_json::from_slice(payload)?;
    let change = ReactionChange {
        user: UserId::parse(&message.user).map_err(|_| Malformed::Id)?,
        item: ItemId::parse(&message.item).map_err(|_| Malformed::Id)?,
        state: ReactionState::from_code(message.state).ok_or(Malformed::State(message.state))?,
        version: message.version,
    };
    Ok((message.node, change))
}

fn topic_of(id: &str) -> usize {
    usize::try_from(xxh3_64(id.as_bytes()) % TOPICS as u64).expect("a remainder below a usize is a usize")
}

fn to_json(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("numbers, texts and lists of them are always JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copies(ids: impl Iterator<Item = String>) -> Vec<CountCopy> {
        let basis = Arc::new(Basis { offsets: vec![7, 9], as_of: 5, read_at: 6 });
        ids.map(|id| CountCopy {
            item: ItemId::parse(&id).unwrap(),
            like_count: 3,
            dislike_count: 1,
            version: 8,
            basis: Arc::clone(&basis),
        })
        .collect()
    }

    #[test]
    fn a_fold_comes_back_as_it_was_sent() {
        let ranges = [FoldedRange { partition: 1, from: 4, to: 9 }];
        let mut sent = copies((0..100).map(|number| format!("\"quoted\\{number}")));
        sent[50].basis = Arc::new(Basis { offsets: vec![8, 9], as_of: 6, read_at: 7 });
        let encoded = encode_fold(1, u64::MAX, &ranges, &sent);
        let mut received = Vec::new();
        for (topic, payload) in &encoded.messages {
            let Topic::Counts(number) = *topic else { panic!("not a topic of counts") };
            assert_eq!(Topic::parse(&topic.name("test:"), "test:"), Some(*topic));
            let part = decode_fold(number, payload).unwrap();
            assert_eq!((part.node, part.fold, part.topics.count_ones()), (1, u64::MAX, 16));
            assert_eq!(part.ranges, ranges);
            received.extend(part.copies);
        }
        received.sort_by(|one, other| one.item.cmp(&other.item));
        sent.sort_by(|one, other| one.item.cmp(&other.item));
        assert_eq!(received, sent);
    }

    #[test]
    fn a_topic_with_too_many_items_is_left_out_and_the_fold_stays_incomplete() {
        let crowd = copies((0..).map(|number| format!("item{number}")).filter(|id| topic_of(id) == 3).take(2_001));
        let other = copies((0..).map(|number| format!("item{number}")).filter(|id| topic_of(id) == 4).take(1));
        let encoded = encode_fold(1, 2, &[], &[crowd, other].concat());
        assert_eq!((encoded.messages.len(), encoded.left_out), (1, 1));
        let payload = &encoded.messages[0].1;
        assert_eq!(decode_fold(4, payload).unwrap().topics, 1 << 3 | 1 << 4);
        assert!(matches!(decode_fold(5, payload), Err(Malformed::Topics)));
    }

    #[test]
    fn a_fold_without_copies_still_tells_its_ranges() {
        let encoded = encode_fold(1, 2, &[FoldedRange { partition: 0, from: 0, to: 1 }], &[]);
        assert_eq!(encoded.messages.len(), 1);
        assert_eq!(decode_fold(0, &encoded.messages[0].1).unwrap().ranges.len(), 1);
    }

    #[test]
    fn a_reaction_comes_back_as_it_was_sent_and_nonsense_is_refused() {
        let (user, item) = (UserId::parse("ana").unwrap(), ItemId::parse("a").unwrap());
        let change = ReactionChange { user, item, state: ReactionState::Dislike, version: 3 };
        let (_, payload) = encode_reaction(9, &change);
        assert_eq!(decode_reaction(&payload).unwrap(), (9, change));
        let bad = String::from_utf8(payload).unwrap().replace("\"state\":2", "\"state\":7");
        assert!(matches!(decode_reaction(bad.as_bytes()), Err(Malformed::State(7))));
        assert!(matches!(decode_fold(0, b"\xff{"), Err(Malformed::Json(_))));
        assert_eq!(Topic::parse("test:counts:16", "test:"), None);
    }
}
