//! The settings of the commands beside `serve`.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{DatabaseConfig, JwtConfig, SettingError, wrong};
use crate::domain::LogPosition;

#[derive(Debug, Clone, Args)]
pub struct MigrateConfig {
    #[command(flatten)]
    pub database: DatabaseConfig,
}

#[derive(Debug, Clone, Args)]
pub struct TokenConfig {
    #[command(flatten)]
    pub jwt: JwtConfig,
    /// Whose token.
    #[arg(long)]
    pub user: String,
    /// `service` may fill the catalogue.
    #[arg(long, value_parser = ["service"])]
    pub scope: Option<String>,
    /// How long it holds: 30s, 15m, 1h, 7d.
    #[arg(long, default_value = "1h", value_parser = parse_duration)]
    pub ttl: Duration,
}

/// The unit of whole-number times in an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TimeUnit {
    S,
    Ms,
    Us,
}

#[derive(Debug, Clone, Args)]
pub struct ImportConfig {
    #[command(flatten)]
    pub database: DatabaseConfig,
    /// CSV (user,item,state,time; a header line is optional) or NDJSON, by the name's ending: .csv, .ndjson, .jsonl.
    pub file: PathBuf,
    /// The unit of times that are whole numbers since 1970; RFC 3339 needs none.
    #[arg(long, default_value = "us")]
    pub time_unit: TimeUnit,
    /// Leave bad lines out instead of importing nothing.
    #[arg(long)]
    pub skip_bad_lines: bool,
}

#[derive(Debug, Clone, Args)]
pub struct EraseConfig {
    #[command(flatten)]
    pub database: DatabaseConfig,
    /// Whose account.
    #[arg(long)]
    pub user: String,
}

#[derive(Debug, Clone, Args)]
pub struct SeedConfig {
    #[command(flatten)]
    pub database: DatabaseConfig,
    /// How many users there are.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub users: u32,
    /// How many items there are.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub items: u32,
    /// How many likes there are.
    #[arg(long, default_value_t = 100_000)]
    pub likes: u64,
    /// The same number makes the same data.
    #[arg(long, default_value_t = 1)]
    pub random_seed: u64,
}

#[derive(Debug, Clone, Args)]
pub struct EventsConfig {
    #[command(flatten)]
    pub database: DatabaseConfig,
    /// Print this partition, beginning with this offset: 0:1. Repeat it for more partitions; without it, all partitions
    /// from their first event. To go on where a reading ended, give the offset after the last one it printed.
    #[arg(long, value_name = "PARTITION:OFFSET", value_parser = parse_position)]
    pub from: Vec<LogPosition>,
    /// Go on with new events until the process is told to stop.
    #[arg(long)]
    pub follow: bool,
}

impl EventsConfig {
    /// Checks what one value alone cannot tell.
    pub fn check(&self) -> Result<(), SettingError> {
        self.database.check()?;
        let mut seen = HashSet::new();
        match self.from.iter().find(|position| !seen.insert(position.partition)) {
            Some(twice) => Err(wrong("--from", format!("names partition {} twice", twice.partition))),
            None => Ok(()),
        }
    }
}

fn parse_position(text: &str) -> Result<LogPosition, String> {
    let position = text.split_once(':').and_then(|(partition, offset)| {
        let offset = offset.parse::<i64>().ok().filter(|offset| *offset >= 1)?;
        Some(LogPosition { partition: partition.parse().ok()?, offset })
    });
    position.ok_or_else(|| "a partition and an offset from 1, such as 0:1".to_owned())
}

#[derive(Debug, Clone, Args)]
pub struct ReconcileConfig {
    #[command(flatten)]
    pub database: DatabaseConfig,
    /// Check this item; may be given several times. Without --item and --user all items are checked.
    #[arg(long)]
    pub item: Vec<String>,
    /// Check the items to which this user has reacted.
    #[arg(long)]
    pub user: Option<String>,
    /// Report and change nothing.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Clone, Args)]
pub struct RebuildConfig {
    #[command(flatten)]
    pub database: DatabaseConfig,
}

/// Seconds up to a day, perhaps with a fraction.
pub(super) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds".to_owned())?;
    let allowed = (0.0..=86_400.0).contains(&seconds);
    if allowed { Ok(Duration::from_secs_f64(seconds)) } else { Err("between 0 and 86400 seconds".to_owned()) }
}

/// A whole number and a unit: `30s`, `15m`, `1h`, `7d`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| "a number and a unit, such as 15m".to_owned())?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err("the units are s, m, h and d".to_owned()),
    };
    let seconds = number.checked_mul(seconds).filter(|seconds| *seconds > 0);
    seconds.map(Duration::from_secs).ok_or_else(|| "longer than nothing and shorter than for ever".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        assert_eq!(parse_duration("15m"), Ok(Duration::from_secs(900)));
        assert!(
            parse_duration("0s").is_err()
                && parse_duration("15").is_err()
                && parse_duration("h").is_err()
                && parse_duration("-1s").is_err()
        );
    }
}
