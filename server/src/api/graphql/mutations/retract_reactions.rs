//! `retractReactions` and `restoreReactions`: what an abuse system has taken back, and given back.

use std::collections::BTreeSet;

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::api::graphql::args::{at_most, client_mutation_id, item_id, proposal_id, user_id};
use crate::api::graphql::types::retraction::Retraction;
use crate::api::graphql::{Nullable, scope_of, viewer_of};
use crate::domain::{ItemId, UserId};
use crate::error::{Error, Result};
use crate::service::{Proposal, RETRACT_MAX, Suspects};

/// Longest reason in characters.
const REASON_MAX_CHARACTERS: usize = 500;

/// One person's reaction to one item.
#[derive(InputObject)]
struct ReactionRef {
    /// Whose.
    user_id: ID,
    /// To what.
    item_id: ID,
}

/// Which reactions to take back: `reactions` or `userId`, not both.
#[derive(InputObject)]
struct RetractReactionsInput {
    /// 1 to 255 printable ASCII characters without spaces: one per proposal, kept across its retries.
    proposal_id: ID,
    /// At most 1,000; a pair without a like or a dislike is left as it is.
    reactions: Option<Vec<ReactionRef>>,
    /// All likes and dislikes that this user has now.
    user_id: Option<ID>,
    /// For the record; at most 500 characters, of control characters line ends only. Forgotten when one of its users is
    /// deleted.
    reason: Option<String>,
    /// Sent back as it came; at most 255 bytes.
    client_mutation_id: Option<String>,
}

/// Which proposal to undo.
#[derive(InputObject)]
struct RestoreReactionsInput {
    /// As it was given to `retractReactions`.
    proposal_id: ID,
    /// Sent back as it came; at most 255 bytes.
    client_mutation_id: Option<String>,
}

/// How far a proposal is.
#[derive(SimpleObject)]
struct RetractionPayload {
    /// The proposal.
    retraction: Retraction,
    /// As it was sent.
    client_mutation_id: Option<String>,
}

#[derive(Default)]
pub(super) struct RetractReactions;

#[Object]
impl RetractReactions {
    /// Takes reactions back on behalf of an abuse system, in the background; counts and hearts follow as by an unlike.
    /// For callers whose token has the scope `service`. What the users do after the proposal is stored is not its
    /// matter: a new like stays, and a retry of an old one is answered as before and likes nothing.
    ///
    /// The same proposal again answers how far it is. UNAUTHENTICATED without a valid token; FORBIDDEN without the
    /// scope; LIMIT_EXCEEDED over 1,000 reactions; BAD_USER_INPUT names the argument at fault, `input.proposalId` where
    /// the id stands for another proposal; OVERLOADED and UNAVAILABLE: send the same again.
    async fn retract_reactions(&self, ctx: &Context<'_>, input: RetractReactionsInput) -> Nullable<RetractionPayload> {
        Some(retract(ctx, input).await)
    }

    /// Gives back what a proposal took, with the time it had, also on closed items; only where the row is still as the
    /// retraction left it: a wish that changed nothing, such as to take back what was taken already, leaves no trace. A
    /// proposal that is still being carried out is carried out first.
    ///
    /// Asked again, it answers how far that is. UNAUTHENTICATED without a valid token; FORBIDDEN without the scope;
    /// BAD_USER_INPUT where there is no such proposal; OVERLOADED and UNAVAILABLE: send the same again.
    async fn restore_reactions(&self, ctx: &Context<'_>, input: RestoreReactionsInput) -> Nullable<RetractionPayload> {
        Some(restore(ctx, input).await)
    }
}

async fn retract(ctx: &Context<'_>, input: RetractReactionsInput) -> Result<RetractionPayload> {
    let scope = scope_of(ctx)?;
    let viewer = viewer_of(scope)?;
    let client_mutation_id = client_mutation_id(input.client_mutation_id.clone())?;
    let retraction = scope.service().retract(viewer, proposal(input)?).await?.into();
    Ok(RetractionPayload { retraction, client_mutation_id })
}

