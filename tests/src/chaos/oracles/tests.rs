//! Each oracle on small histories: silent on a good one, and heard where one thing in it is spoiled.

use super::*;
use crate::chaos::history::{Answer, Cause, Death, Erasure, List, Look, Op, Outcome, Proposal, Scan, Source};
use crate::chaos::snapshot::{Counts, Event, Origin, Partition, Row, Total, Trace};
use crate::views::Reaction::{self, Dislike, Like, None as Neither};

const ITEM: &str = "post";

fn event(offset: i64, user: &str, old: Reaction, new: Reaction, version: i64) -> Event {
    let (before, after) = (Counts::of(old), Counts::of(new));
    Event {
        partition: 0,
        offset,
        user: Some(user.to_owned()),
        item: ITEM.to_owned(),
        old,
        new,
        like_delta: after.likes - before.likes,
        dislike_delta: after.dislikes - before.dislikes,
        version,
        origin: Origin::User,
        at: offset * 100 + 5,
    }
}

/// Ana's tap `number` with a key of its own, asked at `number * 100` and answered ten later.
fn tap(number: i64, old: Reaction, new: Reaction, version: i64) -> Op {
    let (before, after) = (Counts::of(old), Counts::of(new));
    let answer = Answer {
        reaction: new,
        previous: old,
        changed: old != new,
        version,
        like_delta: after.likes - before.likes,
        dislike_delta: after.dislikes - before.dislikes,
        replayed: false,
    };
    Op {
        node: 0,
        user: "ana".to_owned(),
        item: ITEM.to_owned(),
        wanted: new,
        key: Some(format!("tap{number}")),
        start: number * 100,
        end: number * 100 + 10,
        outcome: Outcome::Ok(answer),
    }
}

fn look(source: Source, user: Option<&str>, at: i64, likes: i64, count_version: i64) -> Look {
    Look {
        source,
        node: 0,
        user: user.map(str::to_owned),
        item: ITEM.to_owned(),
        start: at,
        end: at + 5,
        likes,
        dislikes: 0,
        count_version,
        live: true,
        heart: user.map(|_| (Like, 3)),
    }
}

/// Ana likes, takes it back and likes again; Ben likes and nobody hears of it. Both are counted, listed and shown.
fn good() -> (History, Snapshot) {
    let mut lost = tap(4, Neither, Like, 1);
    (lost.user, lost.outcome) = ("ben".to_owned(), Outcome::Unknown("no answer".to_owned()));
    let history = History {
        ops: vec![tap(1, Neither, Like, 1), tap(2, Like, Neither, 2), tap(3, Neither, Like, 3), lost],
        looks: vec![
            look(Source::Read, Some("ana"), 350, 1, 30),
            look(Source::Push(1), None, 360, 1, 30),
            look(Source::Push(1), None, 500, 2, 40),
        ],
        scans: vec![Scan {
            list: List::Likers(ITEM.to_owned()),
            start: 500,
            end: 550,
            pages: 1,
            ids: vec!["ben".to_owned(), "ana".to_owned()],
        }],
        ..History::default()
    };
    let row = |version, event_offset| Row { state: Like, version, event_offset };
    let pair = |user: &str| (user.to_owned(), ITEM.to_owned());
    let counts = Counts { likes: 2, dislikes: 0 };
    let snapshot = Snapshot {
        events: vec![
            event(1, "ana", Neither, Like, 1),
            event(2, "ana", Like, Neither, 2),
            event(3, "ana", Neither, Like, 3),
            event(4, "ben", Neither, Like, 1),
        ],
        rows: [(pair("ana"), row(3, 3)), (pair("ben"), row(1, 4))].into(),
        totals: [(ITEM.to_owned(), Total { counts, version: 40, healed: false })].into(),
        shards: [((ITEM.to_owned(), 0), counts)].into(),
        partitions: [(0, Partition { next_offset: 5, checkpoint: 4 })].into(),
        ..Snapshot::default()
    };
    (history, snapshot)
}

/// The oracles that are heard once `spoil` has changed one thing.
#[track_caller]
fn heard(expected: &[&str], spoil: impl FnOnce(&mut History, &mut Snapshot)) {
    let (mut history, mut snapshot) = good();
    spoil(&mut history, &mut snapshot);
    let violations = check(&history, &snapshot);
    let mut heard: Vec<_> = violations.iter().map(|violation| violation.oracle).collect();
    heard.dedup();
    assert_eq!(heard, expected, "{violations:#?}");
}

fn answer_of(op: &mut Op) -> &mut Answer {
    match &mut op.outcome {
        Outcome::Ok(answer) => answer,
        other => panic!("an answer, not {other:?}"),
    }
}

#[test]
fn a_good_history_has_no_violation() {
    heard(&[], |_, _| {});
}

#[test]
fn processes_end_only_when_they_are_told() {
    let death = |cause| Death { node: 0, at: 1, cause };
    heard(&[], |history, _| history.deaths = vec![death(Cause::Killed), death(Cause::Failpoint("lane".to_owned()))]);
    heard(&[PROCESSES], |history, _| history.deaths = vec![death(Cause::ByItself("exit status: 1".to_owned()))]);
}

