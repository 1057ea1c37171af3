//! One socket from its first message to its close frame.
//!
//! The library speaks the protocol; this loop stands between it and the socket. It pings, waits no longer than it must
//! for a slow or silent peer, puts the protocol's close codes in place of the library's, and says goodbye when the
//! server stops.

use std::collections::HashSet;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_graphql::Data;
use async_graphql::http::{ClientMessage, WebSocketProtocols, WsMessage};
use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::SinkExt;
use futures_util::stream::{self, SplitSink, SplitStream, Stream, StreamExt};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout};

use super::init;
use crate::api::Api;
use crate::api::auth::Signed;
use crate::api::graphql::Caller;
use crate::domain::UserId;
use crate::error::{ErrorCode, Result, chain};

/// How long a client may take to send `connection_init`; past it the socket closes with 4408.
const INIT_WAIT: Duration = Duration::from_secs(10);
/// How often the server pings. A peer silent for two of these is gone, and its socket is dropped.
const PING_EVERY: Duration = Duration::from_secs(20);
/// How long one message may take to leave; a peer that does not read for so long is dropped.
const SEND_WAIT: Duration = Duration::from_secs(15);
/// How long the peer may take to answer a close frame; past it the connection is dropped.
const CLOSE_WAIT: Duration = Duration::from_secs(2);
/// Time between two goodbyes of a drain, on average, and over how long all of them are spread at most: half of the
/// shortest drain that makes sense for so many sockets.
const CLOSE_PACE: Duration = Duration::from_millis(1);
const CLOSE_SPREAD_MAX: Duration = Duration::from_secs(8);
/// Longest time that a socket is kept on one token; a token may hold longer, but timers have an end.
const TOKEN_LIFE_MAX: Duration = Duration::from_secs(30 * 24 * 3600);
/// Longest reason of a close frame in bytes, by the WebSocket protocol.
const REASON_MAX_BYTES: usize = 123;

/// The server goes away; the official client comes back.
const GOING_AWAY: u16 = 1001;
/// What the client sent is no message of the protocol.
const BAD_MESSAGE: u16 = 4400;
/// An operation before `connection_init` was answered.
const UNAUTHORIZED: u16 = 4401;
/// The token was refused; the official client comes back, with a new token if it can get one.
const FORBIDDEN: u16 = 4403;
/// No `connection_init` in time.
const INIT_TIMEOUT: u16 = 4408;

/// What a socket's task needs.
pub(super) struct Session {
    api: Arc<Api>,
    /// Who sent the upgrade request; a token in `connection_init` takes its place.
    upgraded_by: Option<Signed>,
}

/// How a session ended.
enum End {
    /// The peer is gone or not to be waited for.
    Gone,
    Close(u16, String),
}

impl Session {
    pub(super) fn new(api: Arc<Api>, upgraded_by: Option<Signed>) -> Self {
        Self { api, upgraded_by }
    }

    pub(super) async fn serve(self, socket: WebSocket) {
        let (mut sink, frames) = socket.split();
        let inbound = Arc::new(Inbound::new(frames));
        match self.run(&mut sink, &inbound).await {
            End::Gone => {}
            End::Close(code, reason) => close(&mut sink, &inbound, code, reason).await,
        }
        // Where the peer closed, its frame is answered by this; a peer that is gone fails it at once.
        _ = timeout(CLOSE_WAIT, sink.close()).await;
    }