async fn restore(ctx: &Context<'_>, input: RestoreReactionsInput) -> Result<RetractionPayload> {
    let scope = scope_of(ctx)?;
    let viewer = viewer_of(scope)?;
    let client_mutation_id = client_mutation_id(input.client_mutation_id)?;
    let id = proposal_id("input.proposalId", &input.proposal_id)?;
    let retraction = scope.service().restore(viewer, id).await?.into();
    Ok(RetractionPayload { retraction, client_mutation_id })
}

fn proposal(input: RetractReactionsInput) -> Result<Proposal> {
    let id = proposal_id("input.proposalId", &input.proposal_id)?;
    if input.reason.as_ref().is_some_and(|reason| !is_reason(reason)) {
        let message =
            format!("A reason has at most {REASON_MAX_CHARACTERS} characters, of control characters line ends only.");
        return Err(Error::bad_input("input.reason", message));
    }
    let suspects = match (input.reactions, input.user_id) {
        (Some(reactions), None) => Suspects::Reactions(pairs(&reactions)?),
        (None, Some(user)) => Suspects::User(user_id("input.userId", &user)?),
        (None, None) | (Some(_), Some(_)) => {
            return Err(Error::bad_input("input.reactions", "Send `reactions` or `userId`, not both."));
        }
    };
    Ok(Proposal { id, suspects, reason: input.reason })
}

fn pairs(reactions: &[ReactionRef]) -> Result<BTreeSet<(UserId, ItemId)>> {
    at_most("input.reactions", reactions.len(), RETRACT_MAX)?;
    let pair = |(index, reaction): (usize, &ReactionRef)| {
        let path = |field| format!("input.reactions[{index}].{field}");
        Ok((user_id(&path("userId"), &reaction.user_id)?, item_id(&path("itemId"), &reaction.item_id)?))
    };
    reactions.iter().enumerate().map(pair).collect()
}

fn is_reason(text: &str) -> bool {
    text.chars().count() <= REASON_MAX_CHARACTERS && !text.contains(|c: char| c.is_control() && c != '\n')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    fn input(reactions: Option<Vec<ReactionRef>>, user: Option<&str>, reason: Option<String>) -> RetractReactionsInput {
        let user_id = user.map(ID::from);
        RetractReactionsInput { proposal_id: ID::from("p"), reactions, user_id, reason, client_mutation_id: None }
    }

    fn refs(count: usize, item: &str) -> Option<Vec<ReactionRef>> {
        Some((0..count).map(|_| ReactionRef { user_id: ID::from("ana"), item_id: ID::from(item) }).collect())
    }

    #[test]
    fn the_argument_at_fault_is_named() {
        let fault = |input| {
            let error = proposal(input).unwrap_err();
            (error.code(), error.argument().unwrap_or_default().to_owned())
        };
        let bad = |argument: &str| (ErrorCode::BadUserInput, argument.to_owned());
        assert_eq!(fault(input(None, None, None)), bad("input.reactions"));
        assert_eq!(fault(input(refs(1, "a"), Some("ana"), None)), bad("input.reactions"));
        assert_eq!(fault(input(refs(2, "a b"), None, None)), bad("input.reactions[0].itemId"));
        assert_eq!(fault(input(None, Some(""), None)), bad("input.userId"));
        assert_eq!(fault(input(None, Some("ana"), Some("é".repeat(501)))), bad("input.reason"));
        assert_eq!(fault(input(None, Some("ana"), Some("\u{0}".to_owned()))), bad("input.reason"));
        let many = input(refs(RETRACT_MAX + 1, "a"), None, None);
        assert_eq!(fault(many), (ErrorCode::LimitExceeded, "input.reactions".to_owned()));
        assert!(proposal(input(refs(RETRACT_MAX, "a"), None, Some("é".repeat(500)))).is_ok());
    }
}
