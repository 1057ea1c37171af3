//! Who is calling: checks bearer tokens (JWT, HS256) and mints them for development and the command line.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::{HeaderMap, header};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde_json::{Map, Value};

use crate::domain::UserId;
use crate::error::{Error, ErrorCode, Result};
use crate::service::Viewer;

/// Longest token in bytes. A longer one is refused unread: no honest token is near it.
pub const TOKEN_MAX_BYTES: usize = 8 * 1024;

/// How far the issuer's clock and ours may be apart, in seconds; an expired token works this much longer.
const CLOCK_LEEWAY_SECONDS: u64 = 5;

/// The word in the `scope` claim of a caller that may fill the catalogue.
pub const SERVICE_SCOPE: &str = "service";

/// A caller and how long the word of its token holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    pub viewer: Viewer,
    /// Seconds since 1970, the forgiven seconds of another clock in it.
    pub expires_at: u64,
}

/// What a token must say to be ours, with the keys made ready.
pub struct TokenRules {
    issuer: String,
    audience: String,
    user_claim: String,
    encoding: EncodingKey,
    decoding: DecodingKey,
    validation: Validation,
}

impl TokenRules {
    /// `secret` is the key of HS256, at least 32 bytes; `user_claim` names the user, usually `sub`.
    pub fn new(secret: &[u8], issuer: &str, audience: &str, user_claim: &str) -> Self {
        // The algorithm is ours alone to choose: what the token's own header says is only compared with it.
        let mut validation = Validation::new(Algorithm::HS256);
        validation.leeway = CLOCK_LEEWAY_SECONDS;
        validation.validate_nbf = true;
        validation.set_issuer(&[issuer]);
        validation.set_audience(&[audience]);
        // The claim that names the user is required by reading it; this list knows registered names only.
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        Self {
            issuer: issuer.to_owned(),
            audience: audience.to_owned(),
            user_claim: user_claim.to_owned(),
            encoding: EncodingKey::from_secret(secret),
            decoding: DecodingKey::from_secret(secret),
            validation,
        }
    }

    /// The caller a token speaks for; UNAUTHENTICATED for anything but a valid one.
    pub fn verify(&self, token: &str) -> Result<Viewer> {
        self.signed(token).map(|signed| signed.viewer)
    }

    /// The same, with the end of the token, for what outlives one request.
    pub fn signed(&self, token: &str) -> Result<Signed> {
        if token.len() > TOKEN_MAX_BYTES {
            return Err(unauthenticated(format!("The token is longer than {TOKEN_MAX_BYTES} bytes.")));
        }
        let decoded = jsonwebtoken::decode::<Map<String, Value>>(token, &self.decoding, &self.validation);
        let claims = decoded.map_err(|error| refusal(&error))?.claims;
        let user = claims.get(&self.user_claim).and_then(Value::as_str);
        let Some(user) = user.and_then(|text| UserId::parse(text).ok()) else {
            let claim = &self.user_claim;
            return Err(unauthenticated(format!("The token's claim `{claim}` does not hold a user id.")));
        };
        let scope = claims.get("scope").and_then(Value::as_str).unwrap_or_default();
        let viewer = Viewer { user, is_service: scope.split(' ').any(|word| word == SERVICE_SCOPE) };
        let ends = claims.get("exp").and_then(Value::as_f64).unwrap_or_default().max(0.0);
        Ok(Signed { viewer, expires_at: (ends as u64).saturating_add(CLOCK_LEEWAY_SECONDS) })
    }

    /// A token that [`Self::verify`] takes, and when it ends in seconds since 1970, `ttl` from now in whole seconds;
    /// `scope` is space-separated.
    pub fn mint(&self, user: &UserId, scope: Option<&str>, ttl: Duration) -> Result<(String, u64)> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(Error::internal)?.as_secs();
        let expires_at = now.saturating_add(ttl.as_secs());
        let mut claims = Map::new();
        claims.insert("iss".to_owned(), self.issuer.clone().into());
        claims.insert("aud".to_owned(), self.audience.clone().into());
        claims.insert(self.user_claim.clone(), user.as_str().into());
        claims.insert("iat".to_owned(), now.into());
        claims.insert("exp".to_owned(), expires_at.into());
        if let Some(scope) = scope {
            claims.insert("scope".to_owned(), scope.into());
        }
        let token = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.encoding);
        Ok((token.map_err(Error::internal)?, expires_at))
    }

    /// The caller of an HTTP request; `None` where it sends no `Authorization` header.
    pub fn viewer(&self, headers: &HeaderMap) -> Result<Option<Viewer>> {
        Ok(self.signed_request(headers)?.map(|signed| signed.viewer))
    }

    /// The same, with the end of the token, for a request that becomes a socket.
    pub fn signed_request(&self, headers: &HeaderMap) -> Result<Option<Signed>> {
        let Some(value) = headers.get(header::AUTHORIZATION) else {
            return Ok(None);
        };
        let text = value.to_str().ok().and_then(bearer);
        let token = text.ok_or_else(|| unauthenticated("Send the header as `Authorization: Bearer <token>`."))?;
        self.signed(token).map(Some)
    }
}

/// The token of `Bearer <token>`; the scheme's case does not matter.
pub(super) fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// An error that says only what its sender may know.
fn refusal(error: &jsonwebtoken::errors::Error) -> Error {
    unauthenticated(match error.kind() {
        ErrorKind::ExpiredSignature => "The token has expired.",
        ErrorKind::ImmatureSignature => "The token is not valid yet.",
        ErrorKind::InvalidIssuer => "The token is of another issuer.",
        ErrorKind::InvalidAudience => "The token is for another audience.",
        _ => "The token is not valid.",
    })
}

