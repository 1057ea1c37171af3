//! What goes wrong and when: made from the seed before the run begins.

use std::fmt;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::options::Backend;
use crate::proxy::Loss;

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    All,
    Api,
    Worker,
    /// All, on SQLite.
    Single,
}

/// A place in the server's code where it kills itself, or loses messages of the bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failpoint {
    pub name: &'static str,
    /// Times that it is passed before.
    passes: u32,
    loses: bool,
}

/// What is done to the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    Kill {
        node: usize,
    },
    /// SIGSTOP, and SIGCONT after it has lost every lease.
    Stop {
        node: usize,
        length: Duration,
    },
    /// Ends each session of the servers with this probability, in percent.
    CutSessions {
        percent: u32,
    },
    /// PostgreSQL crashes, and recovers after this.
    CrashPostgres {
        length: Duration,
    },
    LoseCommits {
        proxy: usize,
        losses: Vec<Loss>,
    },
    KillRedis {
        length: Duration,
    },
    PauseRedis {
        length: Duration,
    },
    FlushRedis,
    /// Some nodes' connections to Redis stay open and carry nothing.
    HalfOpenRedis {
        proxy: usize,
        length: Duration,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub at: Duration,
    pub fault: Fault,
}

/// The cluster that a plan is for.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub backend: Backend,
    pub nodes: usize,
    pub database_proxies: usize,
    pub redis_proxies: usize,
}

/// Faults begin after this, when clients and watchers are there.
const QUIET_START: Duration = Duration::from_secs(1);
/// Between the beginnings of two faults, in milliseconds; some last longer and overlap.
const GAP_MS: std::ops::Range<u64> = 500..2_200;
/// A stopped process sleeps longer than PostgreSQL lets its transaction idle (2 s).
const STOP_MS: std::ops::Range<u64> = 3_000..6_000;
const OUTAGE_MS: std::ops::Range<u64> = 500..3_000;
/// The last fault of all, which ends with the run.
const LAST: Duration = Duration::from_millis(2_500);
/// Clients end before the run by this, within the last fault.
pub const CLIENTS_END: Duration = Duration::from_millis(1_000);
const LOSSES: [Loss; 4] = [Loss::ReplyAndConnection, Loss::ReplyOnly, Loss::CommitAndConnection, Loss::CommitOnly];

const LANE: &[&str] = &[
    "lane_after_lock",
    "lane_after_rows",
    "lane_after_events",
    "lane_after_records",
    "lane_before_commit",
    "lane_after_commit",
    "lane_before_answers",
];
const COUNTER: &[&str] = &[
    "counter_after_claim",
    "counter_after_totals",
    "counter_before_commit",
    "counter_after_commit",
    "counter_before_publish",
];
/// SQLite folds in steps.
const COUNTER_SQLITE: &[&str] = &["counter_after_read", "counter_after_shards"];
/// Reached a few times for each erased user and each proposal.
const BACKGROUND: &[&str] = &["eraser_between_batches", "retractor_between_batches"];
/// Reached when a user is introduced.
const CATALOG: &[&str] = &["catalog_before_commit"];
const BUS: &[&str] = &["bus_before_send", "bus_on_receive"];

/// All places where a process may die.
pub fn failpoints() -> Vec<&'static str> {
    [LANE, COUNTER, COUNTER_SQLITE, BUS, BACKGROUND, CATALOG].concat()
}

/// The faults of a run, in the order of time; all end before the run does.
pub fn make(seed: u64, length: Duration, shape: Shape) -> Vec<Step> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut steps = Vec::new();
    let mut at = QUIET_START;
    // Until when each target is away: two faults may overlap, but not on one target.
    let mut away: Vec<(String, Duration)> = Vec::new();
    while at < length {
        let fault = fault(&mut rng, shape);
        let end = at + fault.length();
        let target = fault.target();
        let free = away.iter().all(|(name, until)| *name != target || *until <= at);
        if free && end < length.saturating_sub(LAST) {
            away.push((target, end));
            steps.push(Step { at, fault });
        }
        at += Duration::from_millis(rng.random_range(GAP_MS));
    }
    if shape.backend == Backend::Postgres {
        steps.push(last(&mut rng, length));
    }
    steps
}

/// Redis is away while the last folds are published, and comes back when nothing new will be: what watchers missed they
/// must be told all the same.
fn last(rng: &mut StdRng, end: Duration) -> Step {
    let length = LAST;
    let fault = match rng.random_range(0..3) {
        0 => Fault::PauseRedis { length },
        1 => Fault::KillRedis { length },
        _ => Fault::HalfOpenRedis { proxy: 0, length },
    };
    Step { at: end.saturating_sub(length), fault }
}

