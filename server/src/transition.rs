//! The state machine of a reaction: which change a wish makes, by the state before it and never by the request alone.

use likewise_entity::ReactionState;

/// By how much a flip moves the counts, each −1, 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deltas {
    pub like: i16,
    pub dislike: i16,
}

/// The change from `old` to `new`, or `None` where they are the same: no event, no new version, and success.
pub fn transition(old: ReactionState, new: ReactionState) -> Option<Deltas> {
    let holds = |state: ReactionState, wanted: ReactionState| i16::from(state == wanted);
    (old != new).then(|| Deltas {
        like: holds(new, ReactionState::Like) - holds(old, ReactionState::Like),
        dislike: holds(new, ReactionState::Dislike) - holds(old, ReactionState::Dislike),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ReactionState::{Dislike, Like, None};
    use proptest::prelude::*;

    #[test]
    fn each_row_of_the_transition_table() {
        let rows = [
            (None, Like, 1, 0),
            (Like, None, -1, 0),
            (None, Dislike, 0, 1),
            (Like, Dislike, -1, 1),
            (Dislike, Like, 1, -1),
            (Dislike, None, 0, -1),
        ];
        for (old, new, like, dislike) in rows {
            assert_eq!(transition(old, new), Some(Deltas { like, dislike }), "{old:?} to {new:?}");
        }
        for state in [None, Like, Dislike] {
            assert_eq!(transition(state, state), Option::None);
        }
    }

    fn state() -> impl Strategy<Value = ReactionState> {
        prop_oneof![Just(None), Just(Like), Just(Dislike)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: Option::None, ..ProptestConfig::default() })]

        /// Whatever path leads to a state, the deltas along it sum to what that state counts.
        #[test]
        fn deltas_along_a_path_sum_to_its_end(path in proptest::collection::vec(state(), 0..40)) {
            let (mut at, mut likes, mut dislikes) = (None, 0, 0);
            for wanted in path {
                let flip = transition(at, wanted);
                prop_assert_eq!(flip.is_none(), at == wanted, "no flip where the state is there already, else one");
                if let Some(deltas) = flip {
                    prop_assert_ne!((deltas.like, deltas.dislike), (0, 0));
                    likes += deltas.like;
                    dislikes += deltas.dislike;
                }
                at = wanted;
                prop_assert_eq!((likes, dislikes), (i16::from(at == Like), i16::from(at == Dislike)));
            }
        }
    }
}
