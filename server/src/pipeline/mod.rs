//! What is derived from the log: the counters.

pub mod counter;
