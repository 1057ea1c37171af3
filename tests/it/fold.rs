//! The fold against a sum: whatever stretches it is handed, in whatever order, the counts are those of the log up to
//! the checkpoints.

use std::collections::{BTreeMap, BTreeSet};

use likewise_server::domain::ReactionState;
use likewise_server::store::fold::{Claim, Folded};
use likewise_tests::app::App;
use likewise_tests::bare::{Bare, wish};
use likewise_tests::harness::Test;
use likewise_tests::{on_both, property};
use proptest::prelude::*;

const CASES: u32 = 150;
const HOUR_MS: i64 = 3_600_000;

pub(crate) fn tests() -> Vec<Test> {
    vec![on_both!(any_folds_of_any_log_give_its_sums).limit(240).without_nodes()]
}

#[derive(Debug, Clone)]
enum Step {
    /// (user, item, wanted state) of each tap.
    Append(Vec<(u8, u8, ReactionState)>),
    Fold {
        among: Option<Vec<usize>>,
        limit: i64,
    },
    /// Hands over what was handed over before, and perhaps some more.
    FoldAgain {
        among: Option<Vec<usize>>,
        back: i64,
        limit: i64,
    },
    /// The clock is an hour behind from here on, as far as the versions can tell.
    SetClockBack,
    /// The counters are written anew, as a heal or a rebuild does: all in the first shard, the others from there on.
    Rewrite,
}

fn step() -> impl Strategy<Value = Step> {
    let state = prop_oneof![Just(ReactionState::None), Just(ReactionState::Like), Just(ReactionState::Dislike)];
    let among = || proptest::option::of(proptest::sample::subsequence(vec![0, 1, 2, 3], 1..=3));
    prop_oneof![
        4 => proptest::collection::vec((0..12_u8, 0..4_u8, state), 1..25).prop_map(Step::Append),
        4 => (among(), 1..30_i64).prop_map(|(among, limit)| Step::Fold { among, limit }),
        4 => (among(), 1..40_i64, 1..40_i64).prop_map(|(among, back, limit)| Step::FoldAgain { among, back, limit }),
        1 => Just(Step::Rewrite),
        1 => Just(Step::SetClockBack),
    ]
}

/// (likes, dislikes)
type Sum = (i64, i64);

struct Event {
    item: String,
    like: i64,
    dislike: i64,
}

/// What the log says, and how far it must be folded.
#[derive(Default)]
struct Log {
    /// By partition, from offset 1 on.
    events: Vec<Vec<Event>>,
    checkpoints: Vec<usize>,
    /// Where the counters were last rewritten, and to what.
    bases: Vec<usize>,
    rewritten: BTreeMap<String, Sum>,
}

impl Log {
    fn new(partitions: usize) -> Self {
        let zeros = || vec![0; partitions];
        Self { checkpoints: zeros(), bases: zeros(), ..Self::default() }
    }

    /// The sums of the events of a stretch of one partition, with the last offset of each item.
    fn sums(&self, partition: usize, from: usize, to: usize) -> BTreeMap<String, (Sum, usize)> {
        let mut sums: BTreeMap<String, (Sum, usize)> = BTreeMap::new();
        for (index, event) in self.events[partition].iter().enumerate().take(to).skip(from) {
            let (sum, last) = sums.entry(event.item.clone()).or_default();
            *sum = (sum.0 + event.like, sum.1 + event.dislike);
            *last = index + 1;
        }
        sums
    }

    fn counts(&self) -> BTreeMap<String, Sum> {
        let mut counts: BTreeMap<String, Sum> = BTreeMap::new();
        for partition in 0..self.events.len() {
            for (item, (sum, _)) in self.sums(partition, 0, self.checkpoints[partition]) {
                let count = counts.entry(item).or_default();
                *count = (count.0 + sum.0, count.1 + sum.1);
            }
        }
        counts
    }

