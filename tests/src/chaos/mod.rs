//! The chaos run: real processes under a seeded plan of faults, clients who write down what they asked and heard, and
//! oracles that compare their history with the database afterwards.
//!
//! Nothing below uses the server's code: what is expected is written here a second time, from the contract.

pub mod api;
pub mod clients;
pub mod cluster;
pub mod half_open;
pub mod history;
pub mod killer;
pub mod node;
pub mod options;
pub mod oracles;
pub mod plan;
pub mod plants;
pub mod report;
pub mod run;
pub mod settle;
pub mod snapshot;
