//! GraphQL over HTTP: one request, one answer.
//!
//! A request that never reached execution has the status of its error's code; one that did is 200, whatever its
//! fields say. For `application/json` a document that does not parse or validate is 200 too, as the GraphQL over HTTP
//! specification has it: such clients take another status for a fault of the transport.

use std::sync::Arc;
use std::time::Duration;

use async_graphql::{Request, Response as Answer, Value, Variables};
use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{FromRequest, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::Deserialize;

use super::graphql::{Prepared, code_of, refused, sdl};
use super::{Api, ws};
use crate::error::{Error, ErrorCode, Result};

/// How long a body may take to arrive; past it the request answers 408.
const BODY_WAIT: Duration = Duration::from_secs(30);

/// Codes of a document at fault, which `application/json` answers with 200.
const OF_THE_DOCUMENT: [ErrorCode; 4] =
    [ErrorCode::ParseFailed, ErrorCode::ValidationFailed, ErrorCode::LimitExceeded, ErrorCode::BadUserInput];

/// The media type of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Media {
    Json,
    GraphQlResponse,
}

impl Media {
    fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::GraphQlResponse => "application/graphql-response+json",
        }
    }

    /// The one the caller likes best; JSON where it does not say.
    fn wanted(headers: &HeaderMap) -> Self {
        let text = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let weight = |media: Self| text.split(',').filter_map(|range| weight_of(range, media.name())).max();
        if weight(Self::GraphQlResponse) > weight(Self::Json) { Self::GraphQlResponse } else { Self::Json }
    }

    fn status(self, code: ErrorCode) -> StatusCode {
        if self == Self::Json && OF_THE_DOCUMENT.contains(&code) { StatusCode::OK } else { status_of(code) }
    }
}

/// The weight in thousandths that a range of an `Accept` header gives to `name`, where it names it.
fn weight_of(range: &str, name: &str) -> Option<u16> {
    let mut parts = range.split(';').map(str::trim);
    let matches = parts.next()?.eq_ignore_ascii_case(name);
    let quality = parts.find_map(|part| part.strip_prefix("q=")).map_or(Some(1.0), |text| text.parse::<f32>().ok())?;
    let thousandths = (quality.clamp(0.0, 1.0) * 1000.0) as u16;
    (matches && thousandths > 0).then_some(thousandths)
}

