//! The composition root: puts a node together, and is the only file that knows everyone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::net::TcpListener;
use tracing::{info, warn};

use crate::api::{self, ApiConfig, Gauges, TokenRules};
use crate::bulk;
use crate::config::{CatalogSetting, DatabaseConfig, JwtConfig, LikersSetting, Role, ServeConfig, SettingError};
use crate::error::{Error, ErrorCode, chain};
use crate::lifecycle::Lifecycle;
use crate::pipeline::counter::Counter;
use crate::pipeline::eraser::Eraser;
use crate::pipeline::reconciler::Reconciler;
use crate::pipeline::recount::Recounter;
use crate::pipeline::retention::Retention;
use crate::pipeline::retractor::Retractor;
use crate::realtime::{self, Bus, Hub, RedisBus};
use crate::relay::RelayError;
use crate::service::refresh::Refresher;
use crate::service::{Catalog, LikersVisibility, Rules, Service};
use crate::store::catalog::CatalogWriter;
use crate::store::lanes::Lanes;
use crate::store::{Store, StoreSettings};
use crate::telemetry::{Metrics, Reading, ReadingKind, Stats};

mod commands;
mod demo;
mod recount;

pub use commands::{erase, events, import, migrate, seed, token};
pub use recount::{rebuild, reconcile};

