//! Erases users while they tap, and waits until each is gone.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

use super::Shared;
use crate::chaos::api::Reply;
use crate::chaos::history::{Erasure, now};
use crate::wait::outage;

const PAUSE: Duration = Duration::from_millis(300);

#[derive(Debug)]
pub struct Eraser {
    world: Shared,
    rng: StdRng,
}

impl Eraser {
    pub fn new(world: Shared) -> Self {
        let rng = world.rng(3_000);
        Self { world, rng }
    }

    pub async fn run(mut self) {
        while !self.world.stopping() {
            outage(Duration::from_millis(self.rng.random_range(1_000..3_000))).await;
            let user = self.victim();
            if let Some(user) = user {
                self.world.history.write(|history| {
                    history.erasures.push(Erasure { user: user.clone(), start: now(), stands: None, finished: None });
                });
                // Half of them are introduced while they are erased: what comes late must not stay.
                let place = self.rng.random_range(0..self.world.api.len());
                let introduce = self.world.api.introduce(place, &user);
                match self.rng.random_bool(0.5) {
                    true => drop(introduce.await),
                    false => drop(tokio::join!(introduce, ask(&self.world, &user, place + 1))),
                }
                while !self.world.stopping() && !ask(&self.world, &user, self.rng.random_range(0..9)).await {
                    outage(PAUSE).await;
                }
            }
        }
    }

    fn victim(&mut self) -> Option<String> {
        let mut mortals = self.world.mortals.lock().expect("no holder panics");
        let place = (!mortals.is_empty()).then(|| self.rng.random_range(0..mortals.len()))?;
        Some(mortals.swap_remove(place))
    }
}

/// Asks once more for each erasure that was not seen to end; true where none is left.
pub async fn ask_again(world: &Shared) -> bool {
    let open: Vec<_> = world.history.read(|history| {
        history
            .erasures
            .iter()
            .filter(|erasure| erasure.finished.is_none())
            .map(|erasure| erasure.user.clone())
            .collect()
    });
    let mut all = true;
    for (number, user) in open.iter().enumerate() {
        all &= ask(world, user, number).await;
    }
    all
}

/// True once nothing is left of the user.
async fn ask(world: &Shared, user: &str, place: usize) -> bool {
    let Reply::Data(finished) = world.api.erase(place % world.api.len(), user).await else { return false };
    world.history.write(|history| {
        let erasure = history.erasures.iter_mut().find(|erasure| erasure.user == user);
        let erasure = erasure.expect("it was written down before it was asked for");
        erasure.stands = erasure.stands.or(Some(now()));
        erasure.finished = erasure.finished.or(finished.then(now));
    });
    finished
}
