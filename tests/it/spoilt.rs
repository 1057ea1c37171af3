//! Counters that somebody spoilt beyond all bounds: one item's are no reason for others to suffer, and heal.

use likewise_tests::app::App;
use likewise_tests::harness::Test;
use likewise_tests::on_both;
use likewise_tests::views::Reaction;

use crate::reconcile::{execute, react, run};

const MOST: &str = "9223372036854775807";
const LEAST: &str = "(-9223372036854775807 - 1)";
/// A heal of a count past 2^53 may take a second one to be exact.
const HEALS: usize = 3;
const NEIGHBOUR: &str = "post:good";

pub(crate) fn tests() -> Vec<Test> {
    vec![on_both!(counts_beyond_all_bounds_stop_nobody_and_heal).with_binary()]
}

async fn counts_beyond_all_bounds_stop_nobody_and_heal(app: &App) {
    let spoil = [
        format!("UPDATE item_count SET like_count = {MOST} WHERE item_id = 'post:0'"),
        format!("UPDATE item_count SET like_count = {MOST}, dislike_count = {MOST} WHERE item_id = 'post:1'"),
        format!("UPDATE item_count SET like_count = {LEAST}, dislike_count = {LEAST} WHERE item_id = 'post:2'"),
        format!("UPDATE item_count_shard SET like_count = {MOST} WHERE item_id = 'post:3'"),
        format!("UPDATE item_count_shard SET dislike_count = {LEAST} WHERE item_id = 'post:4'"),
        format!("UPDATE item_count SET version = {MOST} WHERE item_id = 'post:5'"),
        format!("UPDATE item_count SET reconciled_at = {MOST}, like_count = 9 WHERE item_id = 'post:6'"),
        "INSERT INTO item_count_shard (item_id, partition, like_count, dislike_count, applied_offset)
         VALUES ('post:7', 7, 5, 0, 0)"
            .to_owned(),
    ];
    let items: Vec<String> = (0..spoil.len()).map(|number| format!("post:{number}")).collect();
    for item in items.iter().map(String::as_str).chain([NEIGHBOUR]) {
        react(&app.client(), item).await;
    }
    app.drained().await;
    execute(app, &spoil).await;

    let fay = app.as_user("fay");
    for item in items.iter().map(String::as_str).chain([NEIGHBOUR]) {
        assert!(fay.tap(item, Reaction::Like, None).await.expect("a reaction is taken").changed, "{item}");
    }
    app.drained().await;
    let all: Vec<String> = items.iter().cloned().chain([NEIGHBOUR.to_owned()]).collect();
    let shown = app.client().items(&all).await;
    assert!(shown.iter().all(|item| item.like_count >= 0 && item.dislike_count >= 0), "{shown:?}");
    assert_eq!((shown[8].like_count, shown[8].dislike_count), (4, 2), "a neighbour is counted as ever");

    let mut heals = Vec::new();
    for _ in 0..HEALS {
        heals.push(run(app, &["reconcile"]).await);
    }
    assert_eq!((heals[0].code, heals[HEALS - 1].code), (Some(3), Some(0)), "{heals:?}");
    for item in app.client().items(&all).await {
        assert_eq!((item.like_count, item.dislike_count), (4, 2), "{item:?}");
    }
    run(app, &["rebuild"]).await.success();
}
