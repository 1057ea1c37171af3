//! Asking a node, where no answer is an answer too.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::history::{Proposal, now};
use super::plants::Plant;
use crate::client::Client;
use crate::views::{ITEM, Item, PAYLOAD, Payload, Reaction};

/// After this an answer is not waited for any more: longer than a lane tries, shorter than a stopped node sleeps.
const ANSWER_LIMIT: Duration = Duration::from_millis(5_500);

/// What came of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply<T> {
    Data(T),
    /// The code of the first error.
    Refused(String),
    /// No answer.
    Lost(String),
}

impl<T> Reply<T> {
    pub fn data(self) -> Option<T> {
        match self {
            Self::Data(data) => Some(data),
            Self::Refused(_) | Self::Lost(_) => None,
        }
    }

    fn map<U>(self, of: impl FnOnce(T) -> U) -> Reply<U> {
        match self {
            Self::Data(data) => Reply::Data(of(data)),
            Self::Refused(code) => Reply::Refused(code),
            Self::Lost(why) => Reply::Lost(why),
        }
    }
}

/// The nodes that answer requests.
#[derive(Debug, Clone)]
pub struct Api {
    http: reqwest::Client,
    /// The number of each node in the cluster, and where it listens.
    nodes: Vec<(usize, String)>,
    plant: Option<Plant>,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPage {
    pub ids: Vec<String>,
    pub end: Option<String>,
    pub more: bool,
}

impl Api {
    pub fn new(nodes: Vec<(usize, String)>, plant: Option<Plant>) -> Self {
        let http = reqwest::Client::builder().no_proxy().build().expect("a client without TLS");
        Self { http, nodes, plant }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The number in the cluster of the node at `place` of this list.
    pub fn number(&self, place: usize) -> usize {
        self.nodes[place].0
    }

    pub fn address(&self, place: usize) -> &str {
        &self.nodes[place].1
    }

    pub fn plant(&self) -> Option<Plant> {
        self.plant
    }

    fn client(&self, place: usize, user: Option<&str>) -> Client {
        let client = Client::new(self.http.clone(), self.address(place));
        match user {
            Some(user) => client.as_user(user),
            None => client,
        }
    }

    pub async fn tap(
        &self,
        place: usize,
        user: &str,
        item: &str,
        wanted: Reaction,
        key: Option<&str>,
    ) -> Reply<Payload> {
        let (verb, input_type) = match wanted {
            Reaction::Like => ("like", "LikeInput"),
            Reaction::None => ("unlike", "UnlikeInput"),
            Reaction::Dislike => ("setReaction", "SetReactionInput"),
        };
        let mut input = json!({ "itemId": item, "idempotencyKey": key });
        if wanted == Reaction::Dislike {
            input["reaction"] = json!(wanted);
        }
        let document =
            format!("mutation ($input: {input_type}!) {{ {verb}(input: $input) {{ ...payload }} }} {PAYLOAD} {ITEM}");
        let reply = ask(&self.client(place, Some(user)), &document, json!({ "input": input })).await;
        reply.map(|mut data| {
            self.lie(|plant| plant.spoil_payload(&mut data[verb]));
            parse(&data[verb])
        })
    }

    pub async fn item(&self, place: usize, user: Option<&str>, item: &str) -> Reply<Item> {
        let document = format!("query ($id: ID!) {{ item(id: $id) {{ ...item }} }} {ITEM}");
        let reply = ask(&self.client(place, user), &document, json!({ "id": item })).await;
        reply.map(|mut data| {
            self.lie(|plant| plant.spoil_read(&mut data["item"]));
            parse(&data["item"])
        })
    }

    pub async fn likers(&self, place: usize, item: &str, first: usize, after: Option<&str>) -> Reply<ListPage> {
        let document = "query ($id: ID!, $first: Int, $after: String) { item(id: $id) { likers(first: $first, \
             after: $after) { edges { node { id } } pageInfo { hasNextPage endCursor } } } }";
        let variables = json!({ "id": item, "first": first, "after": after });
        let reply = ask(&self.client(place, None), document, variables).await;
        reply.map(|mut data| {
            self.lie(|plant| plant.spoil_page(&mut data["item"]["likers"]));
            page(&data["item"]["likers"])
        })
    }

    pub async fn liked(&self, place: usize, user: &str, first: usize, after: Option<&str>) -> Reply<ListPage> {
        let document = "query ($first: Int, $after: String) { viewer { likedItems(first: $first, after: $after) { \
             edges { node { id } } pageInfo { hasNextPage endCursor } } } }";
        let variables = json!({ "first": first, "after": after });
        let reply = ask(&self.client(place, Some(user)), document, variables).await;
        reply.map(|data| page(&data["viewer"]["likedItems"]))
    }

    /// Whether this server knows a mutation.
    pub async fn has_mutation(&self, name: &str) -> bool {
        let document = "{ __schema { mutationType { fields { name } } } }";
        let reply = ask(&self.client(0, None), document, json!({})).await;
        let fields = reply.data().map(|data| data["__schema"]["mutationType"]["fields"].clone());
        fields
            .and_then(|fields| fields.as_array().cloned())
            .is_some_and(|fields| fields.iter().any(|field| field["name"] == name))
    }

    /// Asks for an erasure, or how far it is: true once nothing is left.
    pub async fn erase(&self, place: usize, user: &str) -> Reply<bool> {
        let document = "mutation ($input: EraseUserInput!) { eraseUser(input: $input) { erasure { finishedAt } } }";
        let client = self.client(place, None).as_service();
        let reply = ask(&client, document, json!({ "input": { "userId": user } })).await;
        reply.map(|data| data["eraseUser"]["erasure"]["finishedAt"].is_string())
    }

    /// Gives a user a name, a friend who has them as a friend, and an item of their making: more to be erased.
    pub async fn introduce(&self, place: usize, user: &str) -> Reply<()> {
        let document = "mutation ($users: UpsertUsersInput!, $items: UpsertItemsInput!) { \
             upsertUsers(input: $users) { users { id } } upsertItems(input: $items) { items { id } } }";
        let friend = format!("friend-of-{user}");
        let users = json!([
            { "id": user, "name": user, "addFriendIds": [friend] },
            { "id": friend, "addFriendIds": [user] },
        ]);
        let items = json!([{ "id": format!("made-by:{user}"), "creatorId": user }]);
        let variables = json!({ "users": { "users": users }, "items": { "items": items } });
        ask(&self.client(place, None).as_service(), document, variables).await.map(|_| ())
    }

    /// Proposes to take reactions back, or asks how far that is; the answer is the proposal's status.
    pub async fn retract(&self, place: usize, proposal: &Proposal) -> Reply<String> {
        let pair = |(user, item): &(String, String)| json!({ "userId": user, "itemId": item });
        let pairs: Vec<_> = proposal.pairs.iter().map(pair).collect();
        let input = json!({ "proposalId": proposal.id, "reactions": pairs });
        self.proposal(place, "retractReactions", "RetractReactionsInput", input).await
    }

    /// Asks to give them back, or how far that is.
    pub async fn restore(&self, place: usize, proposal: &Proposal) -> Reply<String> {
        let input = json!({ "proposalId": proposal.id });
        self.proposal(place, "restoreReactions", "RestoreReactionsInput", input).await
    }

    async fn proposal(&self, place: usize, verb: &str, input_type: &str, input: Value) -> Reply<String> {
        let document =
            format!("mutation ($input: {input_type}!) {{ {verb}(input: $input) {{ retraction {{ status }} }} }}");
        let reply = ask(&self.client(place, None).as_service(), &document, json!({ "input": input })).await;
        reply.map(|data| data[verb]["retraction"]["status"].as_str().unwrap_or_default().to_owned())
    }

    fn lie(&self, spoil: impl FnOnce(Plant)) {
        if let Some(plant) = self.plant {
            spoil(plant);
        }
    }
}

async fn ask(client: &Client, document: &str, variables: Value) -> Reply<Value> {
    match tokio::time::timeout(ANSWER_LIMIT, client.try_query(document, variables)).await {
        Err(_) => Reply::Lost("no answer in time".to_owned()),
        Ok(Err(error)) => Reply::Lost(reason(&error)),
        Ok(Ok(response)) => match response.errors.first() {
            Some(failure) => Reply::Refused(failure.code.clone()),
            None => Reply::Data(response.data),
        },
    }
}

/// In a few words, since a run has thousands of them.
fn reason(error: &reqwest::Error) -> String {
    let what = if error.is_connect() { "no connection" } else { "the connection broke" };
    what.to_owned()
}

fn page(connection: &Value) -> ListPage {
    let edges = connection["edges"].as_array().expect("a list of edges");
    let id = |edge: &Value| edge["node"]["id"].as_str().expect("an id").to_owned();
    ListPage {
        ids: edges.iter().map(id).collect(),
        end: connection["pageInfo"]["endCursor"].as_str().map(str::to_owned),
        more: connection["pageInfo"]["hasNextPage"] == true,
    }
}

/// An answer of another shape than the contract's ends the run.
pub fn parse<T: for<'a> Deserialize<'a>>(value: &Value) -> T {
    T::deserialize(value).unwrap_or_else(|error| panic!("{error}: {value}"))
}

/// A span that began at `start` and ends now.
pub fn span_since(start: i64) -> (i64, i64) {
    (start, now())
}
