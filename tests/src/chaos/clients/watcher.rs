//! A page with live counts: subscribes over a WebSocket, writes down each event, and connects again after a close.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::Shared;
use crate::chaos::api::parse;
use crate::chaos::history::{Look, Source, now};
use crate::tokens;
use crate::views::{ITEM, Item};
use crate::wait::outage;

const PROTOCOL: &str = "graphql-transport-ws";
/// A node that does not take a socket within this is tried again.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(100);

/// What a watcher shows just now.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    pub connected: bool,
    pub items: HashMap<String, Look>,
}

#[derive(Debug)]
pub struct Watcher {
    world: Shared,
    place: usize,
    user: Option<String>,
    items: Vec<String>,
    pub shown: Arc<Mutex<Shown>>,
}

type Stream = WebSocketStream<MaybeTlsStream<TcpStream>>;

impl Watcher {
    pub fn new(world: Shared, place: usize, user: Option<String>, items: Vec<String>) -> Self {
        Self { world, place, user, items, shown: Arc::default() }
    }

    /// Watches for ever.
    pub async fn run(self) {
        loop {
            if let Ok(Ok(stream)) = tokio::time::timeout(CONNECT_LIMIT, self.connect()).await {
                // However a socket ends, the page connects again.
                let _ = self.watch(stream).await;
            }
            *self.shown.lock().expect("no holder panics") = Shown::default();
            outage(PAUSE).await;
        }
    }

    async fn connect(&self) -> Result<Stream, tungstenite::Error> {
        let address = format!("ws://{}/graphql", self.world.api.address(self.place));
        let mut request = address.into_client_request()?;
        request.headers_mut().insert("Sec-WebSocket-Protocol", PROTOCOL.parse().expect("a header value"));
        let (mut stream, _) = connect_async(request).await?;
        let token = self.user.as_ref().map(|user| format!("Bearer {}", tokens::of_user(user)));
        let payload = token.map_or(json!({}), |token| json!({ "authorization": token }));
        stream.send(text(&json!({ "type": "connection_init", "payload": payload }))).await?;
        let document = format!("subscription ($ids: [ID!]!) {{ itemUpdated(ids: $ids) {{ ...item }} }} {ITEM}");
        let payload = json!({ "query": document, "variables": { "ids": self.items } });
        // The acknowledgement comes first whenever it comes.
        while next(&mut stream).await?["type"] != "connection_ack" {}
        stream.send(text(&json!({ "id": "1", "type": "subscribe", "payload": payload }))).await?;
        Ok(stream)
    }

    async fn watch(&self, mut stream: Stream) -> Result<(), tungstenite::Error> {
        let socket = self.world.next_socket();
        self.shown.lock().expect("no holder panics").connected = true;
        loop {
            let message = next(&mut stream).await?;
            match message["type"].as_str() {
                Some("ping") => stream.send(text(&json!({ "type": "pong" }))).await?,
                Some("next") => self.take(socket, parse(&message["payload"]["data"]["itemUpdated"])),
                // An error or the end of the operation: as after a close.
                _ => return Ok(()),
            }
        }
    }

    fn take(&self, socket: usize, mut item: Item) {
        if self.world.api.plant().is_some_and(|plant| plant.withholds(&item)) {
            return;
        }
        let (at, node) = (now(), self.world.api.number(self.place));
        let look = |item: &Item| Look::of(item, Source::Push(socket), node, self.user.as_deref(), (at, at));
        self.shown.lock().expect("no holder panics").items.insert(item.id.clone(), look(&item));
        if let Some(plant) = self.world.api.plant() {
            plant.spoil_push(&mut item);
        }
        self.world.history.write(|history| history.looks.push(look(&item)));
    }
}

/// The next message of the subprotocol.
async fn next(stream: &mut Stream) -> Result<Value, tungstenite::Error> {
    loop {
        match stream.next().await {
            Some(Ok(Message::Text(text))) => {
                return Ok(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")));
            }
            Some(Ok(Message::Close(_))) | None => return Err(tungstenite::Error::ConnectionClosed),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error),
        }
    }
}

fn text(message: &Value) -> Message {
    Message::text(message.to_string())
}