fn status_of(code: ErrorCode) -> StatusCode {
    StatusCode::from_u16(code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// What a request says, in a body or in a query string.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Asked<V> {
    query: Option<String>,
    operation_name: Option<String>,
    variables: Option<V>,
}

impl<V> Asked<V> {
    fn into_request(self, variables: impl FnOnce(V) -> Result<Variables>) -> Result<Request> {
        let query = self.query.ok_or_else(|| Error::bad_input("query", "Send the document as `query`."))?;
        let mut request = Request::new(query);
        request.operation_name = self.operation_name;
        request.variables = self.variables.map(variables).transpose()?.unwrap_or_default();
        Ok(request)
    }
}

/// `POST /graphql`
pub(super) async fn post(State(api): State<Arc<Api>>, request: axum::extract::Request<Body>) -> Response {
    let media = Media::wanted(request.headers());
    let viewer = match api.tokens.viewer(request.headers()) {
        Ok(viewer) => viewer,
        Err(error) => return refusal(media, status_of(error.code()), error),
    };
    if !is_json(request.headers()) {
        let error = Error::new(ErrorCode::BadUserInput, "Send the request as `content-type: application/json`.");
        return refusal(media, StatusCode::UNSUPPORTED_MEDIA_TYPE, error);
    }
    let body = match body(request).await {
        Ok(body) => body,
        Err((status, error)) => return refusal(media, status, error),
    };
    let prepared = match from_body(&body) {
        Ok(request) => api.executor.prepare(request),
        Err(error) => return refusal(media, StatusCode::BAD_REQUEST, error),
    };
    match prepared.and_then(over_http) {
        Ok(prepared) => ran(media, api.executor.run(prepared, viewer).await),
        Err(error) => refusal(media, media.status(error.code()), error),
    }
}

/// `GET /graphql`: a query in the query string, or the upgrade to a WebSocket.
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    asked: Result<Query<Asked<String>>, axum::extract::rejection::QueryRejection>,
) -> Response {
    if headers.contains_key(header::UPGRADE) {
        return match upgrade {
            Ok(upgrade) => ws::upgrade(api, &headers, upgrade),
            Err(rejection) => rejection.into_response(),
        };
    }
    let media = Media::wanted(&headers);
    let viewer = match api.tokens.viewer(&headers) {
        Ok(viewer) => viewer,
        Err(error) => return refusal(media, status_of(error.code()), error),
    };
    let request = asked
        .map_err(|_| Error::bad_input("query", "Send `query`, `variables` and `operationName` each once."))
        .and_then(|Query(asked)| asked.into_request(|text| variables(serde_json::from_str(&text).ok())));
    let prepared = match request {
        Ok(request) => api.executor.prepare(request).and_then(over_http),
        Err(error) => return refusal(media, StatusCode::BAD_REQUEST, error),
    };
    match prepared {
        // A link or an image could otherwise make a visitor's browser write.
        Ok(prepared) if !prepared.is_query() => {
            let error = Error::new(ErrorCode::BadUserInput, "A GET runs queries only; send a mutation as a POST.");
            let mut response = refusal(media, StatusCode::METHOD_NOT_ALLOWED, error);
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
            response
        }
        Ok(prepared) => ran(media, api.executor.run(prepared, viewer).await),
        Err(error) => refusal(media, media.status(error.code()), error),
    }
}

/// `GET /schema.graphql`
pub(super) async fn schema_text() -> Response {
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], sdl()).into_response()
}

/// A response that is one error, with the status of its code.
pub(super) fn error_response(error: Error) -> Response {
    refusal(Media::Json, status_of(error.code()), error)
}

fn ran(media: Media, response: Result<Answer>) -> Response {
    match response {
        Ok(response) => answer(media, &response),
        Err(error) => refusal(media, media.status(error.code()), error),
    }
}

fn over_http(prepared: Prepared) -> Result<Prepared> {
    if prepared.is_subscription() {
        let message = "A subscription needs a WebSocket: the same path with the sub-protocol graphql-transport-ws.";
        return Err(Error::new(ErrorCode::BadUserInput, message));
    }
    Ok(prepared)
}

fn is_json(headers: &HeaderMap) -> bool {
    let text = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split(';').next().is_some_and(|media| media.trim().eq_ignore_ascii_case("application/json"))
}

async fn body(request: axum::extract::Request<Body>) -> Result<Bytes, (StatusCode, Error)> {
    match tokio::time::timeout(BODY_WAIT, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(rejection)) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            let error = Error::new(ErrorCode::LimitExceeded, "The body is larger than one request may be.");
            Err((StatusCode::PAYLOAD_TOO_LARGE, error))
        }
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, Error::new(ErrorCode::BadUserInput, "The body broke off."))),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, Error::new(ErrorCode::BadUserInput, "The body came too slowly."))),
    }
}

fn from_body(body: &[u8]) -> Result<Request> {
    let json: serde_json::Value =
        serde_json::from_slice(body).map_err(|_| Error::new(ErrorCode::BadUserInput, "The body is not valid JSON."))?;
    if json.is_array() {
        return Err(Error::new(ErrorCode::BadUserInput, "Send one request at a time: batches are not supported."));
    }
    let asked: Asked<serde_json::Value> = serde_json::from_value(json).map_err(|_| {
        let message = r#"Send JSON such as {"query": "…", "variables": {…}, "operationName": "…"}."#;
        Error::new(ErrorCode::BadUserInput, message)
    })?;
    asked.into_request(|json| variables(Some(json)))
}

