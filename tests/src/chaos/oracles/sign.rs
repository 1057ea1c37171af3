//! Nothing is ever negative: in the store, in an answer, in a push.

use super::{SIGN, Violation};
use crate::chaos::history::History;
use crate::chaos::snapshot::Snapshot;

pub fn check(history: &History, snapshot: &Snapshot) -> Vec<Violation> {
    let mut violations = Vec::new();
    for look in &history.looks {
        if look.likes < 0 || look.dislikes < 0 || look.count_version < 0 {
            violations.push(Violation::new(SIGN, format!("shown: {look:?}")).of_item(&look.item));
        }
    }
    // What is below zero is shown as zero, so a client cannot see it.
    let clamped = history.clamped.iter();
    violations.extend(clamped.map(|line| Violation::new(SIGN, format!("shown as zero: {line}"))));
    for (item, total) in &snapshot.totals {
        if total.counts.likes < 0 || total.counts.dislikes < 0 {
            violations.push(Violation::new(SIGN, format!("a total: {total:?}")).of_item(item));
        }
    }
    for ((item, partition), shard) in &snapshot.shards {
        if shard.likes < 0 || shard.dislikes < 0 {
            violations.push(Violation::new(SIGN, format!("the shard of {partition}: {shard:?}")).of_item(item));
        }
    }
    violations
}
