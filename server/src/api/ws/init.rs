//! Who a socket speaks for: the token in the payload of `connection_init`.

use serde_json::Value;

use crate::api::auth::{Signed, TokenRules, bearer, unauthenticated};
use crate::error::Result;

/// The caller that the payload names; `None` where it holds no token.
pub(super) fn caller(payload: &Value, tokens: &TokenRules) -> Result<Option<Signed>> {
    match token(payload)? {
        Some(token) => tokens.signed(token).map(Some),
        None => Ok(None),
    }
}

/// The token of `{"token": …}`, `{"authorization": "Bearer …"}` or `{"headers": {"authorization": "Bearer …"}}`, as the
/// usual clients send it. Null is as absent.
fn token(payload: &Value) -> Result<Option<&str>> {
    if let Some(token) = field(payload, "token") {
        let text = token.as_str().map(|text| bearer(text).unwrap_or(text));
        return text.map(Some).ok_or_else(|| unauthenticated("The `token` is not a text."));
    }
    let header = field(payload, "authorization").or_else(|| field(field(payload, "headers")?, "authorization"));
    let Some(header) = header else {
        return Ok(None);
    };
    let token = header.as_str().and_then(bearer);
    token.map(Some).ok_or_else(|| unauthenticated("The `authorization` is not `Bearer <token>`."))
}

/// A field of an object, whatever the case of its name.
fn field<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    let found = object.as_object()?.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value).filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_token_is_found_where_clients_put_it() {
        let places = [
            json!({ "token": "abc" }),
            json!({ "token": "Bearer abc" }),
            json!({ "authorization": "Bearer abc" }),
            json!({ "Authorization": "bearer abc" }),
            json!({ "headers": { "Authorization": "Bearer abc" } }),
        ];
        for payload in places {
            assert_eq!(token(&payload).unwrap(), Some("abc"), "{payload}");
        }
    }

    #[test]
    fn no_token_is_an_anonymous_caller() {
        for payload in
            [json!(null), json!({}), json!({ "token": null }), json!({ "headers": {} }), json!([1]), json!("x")]
        {
            assert_eq!(token(&payload).unwrap(), None, "{payload}");
        }
    }

    #[test]
    fn a_token_of_another_shape_is_refused() {
        for payload in
            [json!({ "token": 7 }), json!({ "authorization": "abc" }), json!({ "authorization": ["Bearer a"] })]
        {
            assert!(token(&payload).is_err(), "{payload}");
        }
    }
}
