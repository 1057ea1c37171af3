//! Builds the schema. It holds no service, so that its text can be written without one.

use async_graphql::Schema;

use super::mutations::Mutation;
use super::query::Query;
use super::subscription::Subscription;
use crate::api::limits::Limits;

pub type LikewiseSchema = Schema<Query, Mutation, Subscription>;

/// The schema with its bounds; `introspection` says whether clients may read it.
pub fn schema(limits: &Limits, introspection: bool) -> LikewiseSchema {
    let builder = Schema::build(Query, Mutation::default(), Subscription)
        .limit_depth(limits.depth)
        .limit_complexity(limits.complexity);
    if introspection { builder.finish() } else { builder.disable_introspection().finish() }
}

/// The schema as text, in the schema definition language.
pub fn sdl() -> String {
    schema(&Limits::default(), true).sdl()
}
