//! A reaction is taken back only where that was proposed, once for each proposal; it is given back only as it was, and
//! only where its user did nothing since.

use super::{RETRACTED, Violation};
use crate::chaos::history::{History, Proposal};
use crate::chaos::snapshot::{Event, Origin, Snapshot};
use crate::views::Reaction;

pub fn check(history: &History, snapshot: &Snapshot) -> Vec<Violation> {
    let mut violations = Vec::new();
    for ((user, item), chain) in &snapshot.chains() {
        let of_pair = |proposal: &&Proposal| proposal.pairs.iter().any(|pair| pair.0 == *user && pair.1 == *item);
        let proposals: Vec<_> = history.proposals.iter().filter(of_pair).collect();
        let say = |what: String| Violation::new(RETRACTED, what).of_user(user).of_item(item);
        let (mut taken, mut given) = (0, 0);
        for (place, event) in chain.iter().enumerate().filter(|(_, event)| event.origin == Origin::Retraction) {
            let before = place.checked_sub(1).map(|before| chain[before]);
            let (number, allowed) = match event.new {
                Reaction::None => (&mut taken, proposals.iter().filter(|of| of.start <= event.at).count()),
                _ if undoes(event, before) => (&mut given, proposals.iter().filter(|of| restores(of, event)).count()),
                _ => (&mut given, 0),
            };
            *number += 1;
            if *number > allowed {
                violations.push(say(format!("no proposal asks for {event:?} after {before:?}")));
            }
        }
        let last = chain.last().filter(|event| event.new != Reaction::None);
        let missed = proposals
            .iter()
            .find(|of| of.settled && of.restore.is_none() && last.is_some_and(|event| event.at < of.start));
        if let Some(proposal) = missed {
            violations.push(say(format!("{last:?} stands in spite of {proposal:?}")));
        }
    }
    violations
}

/// Gives back what the retraction just before took.
fn undoes(event: &Event, before: Option<&Event>) -> bool {
    before.is_some_and(|before| {
        before.origin == Origin::Retraction && before.new == Reaction::None && before.old == event.new
    })
}

fn restores(proposal: &Proposal, event: &Event) -> bool {
    proposal.restore.is_some_and(|at| at <= event.at)
}
