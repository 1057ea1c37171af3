//! An acknowledged flip is in the log, a tap that nobody answered is in it once or not at all, and nothing is in it that
//! nobody asked for.

use std::collections::BTreeMap;

use super::{EXPLAINED, Violation};
use crate::chaos::history::{Answer, History, Op, Outcome};
use crate::chaos::snapshot::{Event, Origin, Snapshot};
use crate::views::Reaction;

/// All requests with one key, or a request without.
struct Tap<'a> {
    op: &'a Op,
    /// When it was first sent.
    start: i64,
    answer: Option<&'a Answer>,
    /// Whether it may have been done without an answer.
    open: bool,
}

pub fn check(history: &History, snapshot: &Snapshot) -> Vec<Violation> {
    let chains = snapshot.chains();
    let taps = taps(&history.ops);
    let mut violations = Vec::new();
    let mut claimed: BTreeMap<(&str, &str, i64), &Tap<'_>> = BTreeMap::new();
    for tap in &taps {
        let Some(answer) = tap.answer else { continue };
        let op = tap.op;
        let say = |what: String| Violation::new(EXPLAINED, what).of_user(&op.user).of_item(&op.item);
        let event = chains.get(&(op.user.as_str(), op.item.as_str())).and_then(|chain| at(chain, answer.version));
        if !answer.changed {
            let state = event.map_or(Reaction::None, |event| event.new);
            if state != answer.reaction || (answer.version > 0 && event.is_none()) {
                violations.push(say(format!("the log has {state:?} at the version of {op:?}")));
            }
            continue;
        }
        if !event.is_some_and(|event| is_of(event, tap, answer)) {
            violations.push(say(format!("acknowledged, and not in the log: {op:?}, found {event:?}")));
        }
        if let Some(other) = claimed.insert((&op.user, &op.item, answer.version), tap) {
            violations.push(say(format!("one flip answers two taps: {:?} and {op:?}", other.op)));
        }
    }
    for ((user, item), chain) in &chains {
        // What an abuse system took and gave back is for another oracle.
        let by_users = chain.iter().filter(|event| event.origin != Origin::Retraction);
        let unclaimed = by_users.filter(|event| !claimed.contains_key(&(user, item, event.version)));
        let open = taps.iter().filter(|tap| tap.answer.is_none() && tap.open);
        let open = open.filter(|tap| tap.op.user == *user && tap.op.item == *item);
        violations.extend(unexplained(unclaimed.copied(), open));
    }
    violations
}

fn taps(ops: &[Op]) -> Vec<Tap<'_>> {
    let mut taps: Vec<Tap<'_>> = Vec::new();
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for op in ops {
        let new = taps.len();
        let place = op.key.as_ref().map_or(new, |key| *places.entry((&op.user, key)).or_insert(new));
        if place == new {
            taps.push(Tap { op, start: op.start, answer: None, open: false });
        }
        let tap = &mut taps[place];
        tap.start = tap.start.min(op.start);
        match &op.outcome {
            Outcome::Ok(answer) => tap.answer = tap.answer.or(Some(answer)),
            Outcome::Unknown(_) => tap.open = true,
            Outcome::Fail(_) => {}
        }
    }
    taps
}

fn at<'a>(chain: &[&'a Event], version: i64) -> Option<&'a Event> {
    chain.iter().find(|event| event.version == version).copied()
}

fn is_of(event: &Event, tap: &Tap<'_>, answer: &Answer) -> bool {
    event.old == answer.previous
        && event.new == answer.reaction
        && event.at >= tap.start
        && event.origin == Origin::User
}

/// Events that are left when each open tap has explained one that is not older than it.
fn unexplained<'a>(events: impl Iterator<Item = &'a Event>, open: impl Iterator<Item = &'a Tap<'a>>) -> Vec<Violation> {
    let mut open: Vec<_> = open.collect();
    open.sort_by_key(|tap| tap.start);
    let mut violations = Vec::new();
    for event in events {
        match open.iter().position(|tap| tap.op.wanted == event.new && tap.start <= event.at) {
            Some(place) => drop(open.remove(place)),
            None => {
                let user = event.user.as_deref().unwrap_or_default();
                let what = format!("nobody asked for {event:?}");
                violations.push(Violation::new(EXPLAINED, what).of_user(user).of_item(&event.item));
            }
        }
    }
    violations
}
