//! A client of the subprotocol `graphql-transport-ws`.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::client::parse;
use crate::views::{ITEM, Item};
use crate::wait::{SOON, within};

const PROTOCOL: &str = "graphql-transport-ws";

/// What comes next on a socket.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// A message of the subprotocol.
    Message(Value),
    /// The close code, where the server named one.
    Closed(Option<u16>),
}

/// One connection.
#[derive(Debug)]
pub struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    next_id: u32,
}

impl Socket {
    /// Connects and is acknowledged.
    pub async fn connect(address: &str, token: Option<&str>) -> Self {
        let mut socket = Self::open(address).await;
        socket.init(token).await;
        match socket.next("the connection is acknowledged", SOON).await {
            Frame::Message(message) if message["type"] == "connection_ack" => socket,
            other => panic!("expected connection_ack, got {other:?}"),
        }
    }

    /// Connects and says nothing yet.
    pub async fn open(address: &str) -> Self {
        let mut request = format!("ws://{address}/graphql").into_client_request().expect("a good address");
        let protocol = PROTOCOL.parse().expect("a header value");
        request.headers_mut().insert("Sec-WebSocket-Protocol", protocol);
        let (stream, _) = within("the socket opens", SOON, connect_async(request)).await.expect("a WebSocket");
        Self { stream, next_id: 1 }
    }

    pub async fn init(&mut self, token: Option<&str>) {
        let payload = token.map(|token| json!({ "authorization": format!("Bearer {token}") }));
        self.send(json!({ "type": "connection_init", "payload": payload.unwrap_or(json!({})) })).await;
    }

    pub async fn send(&mut self, message: Value) {
        self.stream.send(Message::text(message.to_string())).await.expect("the socket is open");
    }

    /// Subscribes and returns the operation's id.
    pub async fn subscribe(&mut self, document: &str, variables: Value) -> String {
        let id = self.next_id.to_string();
        self.next_id += 1;
        let payload = json!({ "query": document, "variables": variables });
        self.send(json!({ "id": id, "type": "subscribe", "payload": payload })).await;
        id
    }

    /// The next message of the subprotocol, or the close; pings of both kinds are answered on the way.
    pub async fn next(&mut self, what: &str, limit: Duration) -> Frame {
        within(what, limit, self.receive()).await
    }

    async fn receive(&mut self) -> Frame {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => {
                    let message: Value = serde_json::from_str(&text).expect("messages are JSON");
                    if message["type"] == "ping" {
                        self.send(json!({ "type": "pong" })).await;
                        continue;
                    }
                    return Frame::Message(message);
                }
                Some(Ok(Message::Close(frame))) => return Frame::Closed(frame.map(|frame| frame.code.into())),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Frame::Closed(None),
            }
        }
    }

    /// The next payload of whatever operation; an error or the end of one fails the test.
    pub async fn payload(&mut self, what: &str, limit: Duration) -> Value {
        match self.next(what, limit).await {
            Frame::Message(message) if message["type"] == "next" => {
                let payload = &message["payload"];
                assert!(payload["errors"].is_null(), "no event carries errors: {payload}");
                payload["data"].clone()
            }
            other => panic!("waiting until {what}: {other:?}"),
        }
    }

    /// Reads until the server closes, and returns the close code.
    pub async fn closed(&mut self, limit: Duration) -> Option<u16> {
        let close = async {
            loop {
                if let Frame::Closed(code) = self.receive().await {
                    return code;
                }
            }
        };
        within("the server closes the socket", limit, close).await
    }
}

/// A page that shows items live. It checks what must hold on every socket: versions that never go back, no negative
/// count; and it keeps the heart with the highest version, as the contract tells clients.
#[derive(Debug)]
pub struct Watcher {
    socket: Socket,
    latest: HashMap<String, Item>,
    /// The viewer's row version of each item, as a tap was answered.
    hearts: HashMap<String, i64>,
}

impl Watcher {
    pub async fn start(mut socket: Socket, items: &[&str]) -> Self {
        let document = format!("subscription ($ids: [ID!]!) {{ itemUpdated(ids: $ids) {{ ...item }} }} {ITEM}");
        socket.subscribe(&document, json!({ "ids": items })).await;
        Self { socket, latest: HashMap::new(), hearts: HashMap::new() }
    }

    /// The viewer's own tap was answered with this version: events that know less are dropped from now on.
    pub fn has_tapped(&mut self, item: &str, version: i64) {
        self.hearts.insert(item.to_owned(), version);
    }

    /// The next event that a client would not drop.
    pub async fn next(&mut self, what: &str) -> Item {
        let next = async {
            loop {
                let data = self.socket.payload(what, Duration::MAX).await;
                let item: Item = parse(&data["itemUpdated"]);
                self.check(&item);
                let heart = self.hearts.get(&item.id).copied().unwrap_or(0);
                if item.my_reaction_version.unwrap_or(heart) >= heart {
                    return item;
                }
            }
        };
        within(what, SOON, next).await
    }

    /// Reads events until one is as wanted; every event is shown to `wanted` once.
    pub async fn until(&mut self, what: &str, mut wanted: impl FnMut(&Item) -> bool) -> Item {
        let mut seen = None;
        let events = async {
            loop {
                let item = self.next(what).await;
                if wanted(&item) {
                    return item;
                }
                seen = Some(item);
            }
        };
        match tokio::time::timeout(SOON, events).await {
            Ok(item) => item,
            Err(_) => panic!("waited {SOON:?} in vain until {what}; last event {seen:?}"),
        }
    }

    /// The newest event of an item.
    pub fn latest(&self, id: &str) -> Option<&Item> {
        self.latest.get(id)
    }

    /// Fails where an event comes before `limit` is over.
    pub async fn silent(&mut self, limit: Duration) {
        let event = tokio::time::timeout(limit, self.socket.receive()).await;
        assert!(event.is_err(), "expected silence, got {event:?}");
    }

    pub async fn closed(&mut self, limit: Duration) -> Option<u16> {
        self.socket.closed(limit).await
    }

    fn check(&mut self, item: &Item) {
        assert!(item.like_count >= 0 && item.dislike_count >= 0, "a negative count was pushed: {item:?}");
        if let Some(before) = self.latest.insert(item.id.clone(), item.clone()) {
            assert!(item.count_version >= before.count_version, "countVersion went back: {before:?}, then {item:?}");
        }
    }
}