fn variables(json: Option<serde_json::Value>) -> Result<Variables> {
    match json {
        Some(json @ serde_json::Value::Object(_)) => Ok(Variables::from_json(json)),
        Some(serde_json::Value::Null) => Ok(Variables::default()),
        _ => Err(Error::bad_input("variables", "Send `variables` as a JSON object.")),
    }
}

/// The response of an operation that the library has run, or refused itself.
fn answer(media: Media, answer: &Answer) -> Response {
    // Validation's errors have no path, execution's have one; where nothing ran there is no `data` at all.
    let has_run = answer.data != Value::Null || !answer.errors.iter().all(|error| error.path.is_empty());
    let status = if has_run || media == Media::Json { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    render(media, status, answer, has_run)
}

fn refusal(media: Media, status: StatusCode, error: Error) -> Response {
    render(media, status, &refused(error), false)
}

fn render(media: Media, status: StatusCode, answer: &Answer, with_data: bool) -> Response {
    let json = if with_data {
        serde_json::to_vec(answer)
    } else {
        serde_json::to_vec(&serde_json::json!({ "errors": answer.errors }))
    };
    let Ok(json) = json else {
        // Texts and numbers only: nothing in an answer can fail to be written.
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut response = (status, json).into_response();
    let headers = response.headers_mut();
    let content_type = match media {
        Media::Json => "application/json; charset=utf-8",
        Media::GraphQlResponse => "application/graphql-response+json; charset=utf-8",
    };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    // An answer is one viewer's, and old the moment it is sent.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(seconds) = retry_after_seconds(answer) {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// The longest wait that an error of the answer asks for, rounded up to seconds.
fn retry_after_seconds(answer: &Answer) -> Option<u64> {
    let wait = |error: &async_graphql::ServerError| match error.extensions.as_ref()?.get("retryAfterMs")? {
        Value::Number(milliseconds) => milliseconds.as_u64(),
        _ => None,
    };
    let longest = answer.errors.iter().filter(|error| code_of(error).is_some()).filter_map(wait).max()?;
    Some(longest.div_ceil(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_has_the_type_that_is_liked_best() {
        let wanted = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            Media::wanted(&headers)
        };
        assert_eq!(Media::wanted(&HeaderMap::new()), Media::Json);
        assert_eq!(wanted("*/*"), Media::Json);
        assert_eq!(wanted("application/json"), Media::Json);
        assert_eq!(wanted("application/graphql-response+json"), Media::GraphQlResponse);
        assert_eq!(wanted("application/graphql-response+json; charset=utf-8, */*"), Media::GraphQlResponse);
        assert_eq!(wanted("application/graphql-response+json, application/json;q=0.9"), Media::GraphQlResponse);
        assert_eq!(wanted("application/graphql-response+json;q=0.5, application/json"), Media::Json);
        assert_eq!(wanted("application/graphql-response+json;q=0"), Media::Json);
    }

    #[test]
    fn a_body_is_one_request() {
        assert!(from_body(br#"{"query": "{ a }"}"#).is_ok());
        assert!(from_body(br#"{"query": "{ a }", "variables": null, "operationName": null}"#).is_ok());
        let wrong = [
            "",
            "{",
            "[]",
            "7",
            "null",
            r#"[{"query": "{ a }"}]"#,
            r#"{}"#,
            r#"{"query": 7}"#,
            r#"{"query": "{ a }", "variables": []}"#,
            r#"{"query": "{ a }", "variables": "{}"}"#,
            r#"{"query": "{ a }", "operationName": 7}"#,
        ];
        for body in wrong {
            assert_eq!(from_body(body.as_bytes()).unwrap_err().code(), ErrorCode::BadUserInput, "{body}");
        }
    }

    #[test]
    fn only_json_is_taken() {
        let takes = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, text.parse().unwrap());
            is_json(&headers)
        };
        assert!(takes("application/json"));
        assert!(takes("Application/JSON; charset=utf-8"));
        assert!(!takes("text/plain"));
        assert!(!takes("multipart/form-data; boundary=x"));
        assert!(!is_json(&HeaderMap::new()));
    }
}
