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
