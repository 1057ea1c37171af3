//! Read your own write, on any node: the heart is never older than what its user was told before, it is what the log has
//! at its version, and it is in the count that is shown beside it.

use std::collections::BTreeMap;

use super::{OWN, Violation};
use crate::chaos::clients::{SOLO, solo_item};
use crate::chaos::history::{History, Look, Outcome, Source};
use crate::chaos::snapshot::{Counts, Snapshot};
use crate::views::Reaction;

/// (when it was known, version), by user and item; versions rise with time.
type Known<'a> = BTreeMap<(&'a str, &'a str), Vec<(i64, i64)>>;

pub fn check(history: &History, snapshot: &Snapshot) -> Vec<Violation> {
    let chains = snapshot.chains();
    let known = known(history);
    let mut violations = Vec::new();
    for look in &history.looks {
        let (Some(user), Some((reaction, version))) = (&look.user, look.heart) else { continue };
        let say = |what: &str| Violation::new(OWN, format!("{what}: {look:?}")).of_user(user).of_item(&look.item);
        if !fits(look, reaction) {
            violations.push(say("the viewer's own reaction is not in the count"));
        }
        if erased_by(history, user, look.end) {
            continue;
        }
        let chain = chains.get(&(user.as_str(), look.item.as_str()));
        let event = chain.and_then(|chain| chain.iter().find(|event| event.version == version));
        let logged = event.map_or(Reaction::None, |event| event.new);
        if logged != reaction || (version > 0 && event.is_none()) {
            violations.push(say(&format!("the log has {logged:?} at this version")));
        }
        let told = told_before(&known, user, look);
        // A push may have been on its way for a while.
        let asked_for = !matches!(look.source, Source::Push(_));
        if asked_for && version < told {
            violations.push(say(&format!("version {told} was known before it was asked for")));
        }
    }
    violations
}

/// Whether the user's rows may be gone at this time.
fn erased_by(history: &History, user: &str, at: i64) -> bool {
    history.erasures.iter().any(|erasure| erasure.user == user && erasure.start <= at)
}

fn fits(look: &Look, reaction: Reaction) -> bool {
    let (own, shown) = (Counts::of(reaction), Counts { likes: look.likes, dislikes: look.dislikes });
    let solo = look.item.starts_with(SOLO) && look.user.as_ref().is_some_and(|user| solo_item(user) == look.item);
    match solo {
        true => own == shown,
        false => own.likes <= shown.likes && own.dislikes <= shown.dislikes,
    }
}

fn known(history: &History) -> Known<'_> {
    let mut known = Known::new();
    for op in &history.ops {
        if let Outcome::Ok(answer) = &op.outcome {
            known.entry((&op.user, &op.item)).or_default().push((op.end, answer.version));
        }
    }
    for look in &history.looks {
        if let (Some(user), Some((_, version))) = (&look.user, look.heart) {
            known.entry((user, &look.item)).or_default().push((look.end, version));
        }
    }
    for facts in known.values_mut() {
        facts.sort_unstable();
        let mut highest = 0;
        for (_, version) in facts {
            highest = highest.max(*version);
            *version = highest;
        }
    }
    known
}

fn told_before(known: &Known<'_>, user: &str, look: &Look) -> i64 {
    let facts = known.get(&(user, look.item.as_str())).map_or(&[][..], Vec::as_slice);
    let before = facts.partition_point(|(end, _)| *end < look.start);
    before.checked_sub(1).map_or(0, |last| facts[last].1)
}
