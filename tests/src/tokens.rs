//! Bearer tokens, signed as an identity provider would.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::{Value, json};

pub const SECRET: &str = "a secret of the tests, long enough for HS256";
pub const ISSUER: &str = "likewise";
pub const AUDIENCE: &str = "likewise";
const LIFETIME: Duration = Duration::from_secs(3600);

/// Seconds since 1970, `offset` seconds from now.
pub fn seconds_from_now(offset: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970").as_secs();
    i64::try_from(now).expect("seconds fit") + offset
}

/// The claims of a good token.
pub fn claims(user: &str) -> Value {
    let expires = seconds_from_now(i64::try_from(LIFETIME.as_secs()).expect("an hour fits"));
    json!({ "sub": user, "iss": ISSUER, "aud": AUDIENCE, "exp": expires })
}

pub fn of_user(user: &str) -> String {
    sign(&claims(user), SECRET)
}

/// A token that may upsert items and users.
pub fn of_service() -> String {
    let mut claims = claims("catalogue");
    claims["scope"] = "service".into();
    sign(&claims, SECRET)
}

pub fn sign(claims: &Value, secret: &str) -> String {
    encode(&Header::default(), claims, &EncodingKey::from_secret(secret.as_bytes())).expect("claims can be signed")
}
