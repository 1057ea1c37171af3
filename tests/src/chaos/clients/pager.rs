//! Reads lists to their end, page by page from any node, while others like and unlike.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

use super::{SHARED_ITEMS, Shared, shared_item};
use crate::chaos::api::{ListPage, Reply};
use crate::chaos::history::{List, Scan, now};
use crate::wait::outage;

/// Tries of one page before a scan is given up.
const TRIES: usize = 20;

#[derive(Debug)]
pub struct Pager {
    world: Shared,
    rng: StdRng,
    /// Whose liked items are read, beside the likers of all items.
    users: Vec<String>,
}

impl Pager {
    pub fn new(world: Shared, number: usize, users: Vec<String>) -> Self {
        let rng = world.rng(2_000 + number as u64);
        Self { world, rng, users }
    }

    pub async fn run(mut self) {
        while !self.world.stopping() {
            let list = match self.rng.random_bool(0.75) {
                true => List::Likers(shared_item(self.rng.random_range(0..SHARED_ITEMS))),
                false => List::Liked(self.users[self.rng.random_range(0..self.users.len())].clone()),
            };
            self.scan(list).await;
            outage(Duration::from_millis(self.rng.random_range(10..80))).await;
        }
    }

    async fn scan(&mut self, list: List) {
        let start = now();
        let first = self.rng.random_range(1..12);
        let (mut ids, mut pages, mut after, mut failures) = (Vec::new(), 0, None, 0);
        loop {
            match self.page(&list, first, after.as_deref()).await {
                Reply::Data(page) => {
                    pages += 1;
                    ids.extend(page.ids);
                    match page.more {
                        true => after = page.end,
                        false => break,
                    }
                }
                Reply::Refused(_) | Reply::Lost(_) => {
                    failures += 1;
                    if failures > TRIES || self.world.stopping() {
                        return;
                    }
                    outage(Duration::from_millis(100)).await;
                }
            }
        }
        let scan = Scan { list, start, end: now(), pages, ids };
        self.world.history.write(|history| history.scans.push(scan));
    }

    async fn page(&mut self, list: &List, first: usize, after: Option<&str>) -> Reply<ListPage> {
        let place = self.rng.random_range(0..self.world.api.len());
        match list {
            List::Likers(item) => self.world.api.likers(place, item, first, after).await,
            List::Liked(user) => self.world.api.liked(place, user, first, after).await,
        }
    }
}
