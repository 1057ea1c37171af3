//! Fixtures: throwaway servers, clients, the app, and what must hold after every test.

pub mod app;
pub mod bare;
pub mod binary;
pub mod chaos;
pub mod client;
pub mod database;
pub mod follower;
pub mod harness;
pub mod invariants;
pub mod ports;
pub mod postgres;
pub mod process;
pub mod property;
pub mod proxy;
pub mod redis;
pub mod seeded;
pub mod services;
pub mod socket;
pub mod tokens;
pub mod views;
pub mod wait;

/// A line for whoever reads the test run.
#[expect(clippy::print_stderr, reason = "the output of a test run")]
pub fn say(line: &str) {
    eprintln!("{line}");
}
