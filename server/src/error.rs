//! The one error of the server and the one table of code, HTTP status and whether a retry can help.
//!
//! A message is for the caller: it helps, and names no table, no type and no address. What an operator needs stays in
//! the source and is logged once, where the error leaves the server.

use std::fmt;
use std::sync::Arc;

/// What went wrong, as `extensions.code` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    Unauthenticated,
    Forbidden,
    BadUserInput,
    ItemNotFound,
    ItemClosed,
    IdempotencyKeyReused,
    RateLimited,
    Overloaded,
    Unavailable,
    LimitExceeded,
    ParseFailed,
    ValidationFailed,
    PersistedQueryNotFound,
    Internal,
}

impl ErrorCode {
    /// (word, HTTP status where the whole request fails, retryable)
    const fn row(self) -> (&'static str, u16, bool) {
        match self {
            Self::Unauthenticated => ("UNAUTHENTICATED", 401, false),
            Self::Forbidden => ("FORBIDDEN", 403, false),
            Self::BadUserInput => ("BAD_USER_INPUT", 400, false),
            Self::ItemNotFound => ("ITEM_NOT_FOUND", 404, false),
            Self::ItemClosed => ("ITEM_CLOSED", 409, false),
            Self::IdempotencyKeyReused => ("IDEMPOTENCY_KEY_REUSED", 409, false),
            Self::RateLimited => ("RATE_LIMITED", 429, true),
            Self::Overloaded => ("OVERLOADED", 503, true),
            Self::Unavailable => ("UNAVAILABLE", 503, true),
            Self::LimitExceeded => ("LIMIT_EXCEEDED", 400, false),
            Self::ParseFailed => ("GRAPHQL_PARSE_FAILED", 400, false),
            Self::ValidationFailed => ("GRAPHQL_VALIDATION_FAILED", 400, false),
            Self::PersistedQueryNotFound => ("PERSISTED_QUERY_NOT_FOUND", 400, false),
            Self::Internal => ("INTERNAL_SERVER_ERROR", 500, false),
        }
    }

    pub const fn word(self) -> &'static str {
        self.row().0
    }

    pub const fn http_status(self) -> u16 {
        self.row().1
    }

    /// True where the same request, with the same idempotency key, may succeed later.
    pub const fn retryable(self) -> bool {
        self.row().2
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How long a caller waits before a retry when the server knows nothing better, in milliseconds.
pub const RETRY_AFTER_MS: u64 = 500;

/// An error with what a caller may know of it; cheap to clone, since one failed batch answers many callers.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    code: ErrorCode,
    message: Arc<str>,
    argument: Option<Arc<str>>,
    retry_after_ms: Option<u64>,
    #[source]
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub fn new(code: ErrorCode, message: impl Into<Arc<str>>) -> Self {
        let retry_after_ms = code.retryable().then_some(RETRY_AFTER_MS);
        Self { code, message: message.into(), argument: None, retry_after_ms, source: None }
    }

    /// The caller sent something that can never work; `argument` is its path, such as `ids[3]`.
    pub fn bad_input(argument: impl Into<Arc<str>>, message: impl Into<Arc<str>>) -> Self {
        Self::new(ErrorCode::BadUserInput, message).at(argument)
    }

    /// The database or Redis cannot be reached; the same request may be sent again.
    pub fn unavailable(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::new(ErrorCode::Unavailable, "The store cannot be reached. Send the same request again.").caused_by(source)
    }

    /// A fault of the server's own; the caller learns only an id under which it was logged.
    pub fn internal(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::new(ErrorCode::Internal, "Something went wrong inside the server.").caused_by(source)
    }

    /// The same, where there is no error to keep: `detail` is for the log.
    pub fn internal_detail(detail: impl Into<String>) -> Self {
        Self::internal(Detail(detail.into()))
    }

    #[must_use]
    pub fn at(mut self, argument: impl Into<Arc<str>>) -> Self {
        self.argument = Some(argument.into());
        self
    }

    #[must_use]
    pub fn caused_by(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    #[must_use]
    pub fn retry_after_ms(mut self, milliseconds: u64) -> Self {
        self.retry_after_ms = Some(milliseconds);
        self
    }

    pub fn code(&self) -> ErrorCode {
        self.code
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    /// Path of the argument that is at fault.
    pub fn argument(&self) -> Option<&str> {
        self.argument.as_deref()
    }

    /// Milliseconds to wait before a retry; only on retryable codes.
    pub fn retry_after(&self) -> Option<u64> {
        self.retry_after_ms
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Detail(String);

/// An error and its sources on one line, for a log or a terminal.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            // Messages are sentences; what follows explains the last one.
            let end = text.trim_end_matches('.').len();
            text.truncate(end);
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
