//! Answers of the server, as a client's code would hold them, and the documents that ask for them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The state of a reaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Reaction {
    Like,
    Dislike,
    None,
}

impl Reaction {
    pub const ALL: [Self; 3] = [Self::Like, Self::Dislike, Self::None];

    /// (likes, dislikes) that a person in this state adds to an item.
    pub fn counts(self) -> (i64, i64) {
        (i64::from(self == Self::Like), i64::from(self == Self::Dislike))
    }
}

pub const ITEM: &str = "fragment item on Item { id type likeCount dislikeCount countAsOf countVersion countFreshness \
     likedByMe myReaction myReactionVersion myReactionAt }";

/// What `ITEM` asks for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub like_count: i64,
    pub dislike_count: i64,
    pub count_as_of: String,
    pub count_version: i64,
    pub count_freshness: String,
    pub liked_by_me: Option<bool>,
    pub my_reaction: Option<Reaction>,
    pub my_reaction_version: Option<i64>,
    pub my_reaction_at: Option<String>,
}

pub const PAYLOAD: &str = "fragment payload on ReactionPayload { item { ...item } reaction previousReaction changed \
     version clientLikeDelta clientDislikeDelta countStatus replayed clientMutationId }";

/// What `PAYLOAD` asks for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Payload {
    pub item: Item,
    pub reaction: Reaction,
    pub previous_reaction: Reaction,
    pub changed: bool,
    pub version: i64,
    pub client_like_delta: i64,
    pub client_dislike_delta: i64,
    pub count_status: String,
    pub replayed: bool,
    pub client_mutation_id: Option<String>,
}

/// One page of a connection: ids of its nodes with their cursors, in order.
#[derive(Debug, Clone)]
pub struct Page {
    pub ids: Vec<String>,
    pub cursors: Vec<String>,
    pub has_next: bool,
    pub has_previous: bool,
    pub start: Option<String>,
    pub end: Option<String>,
}

impl Page {
    pub fn of(connection: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let flag = |name: &str| connection["pageInfo"][name].as_bool().expect("a flag of the page");
        let edges = connection["edges"].as_array().expect("a list of edges");
        let page = Self {
            ids: edges.iter().map(|edge| text(&edge["node"]["id"]).expect("an id")).collect(),
            cursors: edges.iter().map(|edge| text(&edge["cursor"]).expect("a cursor")).collect(),
            has_next: flag("hasNextPage"),
            has_previous: flag("hasPreviousPage"),
            start: text(&connection["pageInfo"]["startCursor"]),
            end: text(&connection["pageInfo"]["endCursor"]),
        };
        assert_eq!(page.start.as_ref(), page.cursors.first(), "startCursor is the first edge's");
        assert_eq!(page.end.as_ref(), page.cursors.last(), "endCursor is the last edge's");
        page
    }
}

/// An error of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    pub code: String,
    pub message: String,
    pub retryable: Option<bool>,
    pub retry_after_ms: Option<u64>,
    pub argument: Option<String>,
}

impl Failure {
    pub fn of(error: &Value) -> Self {
        let extensions = &error["extensions"];
        Self {
            code: extensions["code"].as_str().unwrap_or("(no code)").to_owned(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
            retryable: extensions["retryable"].as_bool(),
            retry_after_ms: extensions["retryAfterMs"].as_u64(),
            argument: extensions["argument"].as_str().map(str::to_owned),
        }
    }
}

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub data: Value,
    pub errors: Vec<Failure>,
    /// The body as it came, for what must not stand anywhere in it.
    pub text: String,
}

impl Response {
    pub fn parse(status: u16, text: String) -> Self {
        let body: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{status}, not JSON: {text}"));
        let errors = body["errors"].as_array().map(|list| list.iter().map(Failure::of).collect());
        Self { status, data: body["data"].clone(), errors: errors.unwrap_or_default(), text }
    }

    /// The data of an answer without errors.
    pub fn data(self) -> Value {
        assert!(self.errors.is_empty(), "{:?}", self.errors);
        self.data
    }

    /// The code of the first error.
    pub fn code(&self) -> &str {
        self.errors.first().map_or("(no error)", |failure| &failure.code)
    }
}
