//! The log is whole: offsets and versions without gaps, each event a real change that starts where the one before
//! ended, and each row what its last event says.

use std::collections::BTreeMap;

use super::{LOG, Violation};
use crate::chaos::history::History;
use crate::chaos::snapshot::{Counts, Event, Snapshot};
use crate::views::Reaction;

pub fn check(_: &History, snapshot: &Snapshot) -> Vec<Violation> {
    let mut violations = offsets(snapshot);
    violations.extend(snapshot.events.iter().filter_map(change));
    let chains = snapshot.chains();
    for ((user, item), chain) in &chains {
        let found = broken(chain).or_else(|| row(snapshot, user, item, chain));
        violations.extend(found.map(|what| Violation::new(LOG, what).of_user(user).of_item(item)));
    }
    for (user, item) in snapshot.rows.keys() {
        if !chains.contains_key(&(user.as_str(), item.as_str())) {
            violations.push(Violation::new(LOG, "a row without an event").of_user(user).of_item(item));
        }
    }
    violations
}

/// From 1 to the partition's next, in the order of time.
fn offsets(snapshot: &Snapshot) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut ends: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for event in &snapshot.events {
        let (last, at) = ends.entry(event.partition).or_default();
        if event.offset != *last + 1 {
            let what = format!("in partition {} offset {} follows {last}", event.partition, event.offset);
            violations.push(Violation::new(LOG, what));
        }
        if event.at < *at {
            let what = format!("in partition {} time falls at offset {}", event.partition, event.offset);
            violations.push(Violation::new(LOG, what));
        }
        (*last, *at) = (event.offset, event.at);
    }
    for (number, partition) in &snapshot.partitions {
        let last = ends.get(number).map_or(0, |(last, _)| *last);
        if partition.next_offset != last + 1 {
            let what = format!("partition {number} ends at {last}, its next offset is {}", partition.next_offset);
            violations.push(Violation::new(LOG, what));
        }
    }
    violations
}

fn change(event: &Event) -> Option<Violation> {
    let (old, new) = (Counts::of(event.old), Counts::of(event.new));
    let honest = event.like_delta == new.likes - old.likes && event.dislike_delta == new.dislikes - old.dislikes;
    let what = format!("not a change, or with other deltas than its states have: {event:?}");
    (event.old == event.new || !honest).then(|| Violation::new(LOG, what).of_item(&event.item))
}

fn broken(chain: &[&Event]) -> Option<String> {
    let mut before = Reaction::None;
    for (event, version) in chain.iter().zip(1..) {
        if event.version != version || event.old != before {
            return Some(format!("version {version} after {before:?} was expected, found {event:?}"));
        }
        before = event.new;
    }
    None
}

/// Rows of erased users are gone.
fn row(snapshot: &Snapshot, user: &str, item: &str, chain: &[&Event]) -> Option<String> {
    if snapshot.erased.contains(user) {
        return None;
    }
    let last = chain.last()?;
    let row = snapshot.rows.get(&(user.to_owned(), item.to_owned()));
    let same = |row: &crate::chaos::snapshot::Row| {
        (row.state, row.version, row.event_offset) == (last.new, last.version, last.offset)
    };
    (!row.is_some_and(same)).then(|| format!("the last event is {last:?}, the row {row:?}"))
}
