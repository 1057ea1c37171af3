//! The GraphQL schema and its execution.

pub mod args;
pub mod cursor;
pub mod document;
pub mod errors;
pub mod executor;
pub mod loaders;
pub mod mutations;
pub mod query;
pub mod scalars;
pub mod schema;
pub mod siblings;
pub mod subscription;
pub mod types;

use std::sync::Arc;

use async_graphql::Context;

pub use errors::{code_of, refused};
pub use executor::{Caller, Executor, Prepared};
pub use scalars::rfc3339_millis;
pub use schema::sdl;

use crate::error::{Error, ErrorCode, Result};
use crate::service::Viewer;
use loaders::Scope;

/// What a nullable field's resolver returns: an error nulls the field alone. As `Result<Option<T>>` it would null the
/// parent, since the library looks for the nullable type on the outside.
type Nullable<T> = Option<Result<T>>;

/// The scope of the request; a payload or an event makes its own from it.
fn scope_of<'a>(ctx: &Context<'a>) -> Result<&'a Arc<Scope>> {
    let scope = ctx.data_opt::<Arc<Scope>>();
    scope.ok_or_else(|| Error::internal_detail("a request was run without its scope"))
}

/// The caller; UNAUTHENTICATED where it is anonymous.
fn viewer_of(scope: &Scope) -> Result<&Viewer> {
    let message = "This needs a signed-in caller: send a token as `Authorization: Bearer <token>`.";
    scope.viewer().ok_or_else(|| Error::new(ErrorCode::Unauthenticated, message))
}
