//! What the outside speaks: HTTP, WebSockets and GraphQL in front of the service.
//!
//! It parses and renders. What may happen is the service's to say; who is calling, and what one request may cost, is
//! decided here.

pub mod auth;
pub mod cors;
pub mod dev_token;
pub mod gauges;
pub mod graphql;
pub mod health;
pub mod http;
pub mod limits;
pub mod listen;
pub mod web;
pub mod ws;

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use axum::{Router, middleware};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::SizeAbove;

pub use auth::TokenRules;
pub use gauges::Gauges;
pub use graphql::sdl;
pub use web::has_pages;

use crate::service::Service;
use cors::Origins;
use graphql::Executor;
use health::RenderMetrics;
use limits::Limits;
use web::Site;

/// Bytes of an answer below which packing it is not worth the while: it goes out in one packet either way.
const PACKED_MIN_BYTES: u16 = 1_024;

/// How the API is set up.
pub struct ApiConfig {
    pub tokens: TokenRules,
    /// Whether the demo page and `/dev/token` exist: the latter gives anybody a token for any user.
    pub demo: bool,
    /// Whether `/graphiql` exists.
    pub graphiql: bool,
    /// Bytes of an HTTP body; a longer one answers 413.
    pub max_body_bytes: usize,
    /// Open WebSockets; one more answers 503. Each costs about 30 KB.
    pub max_sockets: usize,
    /// Whether clients may read the schema over GraphQL.
    pub introspection: bool,
    /// Origins of the web pages that may call, beside this server's own; `*` for any.
    pub allowed_origins: Vec<String>,
    /// Told of each socket's task, so that a drain can wait for it.
    pub sockets: TaskTracker,
    pub gauges: Arc<Gauges>,
}

/// What the handlers share.
struct Api {
    executor: Executor,
    tokens: TokenRules,
    origins: Arc<Origins>,
    max_sockets: u64,
    sockets: TaskTracker,
    gauges: Arc<Gauges>,
    stop: CancellationToken,
}

/// The routes of a node that serves callers. `stop` begins the drain: not ready any more, sockets are closed.
pub fn router(service: Arc<Service>, config: ApiConfig, metrics: RenderMetrics, stop: CancellationToken) -> Router {
    let pages = Site::new(config.demo, config.graphiql).router();
    let health = health::router(Arc::clone(&service), metrics, stop.clone());
    let gauges = Arc::clone(&config.gauges);
    let api = Arc::new(Api {
        executor: Executor::new(service, Limits::default(), config.introspection, gauges),
        tokens: config.tokens,
        origins: Arc::new(Origins::new(config.allowed_origins)),
        max_sockets: config.max_sockets as u64,
        sockets: config.sockets,
        gauges: config.gauges,
        stop,
    });
    let mut routes = Router::new()
        .route("/graphql", get(http::get).post(http::post))
        .route("/schema.graphql", get(http::schema_text));
    if config.demo {
        routes = routes.route("/dev/token", post(dev_token::mint));
    }
    let cors = middleware::from_fn_with_state(Arc::clone(&api.origins), cors::cors);
    // A feed is packed to a fifth. Callers are known by a header and never by a cookie, so that no page of strangers can
    // have answers made whose lengths tell of a viewer's data.
    let packed =
        CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(SizeAbove::new(PACKED_MIN_BYTES));
    routes
        .layer(packed)
        .layer(DefaultBodyLimit::max(config.max_body_bytes))
        .layer(cors)
        .with_state(api)
        .merge(pages)
        .merge(health)
}

/// The routes of a node that only works: health and metrics.
pub fn worker_router(service: Arc<Service>, metrics: RenderMetrics, stop: CancellationToken) -> Router {
    health::router(service, metrics, stop)
}