pub(super) fn unauthenticated(message: impl Into<std::sync::Arc<str>>) -> Error {
    Error::new(ErrorCode::Unauthenticated, message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SECRET: &[u8] = b"a secret of at least thirty-two bytes";

    fn rules() -> TokenRules {
        TokenRules::new(SECRET, "likewise", "likewise", "sub")
    }

    fn now() -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
    }

    /// Good claims with `change` laid over them; null takes one away.
    fn claims(change: &Value) -> Value {
        let mut claims = json!({ "iss": "likewise", "aud": "likewise", "sub": "ana", "exp": now() + 60 });
        for (name, value) in change.as_object().unwrap() {
            if value.is_null() {
                claims.as_object_mut().unwrap().remove(name);
            } else {
                claims[name] = value.clone();
            }
        }
        claims
    }

    fn signed(algorithm: Algorithm, secret: &[u8], change: &Value) -> String {
        jsonwebtoken::encode(&Header::new(algorithm), &claims(change), &EncodingKey::from_secret(secret)).unwrap()
    }

    fn verdict(change: &Value) -> Result<Viewer> {
        rules().verify(&signed(Algorithm::HS256, SECRET, change))
    }

    #[test]
    fn a_minted_token_is_taken_and_carries_its_scope() {
        let rules = rules();
        let ana = UserId::parse("ana").unwrap();
        let minted = |scope| rules.mint(&ana, scope, Duration::from_secs(60)).unwrap();
        let (token, expires_at) = minted(None);
        assert_eq!(rules.verify(&token).unwrap(), Viewer { user: ana.clone(), is_service: false });
        assert!(expires_at.abs_diff(now() + 60) <= 1);
        assert!(rules.verify(&minted(Some("read service")).0).unwrap().is_service);
        assert!(!rules.verify(&minted(Some("services")).0).unwrap().is_service);
    }

    #[test]
    fn each_wrong_claim_is_refused() {
        assert!(verdict(&json!({})).is_ok());
        assert!(verdict(&json!({ "aud": ["other", "likewise"] })).is_ok());
        let wrong = [
            json!({ "exp": now() - 60 }),
            json!({ "exp": null }),
            json!({ "exp": (now() + 60).to_string() }),
            json!({ "nbf": now() + 60 }),
            json!({ "iss": "another" }),
            json!({ "iss": null }),
            json!({ "aud": "another" }),
            json!({ "aud": null }),
            json!({ "sub": null }),
            json!({ "sub": "" }),
            json!({ "sub": "two words" }),
            json!({ "sub": 7 }),
        ];
        for change in wrong {
            let error = verdict(&change).expect_err(&change.to_string());
            assert_eq!(error.code(), ErrorCode::Unauthenticated, "{change}");
        }
    }

    #[test]
    fn a_clock_a_few_seconds_off_is_forgiven() {
        assert!(verdict(&json!({ "exp": now() - CLOCK_LEEWAY_SECONDS + 2 })).is_ok());
        assert!(verdict(&json!({ "nbf": now() + CLOCK_LEEWAY_SECONDS - 2 })).is_ok());
    }

    #[test]
    fn another_algorithm_or_signature_is_refused() {
        let rules = rules();
        let other_secret = b"another secret of thirty-two bytes!!";
        assert!(rules.verify(&signed(Algorithm::HS512, SECRET, &json!({}))).is_err());
        assert!(rules.verify(&signed(Algorithm::HS256, other_secret, &json!({}))).is_err());
        // {"alg":"none","typ":"JWT"} with the claims of a good token, unsigned.
        let good = signed(Algorithm::HS256, SECRET, &json!({}));
        let body = good.split('.').nth(1).unwrap();
        assert!(rules.verify(&format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{body}.")).is_err());
        for broken in ["", "abc", "a.b.c", &good[..good.len() - 4]] {
            assert!(rules.verify(broken).is_err(), "{broken}");
        }
        assert!(rules.verify(&"x".repeat(TOKEN_MAX_BYTES + 1)).is_err());
    }

    #[test]
    fn another_claim_may_name_the_user() {
        let rules = TokenRules::new(SECRET, "likewise", "likewise", "uid");
        let token = signed(Algorithm::HS256, SECRET, &json!({ "uid": "bob", "sub": null }));
        assert_eq!(rules.verify(&token).unwrap().user.as_str(), "bob");
        assert!(rules.verify(&signed(Algorithm::HS256, SECRET, &json!({}))).is_err());
        let (minted, _) = rules.mint(&UserId::parse("bob").unwrap(), None, Duration::from_secs(60)).unwrap();
        assert_eq!(rules.verify(&minted).unwrap().user.as_str(), "bob");
    }

    #[test]
    fn the_header_is_read_as_a_bearer_token() {
        assert_eq!(bearer("Bearer abc"), Some("abc"));
        assert_eq!(bearer("bearer  abc "), Some("abc"));
        assert_eq!(bearer("Basic abc"), None);
        assert_eq!(bearer("abc"), None);
        let rules = rules();
        let mut headers = HeaderMap::new();
        assert_eq!(rules.viewer(&headers).unwrap(), None);
        headers.insert(header::AUTHORIZATION, "Basic abc".parse().unwrap());
        assert_eq!(rules.viewer(&headers).unwrap_err().code(), ErrorCode::Unauthenticated);
    }
}
