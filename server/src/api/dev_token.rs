//! `POST /dev/token`: a token for any user, so that pages and explorers need no identity provider. For demos only.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::Api;
use super::graphql::rfc3339_millis;
use super::http::error_response;
use crate::domain::UserId;
use crate::error::{Error, ErrorCode, Result};

/// How long such a token works.
const TTL: Duration = Duration::from_secs(60 * 60);

const FOREIGN_HOST: &str = "Tokens are handed out at an IP address or localhost only, lest a foreign page fetches them. To \
    reach this demo by another name, list it in LIKEWISE_ALLOWED_ORIGINS, such as http://demo.example:4000.";

#[derive(Deserialize)]
struct Wanted {
    user: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Token {
    token: String,
    expires_at: String,
}

pub(super) async fn mint(State(api): State<Arc<Api>>, headers: HeaderMap, body: Bytes) -> Response {
    if !api.origins.is_our_host(&headers) {
        return error_response(Error::new(ErrorCode::Forbidden, FOREIGN_HOST));
    }
    match token(&api, &body) {
        Ok(token) => ([(header::CACHE_CONTROL, "no-store")], Json(token)).into_response(),
        Err(error) => error_response(error),
    }
}

fn token(api: &Api, body: &[u8]) -> Result<Token> {
    let wanted: Wanted =
        serde_json::from_slice(body).map_err(|_| Error::bad_input("user", r#"Send JSON such as {"user": "ana"}."#))?;
    let user =
        UserId::parse(&wanted.user).map_err(|error| Error::bad_input("user", format!("Not a user id: {error}.")))?;
    let (token, expires_at) = api.tokens.mint(&user, None, TTL)?;
    let micros = i64::try_from(expires_at).unwrap_or(i64::MAX).saturating_mul(1_000_000);
    Ok(Token { token, expires_at: rfc3339_millis(micros) })
}
