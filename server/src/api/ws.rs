//! GraphQL over WebSockets (`graphql-transport-ws`): admits a socket, then serves it until one side ends it.

pub mod init;
pub mod session;

use std::sync::Arc;

use axum::extract::ws::WebSocketUpgrade;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use super::Api;
use super::http::error_response;
use crate::error::{Error, ErrorCode};
use session::Session;

const PROTOCOL: &str = "graphql-transport-ws";

/// Bytes of a socket's read buffer. The default is 128 KiB, allocated for each idle socket.
const READ_BUFFER_BYTES: usize = 4 * 1024;
/// Bytes that gather before a write; each message is flushed anyway.
const WRITE_BUFFER_BYTES: usize = 4 * 1024;
/// Bytes that may wait for a slow reader; one message waits at a time, and a longer one ends the socket.
const WRITE_BUFFER_MAX_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of a client's message; a longer one ends the socket.
const MESSAGE_MAX_BYTES: usize = 64 * 1024;

/// Admits a socket, or says why not.
pub(super) fn upgrade(api: Arc<Api>, headers: &HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    if !api.origins.admit(headers) {
        let message =
            "Pages of this origin may not open sockets here: the operator lists origins in LIKEWISE_ALLOWED_ORIGINS.";
        return error_response(Error::new(ErrorCode::Forbidden, message));
    }
    let upgrade = upgrade.protocols([PROTOCOL]);
    if upgrade.selected_protocol().is_none() {
        return (StatusCode::BAD_REQUEST, format!("Offer the sub-protocol {PROTOCOL}.\n")).into_response();
    }
    let caller = match api.tokens.signed_request(headers) {
        Ok(caller) => caller,
        Err(error) => return error_response(error),
    };
    if api.stop.is_cancelled() {
        return error_response(Error::new(ErrorCode::Unavailable, "The server is shutting down."));
    }
    let Some(slot) = api.gauges.socket(api.max_sockets) else {
        let message = "This server has as many sockets open as it may.";
        return error_response(Error::new(ErrorCode::Overloaded, message));
    };
    let tracker = api.sockets.clone();
    upgrade
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_write_buffer_size(WRITE_BUFFER_MAX_BYTES)
        .max_message_size(MESSAGE_MAX_BYTES)
        .max_frame_size(MESSAGE_MAX_BYTES)
        .on_upgrade(move |socket| {
            tracker.track_future(async move {
                Session::new(api, caller).serve(socket).await;
                drop(slot);
            })
        })
}
