//! Trial data: users with friends, and likes with a few hot items and a long tail.

use std::collections::BTreeMap;
use std::time::Instant;

use futures_util::future::join;

use super::error::BulkError;
use super::progress::Progress;
use super::report::SeedReport;
use super::trial::{Trial, user_id};
use super::write::{self, Chunks, Feed, Row};
use crate::domain::{Micros, UserId};
use crate::error::Error;
use crate::store::Store;
use crate::store::catalog::{CatalogRefusal, CatalogWrite, UserFields};

/// Users who get a name and friends; the others only like.
const NAMED_USERS_MAX: u64 = 10_000;
/// Users in one transaction.
const USERS_AT_A_TIME: usize = 500;

#[derive(Debug, Clone, Copy)]
pub struct SeedOptions {
    /// At least one.
    pub users: u32,
    /// At least one.
    pub items: u32,
    /// Different pairs of a user and an item.
    pub likes: u64,
    /// The same number makes the same likes.
    pub random_seed: u64,
}

/// Fills the store with trial data. Run again with the same options, it changes nothing.
pub async fn seed(store: Store, options: SeedOptions) -> Result<SeedReport, BulkError> {
    let started = Instant::now();
    if store.partitions() == 0 {
        return Err(BulkError::NoSchema);
    }
    let SeedOptions { users, items, likes, random_seed } = options;
    let trial = Trial { users, items, likes, random_seed };
    if likes > u64::from(users) * u64::from(items) {
        return Err(BulkError::TooManyLikes { likes, users, items });
    }
    let now = store.pulse().await?.basis.read_at;
    store.make_room_for_load().await?;
    let named_users = write_users(&store, trial).await?;
    let (feed, writing) = write::open(&store, None, Chunks::default());
    let progress = Progress::new("seeding", likes);
    let ((), written) = join(feed_likes(feed, trial, now), writing.run(&progress)).await;
    progress.finish();
    let written = written?;
    write::fold(&store).await?;
    Ok(SeedReport {
        named_users,
        imported: written.changed,
        unchanged: written.unchanged,
        refused: written.refused,
        elapsed: started.elapsed(),
    })
}

async fn feed_likes(feed: Feed, trial: Trial, now: Micros) {
    for (number, like) in (1..).zip(trial.likes(now)) {
        if !feed.push(Row::of(number, like)).await {
            // A writer has failed, and tells why.
            return;
        }
    }
}

async fn write_users(store: &Store, trial: Trial) -> Result<u64, BulkError> {
    let count = u64::from(trial.users).min(NAMED_USERS_MAX);
    let progress = Progress::new("users", count);
    let mut named = 0;
    for first in (0..count).step_by(USERS_AT_A_TIME) {
        let chunk = first..(first + USERS_AT_A_TIME as u64).min(count);
        progress.add(chunk.end - chunk.start);
        let users = chunk.map(|user| (user_id(user), fields(trial, user, count))).collect();
        named += write_chunk(store, users).await?;
    }
    progress.finish();
    Ok(named)
}

/// Leaves out whoever was deleted, and returns how many are written.
async fn write_chunk(store: &Store, mut users: BTreeMap<UserId, UserFields>) -> Result<u64, BulkError> {
    loop {
        // Whoever has many friends already keeps them.
        let write = CatalogWrite::Users { users: users.clone(), friends_max: usize::MAX };
        match store.write_catalog(&write).await {
            Ok(()) => return Ok(users.len() as u64),
            Err(CatalogRefusal::Erased(user)) if users.remove(&user).is_some() => {}
            Err(refusal) => return Err(BulkError::Catalog(refused(refusal))),
        }
    }
}

fn fields(trial: Trial, user: u64, count: u64) -> UserFields {
    UserFields {
        name: Some(trial.name(user)),
        add_friends: trial.friends(user, count).map(user_id).collect(),
        ..UserFields::default()
    }
}

fn refused(refusal: CatalogRefusal) -> Error {
    match refusal {
        CatalogRefusal::Failed(error) => error,
        CatalogRefusal::Erased(user) => Error::internal_detail(format!("the account of {user} was deleted")),
        CatalogRefusal::TooManyFriends(user) => Error::internal_detail(format!("{user} has too many friends")),
    }
}
