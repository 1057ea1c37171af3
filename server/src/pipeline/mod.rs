//! What is derived from the log: the counters, and how long the log is kept.

pub mod counter;
pub mod retention;