#[test]
fn the_log_has_no_gap_and_its_rows_follow() {
    heard(&[LOG, EXPLAINED, OWN], |_, snapshot| snapshot.events[1].version = 3);
    heard(&[LOG], |_, snapshot| snapshot.events[2].at = 410);
    heard(&[LOG], |_, snapshot| snapshot.partitions = [(0, Partition { next_offset: 6, checkpoint: 5 })].into());
    heard(&[LOG], |_, snapshot| snapshot.rows.values_mut().for_each(|row| row.version = 3));
    heard(&[LOG, CONSERVATION], |_, snapshot| drop(snapshot.rows.pop_first()));
}

#[test]
fn counts_are_conserved() {
    heard(&[CONSERVATION], |_, snapshot| snapshot.shards.values_mut().for_each(|shard| shard.likes += 1));
    heard(&[CONSERVATION, PUSHES], |_, snapshot| {
        snapshot.totals.values_mut().for_each(|total| total.counts.likes -= 1);
    });
    heard(&[CONSERVATION], |_, snapshot| snapshot.totals.values_mut().for_each(|total| total.healed = true));
    heard(&[CONSERVATION], |_, snapshot| snapshot.partitions.values_mut().for_each(|of| of.checkpoint -= 1));
}

#[test]
fn flips_are_asked_for_and_acknowledged_ones_are_there() {
    // Ben never asked.
    heard(&[EXPLAINED], |history, _| drop(history.ops.pop()));
    // What was refused was not done.
    heard(&[EXPLAINED], |history, _| history.ops[3].outcome = Outcome::Fail("OVERLOADED".to_owned()));
    // Ben asked after it had happened.
    heard(&[EXPLAINED], |history, _| history.ops[3].start = 1_000);
    // One lost tap explains one flip.
    heard(&[CONSERVATION, EXPLAINED], |_, snapshot| {
        snapshot.events.extend([event(5, "ben", Like, Neither, 2), event(6, "ben", Neither, Like, 3)]);
        snapshot.rows.values_mut().last().expect("Ben's").clone_from(&Row { state: Like, version: 3, event_offset: 6 });
        snapshot.partitions = [(0, Partition { next_offset: 7, checkpoint: 4 })].into();
    });
    // Two taps cannot have done one flip.
    heard(&[EXPLAINED], |history, _| {
        let mut twin = history.ops[0].clone();
        twin.key = Some("another".to_owned());
        history.ops.push(twin);
    });
    heard(&[EXPLAINED, OWN], |history, _| {
        let mut invented = tap(5, Like, Neither, 4);
        invented.end = 340;
        history.ops.push(invented);
    });
}

#[test]
fn answers_under_one_key_are_one_answer() {
    let replay = |history: &mut History| {
        let mut again = history.ops[0].clone();
        answer_of(&mut again).replayed = true;
        history.ops.push(again);
    };
    heard(&[], |history, _| replay(history));
    heard(&[ANSWERS], |history, _| {
        replay(history);
        answer_of(history.ops.last_mut().expect("the replay")).version = 2;
    });
    heard(&[ANSWERS], |history, _| history.ops.push(history.ops[0].clone()));
    // The first answer to the only request.
    heard(&[ANSWERS], |history, _| answer_of(&mut history.ops[0]).replayed = true);
    heard(&[ANSWERS], |history, _| answer_of(&mut history.ops[0]).like_delta = 0);
    heard(&[ANSWERS], |history, _| {
        let refused =
            Op { key: None, outcome: Outcome::Fail("INTERNAL_SERVER_ERROR".to_owned()), ..history.ops[0].clone() };
        history.ops.push(refused);
    });
}

#[test]
fn who_was_answered_reads_it_everywhere() {
    heard(&[OWN], |history, _| history.looks[0].heart = Some((Neither, 2)));
    heard(&[OWN], |history, _| history.looks[0].heart = Some((Dislike, 3)));
    heard(&[OWN], |history, _| history.looks[0].likes = 0);
    // A read that was on its way before the answer may be older.
    heard(&[], |history, _| {
        history.looks[0].heart = Some((Neither, 2));
        history.looks[0].start = 305;
    });
}

#[test]
fn pushes_never_go_back() {
    heard(&[PUSHES], |history, _| history.looks.push(look(Source::Push(1), None, 600, 1, 30)));
    heard(&[], |history, _| history.looks.push(look(Source::Push(2), None, 600, 1, 30)));
    heard(&[PUSHES], |history, _| history.looks[1].count_version = 41);
    heard(&[PUSHES], |history, _| history.looks.push(look(Source::Read, None, 600, 2, 30)));
}

