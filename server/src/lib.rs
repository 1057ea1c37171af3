//! Likewise: likes as a service, with exact counts, writes that are safe to retry, and live updates.

pub mod api;
pub mod app;
pub mod bulk;
pub mod config;
pub mod domain;
pub mod error;
pub mod failpoint;
pub mod lifecycle;
pub mod pipeline;
pub mod realtime;
pub mod relay;
pub mod service;
pub mod store;
pub mod telemetry;
pub mod transition;
