//! The viewer's own tap: in every count they see, at once and once.

use std::collections::BTreeSet;

use likewise_tests::app::App;
use likewise_tests::harness::Test;
use likewise_tests::views::{Item, Reaction};
use likewise_tests::{invariants, on_all, on_both, seeded, test_on};
use rand::RngExt;

/// Short windows, so that a thousand rounds of tap, fold and push take seconds.
const QUICK: &[(&str, &str)] = &[("--push-interval-ms", "5"), ("--fold-window-ms", "5")];
/// A window in which two taps are surely folded together.
const SLOW: &[(&str, &str)] = &[("--fold-window-ms", "5000")];
const ROUNDS: usize = 1000;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        on_both!(payload_and_next_query_have_the_tap),
        test_on!([Cluster], the_other_node_has_the_tap_at_once),
        on_all!(a_tap_is_counted_once_in_a_thousand_rounds).with(QUICK).limit(400),
        test_on!([Sqlite], a_sum_of_zero_still_pushes_the_empty_heart).with(SLOW),
        test_on!([Postgres, Cluster], a_sum_of_zero_still_pushes_the_empty_heart),
    ]
}

async fn payload_and_next_query_have_the_tap(app: &App) {
    let ana = app.as_user("ana");
    for round in 0..100 {
        let item = format!("post:{round}");
        assert_eq!(ana.like(&item).await.item.like_count, 1, "in the payload");
        assert_eq!(ana.item(&item).await.like_count, 1, "in the next query");
        assert_eq!(ana.unlike(&item).await.item.like_count, 0, "in the payload");
        assert_eq!(ana.item(&item).await.like_count, 0, "in the next query");
    }
}

async fn the_other_node_has_the_tap_at_once(app: &App) {
    let (here, there) = (app.node(0).as_user("ana"), app.node(1).as_user("ana"));
    for round in 0..200 {
        let item = format!("post:{}", round % 3);
        let reaction = Reaction::ALL[round % Reaction::ALL.len()];
        let payload = here.set(&item, reaction).await;
        let seen = there.item(&item).await;
        assert_eq!(seen.my_reaction, Some(reaction), "round {round}");
        assert_eq!(seen.my_reaction_version, Some(payload.version), "round {round}");
        assert_eq!((seen.like_count, seen.dislike_count), reaction.counts(), "round {round}");
    }
}

/// Ana taps while at most one other person flips. Before each round everything is folded, so the only counts that may
/// be seen are her own tap and the others' before or after that flip: a tap that is lost or counted twice shows.
async fn a_tap_is_counted_once_in_a_thousand_rounds(app: &App) {
    let mut rng = seeded::rng("a_tap_is_counted_once_in_a_thousand_rounds");
    let nodes = app.running_nodes();
    let ana = app.node(0).as_user("ana");
    let mut page = ana.watch(&["post:1"]).await;
    page.next("the first event").await;
    let sql = app.sql().await;
    let mut others = BTreeSet::new();
    for round in 0..ROUNDS {
        let (before, own) = (count(&others), rng.random_bool(0.5));
        let other = rng.random_range(0..12);
        let flip = (rng.random_bool(0.7)).then(|| if others.remove(&other) { false } else { others.insert(other) });
        let device = app.node(rng.random_range(0..nodes)).as_user("ana");
        let their = async {
            let Some(likes) = flip else { return };
            let reaction = if likes { Reaction::Like } else { Reaction::None };
            app.node(round % nodes).as_user(&format!("other{other}")).set("post:1", reaction).await;
        };
        let mine = async {
            let payload = device.set("post:1", if own { Reaction::Like } else { Reaction::None }).await;
            (payload, device.item("post:1").await)
        };
        let ((payload, query), ()) = tokio::join!(mine, their);
        let allowed = [i64::from(own) + before, i64::from(own) + count(&others)];
        assert!(allowed.contains(&payload.item.like_count), "round {round}, payload, {allowed:?}: {payload:?}");
        assert!(allowed.contains(&query.like_count), "round {round}, query, {allowed:?}: {query:?}");
        page.has_tapped("post:1", payload.version);
        let wanted = allowed[1];
        let is_wanted = |item: &Item| (item.like_count, item.my_reaction_version) == (wanted, Some(payload.version));
        if !page.latest("post:1").is_some_and(is_wanted) {
            page.until(&format!("round {round} shows {wanted} likes"), |item| {
                assert!(allowed.contains(&item.like_count), "round {round}, push, {allowed:?}: {item:?}");
                assert_eq!(item.liked_by_me, Some(own), "round {round}, push");
                item.like_count == wanted
            })
            .await;
        }
        invariants::drained(&sql).await;
    }
    sql.close().await;
}

fn count(others: &BTreeSet<i32>) -> i64 {
    i64::try_from(others.len()).expect("a dozen")
}

async fn a_sum_of_zero_still_pushes_the_empty_heart(app: &App) {
    let last = app.running_nodes() - 1;
    let (ana, ben) = (app.node(0).as_user("ana"), app.as_user("ben"));
    ana.like("post:1").await;
    app.drained().await;
    let mut page = app.node(last).as_user("ana").watch(&["post:1"]).await;
    let first = page.next("the first event").await;
    assert_eq!((first.like_count, first.liked_by_me), (1, Some(true)));
    let (_, payload) = folded_together(app, async || tokio::join!(ben.like("post:1"), ana.unlike("post:1"))).await;
    let folded = page.until("the folded count is shown", |item| item.count_version > first.count_version).await;
    assert_eq!((folded.like_count, folded.liked_by_me), (1, Some(false)));
    assert_eq!(folded.my_reaction_version, Some(payload.version));
}

/// Commits taps that no fold comes between.
async fn folded_together<T>(app: &App, taps: impl AsyncFnOnce() -> T) -> T {
    if !app.database.is_postgres() {
        // The first change after a quiet spell is folded at once; what follows waits for the window.
        app.as_user("cem").like("post:2").await;
        app.drained().await;
        return taps().await;
    }
    let sql = app.sql().await;
    let session = sql.begin().await;
    session.execute("SELECT 1 FROM checkpoint FOR UPDATE").await;
    let done = taps().await;
    session.commit().await;
    sql.close().await;
    done
}
