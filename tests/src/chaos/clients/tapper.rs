//! Taps for some users, one at a time: with keys that are kept until they are answered, on any node, twice at once, or
//! hung up on; and looks at what was acknowledged from another node.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

use super::{SHARED_ITEMS, Shared, shared_item, solo_item};
use crate::chaos::api::{Reply, span_since};
use crate::chaos::history::{Answer, Look, Op, Outcome, Source, now};
use crate::views::{Payload, Reaction};
use crate::wait::outage;

/// Users of one tapper that are never erased; there is one more that may be.
pub const USERS: usize = 3;
/// Tries of a tap before it is left open; the run asks once more at its end.
const TRIES: usize = 12;
/// Codes that say that nothing was done and a retry may help.
const NOT_DONE: &[&str] = &["OVERLOADED", "RATE_LIMITED"];
/// A code that says that the node does not know.
const NOT_KNOWN: &str = "UNAVAILABLE";

#[derive(Debug)]
pub struct Tapper {
    world: Shared,
    number: usize,
    rng: StdRng,
    taps: u64,
    /// How often this tapper's mortal user was erased.
    generation: usize,
}

/// How a tap is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Once,
    /// To two nodes at the same time.
    Twice,
    /// The client goes away after this.
    HungUp(Duration),
}

struct Tap {
    user: String,
    item: String,
    wanted: Reaction,
    key: Option<String>,
}

impl Tapper {
    pub fn new(world: Shared, number: usize) -> Self {
        let rng = world.rng(1_000 + number as u64);
        let tapper = Self { world, number, rng, taps: 0, generation: 0 };
        tapper.announce_mortal();
        tapper
    }

    pub async fn run(mut self) {
        while !self.world.stopping() {
            self.tap().await;
            outage(Duration::from_millis(self.rng.random_range(2..30))).await;
        }
    }

    async fn tap(&mut self) {
        let tap = self.choose();
        let manner = match self.rng.random_range(0..100) {
            0..10 if tap.key.is_some() => Manner::Twice,
            10..22 => Manner::HungUp(Duration::from_millis(self.rng.random_range(0..60))),
            _ => Manner::Once,
        };
        let mut place = self.place();
        let mut answered = self.send(&tap, place, manner).await;
        for _ in 0..TRIES {
            if answered.is_some() || tap.key.is_none() || self.world.stopping() {
                break;
            }
            outage(Duration::from_millis(self.rng.random_range(20..250))).await;
            place = self.place();
            answered = self.send(&tap, place, Manner::Once).await;
        }
        match answered {
            Some(Outcome::Fail(code)) if code == "UNAUTHENTICATED" && tap.user == self.mortal() => {
                self.generation += 1;
                self.announce_mortal();
            }
            Some(Outcome::Ok(_)) if self.rng.random_bool(0.6) => self.look(&tap, place).await,
            _ => {}
        }
    }

    fn choose(&mut self) -> Tap {
        let user = match self.rng.random_range(0..=USERS) {
            USERS => self.mortal(),
            number => user(self.number, number),
        };
        let item = match self.rng.random_bool(0.3) {
            true => solo_item(&user),
            false => shared_item(self.rng.random_range(0..SHARED_ITEMS)),
        };
        self.taps += 1;
        let key = self.rng.random_bool(0.8).then(|| format!("tap{}", self.taps));
        Tap { user, item, wanted: Reaction::ALL[self.rng.random_range(0..3)], key }
    }

    /// The outcome, where there is one that ends the tap.
    async fn send(&mut self, tap: &Tap, place: usize, manner: Manner) -> Option<Outcome> {
        match manner {
            Manner::Once => one(&self.world, tap, place).await,
            Manner::Twice => {
                let other = self.place();
                let (first, second) = tokio::join!(one(&self.world, tap, place), one(&self.world, tap, other));
                first.or(second)
            }
            Manner::HungUp(after) => hung_up(&self.world, tap, place, after).await,
        }
    }

    /// Reads what was acknowledged at another node, and sometimes what nobody in particular sees.
    async fn look(&mut self, tap: &Tap, told_by: usize) {
        let nodes = self.world.api.len();
        let place = (told_by + self.rng.random_range(1..=nodes.max(2) - 1)) % nodes;
        let user = self.rng.random_bool(0.8).then_some(tap.user.as_str());
        let start = now();
        if let Reply::Data(item) = self.world.api.item(place, user, &tap.item).await {
            let node = self.world.api.number(place);
            let look = Look::of(&item, Source::Read, node, user, span_since(start));
            self.world.history.write(|history| history.looks.push(look));
        }
    }