fn fault(rng: &mut StdRng, shape: Shape) -> Fault {
    let span = |rng: &mut StdRng, milliseconds| Duration::from_millis(rng.random_range(milliseconds));
    let node = rng.random_range(0..shape.nodes);
    let kinds = if shape.backend == Backend::Sqlite { 30 } else { 100 };
    match rng.random_range(0..kinds) {
        0..18 => Fault::Kill { node },
        18..30 => Fault::Stop { node, length: span(rng, STOP_MS) },
        30..48 => Fault::CutSessions { percent: rng.random_range(5..60) },
        48..54 => Fault::CrashPostgres { length: span(rng, OUTAGE_MS) },
        54..72 => {
            let count = rng.random_range(1..8);
            let losses = (0..count).map(|_| LOSSES[rng.random_range(0..LOSSES.len())]).collect();
            Fault::LoseCommits { proxy: rng.random_range(0..shape.database_proxies), losses }
        }
        72..78 => Fault::KillRedis { length: span(rng, OUTAGE_MS) },
        78..85 => Fault::PauseRedis { length: span(rng, OUTAGE_MS) },
        85..90 => Fault::FlushRedis,
        _ => Fault::HalfOpenRedis { proxy: rng.random_range(0..shape.redis_proxies), length: span(rng, STOP_MS) },
    }
}

/// Where the process dies in the life after `lives`; some lives have none. All of them are passed by the work of clients,
/// so that a cluster comes up before it dies.
pub fn failpoint(seed: u64, role: Role, node: usize, lives: u64) -> Option<Failpoint> {
    let mut rng = rng_of(seed, node, lives);
    let mut names: Vec<_> = match role {
        Role::All => [LANE, COUNTER, BUS, BACKGROUND, CATALOG].concat(),
        Role::Api => [LANE, BUS, CATALOG].concat(),
        Role::Worker => [COUNTER, BUS, BACKGROUND].concat(),
        Role::Single => [LANE, COUNTER, COUNTER_SQLITE, BACKGROUND, CATALOG].concat(),
    };
    if rng.random_bool(0.3) {
        return None;
    }
    let name = names.swap_remove(rng.random_range(0..names.len()));
    let passes = match name {
        _ if BACKGROUND.contains(&name) || CATALOG.contains(&name) => rng.random_range(0..2),
        _ if COUNTER.contains(&name) || COUNTER_SQLITE.contains(&name) => rng.random_range(3..60),
        _ => rng.random_range(5..200),
    };
    Some(Failpoint { name, passes, loses: BUS.contains(&name) && rng.random_bool(0.5) })
}

/// How long a process stays away after a life.
pub fn restart_pause(seed: u64, node: usize, lives: u64) -> Duration {
    Duration::from_millis(rng_of(seed, node, lives ^ 0xffff).random_range(100..1_500))
}

fn rng_of(seed: u64, node: usize, lives: u64) -> StdRng {
    StdRng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ((node as u64) << 32) ^ lives)
}

impl Fault {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Kill { .. } => "kill",
            Self::Stop { .. } => "stop",
            Self::CutSessions { .. } => "cut-sessions",
            Self::CrashPostgres { .. } => "crash-postgres",
            Self::LoseCommits { .. } => "lose-commits",
            Self::KillRedis { .. } => "kill-redis",
            Self::PauseRedis { .. } => "pause-redis",
            Self::FlushRedis => "flush-redis",
            Self::HalfOpenRedis { .. } => "half-open-redis",
        }
    }

    fn length(&self) -> Duration {
        match self {
            Self::Stop { length, .. }
            | Self::CrashPostgres { length }
            | Self::KillRedis { length }
            | Self::PauseRedis { length }
            | Self::HalfOpenRedis { length, .. } => *length,
            Self::Kill { .. } | Self::CutSessions { .. } | Self::LoseCommits { .. } | Self::FlushRedis => {
                Duration::ZERO
            }
        }
    }

    fn target(&self) -> String {
        match self {
            Self::Kill { node } | Self::Stop { node, .. } => format!("node {node}"),
            Self::CutSessions { .. } | Self::CrashPostgres { .. } => "PostgreSQL".to_owned(),
            Self::LoseCommits { proxy, .. } => format!("database proxy {proxy}"),
            Self::KillRedis { .. } | Self::PauseRedis { .. } | Self::FlushRedis => "Redis".to_owned(),
            Self::HalfOpenRedis { proxy, .. } => format!("Redis proxy {proxy}"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, fault } = self;
        write!(f, "{:7.3}s {} of {}", at.as_secs_f64(), fault.kind(), fault.target())?;
        match fault {
            Fault::CutSessions { percent } => write!(f, ", {percent} in 100"),
            Fault::LoseCommits { losses, .. } => write!(f, ", {losses:?}"),
            _ if fault.length() > Duration::ZERO => write!(f, " for {:.3}s", fault.length().as_secs_f64()),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Failpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.loses, self.passes) {
            (true, _) => write!(f, "{}=20%return(lose)", self.name),
            (false, 0) => write!(f, "{}=1*return(kill)", self.name),
            (false, passes) => write!(f, "{}={passes}*off->1*return(kill)", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { backend: Backend::Postgres, nodes: 5, database_proxies: 2, redis_proxies: 2 };

    #[test]
    fn one_seed_makes_one_plan() {
        let length = Duration::from_secs(60);
        assert_eq!(make(7, length, SHAPE), make(7, length, SHAPE));
        assert_ne!(make(7, length, SHAPE), make(8, length, SHAPE));
        assert_eq!(failpoint(7, Role::All, 1, 2), failpoint(7, Role::All, 1, 2));
    }

    #[test]
    fn every_fault_ends_before_the_run() {
        let length = Duration::from_secs(60);
        for seed in 0..50 {
            let steps = make(seed, length, SHAPE);
            assert!(steps.len() > 10);
            assert!(steps.iter().all(|step| step.at + step.fault.length() <= length));
        }
    }
}
