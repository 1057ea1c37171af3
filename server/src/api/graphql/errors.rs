//! Gives every error of a response its code, and keeps what is ours to know inside.
//!
//! A resolver returns [`crate::error::Error`]; the library keeps it as the error's source until here, where the whole
//! response passes once. Errors that the library raised itself are told apart by their texts.

use std::collections::HashMap;

use async_graphql::{ErrorExtensionValues, Response, ServerError};

use crate::error::{Error, ErrorCode, chain};

/// Most errors of a request that was refused before anything ran. A document can be wrong in as many places as it
/// has fields; past these a reader learns nothing new.
const REFUSALS_MAX: usize = 20;

/// An error of ours as the library carries it, without place or path.
pub fn server_error(error: Error) -> ServerError {
    let mut carried = ServerError::new(error.message(), None);
    carried.source = Some(std::sync::Arc::new(error));
    carried
}

/// A response that is this one error.
pub fn refused(error: Error) -> Response {
    let mut response = Response::from_errors(vec![server_error(error)]);
    finish(&mut response);
    response
}

/// Writes the extensions of every error and logs the server's own faults, each once.
pub fn finish(response: &mut Response) {
    if response.errors.iter().all(|error| error.path.is_empty()) {
        response.errors.truncate(REFUSALS_MAX);
    }
    let mut faults = Faults::default();
    for error in &mut response.errors {
        let ours = match error.source::<Error>() {
            Some(ours) => ours.clone(),
            None => of_the_library(error),
        };
        ours.message().clone_into(&mut error.message);
        error.extensions = Some(extensions(&ours, &mut faults));
        error.source = None;
    }
}

/// The code that a finished error carries.
pub fn code_of(error: &ServerError) -> Option<&str> {
    match error.extensions.as_ref()?.get("code")? {
        async_graphql::Value::String(code) => Some(code),
        _ => None,
    }
}

fn extensions(error: &Error, faults: &mut Faults) -> ErrorExtensionValues {
    let code = error.code();
    let mut values = ErrorExtensionValues::default();
    values.set("code", code.word());
    values.set("retryable", code.retryable());
    if let Some(milliseconds) = error.retry_after() {
        values.set("retryAfterMs", milliseconds);
    }
    if let Some(argument) = error.argument() {
        values.set("argument", argument);
    }
    if matches!(code, ErrorCode::Unavailable | ErrorCode::Internal) {
        values.set("errorId", faults.id_of(error));
    }
    values
}

/// The faults of one response by their texts: one failed read shows in many fields, and is one line in the log.
#[derive(Default)]
struct Faults(HashMap<String, String>);

impl Faults {
    fn id_of(&mut self, error: &Error) -> String {
        self.0.entry(chain(error)).or_insert_with_key(|text| log(error.code(), text)).clone()
    }
}

/// Logs a fault and answers the id under which it stands in the log.
fn log(code: ErrorCode, text: &str) -> String {
    let error_id = format!("{:016x}", rand::random::<u64>());
    match code {
        ErrorCode::Internal => tracing::error!(error_id, error = text, "a request failed"),
        _ => tracing::warn!(error_id, error = text, "a request could not reach what it needs"),
    }
    error_id
}

/// What an error means that the library raised itself. Its texts name types of the schema only, never of the server.
fn of_the_library(error: &ServerError) -> Error {
    let text = error.message.as_str();
    let is_cost = ["Query is too complex.", "Query is nested too deep."].contains(&text)
        || text.starts_with("The recursion depth of the query");
    let is_value = text.starts_with("Failed to parse ") || text.starts_with("Expected input type ");
    if is_cost {
        Error::new(ErrorCode::LimitExceeded, "The document costs more than one request may: ask for less at once.")
    } else if let Some(reason) = text.strip_prefix("Invalid value for argument ") {
        bad_argument(reason, text)
    } else if is_value {
        Error::new(ErrorCode::BadUserInput, text)
    } else if error.path.is_empty() {
        Error::new(ErrorCode::ValidationFailed, text)
    } else {
        Error::internal_detail(text)
    }
}

/// `reason` begins with the argument's path in quotes: `"input.ids.3", expected type "ID"`.
fn bad_argument(reason: &str, text: &str) -> Error {
    let path = reason.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    let error = Error::new(ErrorCode::BadUserInput, text);
    match path {
        Some((path, _)) => error.at(with_brackets(path)),
        None => error,
    }
}

/// `ids.3.name` as `ids[3].name`.
fn with_brackets(path: &str) -> String {
    let mut written = String::with_capacity(path.len() + 2);
    for part in path.split('.') {
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            written.push_str(&format!("[{part}]"));
        } else {
            if !written.is_empty() {
                written.push('.');
            }
            written.push_str(part);
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use async_graphql::{PathSegment, Value};

    use super::*;

    fn finished(errors: Vec<ServerError>) -> Response {
        let mut response = Response::from_errors(errors);
        finish(&mut response);
        response
    }

    fn extension(error: &ServerError, name: &str) -> Option<Value> {
        error.extensions.as_ref().and_then(|values| values.get(name)).cloned()
    }

    #[test]
    fn an_error_of_ours_shows_its_code_and_argument() {
        let response = finished(vec![server_error(Error::bad_input("ids[3]", "Not an item id."))]);
        let error = &response.errors[0];
        assert_eq!(code_of(error), Some("BAD_USER_INPUT"));
        assert_eq!(extension(error, "retryable"), Some(false.into()));
        assert_eq!(extension(error, "argument"), Some("ids[3]".into()));
        assert_eq!(extension(error, "errorId"), None);
    }

    #[test]
    fn what_is_inside_stays_inside_under_one_id() {
        let fault = || server_error(Error::unavailable(std::io::Error::other("relation \"reaction\" at 10.0.0.7")));
        let response = finished(vec![fault(), fault(), server_error(Error::internal_detail("other"))]);
        let ids: Vec<_> = response.errors.iter().map(|error| extension(error, "errorId").unwrap()).collect();
        assert_eq!(ids[0], ids[1]);
        assert_ne!(ids[0], ids[2]);
        assert_eq!(extension(&response.errors[0], "retryAfterMs"), Some(500.into()));
        assert!(!serde_json::to_string(&response).unwrap().contains("10.0.0.7"));
    }

    #[test]
    fn errors_of_the_library_get_a_code() {
        let cases = [
            ("Query is too complex.", "LIMIT_EXCEEDED", None),
            (r#"Invalid value for argument "input.ids.3", expected type "ID""#, "BAD_USER_INPUT", Some("input.ids[3]")),
            (r#"Cannot query field "x" on type "Item"."#, "GRAPHQL_VALIDATION_FAILED", None),
            (r#"Failed to parse "Int": Only integers"#, "BAD_USER_INPUT", None),
        ];
        for (text, code, argument) in cases {
            let response = finished(vec![ServerError::new(text, None)]);
            assert_eq!(code_of(&response.errors[0]), Some(code), "{text}");
            assert_eq!(extension(&response.errors[0], "argument"), argument.map(Value::from), "{text}");
        }
    }

    #[test]
    fn an_unknown_error_of_a_field_is_a_fault() {
        let error = ServerError::new("Data `alloc::sync::Arc` does not exist.", None);
        let response = finished(vec![error.with_path(vec![PathSegment::Field("item".to_owned())])]);
        assert_eq!(code_of(&response.errors[0]), Some("INTERNAL_SERVER_ERROR"));
        assert!(!response.errors[0].message.contains("alloc"));
    }
}