    async fn run(&self, sink: &mut SplitSink<WebSocket, Message>, inbound: &Arc<Inbound>) -> End {
        let mut protocol = pin!(self.protocol(inbound));
        let mut init_wait = pin!(sleep_until(Instant::now() + INIT_WAIT));
        let mut goodbye = pin!(self.goodbye());
        let mut erased = self.api.executor.service().erased_users();
        let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let message = tokio::select! {
                message = protocol.next() => match message {
                    Some(WsMessage::Text(text)) => Message::Text(text.into()),
                    Some(WsMessage::Close(code, reason)) => return translated(code, reason, inbound),
                    None => return End::Gone,
                },
                () = &mut goodbye => return End::Close(GOING_AWAY, "The server is shutting down.".to_owned()),
                () = inbound.expired() => return End::Close(FORBIDDEN, "The token has expired.".to_owned()),
                users = erased.recv() => match users {
                    Ok(users) if !inbound.speaks_for_one_of(&users) => continue,
                    Ok(_) => return End::Close(FORBIDDEN, "This account was deleted.".to_owned()),
                    // Somebody may have been missed; a caller who is still there comes back.
                    Err(_) => return End::Close(GOING_AWAY, "The connection was too slow.".to_owned()),
                },
                () = &mut init_wait, if !inbound.saw_init() => {
                    return End::Close(INIT_TIMEOUT, "Connection initialisation timeout".to_owned());
                }
                now = pings.tick() => {
                    if now.duration_since(inbound.heard_at()) >= 2 * PING_EVERY {
                        return End::Gone;
                    }
                    Message::Ping(bytes::Bytes::new())
                }
            };
            if !matches!(timeout(SEND_WAIT, sink.send(message)).await, Ok(Ok(()))) {
                return End::Gone;
            }
        }
    }

    /// The library's side: a stream of what to send.
    fn protocol(&self, inbound: &Arc<Inbound>) -> impl Stream<Item = WsMessage> + use<> {
        let messages = {
            let inbound = Arc::clone(inbound);
            stream::poll_fn(move |cx| inbound.poll_message(cx))
        };
        let (api, upgraded_by, inbound) = (Arc::clone(&self.api), self.upgraded_by.clone(), Arc::clone(inbound));
        let executor = api.executor.clone();
        async_graphql::http::WebSocket::from_message_stream(executor, messages, WebSocketProtocols::GraphQLWS)
            .on_connection_init(async move |payload| initialised(&payload, &api, upgraded_by, &inbound).await)
    }

    /// Ends some time after the stop token: the more sockets, the longer they are spread, so that their clients do not
    /// all come back at once.
    async fn goodbye(&self) {
        self.api.stop.cancelled().await;
        let open = self.api.gauges.sockets.load(Ordering::Relaxed);
        let spread = CLOSE_SPREAD_MAX.min(CLOSE_PACE * u32::try_from(open).unwrap_or(u32::MAX));
        tokio::time::sleep(spread.mul_f64(rand::random::<f64>())).await;
    }
}

/// The data of the connection, once its token is found good.
async fn initialised(
    payload: &serde_json::Value,
    api: &Api,
    upgraded_by: Option<Signed>,
    inbound: &Inbound,
) -> async_graphql::Result<Data> {
    match admitted(payload, api, upgraded_by, inbound).await {
        Ok(caller) => {
            let mut data = Data::default();
            data.insert(Caller::new(caller.map(|signed| signed.viewer)));
            Ok(data)
        }
        Err(error) => {
            inbound.refused.store(true, Ordering::Relaxed);
            if error.code() == ErrorCode::Internal {
                tracing::error!(error = chain(&error), "a socket's token could not be checked");
            }
            Err(async_graphql::Error::new(error.message()))
        }
    }
}

/// Whom the socket speaks for, from now on. Only then is it asked whether the account was deleted: what is deleted
/// later is told to the socket.
async fn admitted(
    payload: &serde_json::Value,
    api: &Api,
    upgraded_by: Option<Signed>,
    inbound: &Inbound,
) -> Result<Option<Signed>> {
    let caller = init::caller(payload, &api.tokens)?.or(upgraded_by);
    inbound.speaks_for(caller.as_ref());
    if let Some(signed) = &caller {
        // Each operation asks again.
        api.executor.service().check_reader_not_erased(&signed.viewer).await?;
    }
    Ok(caller)
}

