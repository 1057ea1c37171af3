//! Logs and metrics: how they are set up and what they are called. A metric never has an id as a label.

use std::io::IsTerminal;
use std::sync::{Arc, Mutex};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text::encode};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use tracing_subscriber::EnvFilter;

use crate::config::LogFormat;
use crate::pipeline::counter::CounterStats;
use crate::pipeline::eraser::EraserStats;
use crate::pipeline::reconciler::ReconcilerStats;
use crate::pipeline::retention::RetentionStats;
use crate::pipeline::retractor::RetractorStats;
use crate::service::ServiceStats;
use crate::service::refresh::RefreshStats;
use crate::store::lanes::LaneStats;

/// Sends log lines to stderr, as text or as JSON. The one global thing, so only `main` does it.
pub fn log_to_stderr(filter: &str, format: LogFormat) {
    // Each command looks whether SQLite's schema is up to date, and each look would be two lines.
    // And what the driver says of a parameter that it does not know is part of a URL, perhaps of its password.
    let filter = format!("sea_orm_migration=warn,sqlx_postgres::options=off,{filter}");
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = std::io::stderr().is_terminal();
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr);
    // A line that cannot be written, onto a full disk say, is lost. To say so on stderr would end whatever task says it.
    let lines = lines.log_internal_errors(false);
    match format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines.json().init(),
    }
}

/// What the parts of a node measure by themselves.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    pub lanes: LaneStats,
    pub counter: CounterStats,
    pub eraser: EraserStats,
    pub retractor: RetractorStats,
    pub service: ServiceStats,
    pub refresh: RefreshStats,
    pub retention: RetentionStats,
    pub reconciler: ReconcilerStats,
}

/// A total or a level that is read when somebody asks for the metrics.
pub struct Reading {
    pub name: &'static str,
    pub help: &'static str,
    pub kind: ReadingKind,
    pub read: Box<dyn Fn() -> u64 + Send + Sync>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadingKind {
    Total,
    Level,
}

/// The metrics of one node.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
}

impl Metrics {
    pub fn new(stats: &Stats, readings: Vec<Reading>) -> Self {
        let mut registry = Registry::with_prefix("likewise");
        let Stats { lanes, counter, eraser, retractor, service, refresh, retention, reconciler } = stats.clone();
        let r = &mut registry;
        r.register("write_duration_seconds", "From a wish to its answer", service.write_duration);
        r.register("writes", "Wishes answered, by outcome", service.writes);
        r.register("counts_below_zero", "Times that a count below zero was shown as zero", service.below_zero);
        r.register("count_drift", "Items whose counts were found other than the rows say", reconciler.drift);
        r.register("writes_shed", "Wishes refused because the lanes were full or late", lanes.shed);
        r.register("idempotency_replays", "Answers given again for the same key", lanes.replays);
        r.register("lane_batch_size", "Commands committed in one transaction", lanes.batch_size);
        let help = "From the time of the oldest event of a fold to the fold's commit";
        r.register("count_staleness_seconds", help, counter.staleness);
        r.register("folded_events", "Events folded by this node", counter.events);
        r.register("folds", "Folds committed by this node", counter.folds);
        r.register("erased_rows", "Rows of deleted accounts removed by this node", eraser.rows);
        r.register("erasures_finished", "Accounts erased to the end by this node", eraser.finished);
        r.register("retracted_reactions", "Reactions taken or given back by this node", retractor.reactions);
        r.register("log_lag_events", "Events committed and not folded", refresh.lag_events);
        r.register("store_away", "1 while the store has not answered the last look", refresh.store_away);
        r.register("watched_rereads", "Times that all watched items were read again", refresh.rereads);
        r.register("log_events_removed", "Events removed past their retention", retention.events_removed);
        let help = "Idempotency records removed a day after their answer";
        r.register("idempotency_records_removed", help, retention.records_removed);
        let help = "Likes and dislikes by which counts were found to be wrong";
        r.register("count_drift_reactions", help, reconciler.drift_reactions);
        r.register("counts_healed", "Items whose counts were set to what the rows say", reconciler.healed);
        r.register("reconciled_ranges", "Ranges of items compared with their rows", reconciler.ranges);
        let help = "Time to compare one range of items, and to heal it where it drifts";
        r.register("reconcile_range_seconds", help, reconciler.range_seconds);
        r.register("reconcile_waits", "Times that the reconciler waited for the counter", reconciler.skipped);
        let help = "When the last pass over all items ended, in seconds since 1970";
        r.register("reconcile_last_pass_timestamp_seconds", help, reconciler.last_pass);
        registry.register_collector(Box::new(Readings(readings)));
        Self { registry: Arc::new(Mutex::new(registry)) }
    }

    /// All metrics in the text format of Prometheus (OpenMetrics 1.0).
    pub fn render(&self) -> String {
        let mut text = String::new();
        let registry = self.registry.lock().expect("encoding does not panic");
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &registry);
        text
    }
}

struct Readings(Vec<Reading>);

impl std::fmt::Debug for Readings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|reading| reading.name)).finish()
    }
}

impl Collector for Readings {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for reading in &self.0 {
            let value = (reading.read)();
            match reading.kind {
                ReadingKind::Total => {
                    let total = ConstCounter::new(value);
                    let metric = encoder.encode_descriptor(reading.name, reading.help, None, total.metric_type())?;
                    total.encode(metric)?;
                }
                ReadingKind::Level => {
                    let level = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
                    let metric = encoder.encode_descriptor(reading.name, reading.help, None, level.metric_type())?;
                    level.encode(metric)?;
                }
            }
        }
        Ok(())
    }
}
