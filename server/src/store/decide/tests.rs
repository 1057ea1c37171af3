use proptest::prelude::*;

use super::*;
use crate::domain::ReactionState::{Dislike, Like, None as Nothing};

fn command(user: &str, item: &str, wanted: ReactionState, key: Option<&str>) -> Command {
    Command {
        user: UserId::parse(user).expect("a good id"),
        item: ItemId::parse(item).expect("a good id"),
        wanted,
        key: key.map(str::to_owned),
        from: Source::User { unknown_items: UnknownItems::Welcome },
    }
}

fn codes(decision: &Decision) -> Vec<Option<ErrorCode>> {
    decision.answers.iter().map(|answer| answer.as_ref().err().map(Error::code)).collect()
}

#[test]
fn a_row_that_flips_three_times_in_a_batch_is_written_once_with_its_last_state() {
    let commands = [Like, Nothing, Dislike].map(|wanted| command("ana", "post:1", wanted, None));
    let decision = decide(&commands, Found::default(), 7, 0);
    assert_eq!(decision.rows.len(), 1);
    assert_eq!((decision.rows[0].base_version, decision.rows[0].row.version), (0, 3));
    assert_eq!(decision.rows[0].row.event_offset, 9);
    let offsets: Vec<_> = decision.events.iter().map(|event| (event.offset, event.version)).collect();
    assert_eq!(offsets, [(7, 1), (8, 2), (9, 3)]);
    assert_eq!(decision.new_items.len(), 1);
}

#[test]
fn a_key_is_replayed_within_one_batch_and_its_reuse_refused() {
    let commands = [
        command("ana", "post:1", Like, Some("k")),
        command("ana", "post:1", Like, Some("k")),
        command("ana", "post:2", Like, Some("k")),
        command("ben", "post:1", Like, Some("k")),
    ];
    let decision = decide(&commands, Found::default(), 1, 0);
    assert_eq!(codes(&decision), [None, None, Some(ErrorCode::IdempotencyKeyReused), None]);
    let replay = decision.answers[1].as_ref().expect("a replay");
    assert!(replay.replayed && replay.changed() && replay.like_delta == 1);
    assert_eq!((decision.events.len(), decision.records.len()), (2, 2));
}

#[test]
fn a_stale_retry_after_an_unlike_replays_and_likes_nothing() {
    let commands = [
        command("ana", "post:1", Like, Some("a")),
        command("ana", "post:1", Nothing, Some("b")),
        command("ana", "post:1", Like, Some("a")),
    ];
    let decision = decide(&commands, Found::default(), 1, 0);
    assert_eq!(decision.events.len(), 2);
    assert_eq!(decision.rows[0].row.state, Nothing);
}

#[test]
fn a_closed_item_refuses_only_a_change_to_something() {
    let mut found = Found::default();
    found.items.insert(ItemId::parse("post:1").expect("a good id"), false);
    let ana = (UserId::parse("ana").expect("a good id"), ItemId::parse("post:1").expect("a good id"));
    found.rows.insert(ana, OwnReaction { state: Like, version: 1, reacted_at: 1, event_offset: 1 });
    let commands = [
        command("ben", "post:1", Like, Some("k")),
        command("ben", "post:1", Nothing, None),
        command("ana", "post:1", Like, None),
        command("ana", "post:1", Dislike, None),
        command("ana", "post:1", Nothing, None),
    ];
    let decision = decide(&commands, found, 2, 0);
    let closed = Some(ErrorCode::ItemClosed);
    assert_eq!(codes(&decision), [closed, None, None, closed, None]);
    assert!(decision.records.is_empty(), "a refusal is not recorded");
    assert_eq!(decision.events.len(), 1);
}

#[test]
fn an_imported_row_gives_way_to_a_newer_one() {
    let mut old = command("ana", "post:1", Nothing, None);
    old.from = Source::Import { reacted_at: 5 };
    let mut found = Found { now: 100, ..Found::default() };
    let row = OwnReaction { state: Like, version: 1, reacted_at: 6, event_offset: 1 };
    found.rows.insert((old.user.clone(), old.item.clone()), row);
    let decision = decide(&[old], found, 2, 0);
    assert!(decision.events.is_empty());
}

#[test]
fn times_never_fall_below_the_last_event() {
    let commands = [command("ana", "post:1", Like, None)];
    let found = Found { now: 10, ..Found::default() };
    assert_eq!(decide(&commands, found, 1, 99).at, 99);
}

#[test]
fn an_item_that_an_import_brings_is_known_to_the_rest_of_its_batch() {
    let mut import = command("ana", "post:1", Like, None);
    import.from = Source::Import { reacted_at: 5 };
    let mut tap = command("ben", "post:1", Like, None);
    tap.from = Source::User { unknown_items: UnknownItems::Refused };
    let decision = decide(&[import, tap], Found::default(), 1, 0);
    assert_eq!(codes(&decision), [None, None], "as in the next batch");
    assert_eq!(decision.new_items.len(), 1);
}

