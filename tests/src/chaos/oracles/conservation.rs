//! Every committed event is in the counts once: the log, the rows, the shards and the totals give the same numbers, and
//! the reconciler never found a difference to heal.

use std::collections::{BTreeMap, BTreeSet};

use super::{CONSERVATION, Violation};
use crate::chaos::history::History;
use crate::chaos::snapshot::{Counts, Snapshot};

pub fn check(_: &History, snapshot: &Snapshot) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (number, partition) in &snapshot.partitions {
        if partition.checkpoint != partition.next_offset - 1 {
            violations.push(Violation::new(CONSERVATION, format!("partition {number} is not folded: {partition:?}")));
        }
    }
    let (rows, folded) = (of_rows(snapshot), of_log(snapshot));
    let mut shards: BTreeMap<&str, Counts> = BTreeMap::new();
    for ((item, _), counts) in &snapshot.shards {
        shards.entry(item).or_default().add(counts.likes, counts.dislikes);
    }
    let items: BTreeSet<&str> =
        rows.keys().copied().chain(shards.keys().copied()).chain(snapshot.totals.keys().map(String::as_str)).collect();
    for item in items {
        let total = snapshot.totals.get(item);
        let of = |counts: &BTreeMap<&str, Counts>| counts.get(item).copied().unwrap_or_default();
        let total_counts = total.map(|total| total.counts).unwrap_or_default();
        let numbers = [of(&rows), of_items(&folded, item), of(&shards), total_counts];
        if numbers.iter().any(|counts| *counts != numbers[0]) {
            let [rows, log, shards, total] = numbers;
            let what = format!("rows {rows:?}, log {log:?}, shards {shards:?}, total {total:?}");
            violations.push(Violation::new(CONSERVATION, what).of_item(item));
        }
        if total.is_some_and(|total| total.healed) {
            let what = "the reconciler found a difference and healed it";
            violations.push(Violation::new(CONSERVATION, what).of_item(item));
        }
    }
    for ((item, partition), counts) in &folded {
        let shard = snapshot.shards.get(&((*item).to_owned(), *partition)).copied().unwrap_or_default();
        if shard != *counts {
            let what = format!("partition {partition} has {counts:?} in the log, {shard:?} in its shard");
            violations.push(Violation::new(CONSERVATION, what).of_item(item));
        }
    }
    violations
}

fn of_rows(snapshot: &Snapshot) -> BTreeMap<&str, Counts> {
    let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
    for ((_, item), row) in &snapshot.rows {
        let Counts { likes, dislikes } = Counts::of(row.state);
        counts.entry(item).or_default().add(likes, dislikes);
    }
    counts
}

/// By item and partition.
fn of_log(snapshot: &Snapshot) -> BTreeMap<(&str, i64), Counts> {
    let mut counts: BTreeMap<_, Counts> = BTreeMap::new();
    for event in &snapshot.events {
        counts.entry((event.item.as_str(), event.partition)).or_default().add(event.like_delta, event.dislike_delta);
    }
    counts
}

fn of_items(folded: &BTreeMap<(&str, i64), Counts>, item: &str) -> Counts {
    let mut sum = Counts::default();
    for (_, counts) in folded.range((item, i64::MIN)..=(item, i64::MAX)) {
        sum.add(counts.likes, counts.dislikes);
    }
    sum
}
