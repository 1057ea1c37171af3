//! Who was erased is gone: from every table, from every answer, out of every count; and nothing brings them back.

use std::collections::{BTreeMap, BTreeSet};

use super::{ERASED, Violation};
use crate::chaos::history::{Erasure, History, List, Outcome};
use crate::chaos::snapshot::{Counts, Snapshot};

pub fn check(history: &History, snapshot: &Snapshot) -> Vec<Violation> {
    let mut violations: Vec<_> = snapshot
        .traces
        .iter()
        .map(|trace| Violation::new(ERASED, format!("still stands in {}", trace.place)).of_user(&trace.user))
        .collect();
    for erasure in &history.erasures {
        violations.extend(answered_after(history, erasure));
        if erasure.stands.is_some() && !snapshot.erased.contains(&erasure.user) {
            violations.push(Violation::new(ERASED, "the tombstone is gone").of_user(&erasure.user));
        }
    }
    if history.erasures.iter().all(|erasure| erasure.finished.is_some()) {
        violations.extend(subtracted(snapshot));
    }
    violations
}

fn answered_after(history: &History, erasure: &Erasure) -> Vec<Violation> {
    let say = |what: String| Violation::new(ERASED, what).of_user(&erasure.user);
    let after = |start: i64, since: Option<i64>| since.is_some_and(|since| start > since);
    let ops = history.ops.iter().filter(|op| op.user == erasure.user && after(op.start, erasure.stands));
    let ops = ops.filter(|op| matches!(op.outcome, Outcome::Ok(_)));
    let mut violations: Vec<_> = ops.map(|op| say(format!("a tap was taken from an erased user: {op:?}"))).collect();
    let scans = history.scans.iter().filter(|scan| after(scan.start, erasure.finished));
    let listed = scans.filter(|scan| match &scan.list {
        List::Likers(_) => scan.ids.contains(&erasure.user),
        List::Liked(user) => *user == erasure.user,
    });
    violations.extend(listed.map(|scan| say(format!("listed after the erasure: {scan:?}"))));
    violations
}

/// What erasures took out of each item is what the erased users had in it.
fn subtracted(snapshot: &Snapshot) -> Vec<Violation> {
    let mut had: BTreeMap<&str, Counts> = BTreeMap::new();
    for ((user, item), chain) in &snapshot.chains() {
        if let (true, Some(last)) = (snapshot.erased.contains(*user), chain.last()) {
            let Counts { likes, dislikes } = Counts::of(last.new);
            had.entry(item).or_default().add(likes, dislikes);
        }
    }
    let mut taken: BTreeMap<&str, Counts> = BTreeMap::new();
    for event in snapshot.events.iter().filter(|event| event.user.is_none()) {
        taken.entry(&event.item).or_default().add(-event.like_delta, -event.dislike_delta);
    }
    let items: BTreeSet<&str> = had.keys().chain(taken.keys()).copied().collect();
    let of = |counts: &BTreeMap<&str, Counts>, item: &str| counts.get(item).copied().unwrap_or_default();
    let wrong = items.into_iter().filter(|item| of(&had, item) != of(&taken, item));
    wrong
        .map(|item| {
            let what = format!("erased users had {:?}, erasures took {:?}", of(&had, item), of(&taken, item));
            Violation::new(ERASED, what).of_item(item)
        })
        .collect()
}