    /// As rows of `item partition likes dislikes fence`.
    fn shards(&self) -> BTreeSet<String> {
        let mut shards: BTreeMap<(String, usize), (Sum, usize)> = BTreeMap::new();
        for (item, sum) in &self.rewritten {
            shards.insert((item.clone(), 0), (*sum, self.bases[0]));
        }
        for partition in 0..self.events.len() {
            for (item, (sum, last)) in self.sums(partition, self.bases[partition], self.checkpoints[partition]) {
                let shard = shards.entry((item, partition)).or_default();
                *shard = ((shard.0.0 + sum.0, shard.0.1 + sum.1), last);
            }
        }
        let row = |((item, partition), ((likes, dislikes), fence)): ((String, usize), (Sum, usize))| {
            format!("{item} {partition} {likes} {dislikes} {fence}")
        };
        shards.into_iter().map(row).collect()
    }

    /// Moves the checkpoints; returns the events that the fold must have been handed and the items it must name.
    fn fold(&mut self, among: Option<&[usize]>, back: i64, limit: i64) -> (u64, BTreeSet<String>) {
        let (back, limit) = (usize::try_from(back).expect("small"), usize::try_from(limit).expect("small"));
        let (mut handed, mut items) = (0, BTreeSet::new());
        for partition in 0..self.events.len() {
            if among.is_some_and(|among| !among.contains(&partition)) {
                continue;
            }
            let checkpoint = self.checkpoints[partition];
            let from = checkpoint.saturating_sub(back);
            let to = self.events[partition].len().min(from + limit);
            handed += (to - from) as u64;
            items.extend(self.sums(partition, checkpoint, to.max(checkpoint)).into_keys());
            self.checkpoints[partition] = checkpoint.max(to);
        }
        (handed, items)
    }
}

async fn any_folds_of_any_log_give_its_sums(app: &App) {
    let bare = Bare::open(&app.database).await;
    let steps = proptest::collection::vec(step(), 1..14);
    property::holds("any_folds_of_any_log_give_its_sums", CASES, steps, async |steps| {
        bare.empty().await;
        let mut log = Log::new(bare.store.partitions());
        read_log(&bare, &mut log).await;
        let mut versions = BTreeMap::new();
        for step in &steps {
            let changed = take(&bare, &mut log, step).await;
            if matches!(step, Step::SetClockBack) {
                versions.values_mut().for_each(|version| *version += HOUR_MS);
            }
            check(&bare, &log, &mut versions, &changed).await;
        }
        // To the end, so that the case leaves counts that are those of the rows.
        let rest = Step::Fold { among: None, limit: 10_000 };
        let changed = take(&bare, &mut log, &rest).await;
        check(&bare, &log, &mut versions, &changed).await;
    })
    .await;
    let broken = likewise_tests::invariants::broken(&bare.sql).await;
    assert!(broken.is_empty(), "{broken:?}");
    bare.close().await;
}

/// Takes a step; returns the items whose counts moved.
async fn take(bare: &Bare, log: &mut Log, step: &Step) -> BTreeSet<String> {
    match step {
        Step::Append(taps) => {
            let wishes =
                taps.iter().map(|(user, item, wanted)| wish(&format!("u{user}"), &format!("i{item}"), *wanted, None));
            let answers = bare.at_once(&wishes.collect::<Vec<_>>()).await;
            assert!(answers.iter().all(Result::is_ok), "{answers:?}");
            read_log(bare, log).await;
            BTreeSet::new()
        }
        Step::Fold { among, limit } => {
            let before = log.checkpoints.clone();
            let folded = bare.store.fold(claim(among.as_deref()), *limit).await.expect("a fold");
            let changed = compare(&folded, log.fold(among.as_deref(), 0, *limit), step);
            let moved = (0..before.len()).filter(|partition| before[*partition] < log.checkpoints[*partition]);
            let moved: Vec<_> =
                moved.map(|partition| (partition, before[partition], log.checkpoints[partition])).collect();
            let ranges = folded.ranges.iter().map(|range| {
                let offset = |offset: i64| usize::try_from(offset).expect("not negative");
                (range.partition, offset(range.from), offset(range.to))
            });
            let mut ranges: Vec<_> = ranges.collect();
            ranges.sort_unstable();
            assert_eq!(ranges, moved, "the ranges that {step:?} tells of");
            changed
        }
        Step::FoldAgain { among, back, limit } => {
            let folded = bare.store.fold_again(claim(among.as_deref()), *back, *limit).await.expect("a fold");
            compare(&folded, log.fold(among.as_deref(), *back, *limit), step)
        }
        Step::SetClockBack => {
            bare.sql.execute(&format!("UPDATE item_count SET version = version + {HOUR_MS}")).await;
            BTreeSet::new()
        }
        Step::Rewrite => {
            rewrite(bare).await;
            (log.bases, log.rewritten) = (log.checkpoints.clone(), log.counts());
            BTreeSet::new()
        }
    }
}

