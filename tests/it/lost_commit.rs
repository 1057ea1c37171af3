//! A COMMIT whose reply is lost: the lane finds out what became of it and answers the truth.

use futures_util::future::join_all;
use likewise_tests::app::App;
use likewise_tests::harness::Test;
use likewise_tests::proxy::{Loss, Proxy};
use likewise_tests::test_on;
use likewise_tests::views::Reaction;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test_on!([Postgres], a_lost_commit_is_answered_with_the_truth).without_nodes().with_own_servers(),
        test_on!([Postgres], many_writers_meet_lost_commits).without_nodes().with_own_servers(),
    ]
}

async fn behind_proxy(app: &App) -> Proxy {
    let proxy = Proxy::start(app.database.postgres().port()).await;
    let direct = format!(":{}/", app.database.postgres().port());
    let url = app.database.url().replace(&direct, &format!(":{}/", proxy.port()));
    app.start_node(&[("--database-url", &url)]).await;
    proxy
}

async fn a_lost_commit_is_answered_with_the_truth(app: &App) {
    let proxy = behind_proxy(app).await;
    let ana = app.as_user("ana");
    let losses = [Loss::ReplyAndConnection, Loss::CommitAndConnection, Loss::ReplyOnly, Loss::CommitOnly];
    for (number, loss) in losses.into_iter().enumerate() {
        for key in [None, Some(format!("key{number}"))] {
            let item = format!("post:{number}{}", key.is_some());
            let before = proxy.losses();

            proxy.lose(loss);
            let answer =
                ana.tap(&item, Reaction::Like, key.as_deref()).await.expect("the answer after the truth was found");
            assert_eq!(proxy.losses(), before + 1, "{loss:?} happened");
            assert!(answer.changed && !answer.replayed && answer.version == 1, "{loss:?} {key:?}: {answer:?}");
            let events = format!("SELECT count(*) FROM reaction_event WHERE item_id = '{item}'");
            assert_eq!(app.number(&events).await, 1, "{loss:?} {key:?}");
        }
    }
}

/// Batches of many, taps with and without keys, and each answer fits the log.
async fn many_writers_meet_lost_commits(app: &App) {
    let proxy = behind_proxy(app).await;
    for _ in 0..6 {
        proxy.lose(Loss::ReplyAndConnection);
        proxy.lose(Loss::CommitAndConnection);
    }
    let taps = (0..40).map(|number| {
        let client = app.as_user(&format!("user{number}"));
        tokio::spawn(async move {
            for round in 0..10_i64 {
                let reaction = if round % 2 == 0 { Reaction::Like } else { Reaction::None };
                let key = (number % 2 == 0).then(|| format!("tap{round}"));
                let answer = client.tap("post:1", reaction, key.as_deref()).await.expect("an answer");
                assert!(answer.changed && answer.version == round + 1, "user{number} round {round}: {answer:?}");
            }
        })
    });
    for tap in join_all(taps.collect::<Vec<_>>()).await {
        tap.expect("every tap is answered with the truth");
    }
    assert_eq!(proxy.losses(), 12);
    assert_eq!(app.number("SELECT count(*) FROM reaction_event").await, 400);
}
