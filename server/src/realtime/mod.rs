//! Carries counts and reactions to those who watch: the bus between processes, the hub inside one.
//!
//! What travels is state, never a delta, so a message may be lost, repeated or reordered without a wrong count: the hub
//! keeps the newest version, and the coverage knows which stretch of the log the bus has told whole. What it has not
//! told, a node reads again from the store. Nothing here decides a count.

mod bus;
mod coverage;
mod hub;
mod redis;
mod wire;

pub use bus::{Bus, BusStats, LocalBus};
pub use coverage::PARTITIONS_MAX;
pub use hub::{Hub, ItemWatch, Seen, UserNews, UserWatch};
pub use redis::{Publisher, RedisBus, Subscriber, connect_check};