fn claim(among: Option<&[usize]>) -> Claim<'_> {
    among.map_or(Claim::Free, Claim::Among)
}

fn compare(folded: &Folded, (handed, items): (u64, BTreeSet<String>), step: &Step) -> BTreeSet<String> {
    assert_eq!(folded.events, handed, "events handed to {step:?}");
    let named: BTreeSet<_> = folded.items.iter().map(ToString::to_string).collect();
    assert_eq!(named, items, "items that {step:?} changed");
    items
}

async fn rewrite(bare: &Bare) {
    let session = bare.sql.begin().await;
    session.execute("UPDATE checkpoint SET base_offset = \"offset\"").await;
    session.execute("DELETE FROM item_count_shard").await;
    session
        .execute(
            "INSERT INTO item_count_shard (item_id, partition, like_count, dislike_count, applied_offset)
             SELECT item_id, 0, like_count, dislike_count, (SELECT base_offset FROM checkpoint WHERE partition = 0)
             FROM item_count",
        )
        .await;
    session.execute("UPDATE item_count SET reconciled_at = 1").await;
    session.commit().await;
}

/// The truth of the log is what is in it.
async fn read_log(bare: &Bare, log: &mut Log) {
    let rows = bare.sql.column::<String>(
        "SELECT CAST(partition AS text) || ' ' || item_id || ' ' || CAST(like_delta AS text) || ' ' || CAST(dislike_delta AS text)
         FROM reaction_event ORDER BY partition, \"offset\"",
    );
    log.events = (0..bare.store.partitions()).map(|_| Vec::new()).collect();
    for row in rows.await {
        let words: Vec<_> = row.split(' ').collect();
        let number = |index: usize| words[index].parse::<i64>().expect("a number");
        let event = Event { item: words[1].to_owned(), like: number(2), dislike: number(3) };
        log.events[usize::try_from(number(0)).expect("a partition")].push(event);
    }
}

async fn check(bare: &Bare, log: &Log, versions: &mut BTreeMap<String, i64>, changed: &BTreeSet<String>) {
    let checkpoints = bare.sql.column::<i64>("SELECT \"offset\" FROM checkpoint ORDER BY partition").await;
    let expected: Vec<_> = log.checkpoints.iter().map(|offset| i64::try_from(*offset).expect("small")).collect();
    assert_eq!(checkpoints, expected, "checkpoints");
    let counts = bare.sql.column::<String>(
        "SELECT item_id || ' ' || CAST(like_count AS text) || ' ' || CAST(dislike_count AS text) FROM item_count",
    );
    let counts: BTreeSet<_> = counts.await.into_iter().collect();
    let expected = log.counts().into_iter().map(|(item, (likes, dislikes))| format!("{item} {likes} {dislikes}"));
    assert_eq!(counts, expected.collect(), "counts");
    let shards = bare.sql.column::<String>(
        "SELECT item_id || ' ' || CAST(partition AS text) || ' ' || CAST(like_count AS text) || ' '
             || CAST(dislike_count AS text) || ' ' || CAST(applied_offset AS text) FROM item_count_shard",
    );
    assert_eq!(shards.await.into_iter().collect::<BTreeSet<_>>(), log.shards(), "shards");
    let found = bare.sql.column::<String>("SELECT item_id || ' ' || CAST(version AS text) FROM item_count").await;
    for row in &found {
        let (item, version) = row.split_once(' ').expect("two words");
        let version = version.parse().expect("a number");
        let before = versions.insert(item.to_owned(), version).unwrap_or_default();
        let as_it_must = if changed.contains(item) { version > before } else { version == before };
        assert!(as_it_must, "the version of {item} went from {before} to {version}; changed were {changed:?}");
    }
}