    fn place(&mut self) -> usize {
        self.rng.random_range(0..self.world.api.len())
    }

    fn mortal(&self) -> String {
        format!("mortal{}-{}", self.number, self.generation)
    }

    fn announce_mortal(&self) {
        self.world.mortals.lock().expect("no holder panics").push(self.mortal());
    }
}

/// One of the users of a tapper.
pub fn user(tapper: usize, number: usize) -> String {
    format!("user{tapper}-{number}")
}

async fn one(world: &Shared, tap: &Tap, place: usize) -> Option<Outcome> {
    let start = now();
    let reply = world.api.tap(place, &tap.user, &tap.item, tap.wanted, tap.key.as_deref()).await;
    settle(world, tap, place, start, reply)
}

async fn hung_up(world: &Shared, tap: &Tap, place: usize, after: Duration) -> Option<Outcome> {
    let start = now();
    let reply = world.api.tap(place, &tap.user, &tap.item, tap.wanted, tap.key.as_deref());
    let reply = tokio::time::timeout(after, reply).await.unwrap_or(Reply::Lost("hung up".to_owned()));
    settle(world, tap, place, start, reply)
}

/// Writes down what came, and gives it back where it ends the tap.
fn settle(world: &Shared, tap: &Tap, place: usize, start: i64, reply: Reply<Payload>) -> Option<Outcome> {
    let span = span_since(start);
    let node = world.api.number(place);
    let look = match &reply {
        Reply::Data(payload) => Some(Look::of(&payload.item, Source::Payload, node, Some(&tap.user), span)),
        Reply::Refused(_) | Reply::Lost(_) => None,
    };
    let outcome = outcome_of(reply);
    let op = Op {
        node,
        user: tap.user.clone(),
        item: tap.item.clone(),
        wanted: tap.wanted,
        key: tap.key.clone(),
        start: span.0,
        end: span.1,
        outcome: outcome.clone(),
    };
    world.history.write(|history| {
        history.ops.push(op);
        history.looks.extend(look);
    });
    match &outcome {
        Outcome::Ok(_) => Some(outcome),
        Outcome::Fail(code) => (!NOT_DONE.contains(&code.as_str())).then_some(outcome),
        Outcome::Unknown(_) => None,
    }
}

fn outcome_of(reply: Reply<Payload>) -> Outcome {
    match reply {
        Reply::Data(payload) => Outcome::Ok(Answer::of(&payload)),
        Reply::Refused(code) if code == NOT_KNOWN => Outcome::Unknown(code),
        Reply::Refused(code) => Outcome::Fail(code),
        Reply::Lost(why) => Outcome::Unknown(why),
    }
}

/// Sends every tap again that was never answered, once its key can tell what became of it; returns how many are left.
pub async fn ask_again(world: &Shared, tries: usize) -> usize {
    let mut open = world.history.read(|history| open_taps(&history.ops));
    for round in 0..tries {
        let mut left = Vec::new();
        for (number, tap) in open.into_iter().enumerate() {
            if one(world, &tap, (number + round) % world.api.len()).await.is_none() {
                left.push(tap);
            }
        }
        open = left;
    }
    open.len()
}

/// The taps with a key that have no answer, each once.
fn open_taps(ops: &[Op]) -> Vec<Tap> {
    let mut open: Vec<Tap> = Vec::new();
    let key = |op: &Op| op.key.clone().map(|key| (op.user.clone(), key));
    let answered: std::collections::HashSet<_> =
        ops.iter().filter(|op| matches!(op.outcome, Outcome::Ok(_))).filter_map(key).collect();
    let mut seen = std::collections::HashSet::new();
    for op in ops {
        let Some(key) = key(op) else { continue };
        if !answered.contains(&key) && seen.insert(key) {
            let Op { user, item, wanted, key, .. } = op.clone();
            open.push(Tap { user, item, wanted, key });
        }
    }
    open
}

/// One like by a user of its own at this node; true where it was taken.
pub async fn probe(world: &Shared, place: usize) -> bool {
    let (user, key) = (format!("probe{place}"), Some("probe".to_owned()));
    let tap = Tap { user, item: shared_item(0), wanted: Reaction::Like, key };
    matches!(one(world, &tap, place).await, Some(Outcome::Ok(_)))
}