#[test]
fn lists_have_everybody_once() {
    heard(&[PAGES], |history, _| drop(history.scans[0].ids.pop()));
    heard(&[PAGES], |history, _| history.scans[0].ids.push("ana".to_owned()));
    heard(&[PAGES], |history, _| history.scans[0].ids.push("cem".to_owned()));
    // Ben's like was not known to be there, so he may be missing.
    heard(&[], |history, _| drop(history.scans[0].ids.remove(0)));
    // Ana had taken it back for as long as this was read.
    heard(&[PAGES], |history, _| (history.scans[0].start, history.scans[0].end) = (215, 290));
}

#[test]
fn nothing_is_negative() {
    heard(&[SIGN], |history, _| {
        let shown = look(Source::Read, None, 600, -1, 20);
        history.looks.push(shown);
    });
    heard(&[SIGN], |history, _| history.clamped.push("a count is below zero".to_owned()));
    heard(&[CONSERVATION, SIGN], |_, snapshot| snapshot.shards.values_mut().for_each(|shard| shard.dislikes = -1));
}

/// Ana is erased: her row is gone and an event without a user took her like.
fn erase_ana(history: &mut History, snapshot: &mut Snapshot) {
    let gone = Event { user: None, ..event(5, "", Like, Neither, 4) };
    snapshot.events.push(gone);
    snapshot.rows.pop_first();
    snapshot.erased.insert("ana".to_owned());
    let counts = Counts { likes: 1, dislikes: 0 };
    snapshot.totals = [(ITEM.to_owned(), Total { counts, version: 50, healed: false })].into();
    snapshot.shards = [((ITEM.to_owned(), 0), counts)].into();
    snapshot.partitions = [(0, Partition { next_offset: 6, checkpoint: 5 })].into();
    history.erasures.push(Erasure { user: "ana".to_owned(), start: 600, stands: Some(610), finished: Some(700) });
}

#[test]
fn who_was_erased_is_gone() {
    heard(&[], erase_ana);
    heard(&[ERASED], |history, snapshot| {
        erase_ana(history, snapshot);
        snapshot.traces.push(Trace { user: "ana".to_owned(), place: "friendship.friend_id".to_owned() });
    });
    heard(&[ERASED], |history, snapshot| {
        erase_ana(history, snapshot);
        let again = Scan { start: 800, end: 810, ids: vec!["ana".to_owned()], ..history.scans[0].clone() };
        history.scans.push(again);
    });
    heard(&[ERASED], |history, snapshot| {
        erase_ana(history, snapshot);
        let mut replayed = Op { start: 650, end: 660, ..history.ops[0].clone() };
        answer_of(&mut replayed).replayed = true;
        history.ops.push(replayed);
    });
    heard(&[CONSERVATION, ERASED], |history, snapshot| {
        erase_ana(history, snapshot);
        snapshot.events.pop();
        snapshot.partitions = [(0, Partition { next_offset: 5, checkpoint: 4 })].into();
    });
    heard(&[LOG, ERASED], |history, snapshot| {
        erase_ana(history, snapshot);
        snapshot.erased.clear();
    });
}

/// Ben's like is taken back by a proposal.
fn retract_bens(history: &mut History, snapshot: &mut Snapshot) {
    snapshot.events.push(Event { origin: Origin::Retraction, ..event(5, "ben", Like, Neither, 2) });
    snapshot.rows.values_mut().last().expect("Ben's").clone_from(&Row { state: Neither, version: 2, event_offset: 5 });
    let counts = Counts { likes: 1, dislikes: 0 };
    snapshot.totals = [(ITEM.to_owned(), Total { counts, version: 50, healed: false })].into();
    snapshot.shards = [((ITEM.to_owned(), 0), counts)].into();
    snapshot.partitions = [(0, Partition { next_offset: 6, checkpoint: 5 })].into();
    let pairs = vec![("ben".to_owned(), ITEM.to_owned())];
    let proposal = Proposal { id: "p".to_owned(), pairs, start: 450, restore: None, settled: true };
    history.proposals.push(proposal);
}

#[test]
fn reactions_are_taken_back_by_proposals_only() {
    heard(&[], retract_bens);
    heard(&[RETRACTED], |history, snapshot| {
        retract_bens(history, snapshot);
        history.proposals.clear();
    });
    heard(&[RETRACTED], |history, snapshot| {
        retract_bens(history, snapshot);
        history.proposals[0].start = 1_000;
    });
    // It was said to be done, and the like stands.
    heard(&[RETRACTED], |history, _| {
        let pairs = vec![("ben".to_owned(), ITEM.to_owned())];
        history.proposals.push(Proposal { id: "p".to_owned(), pairs, start: 450, restore: None, settled: true });
    });
    // Nobody asked to give it back.
    heard(&[CONSERVATION, RETRACTED], |history, snapshot| {
        retract_bens(history, snapshot);
        snapshot.events.push(Event { origin: Origin::Retraction, ..event(6, "ben", Neither, Like, 3) });
        snapshot.partitions = [(0, Partition { next_offset: 7, checkpoint: 6 })].into();
        snapshot.rows.values_mut().last().expect("Ben's").clone_from(&Row { state: Like, version: 3, event_offset: 6 });
    });
}
