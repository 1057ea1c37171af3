//! One key, one answer: whoever asks again under it, at whatever node, hears the same; and each answer fits its request.

use std::collections::BTreeMap;

use super::{ANSWERS, Violation};
use crate::chaos::history::{Answer, History, Op, Outcome};
use crate::chaos::snapshot::{Counts, Snapshot};

/// Refusals that a run may meet.
const EXPECTED: &[&str] = &["OVERLOADED", "RATE_LIMITED"];
/// What an erased user is told.
const ERASED: &str = "UNAUTHENTICATED";

pub fn check(history: &History, _: &Snapshot) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut requests: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for op in &history.ops {
        *requests.entry((&op.user, op.key.as_deref().unwrap_or_default())).or_default() += 1;
    }
    let mut first: BTreeMap<(&str, &str), &Answer> = BTreeMap::new();
    let mut original: BTreeMap<(&str, &str), &Op> = BTreeMap::new();
    for op in &history.ops {
        let say = |what: String| Violation::new(ANSWERS, what).of_user(&op.user).of_item(&op.item);
        let answer = match &op.outcome {
            Outcome::Ok(answer) => answer,
            Outcome::Unknown(_) => continue,
            Outcome::Fail(code) => {
                let erased = history.erasures.iter().any(|erasure| erasure.user == op.user);
                let expected = EXPECTED.contains(&code.as_str()) || (erased && code == ERASED);
                if !expected {
                    violations.push(say(format!("refused with {code}: {op:?}")));
                }
                continue;
            }
        };
        if !fits(op, answer) {
            violations.push(say(format!("the answer does not fit its request: {op:?}")));
        }
        let Some(key) = &op.key else { continue };
        let tap = (op.user.as_str(), key.as_str());
        let before = *first.entry(tap).or_insert(answer);
        if !same(before, answer) {
            violations.push(say(format!("two answers under key {key}: {before:?} and {answer:?}")));
        }
        // A batch without events may run again after a lost COMMIT, and then finds its own records.
        if answer.replayed && answer.changed && requests[&tap] == 1 {
            violations.push(say(format!("the answer to the only request is a replay: {op:?}")));
        }
        if !answer.replayed && original.insert(tap, op).is_some() {
            violations.push(say(format!("two answers under key {key} that are not replays")));
        }
    }
    violations
}

/// All but whether it was given before.
fn same(one: &Answer, other: &Answer) -> bool {
    Answer { replayed: false, ..one.clone() } == Answer { replayed: false, ..other.clone() }
}

fn fits(op: &Op, answer: &Answer) -> bool {
    let (old, new) = (Counts::of(answer.previous), Counts::of(answer.reaction));
    let deltas = (new.likes - old.likes, new.dislikes - old.dislikes);
    // What a change invents is for another oracle: it must be found in the log.
    answer.reaction == op.wanted && (answer.like_delta, answer.dislike_delta) == deltas
}
