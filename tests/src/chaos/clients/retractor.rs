//! An abuse system: takes some reactions back while their users tap on, and gives some of them back again.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

use super::tapper::{self, USERS};
use super::{SHARED_ITEMS, Shared, shared_item};
use crate::chaos::api::Reply;
use crate::chaos::history::{Proposal, now};
use crate::wait::outage;

const PAUSE: Duration = Duration::from_millis(300);
/// Reactions of one proposal.
const PAIRS: usize = 4;

#[derive(Debug)]
pub struct Retractor {
    world: Shared,
    rng: StdRng,
    tappers: usize,
}

impl Retractor {
    /// `tappers` is how many there are to take from.
    pub fn new(world: Shared, tappers: usize) -> Self {
        let rng = world.rng(4_000);
        Self { world, rng, tappers }
    }

    pub async fn run(mut self) {
        for number in 0.. {
            outage(Duration::from_millis(self.rng.random_range(1_000..3_000))).await;
            if self.world.stopping() {
                return;
            }
            let pairs = (0..PAIRS).map(|_| self.pair()).collect();
            let proposal =
                Proposal { id: format!("proposal{number}"), pairs, start: now(), restore: None, settled: false };
            self.world.history.write(|history| history.proposals.push(proposal));
            self.until_settled(number).await;
            if self.rng.random_bool(0.5) && !self.world.stopping() {
                self.world.history.write(|history| {
                    let proposal = &mut history.proposals[number];
                    (proposal.restore, proposal.settled) = (Some(now()), false);
                });
                self.until_settled(number).await;
            }
        }
    }

    fn pair(&mut self) -> (String, String) {
        let user = tapper::user(self.rng.random_range(0..self.tappers), self.rng.random_range(0..USERS));
        (user, shared_item(self.rng.random_range(0..SHARED_ITEMS)))
    }

    async fn until_settled(&mut self, number: usize) {
        while !self.world.stopping() && !ask(&self.world, number, self.rng.random_range(0..9)).await {
            outage(PAUSE).await;
        }
    }
}

/// Asks once more about each proposal that was not seen to be carried out; true where none is left.
pub async fn ask_again(world: &Shared) -> bool {
    let open: Vec<usize> = world.history.read(|history| {
        let proposals = history.proposals.iter().enumerate();
        proposals.filter(|(_, proposal)| !proposal.settled).map(|(number, _)| number).collect()
    });
    let mut all = true;
    for number in open {
        all &= ask(world, number, number).await;
    }
    all
}

/// True once the proposal is carried out, or undone where that is wanted.
async fn ask(world: &Shared, number: usize, place: usize) -> bool {
    let proposal = world.history.read(|history| history.proposals[number].clone());
    let place = place % world.api.len();
    let (reply, wanted) = match proposal.restore {
        None => (world.api.retract(place, &proposal).await, "APPLIED"),
        Some(_) => (world.api.restore(place, &proposal).await, "RESTORED"),
    };
    let settled = reply == Reply::Data(wanted.to_owned());
    world.history.write(|history| history.proposals[number].settled |= settled);
    settled
}