/// All that batches leave behind: rows, events, records and items.
#[derive(Debug, Default)]
struct World {
    rows: HashMap<(UserId, ItemId), OwnReaction>,
    events: Vec<EventWrite>,
    records: HashMap<(UserId, String), (String, String)>,
    items: HashMap<ItemId, bool>,
    erased: HashSet<UserId>,
    entries: Vec<EntryWrite>,
    restored: Vec<ProposalId>,
}

impl World {
    fn found(&self) -> Found {
        let record = |(key, (fingerprint, answer)): (&(UserId, String), &(String, String))| {
            (key.clone(), Record { fingerprint: fingerprint.clone(), answer: answer.clone() })
        };
        Found {
            records: self.records.iter().map(record).collect(),
            rows: self.rows.clone(),
            items: self.items.clone(),
            erased: self.erased.clone(),
            now: 1_000,
        }
    }

    /// Decides a batch and writes it, as the store's statements would. A batch that cannot be written fails.
    fn commit(&mut self, commands: &[Command]) -> Vec<String> {
        let next_offset = self.events.len() as i64 + 1;
        let decision = decide(commands, self.found(), next_offset, 0);
        for row in decision.rows {
            let key = (row.user, row.item);
            let before = self.rows.insert(key, row.row).map_or(0, |before| before.version);
            assert_eq!(before, row.base_version, "the guard of a row is the version that was read");
        }
        for removal in decision.removals {
            let before = self.rows.remove(&(removal.user, removal.item)).map(|row| row.version);
            assert_eq!(before, Some(removal.version), "the guard of a removal is the version that was read");
        }
        self.entries.extend(decision.entries);
        self.restored.extend(decision.restored);
        for (event, offset) in decision.events.into_iter().zip(next_offset..) {
            assert_eq!(event.offset, offset, "offsets have no gaps");
            self.events.push(event);
        }
        for record in decision.records {
            let before = self.records.insert((record.user, record.key), (record.fingerprint, record.answer));
            assert!(before.is_none(), "a key is stored once");
        }
        for item in decision.new_items {
            assert!(self.items.insert(item, true).is_none(), "a new item is new");
        }
        let shown = |answer: Result<Answer>| match answer {
            Ok(answer) => format!("{answer:?}"),
            Err(refusal) => refusal.code().to_string(),
        };
        decision.answers.into_iter().map(shown).collect()
    }
}

fn any_command(unknown_items: UnknownItems) -> impl Strategy<Value = Command> {
    let state = prop_oneof![Just(Nothing), Just(Like), Just(Dislike)];
    let user = prop_oneof![8 => Just("ana"), 8 => Just("ben"), 1 => Just("gone")];
    let item = prop_oneof![4 => Just("open"), 2 => Just("closed"), 2 => Just("new")];
    let key = proptest::option::of(prop_oneof![Just("k"), Just("l"), Just("m")]);
    let proposal = || ProposalId::from_row("p".into());
    let from = prop_oneof![
        6 => Just(Source::User { unknown_items }),
        2 => (900_i64..1_100).prop_map(|reacted_at| Source::Import { reacted_at }),
        1 => (0_i64..40).prop_map(move |cut| Source::Retract { proposal: proposal(), cut }),
        1 => (1_i64..6).prop_map(move |version| Source::Restore { proposal: proposal(), version, reacted_at: 50 }),
        1 => Just(Source::Erase),
    ];
    (user, item, state, key, from).prop_map(move |(user, item, state, key, from)| {
        // What works in the background has no keys, and takes back to nothing.
        let key = key.filter(|_| matches!(from, Source::User { .. } | Source::Import { .. }));
        let state = if matches!(from, Source::Retract { .. } | Source::Erase) { Nothing } else { state };
        Command { from, ..command(user, item, state, key) }
    })
}

/// Commands with lengths of the batches that they come in.
fn batches() -> impl Strategy<Value = (Vec<Command>, Vec<usize>)> {
    let unknown_items = prop_oneof![Just(UnknownItems::Welcome), Just(UnknownItems::Refused)];
    let lengths = proptest::collection::vec(1..12_usize, 0..8);
    (unknown_items.prop_flat_map(|rule| proptest::collection::vec(any_command(rule), 1..40)), lengths)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_grouping_ends_as_one_command_at_a_time((commands, lengths) in batches()) {
        let world = || World {
            items: ["open", "closed"].map(|id| (ItemId::parse(id).expect("a good id"), id == "open")).into(),
            erased: [UserId::parse("gone").expect("a good id")].into(),
            rows: found(&[("gone", "open", row(Like, 2, 0)), ("gone", "closed", row(Nothing, 3, 0))], &[]).rows,
            ..World::default()
        };
        let mut apart = world();
        let answers_apart: Vec<_> = commands.chunks(1).flat_map(|one| apart.commit(one)).collect();
        let (mut together, mut answers_together) = (world(), Vec::new());
        let mut rest = commands.as_slice();
        for length in lengths {
            let (batch, later) = rest.split_at(length.min(rest.len()));
            answers_together.extend(together.commit(batch));
            rest = later;
        }
        answers_together.extend(together.commit(rest));
        prop_assert_eq!(answers_together, answers_apart);
        prop_assert_eq!(together.rows, apart.rows);
        prop_assert_eq!(together.events, apart.events);
        prop_assert_eq!(together.records, apart.records);
        prop_assert_eq!(together.items, apart.items);
        prop_assert_eq!(together.entries, apart.entries);
        prop_assert_eq!(together.restored, apart.restored);
    }
}

