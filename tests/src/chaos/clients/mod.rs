//! The clients of a run, each a task with a share of the users, so that what one user did is a sequence.

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::api::Api;
use super::history::Recorder;

pub mod eraser;
pub mod pager;
pub mod retractor;
pub mod tapper;
pub mod watcher;

/// Items that everybody reacts to.
pub const SHARED_ITEMS: usize = 6;
/// What the id of an item begins with that only one user reacts to; the user's own id follows.
pub const SOLO: &str = "solo:";

/// What all clients of a run share.
#[derive(Debug)]
pub struct World {
    pub api: Api,
    pub seed: u64,
    pub history: Recorder,
    /// No new taps from now on.
    pub stop: AtomicBool,
    /// Users that may be erased, and whose tappers take it.
    pub mortals: Mutex<Vec<String>>,
    sockets: AtomicUsize,
}

pub type Shared = Arc<World>;

impl World {
    pub fn new(api: Api, seed: u64) -> Shared {
        Arc::new(Self {
            api,
            seed,
            history: Recorder::default(),
            stop: AtomicBool::new(false),
            mortals: Mutex::new(Vec::new()),
            sockets: AtomicUsize::new(0),
        })
    }

    pub fn stopping(&self) -> bool {
        self.stop.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// A generator of its own for each client: its choices do not depend on who comes first.
    pub fn rng(&self, client: u64) -> StdRng {
        StdRng::seed_from_u64(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(client))
    }

    /// A number for a subscription.
    fn next_socket(&self) -> usize {
        self.sockets.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }
}

pub fn shared_item(number: usize) -> String {
    format!("shared:{number}")
}

pub fn solo_item(user: &str) -> String {
    format!("{SOLO}{user}")
}
