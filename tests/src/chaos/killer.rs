//! Carries out the plan.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use sea_orm::{ConnectionTrait, Database, DbErr};
use tokio::task::JoinSet;

use super::cluster::Cluster;
use super::plan::{Fault, Step};
use crate::postgres::Shutdown;
use crate::wait::outage;

/// Faults that were carried out, by kind.
pub type Faults = BTreeMap<&'static str, usize>;

/// Does everything at its time, some of it at once; returns when all is over.
pub async fn run(cluster: Arc<Cluster>, plan: Vec<Step>) -> Faults {
    let start = Instant::now();
    let mut faults = Faults::new();
    let mut going_on = JoinSet::new();
    for step in plan {
        outage(step.at.saturating_sub(start.elapsed())).await;
        *faults.entry(step.fault.kind()).or_default() += 1;
        let cluster = Arc::clone(&cluster);
        going_on.spawn(async move { carry_out(&cluster, step.fault).await });
    }
    while let Some(ended) = going_on.join_next().await {
        ended.expect("a fault can be carried out");
    }
    faults
}

async fn carry_out(cluster: &Arc<Cluster>, fault: Fault) {
    // On a slow machine a server may come back later than planned; the next fault of it waits for that.
    let _turn = match &fault {
        Fault::CrashPostgres { .. } => Some(cluster.postgres_turn.lock().await),
        Fault::KillRedis { .. } | Fault::PauseRedis { .. } => Some(cluster.redis_turn.lock().await),
        _ => None,
    };
    match fault {
        Fault::Kill { node } => cluster.nodes[node].signal(Signal::SIGKILL),
        Fault::Stop { node, length } => {
            let node = &cluster.nodes[node];
            node.signal(Signal::SIGSTOP);
            outage(length).await;
            node.signal(Signal::SIGCONT);
        }
        Fault::CutSessions { percent } => {
            // Where PostgreSQL is away nothing is left to be cut.
            let _ = cut_sessions(&cluster.database.url(), percent).await;
        }
        Fault::CrashPostgres { length } => {
            blocking(cluster, |cluster| cluster.database.postgres().stop(Shutdown::Immediate)).await;
            outage(length).await;
            blocking(cluster, |cluster| cluster.database.postgres().start_again()).await;
        }
        Fault::LoseCommits { proxy, losses } => {
            for loss in losses {
                cluster.database_proxies[proxy].lose(loss);
            }
        }
        Fault::KillRedis { length } => {
            blocking(cluster, |cluster| cluster.redis().stop()).await;
            outage(length).await;
            blocking(cluster, |cluster| cluster.redis().start_again()).await;
        }
        Fault::PauseRedis { length } => {
            cluster.redis().pause();
            outage(length).await;
            cluster.redis().resume();
        }
        Fault::FlushRedis => blocking(cluster, |cluster| cluster.redis().flush()).await,
        Fault::HalfOpenRedis { proxy, length } => half_open(cluster, proxy, length).await,
    }
}

async fn half_open(cluster: &Cluster, proxy: usize, length: Duration) {
    cluster.redis_proxies[proxy].swallow(true);
    outage(length).await;
    cluster.redis_proxies[proxy].swallow(false);
}

async fn cut_sessions(url: &str, percent: u32) -> Result<(), DbErr> {
    let connection = Database::connect(url).await?;
    let sql = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
         AND application_name LIKE 'likewise%' AND random() * 100 < {percent}"
    );
    connection.execute_unprepared(&sql).await?;
    connection.close().await
}

/// For what waits for a process to start or end.
async fn blocking(cluster: &Arc<Cluster>, action: impl FnOnce(&Cluster) + Send + 'static) {
    let cluster = Arc::clone(cluster);
    tokio::task::spawn_blocking(move || action(&cluster)).await.expect("a server can be stopped and started");
}
