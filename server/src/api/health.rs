//! What probes and scrapers ask: alive, ready, and the metrics.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::error::chain;
use crate::service::Service;

/// How long the store may take to answer a probe; past it the node is not ready.
const READY_WAIT: Duration = Duration::from_secs(2);

/// Renders the metrics as text; the composition root knows how.
pub type RenderMetrics = Arc<dyn Fn() -> String + Send + Sync>;

#[derive(Clone)]
struct Health {
    service: Arc<Service>,
    metrics: RenderMetrics,
    stop: CancellationToken,
}

/// `/livez`, `/readyz` and `/metrics`.
pub fn router(service: Arc<Service>, metrics: RenderMetrics, stop: CancellationToken) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics_text))
        .with_state(Health { service, metrics, stop })
}

/// 200 where requests would be served, 503 with the reason where not.
async fn ready(State(health): State<Health>) -> Response {
    let reason = if health.stop.is_cancelled() {
        "draining"
    } else {
        match tokio::time::timeout(READY_WAIT, health.service.ready()).await {
            Ok(Ok(())) => return Json(json!({ "ready": true })).into_response(),
            Ok(Err(error)) => {
                tracing::warn!(error = chain(&error), "the store did not answer a readiness probe");
                "the store cannot be reached"
            }
            Err(_) => "the store does not answer in time",
        }
    };
    (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "ready": false, "reason": reason }))).into_response()
}

async fn metrics_text(State(health): State<Health>) -> Response {
    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, OPEN_METRICS)], (health.metrics)()).into_response()
}