/// The protocol's code in place of the library's, which the official client would not survive.
fn translated(code: u16, reason: String, inbound: &Inbound) -> End {
    match code {
        1002 if inbound.refused.load(Ordering::Relaxed) => End::Close(FORBIDDEN, reason),
        // The library's reason names its own types.
        1002 => End::Close(BAD_MESSAGE, "This is no message of graphql-transport-ws.".to_owned()),
        1011 => End::Close(UNAUTHORIZED, "Send connection_init first and wait for its answer.".to_owned()),
        code => End::Close(code, reason),
    }
}

/// Sends a close frame and reads on until the peer has answered it: a connection that is dropped with unread bytes is
/// reset, and the frame lost.
async fn close(sink: &mut SplitSink<WebSocket, Message>, inbound: &Inbound, code: u16, mut reason: String) {
    reason.truncate(reason.floor_char_boundary(REASON_MAX_BYTES));
    let frame = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
    let goodbye = async {
        if sink.send(frame).await.is_ok() {
            while let Some(Ok(_)) = poll_fn(|cx| inbound.poll_frame(cx)).await {}
        }
    };
    _ = timeout(CLOSE_WAIT, goodbye).await;
}

/// What comes from the peer, read by the library's stream and, at the end, by [`close`].
struct Inbound {
    /// Guards the frames against nobody but the borrow checker: one task polls them.
    frames: Mutex<SplitStream<WebSocket>>,
    /// When the last frame came, pings and pongs too.
    heard_at: Mutex<Instant>,
    saw_init: AtomicBool,
    /// The token of `connection_init` was refused.
    refused: AtomicBool,
    /// Who the caller is and when its token ends; an anonymous caller's never does.
    caller: Mutex<Option<(UserId, Instant)>>,
}

impl Inbound {
    fn new(frames: SplitStream<WebSocket>) -> Self {
        Self {
            frames: Mutex::new(frames),
            heard_at: Mutex::new(Instant::now()),
            saw_init: AtomicBool::new(false),
            refused: AtomicBool::new(false),
            caller: Mutex::new(None),
        }
    }

    fn saw_init(&self) -> bool {
        self.saw_init.load(Ordering::Relaxed)
    }

    /// The socket may stay open until the token ends.
    fn speaks_for(&self, signed: Option<&Signed>) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let left = |at: u64| Duration::from_secs(at.saturating_sub(now)).min(TOKEN_LIFE_MAX);
        let caller = signed.map(|signed| (signed.viewer.user.clone(), Instant::now() + left(signed.expires_at)));
        *self.caller.lock().unwrap_or_else(PoisonError::into_inner) = caller;
    }

    fn speaks_for_one_of(&self, users: &HashSet<UserId>) -> bool {
        let caller = self.caller.lock().unwrap_or_else(PoisonError::into_inner);
        caller.as_ref().is_some_and(|(user, _)| users.contains(user))
    }

    /// Waits for the end of the token, as it was known when the wait began.
    async fn expired(&self) {
        let ends = self.caller.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(_, ends)| *ends);
        match ends {
            Some(at) => sleep_until(at).await,
            None => pending().await,
        }
    }

    fn heard_at(&self) -> Instant {
        *self.heard_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn poll_frame(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Message, axum::Error>>> {
        let frame = self.frames.lock().unwrap_or_else(PoisonError::into_inner).poll_next_unpin(cx);
        if let Poll::Ready(Some(Ok(_))) = frame {
            *self.heard_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
        frame
    }

    /// The next message of the protocol; none after a close frame or a broken connection.
    fn poll_message(&self, cx: &mut Context<'_>) -> Poll<Option<serde_json::Result<ClientMessage>>> {
        loop {
            let frame = std::task::ready!(self.poll_frame(cx));
            let text = match frame {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Poll::Ready(None),
            };
            let message = ClientMessage::from_bytes(text.as_str());
            if matches!(message, Ok(ClientMessage::ConnectionInit { .. })) {
                self.saw_init.store(true, Ordering::Relaxed);
            }
            return Poll::Ready(Some(message));
        }
    }
}