fn found(rows: &[(&str, &str, OwnReaction)], erased: &[&str]) -> Found {
    let key = |user: &str, item: &str| (UserId::from_row(user.into()), ItemId::from_row(item.into()));
    Found {
        rows: rows.iter().map(|(user, item, row)| (key(user, item), *row)).collect(),
        erased: erased.iter().map(|user| UserId::from_row((*user).into())).collect(),
        now: 100,
        ..Found::default()
    }
}

fn row(state: ReactionState, version: i64, event_offset: i64) -> OwnReaction {
    OwnReaction { state, version, reacted_at: 50, event_offset }
}

fn from(source: Source, user: &str, item: &str, wanted: ReactionState) -> Command {
    Command { from: source, ..command(user, item, wanted, None) }
}

#[test]
fn an_erased_row_is_removed_and_its_event_names_nobody() {
    let rows = [("ana", "a", row(Like, 3, 3)), ("ana", "b", row(Nothing, 2, 5))];
    let commands = ["a", "b", "c", "a"].map(|item| from(Source::Erase, "ana", item, Nothing));
    let decision = decide(&commands, found(&rows, &["ana"]), 6, 0);
    assert_eq!(codes(&decision), [None, None, None, None]);
    let removed: Vec<_> = decision.removals.iter().map(|row| (row.item.as_str(), row.version)).collect();
    assert_eq!(removed, [("a", 3), ("b", 2)], "each once, and what was taken back too");
    assert!(decision.rows.is_empty() && decision.events.len() == 1);
    let event = &decision.events[0];
    assert_eq!((&event.user, event.origin, event.like_delta, event.version), (&None, Origin::Erasure, -1, 4));
}

#[test]
fn nobody_but_a_deleted_account_is_erased_and_a_deleted_account_gets_nothing_else() {
    let proposal = ProposalId::from_row("p".into());
    let commands = [
        from(Source::Erase, "ben", "a", Nothing),
        from(Source::Import { reacted_at: 200 }, "ana", "a", Like),
        from(Source::Retract { proposal: proposal.clone(), cut: 9 }, "ana", "a", Nothing),
        from(Source::Restore { proposal, version: 1, reacted_at: 1 }, "ana", "a", Like),
        command("ana", "a", Nothing, Some("k")),
    ];
    let rows = [("ana", "a", row(Like, 1, 1)), ("ben", "a", row(Like, 1, 2))];
    let decision = decide(&commands, found(&rows, &["ana"]), 3, 0);
    let deleted = Some(ErrorCode::Unauthenticated);
    assert_eq!(codes(&decision), [Some(ErrorCode::Internal), deleted, deleted, deleted, deleted]);
    assert!(decision.writes_nothing() && decision.entries.is_empty() && decision.restored.is_empty());
}

#[test]
fn a_retraction_takes_what_was_there_and_a_restoration_what_is_as_it_was_left() {
    let proposal = ProposalId::from_row("p".into());
    let retract = |item| from(Source::Retract { proposal: proposal.clone(), cut: 5 }, "ana", item, Nothing);
    let rows = [("ana", "old", row(Dislike, 2, 5)), ("ana", "new", row(Like, 4, 6))];
    let decision = decide(&["old", "new", "none", "old"].map(retract), found(&rows, &[]), 7, 0);
    assert_eq!((decision.events.len(), decision.entries.len()), (1, 1));
    let entry = &decision.entries[0];
    assert_eq!((entry.item.as_str(), entry.was.state, entry.was.reacted_at, entry.left_at), ("old", Dislike, 50, 3));

    let restore = |item, version| {
        let source = Source::Restore { proposal: proposal.clone(), version, reacted_at: 50 };
        from(source, "ana", item, Dislike)
    };
    let rows = [("ana", "left", row(Nothing, 3, 7)), ("ana", "touched", row(Nothing, 5, 9))];
    let commands = [restore("left", 3), restore("touched", 3), restore("left", 3)];
    let decision = decide(&commands, found(&rows, &[]), 10, 0);
    assert_eq!(decision.restored, std::slice::from_ref(&proposal));
    assert_eq!((decision.rows[0].row.state, decision.rows[0].row.reacted_at), (Dislike, 50));
    assert_eq!(decision.events[0].origin, Origin::Retraction);
}
