//! The command line of the chaos run.

use std::time::Duration;

use clap::{Parser, ValueEnum};

use super::plants::Plant;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// Five processes on PostgreSQL and Redis.
    Postgres,
    /// One process on a file.
    Sqlite,
}

/// Kills, stops and cuts a cluster by a seeded plan while clients use it, then proves that nothing was lost or doubled.
///
/// Exit code 0: every oracle is content. 1: one is not, and its history is printed. 2: the run itself did not work.
#[derive(Debug, Clone, Parser)]
#[command(name = "chaos")]
pub struct Options {
    /// Repeats a run as far as processes can be repeated; random where absent, and printed.
    #[arg(long)]
    pub seed: Option<u64>,
    /// How long faults go on.
    #[arg(long, default_value_t = 2.0, conflicts_with = "seconds")]
    pub minutes: f64,
    /// The same in seconds.
    #[arg(long)]
    pub seconds: Option<u64>,
    #[arg(long, default_value = "postgres")]
    pub backend: Backend,
    /// Plants one bug, without faults: its oracle must find it, so the run must end with 1.
    #[arg(long)]
    pub plant: Option<Plant>,
}

impl Options {
    pub fn length(&self) -> Duration {
        let of_minutes = || Duration::from_secs_f64(self.minutes.clamp(0.1, 24.0 * 60.0) * 60.0);
        self.seconds.map_or_else(of_minutes, Duration::from_secs)
    }
}
