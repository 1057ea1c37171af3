//! The store by itself on a SQLite file: a like through its batch, the fold, copies and lists.

use super::decide::{Command, Source, UnknownItems};
use super::fold::Claim;
use super::lists::{ListRange, RangeEnd};
use super::*;
use crate::domain::{ItemId, ReactionState, UserId};

struct Scratch {
    store: Store,
    folder: std::path::PathBuf,
}

impl Scratch {
    async fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("likewise-store-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a scratch folder");
        let url = format!("sqlite://{}/store.db?mode=rwc", folder.display());
        let mut store = Store::connect(&StoreSettings::new(url, 2)).await.expect("a store");
        store.migrate(1).await.expect("a schema");
        Self { store, folder }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn command(user: &str, item: &str, wanted: ReactionState) -> Command {
    Command {
        user: UserId::parse(user).expect("a good id"),
        item: ItemId::parse(item).expect("a good id"),
        wanted,
        key: Some(format!("{user}-{item}-{}", wanted.word())),
        from: Source::User { unknown_items: UnknownItems::Welcome },
    }
}

#[tokio::test]
async fn a_batch_is_folded_once_and_read_back() {
    let scratch = Scratch::new("batch").await;
    let store = &scratch.store;
    let commands = [
        command("ana", "post:1", ReactionState::Like),
        command("ben", "post:1", ReactionState::Like),
        command("ben", "post:1", ReactionState::None),
        command("cleo", "post:1", ReactionState::Dislike),
    ];
    let answers = lanes::commit(store, 0, &commands, None).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert!(store.has_unfolded().await.expect("a read"));
    let folded = store.fold(Claim::Free, 3).await.expect("a fold");
    assert!(folded.events == 3 && folded.more);
    store.fold(Claim::Free, 100).await.expect("a fold");
    let again = store.fold_again(Claim::Free, 100, 100).await.expect("the same stretch again");
    assert_eq!((again.events, again.items.len()), (4, 0));

    let items = [ItemId::parse("post:1").expect("a good id"), ItemId::parse("post:2").expect("a good id")];
    let (pulse, copies) = store.count_copies(&items).await.expect("copies");
    assert_eq!(pulse.basis.offsets, [4]);
    assert_eq!((copies[&items[0]].like_count, copies[&items[0]].dislike_count), (1, 1));
    assert_eq!((copies[&items[1]].like_count, copies[&items[1]].version), (0, 0));
    assert_eq!(store.log_lag_events().await.expect("a lag"), 0);

    let range = ListRange { after: None, before: None, end: RangeEnd::Newest, limit: 10 };
    let likers = store.likers(&items, range).await.expect("likers");
    assert_eq!(likers[&items[0]].rows.len(), 1);
    assert!(likers[&items[1]].rows.is_empty());

    let replays = lanes::commit(store, 0, &commands, None).await;
    assert!(replays.iter().all(|answer| answer.as_ref().is_ok_and(|answer| answer.replayed)), "{replays:?}");
}

#[tokio::test]
async fn the_state_in_older_counts_is_the_old_state_of_the_first_event_past_them() {
    let scratch = Scratch::new("overlay").await;
    let store = &scratch.store;
    let ana = UserId::parse("ana").expect("a good id");
    let item = ItemId::parse("post:1").expect("a good id");
    let flips = [ReactionState::Like, ReactionState::Dislike, ReactionState::None];
    let commands = flips.map(|wanted| command("ana", "post:1", wanted));
    lanes::commit(store, 0, &commands, None).await;
    let at = async |offset: i64| {
        let states = store.states_at(&ana, &[(item.clone(), offset)]).await.expect("states");
        states.get(&item).copied()
    };
    assert_eq!(at(0).await, Some(ReactionState::None));
    assert_eq!(at(1).await, Some(ReactionState::Like));
    assert_eq!(at(2).await, Some(ReactionState::Dislike));
    assert_eq!(at(3).await, None);
}
