//! A GraphQL client over HTTP.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::socket::{Socket, Watcher};
use crate::tokens;
use crate::views::{Failure, ITEM, Item, PAYLOAD, Page, Payload, Reaction, Response};

/// Tries of one tap while the server answers that a retry may help.
const RETRIES: usize = 600;

/// A client of one node, with or without a token.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    address: String,
    token: Option<String>,
}

impl Client {
    /// An anonymous client of the node at `address`, as `127.0.0.1:4000`.
    pub fn new(http: reqwest::Client, address: impl Into<String>) -> Self {
        Self { http, address: address.into(), token: None }
    }

    #[must_use]
    pub fn as_user(&self, user: &str) -> Self {
        self.with_token(tokens::of_user(user))
    }

    /// A client that may upsert items and users.
    #[must_use]
    pub fn as_service(&self) -> Self {
        self.with_token(tokens::of_service())
    }

    #[must_use]
    pub fn with_token(&self, token: impl Into<String>) -> Self {
        Self { token: Some(token.into()), ..self.clone() }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    pub async fn query(&self, document: &str, variables: Value) -> Response {
        self.try_query(document, variables).await.unwrap_or_else(|error| panic!("{}: {error:?}", self.address))
    }

    /// As `query`, where the connection itself may fail.
    pub async fn try_query(&self, document: &str, variables: Value) -> reqwest::Result<Response> {
        let mut request = self.http.post(format!("http://{}/graphql", self.address));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let answer = request.json(&json!({ "query": document, "variables": variables })).send().await?;
        let status = answer.status().as_u16();
        Ok(Response::parse(status, answer.text().await?))
    }

    /// Status and body of a GET.
    pub async fn get(&self, path: &str) -> (u16, String) {
        let answer = self.http.get(format!("http://{}{path}", self.address)).send().await.expect("an answer");
        (answer.status().as_u16(), answer.text().await.expect("a body"))
    }

    /// Status and body of a POST of JSON.
    pub async fn post(&self, path: &str, body: &Value) -> (u16, String) {
        let request = self.http.post(format!("http://{}{path}", self.address)).json(body);
        let answer = request.send().await.expect("an answer");
        (answer.status().as_u16(), answer.text().await.expect("a body"))
    }

    pub async fn like(&self, item: &str) -> Payload {
        self.set(item, Reaction::Like).await
    }

    pub async fn unlike(&self, item: &str) -> Payload {
        self.set(item, Reaction::None).await
    }

    /// By `like` and `unlike` where they can say it, else by `setReaction`.
    pub async fn set(&self, item: &str, reaction: Reaction) -> Payload {
        self.tap(item, reaction, None).await.unwrap_or_else(|failure| panic!("{reaction:?} {item}: {failure:?}"))
    }

    pub async fn set_with_key(&self, item: &str, reaction: Reaction, key: &str) -> Payload {
        let answer = self.tap(item, reaction, Some(key)).await;
        answer.unwrap_or_else(|failure| panic!("{reaction:?} {item} {key}: {failure:?}"))
    }

    pub async fn tap(&self, item: &str, reaction: Reaction, key: Option<&str>) -> Result<Payload, Failure> {
        let (verb, input) = match reaction {
            Reaction::Like => ("like", "LikeInput"),
            Reaction::None => ("unlike", "UnlikeInput"),
            Reaction::Dislike => return self.set_reaction(item, reaction, key).await,
        };
        let input_value = json!({ "itemId": item, "idempotencyKey": key });
        self.mutate(verb, input, input_value).await
    }

    /// The general form.
    pub async fn set_reaction(&self, item: &str, reaction: Reaction, key: Option<&str>) -> Result<Payload, Failure> {
        let input = json!({ "itemId": item, "reaction": reaction, "idempotencyKey": key });
        self.mutate("setReaction", "SetReactionInput", input).await
    }

    /// One of the three reaction mutations with an input as it is.
    pub async fn mutate(&self, verb: &str, input_type: &str, input: Value) -> Result<Payload, Failure> {
        let response = self.query(&mutation(verb, input_type), json!({ "input": input })).await;
        payload(verb, response)
    }

    /// A tap by `setReaction`, where the connection itself may fail.
    pub async fn try_tap(
        &self,
        item: &str,
        reaction: Reaction,
        key: Option<&str>,
    ) -> reqwest::Result<Result<Payload, Failure>> {
        let input = json!({ "itemId": item, "reaction": reaction, "idempotencyKey": key });
        let document = mutation("setReaction", "SetReactionInput");
        Ok(payload("setReaction", self.try_query(&document, json!({ "input": input })).await?))
    }

    /// A tap with its key, sent again for as long as the server asks for it or cannot be reached: what an app does.
    pub async fn tap_until_done(&self, item: &str, reaction: Reaction, key: &str) -> Payload {
        let mut last = String::new();
        for _ in 0..RETRIES {
            match self.try_tap(item, reaction, Some(key)).await {
                Ok(Ok(payload)) => return payload,
                Ok(Err(failure)) if failure.retryable == Some(true) => last = format!("{failure:?}"),
                Ok(Err(failure)) => panic!("{reaction:?} {item} {key}: {failure:?}"),
                Err(error) => last = format!("{error:?}"),
            }
            crate::wait::outage(std::time::Duration::from_millis(100)).await;
        }
        panic!("{reaction:?} {item} {key} was tried {RETRIES} times; last: {last}");
    }

    pub async fn item(&self, id: &str) -> Item {
        let document = format!("query ($id: ID!) {{ item(id: $id) {{ ...item }} }} {ITEM}");
        parse(&self.query(&document, json!({ "id": id })).await.data()["item"])
    }

    pub async fn items(&self, ids: &[String]) -> Vec<Item> {
        let document = format!("query ($ids: [ID!]!) {{ items(ids: $ids) {{ ...item }} }} {ITEM}");
        parse(&self.query(&document, json!({ "ids": ids })).await.data()["items"])
    }

    /// A page of the viewer's liked items; `arguments` as `{"first": 3, "after": …}`.
    pub async fn liked_items(&self, arguments: Value) -> Page {
        let document = "query ($first: Int, $after: String, $last: Int, $before: String) { viewer { \
             likedItems(first: $first, after: $after, last: $last, before: $before) { \
             edges { cursor likedAt node { id } } \
             pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }";
        Page::of(&self.query(document, arguments).await.data()["viewer"]["likedItems"])
    }

    /// A page of an item's likers.
    pub async fn likers(&self, item: &str, mut arguments: Value) -> Page {
        let document = "query ($id: ID!, $first: Int, $after: String, $last: Int, $before: String) { item(id: $id) { \
             likers(first: $first, after: $after, last: $last, before: $before) { \
             edges { cursor likedAt node { id } } \
             pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }";
        arguments["id"] = item.into();
        Page::of(&self.query(document, arguments).await.data()["item"]["likers"])
    }

    /// Upserts one item: `{"id": …, "open": false}`.
    pub async fn upsert_items(&self, items: Value) -> Response {
        let document = "mutation ($input: UpsertItemsInput!) { upsertItems(input: $input) { items { id type } } }";
        self.query(document, json!({ "input": { "items": items } })).await
    }

    pub async fn upsert_users(&self, users: Value) -> Response {
        let document = "mutation ($input: UpsertUsersInput!) { upsertUsers(input: $input) { users { id name } } }";
        self.query(document, json!({ "input": { "users": users } })).await
    }

    /// Deletes an account, with service scope; the answer's `erasure`.
    pub async fn erase_user(&self, user: &str) -> Value {
        let document = "mutation ($input: EraseUserInput!) { eraseUser(input: $input) { erasure { userId requestedAt \
             removedReactions finishedAt } } }";
        self.query(document, json!({ "input": { "userId": user } })).await.data()["eraseUser"]["erasure"].clone()
    }

    /// Sends a proposal, with service scope; `input` without its id.
    pub async fn retract(&self, proposal: &str, mut input: Value) -> Response {
        input["proposalId"] = proposal.into();
        let document = "mutation ($input: RetractReactionsInput!) { retractReactions(input: $input) { retraction { \
             proposalId status retracted restored } } }";
        self.query(document, json!({ "input": input })).await
    }

    pub async fn restore(&self, proposal: &str) -> Response {
        let document = "mutation ($input: RestoreReactionsInput!) { restoreReactions(input: $input) { retraction { \
             proposalId status retracted restored } } }";
        self.query(document, json!({ "input": { "proposalId": proposal } })).await
    }

    /// Whether the viewer's own token is taken, by a read that needs the store.
    pub async fn is_let_in(&self) -> bool {
        let answer = self.query("{ viewer { user { id } } }", json!({})).await;
        assert!(["(no error)", "UNAUTHENTICATED"].contains(&answer.code()), "{}", answer.text);
        answer.code() == "(no error)"
    }

    /// A socket with this client's token.
    pub async fn socket(&self) -> Socket {
        Socket::connect(&self.address, self.token.as_deref()).await
    }

    /// A socket of its own that watches `items`.
    pub async fn watch(&self, items: &[&str]) -> Watcher {
        Watcher::start(self.socket().await, items).await
    }
}

fn mutation(verb: &str, input_type: &str) -> String {
    format!("mutation ($input: {input_type}!) {{ {verb}(input: $input) {{ ...payload }} }} {PAYLOAD} {ITEM}")
}

fn payload(verb: &str, response: Response) -> Result<Payload, Failure> {
    match response.errors.into_iter().next() {
        Some(failure) => Err(failure),
        None => Ok(parse(&response.data[verb])),
    }
}

pub(crate) fn parse<T: DeserializeOwned>(value: &Value) -> T {
    T::deserialize(value).unwrap_or_else(|error| panic!("{error}: {value}"))
}
