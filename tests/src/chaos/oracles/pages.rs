//! Pages are complete: who stayed in the list while it was read to its end is in it once, who stayed out is not in it,
//! and nobody is in it twice.

use std::collections::{BTreeMap, BTreeSet};

use super::{PAGES, Violation};
use crate::chaos::history::{History, List, Outcome, Scan};
use crate::chaos::snapshot::{Event, Snapshot};
use crate::views::Reaction;

/// When a version of a user's row was first known to be committed.
type Committed<'a> = BTreeMap<(&'a str, &'a str, i64), i64>;

pub fn check(history: &History, snapshot: &Snapshot) -> Vec<Violation> {
    let chains = snapshot.chains();
    let committed = committed(history);
    let mut violations = Vec::new();
    for scan in &history.scans {
        let say = |what: String| {
            let violation = Violation::new(PAGES, format!("{what} ({} ids of {:?})", scan.ids.len(), scan.list));
            match &scan.list {
                List::Likers(item) => violation.of_item(item),
                List::Liked(user) => violation.of_user(user),
            }
        };
        let seen: BTreeSet<&str> = scan.ids.iter().map(String::as_str).collect();
        if seen.len() != scan.ids.len() {
            violations.push(say("somebody is in the list twice".to_owned()));
        }
        for ((user, item), chain) in &chains {
            let id = match &scan.list {
                List::Likers(of) if of == item => *user,
                List::Liked(of) if of == user => *item,
                List::Likers(_) | List::Liked(_) => continue,
            };
            let erased = history.erasures.iter().any(|erasure| erasure.user == *user && erasure.start <= scan.end);
            let Some(event) = steady(chain, &committed, scan).filter(|_| !erased) else { continue };
            let liked = event.new == Reaction::Like;
            if liked != seen.contains(id) {
                let what = if liked { "not in the list" } else { "in the list" };
                violations.push(say(format!("{id} is {what}, from {} to {}: {event:?}", scan.start, scan.end)));
            }
        }
        for id in seen {
            let pair = match &scan.list {
                List::Likers(item) => (id, item.as_str()),
                List::Liked(user) => (user.as_str(), id),
            };
            if !chains.contains_key(&pair) {
                violations.push(say(format!("{id} is in the list and never reacted")));
            }
        }
    }
    violations
}

/// The event whose state held from before the scan to after it; an event's time is never later than its commit.
fn steady<'a>(chain: &[&'a Event], committed: &Committed<'_>, scan: &Scan) -> Option<&'a Event> {
    let last = chain.iter().rposition(|event| event.at <= scan.end)?;
    let event = chain[last];
    let user = event.user.as_deref()?;
    let known = committed.get(&(user, event.item.as_str(), event.version))?;
    (*known < scan.start).then_some(event)
}

fn committed(history: &History) -> Committed<'_> {
    let mut committed = Committed::new();
    let mut know = |user, item, version, at: i64| {
        let known = committed.entry((user, item, version)).or_insert(at);
        *known = (*known).min(at);
    };
    for op in &history.ops {
        if let Outcome::Ok(answer) = &op.outcome {
            know(op.user.as_str(), op.item.as_str(), answer.version, op.end);
        }
    }
    for look in &history.looks {
        if let (Some(user), Some((_, version))) = (&look.user, look.heart) {
            know(user, &look.item, version, look.end);
        }
    }
    committed
}
