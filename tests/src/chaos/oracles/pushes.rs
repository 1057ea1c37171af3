//! `countVersion` never goes back on a subscription, names one count and no other, and ends at the total's.

use std::collections::BTreeMap;

use super::{PUSHES, Violation};
use crate::chaos::history::{History, Source};
use crate::chaos::snapshot::{Counts, Snapshot};

pub fn check(history: &History, snapshot: &Snapshot) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut last: BTreeMap<(usize, &str), i64> = BTreeMap::new();
    let mut counts: BTreeMap<(&str, i64), Counts> = BTreeMap::new();
    for (item, total) in &snapshot.totals {
        counts.insert((item, total.version), total.counts);
    }
    for look in &history.looks {
        let say = |what: String| Violation::new(PUSHES, what).of_item(&look.item);
        if let Source::Push(socket) = look.source {
            let before = last.insert((socket, &look.item), look.count_version);
            if before.is_some_and(|before| before > look.count_version) {
                violations.push(say(format!("version {before:?} was pushed before {look:?}")));
            }
        }
        let end = snapshot.totals.get(&look.item).map_or(0, |total| total.version);
        if look.count_version > end {
            violations.push(say(format!("the total's version is {end}, below that of {look:?}")));
        }
        // An anonymous caller sees what is folded and nothing else.
        if look.user.is_none() {
            let shown = Counts { likes: look.likes, dislikes: look.dislikes };
            let known = *counts.entry((&look.item, look.count_version)).or_insert(shown);
            if known != shown {
                violations.push(say(format!("the same version with {known:?} and in {look:?}")));
            }
        }
    }
    violations
}