/// Why a node or a command did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Failed(#[from] Error),
    #[error(transparent)]
    Bulk(#[from] bulk::BulkError),
    #[error(transparent)]
    Relay(#[from] RelayError),
}

/// A running node.
pub struct Node {
    address: SocketAddr,
    lifecycle: Lifecycle,
    store: Store,
    drain: Duration,
}

impl Node {
    /// Starts everything that the role asks for; returns when the node serves.
    pub async fn start(config: ServeConfig) -> Result<Self, StartError> {
        config.check()?;
        let store = open_store(&config).await?;
        if config.serves_demo() {
            // Before anything works on the database: it may be somebody's.
            demo::refuse_strangers(&store).await?;
        }
        let lifecycle = Lifecycle::new();
        let hub = Arc::new(Hub::new());
        let bus = start_bus(&config, &lifecycle, &hub).await?;
        let stats = Stats::default();
        let (lanes, lane_tasks) = Lanes::new(&store, stats.lanes.clone());
        let (catalog, catalog_task) = CatalogWriter::new(&store);
        let service = Service::new(store.clone(), lanes, catalog, bus.clone(), rules(&config), stats.service.clone());

        let work = lifecycle.work();
        let background = store.for_background();
        if config.role != Role::Worker {
            for lane in lane_tasks {
                lifecycle.spawn("lane", work.clone(), endless(lane.run(work.clone())));
            }
            lifecycle.spawn("catalog", work.clone(), endless(catalog_task.run(work.clone())));
            let refresher = Refresher::new(Arc::clone(&service), background.clone(), stats.refresh.clone());
            lifecycle.spawn("refresher", work.clone(), endless(refresher.run(work.clone())));
        }
        if config.role != Role::Api {
            let window = Duration::from_millis(config.fold_window_ms);
            let counter = Counter::new(background.clone(), bus.clone(), window, stats.counter.clone());
            lifecycle.spawn("counter", work.clone(), counter.run(work.clone()));
            let retention = Retention::new(background.clone(), config.log_retention, stats.retention.clone());
            lifecycle.spawn("retention", work.clone(), endless(retention.run(work.clone())));
            if !config.reconcile_interval.is_zero() {
                let recounter = Recounter::new(background.clone(), bus.clone());
                let reconciler = Reconciler::new(recounter, config.reconcile_interval, stats.reconciler.clone());
                lifecycle.spawn("reconciler", work.clone(), endless(reconciler.run(work.clone())));
            }
            let eraser = Eraser::new(background.clone(), stats.eraser.clone());
            lifecycle.spawn("eraser", work.clone(), endless(eraser.run(work.clone())));
            let retractor = Retractor::new(background.clone(), bus.clone(), stats.retractor.clone());
            lifecycle.spawn("retractor", work.clone(), endless(retractor.run(work.clone())));
        }
        let gauges = Arc::new(Gauges::default());
        let metrics = metrics(&stats, &store, &bus, &gauges);
        let router = match config.role {
            Role::Worker => api::worker_router(service.clone(), metrics, lifecycle.entrance()),
            Role::All | Role::Api => {
                let config = api_config(&config, &lifecycle, gauges)?;
                api::router(service.clone(), config, metrics, lifecycle.entrance())
            }
        };
        let listener = listen(config.listen).await?;
        let address = listener.local_addr().map_err(Error::internal)?;
        if config.serves_demo() {
            // Whoever connects meanwhile waits, and sees a whole demo.
            demo::fill(&service, &store).await?;
        }
        let serving = api::listen::serve(listener, router, lifecycle.entrance(), lifecycle.requests().clone());
        lifecycle.spawn("listener", lifecycle.entrance(), endless(serving));
        info!(%address, role = ?config.role, database = store.address(), "serving");
        Ok(Self { address, lifecycle, store, drain: Duration::from_secs(config.drain_seconds) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until a task has died; says which and why.
    pub async fn failed(&self) -> String {
        self.lifecycle.failed().await
    }

    /// Drains and stops; an error says that a task had died.
    pub async fn stop(self) -> Result<(), String> {
        self.lifecycle.stop(self.drain).await;
        self.store.close().await;
        info!("stopped");
        self.lifecycle.failure().map_or(Ok(()), Err)
    }
}

async fn endless(task: impl Future<Output = ()>) -> Result<(), std::convert::Infallible> {
    task.await;
    Ok(())
}

async fn open_store(config: &ServeConfig) -> Result<Store, StartError> {
    let settings = StoreSettings {
        url: config.database.database_url.clone(),
        read_connections: config.read_connections,
        lane_connections: config.lane_connections,
    };
    current(Store::connect(&settings).await?, &config.database).await
}

async fn connect(config: &DatabaseConfig, read_connections: u32) -> Result<Store, StartError> {
    Ok(Store::connect(&StoreSettings::new(&config.database_url, read_connections)).await?)
}

/// A store whose schema is up to date.
async fn connect_current(config: &DatabaseConfig, read_connections: u32) -> Result<Store, StartError> {
    current(connect(config, read_connections).await?, config).await
}

/// The same, for a command that has nothing to do in a new database: it makes none where the file is missing.
async fn connect_existing(config: &DatabaseConfig, read_connections: u32) -> Result<Store, StartError> {
    let settings = StoreSettings::new(&config.database_url, 1);
    if settings.file()?.is_some_and(|file| !file.exists()) {
        let message = format!("There is no database at {}. Correct LIKEWISE_DATABASE_URL.", settings.address());
        return Err(Error::new(ErrorCode::Unavailable, message).into());
    }
    connect_current(config, read_connections).await
}

/// The same store, once its schema is up to date. SQLite has no operator, so it migrates itself.
async fn current(mut store: Store, config: &DatabaseConfig) -> Result<Store, StartError> {
    if !config.is_postgres() {
        store.migrate(config.new_partitions()).await?;
    } else if store.is_behind().await? {
        let message = format!("The schema of the database at {} is behind. Run `likewise migrate`.", store.address());
        return Err(Error::new(ErrorCode::Unavailable, message).into());
    }
    if config.log_partitions.is_some_and(|wanted| usize::from(wanted) != store.partitions()) {
        let partitions = store.partitions();
        warn!(partitions, "LIKEWISE_LOG_PARTITIONS counts only when the schema is made; the log keeps what it has");
    }
    Ok(store)
}

async fn start_bus(config: &ServeConfig, lifecycle: &Lifecycle, hub: &Arc<Hub>) -> Result<Bus, StartError> {
    let Some(url) = &config.redis_url else {
        if config.database.is_postgres() {
            warn!("without LIKEWISE_REDIS_URL this node must stay the only one on its database");
        }
        return Ok(Bus::local(Arc::clone(hub)));
    };
    realtime::connect_check(url).await?;
    let (bus, publisher, subscriber) = RedisBus::open(url, &config.redis_namespace, Arc::clone(hub))?;
    let work = lifecycle.work();
    lifecycle.spawn("bus publisher", work.clone(), endless(publisher.run(work.clone())));
    lifecycle.spawn("bus subscriber", work.clone(), endless(subscriber.run(work.clone())));
    Ok(Bus::Redis(bus))
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(address).await.map_err(|cause| {
        let message = format!("Cannot listen on {address}: {cause}. Free the port or set LIKEWISE_LISTEN.");
        Error::new(ErrorCode::Unavailable, message)
    })
}

fn rules(config: &ServeConfig) -> Rules {
    Rules {
        catalog: match config.catalog {
            CatalogSetting::Open => Catalog::Open,
            CatalogSetting::Registered => Catalog::Registered,
        },
        likers: match config.likers {
            LikersSetting::Public => LikersVisibility::Public,
            LikersSetting::SignedIn => LikersVisibility::SignedIn,
            LikersSetting::Off => LikersVisibility::Off,
        },
        staleness_bound: Duration::from_millis(config.staleness_bound_ms),
        push_interval: Duration::from_millis(config.push_interval_ms),
        require_idempotency_key: config.require_idempotency_key,
    }
}

/// A demo without a secret makes one up, which holds until it ends.
fn token_rules(config: &JwtConfig, demo: bool) -> Result<TokenRules, StartError> {
    let secret = match &config.jwt_secret {
        Some(secret) => {
            if demo {
                warn!("/dev/token gives anybody tokens that LIKEWISE_JWT_SECRET signs: let no other server share it");
            }
            secret.clone().into_bytes()
        }
        None if demo => rand::random::<[u8; 32]>().to_vec(),
        None => {
            let message = "no key is configured: set a secret of at least 32 bytes".to_owned();
            return Err(SettingError { setting: "LIKEWISE_JWT_SECRET", message }.into());
        }
    };
    Ok(TokenRules::new(&secret, &config.jwt_issuer, &config.jwt_audience, &config.jwt_user_claim))
}

fn api_config(config: &ServeConfig, lifecycle: &Lifecycle, gauges: Arc<Gauges>) -> Result<ApiConfig, StartError> {
    Ok(ApiConfig {
        tokens: token_rules(&config.jwt, config.demo)?,
        demo: config.demo,
        graphiql: config.serves_graphiql(),
        max_body_bytes: config.max_body_bytes as usize,
        max_sockets: config.max_sockets as usize,
        introspection: config.introspection,
        allowed_origins: config.allowed_origins().map(str::to_owned).collect(),
        sockets: lifecycle.requests().clone(),
        gauges,
    })
}

/// Renders all that a node measures.
fn metrics(stats: &Stats, store: &Store, bus: &Bus, gauges: &Arc<Gauges>) -> Arc<dyn Fn() -> String + Send + Sync> {
    type Read = Box<dyn Fn() -> u64 + Send + Sync>;
    let reading = |name, help, kind, read: Read| Reading { name, help, kind, read };
    let of_bus = |read: fn(&realtime::BusStats) -> u64| -> Read {
        let bus = bus.clone();
        Box::new(move || read(bus.stats()))
    };
    let gauge = |read: fn(&Gauges) -> u64| -> Read {
        let gauges = Arc::clone(gauges);
        Box::new(move || read(&gauges))
    };
    let (store, readers, hub) = (store.clone(), store.clone(), Arc::clone(bus.hub()));
    let (total, level) = (ReadingKind::Total, ReadingKind::Level);
    let readings = vec![
        reading("store_statements", "Statements sent to the database", total, Box::new(move || store.statements())),
        reading(
            "store_reads",
            "Statements of queries and watchers among them",
            total,
            Box::new(move || readers.reads()),
        ),
        reading("watched_items", "Items watched on this node", level, Box::new(move || hub.watched_len() as u64)),
        reading("sockets", "Open WebSockets", level, gauge(|api| api.sockets.load(Relaxed))),
        reading("subscriptions", "Live subscriptions", level, gauge(|api| api.subscriptions.load(Relaxed))),
        reading("pushes", "Events sent to subscriptions", total, gauge(|api| api.pushes.load(Relaxed))),
        reading("bus_reconnects", "Bus subscriptions made anew", total, of_bus(|bus| bus.reconnects.load(Relaxed))),
        reading("bus_dropped", "Bus messages not sent", total, of_bus(|bus| bus.dropped.load(Relaxed))),
        reading("bus_malformed", "Bus messages not understood", total, of_bus(|bus| bus.malformed.load(Relaxed))),
    ];
    let metrics = Metrics::new(stats, readings);
    Arc::new(move || metrics.render())
}

/// What went wrong on one line, and the exit code that says which kind it is: 64 for a wrong setting, 4 for events that
/// are not in the log, else 1.
pub fn explain(error: &StartError) -> (String, u8) {
    match error {
        StartError::Setting(setting) => (setting.to_string(), 64),
        StartError::Failed(failed) => {
            let is_setting = failed.argument().is_some_and(|argument| argument.starts_with("LIKEWISE_"));
            (chain(failed), if is_setting { 64 } else { 1 })
        }
        StartError::Bulk(failed) => (chain(failed), 1),
        StartError::Relay(
            absent @ (RelayError::Removed { .. } | RelayError::Gap { .. } | RelayError::PastEnd { .. }),
        ) => (chain(absent), 4),
        StartError::Relay(wrong @ RelayError::NoPartition(_)) => (format!("--from: {wrong}"), 64),
        StartError::Relay(failed) => (chain(failed), 1),
    }
}
