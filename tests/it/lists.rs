//! Liked items and likers: every row once, in order, whatever the page size and whatever happens in between.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use likewise_tests::app::App;
use likewise_tests::client::Client;
use likewise_tests::harness::Test;
use likewise_tests::on_both;
use likewise_tests::views::{Page, Reaction};
use serde_json::{Value, json};

const ROWS: usize = 30;
const PAGE_SIZES: [usize; 4] = [1, 2, 3, 7];
/// Pages that no walk over some thirty rows reaches: a cursor that stands still fails.
const MOST_PAGES: usize = 100;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        on_both!(liked_items_are_paged_whole_in_both_directions),
        on_both!(likers_are_paged_whole_in_both_directions),
        on_both!(pages_at_the_end_of_a_list_say_so),
        on_both!(paging_forward_survives_likes_and_unlikes),
        on_both!(paging_backward_survives_likes_and_unlikes),
        on_both!(ninety_likers_at_once_are_paged_whole),
        on_both!(a_like_again_comes_first),
        on_both!(lists_and_hearts_agree),
        on_both!(twenty_is_the_page_without_a_size),
        on_both!(a_dislike_is_in_no_list),
    ]
}

/// One of the two lists.
#[derive(Clone, Copy)]
enum List {
    LikedItems,
    Likers,
}

impl List {
    async fn page(self, client: &Client, arguments: Value) -> Page {
        match self {
            Self::LikedItems => client.liked_items(arguments).await,
            Self::Likers => client.likers("post:hot", arguments).await,
        }
    }

    /// A like that adds row `name` to the list; `None` takes it off.
    async fn set(self, app: &App, name: &str, reaction: Reaction) {
        match self {
            Self::LikedItems => app.as_user("ana").set(name, reaction).await,
            Self::Likers => app.as_user(name).set("post:hot", reaction).await,
        };
    }

    /// Fills the list and returns it, newest first.
    async fn fill(self, app: &App, rows: usize) -> Vec<String> {
        let names: Vec<_> = (0..rows).map(|number| format!("row{number:02}")).collect();
        for name in &names {
            self.set(app, name, Reaction::Like).await;
        }
        names.into_iter().rev().collect()
    }
}

/// Walks the whole list from its newest row, `size` rows a page.
async fn walk_forward(list: List, client: &Client, size: usize) -> Vec<String> {
    let (mut ids, mut after) = (Vec::new(), None);
    for _ in 0..MOST_PAGES {
        let page = list.page(client, json!({ "first": size, "after": after })).await;
        assert_eq!(page.has_previous, after.is_some(), "hasPreviousPage, size {size}, after {}", ids.len());
        ids.extend(page.ids);
        if !page.has_next {
            return ids;
        }
        after = page.end;
    }
    panic!("{MOST_PAGES} pages of {size} did not end: {ids:?}");
}

/// The same from its oldest row; the ids come out newest first all the same.
async fn walk_backward(list: List, client: &Client, size: usize) -> Vec<String> {
    let (mut ids, mut before) = (Vec::new(), None);
    for _ in 0..MOST_PAGES {
        let page = list.page(client, json!({ "last": size, "before": before })).await;
        assert_eq!(page.has_next, before.is_some(), "hasNextPage, size {size}, before {}", ids.len());
        ids.splice(0..0, page.ids);
        if !page.has_previous {
            return ids;
        }
        before = page.start;
    }
    panic!("{MOST_PAGES} pages of {size} did not end: {ids:?}");
}

async fn whole_in_both_directions(app: &App, list: List) {
    let ana = app.as_user("ana");
    let expected = list.fill(app, ROWS).await;
    for size in PAGE_SIZES {
        assert_eq!(walk_forward(list, &ana, size).await, expected, "forward, {size}");
        assert_eq!(walk_backward(list, &ana, size).await, expected, "backward, {size}");
    }
}

async fn liked_items_are_paged_whole_in_both_directions(app: &App) {
    whole_in_both_directions(app, List::LikedItems).await;
}

async fn likers_are_paged_whole_in_both_directions(app: &App) {
    whole_in_both_directions(app, List::Likers).await;
}

async fn pages_at_the_end_of_a_list_say_so(app: &App) {
    let ana = app.as_user("ana");
    for (list, size) in [(List::LikedItems, 3), (List::Likers, 3)] {
        let empty = list.page(&ana, json!({ "first": size })).await;
        assert!(empty.ids.is_empty() && !empty.has_next && !empty.has_previous);
        assert_eq!((empty.start, empty.end), (None, None));
        let expected = list.fill(app, size).await;
        for arguments in [json!({ "first": size }), json!({ "last": size })] {
            let exact = list.page(&ana, arguments).await;
            assert_eq!(exact.ids, expected, "N rows");
            assert!(!exact.has_next && !exact.has_previous, "N rows are one page");
        }
        list.set(app, "row99", Reaction::Like).await;
        let more = list.page(&ana, json!({ "first": size })).await;
        assert_eq!(more.ids, ["row99", "row02", "row01"]);
        assert!(more.has_next && !more.has_previous, "N + 1 rows, from the newest");
        let last = list.page(&ana, json!({ "last": size })).await;
        assert_eq!(last.ids, expected);
        assert!(!last.has_next && last.has_previous, "N + 1 rows, from the oldest");
        let rest = list.page(&ana, json!({ "first": size, "after": more.end })).await;
        assert_eq!(rest.ids, ["row00"]);
        let none = list.page(&ana, json!({ "first": size, "after": rest.end })).await;
        assert!(none.ids.is_empty() && !none.has_next);
    }
}

async fn paging_forward_survives_likes_and_unlikes(app: &App) {
    for list in [List::LikedItems, List::Likers] {
        survives_changes(app, list, true).await;
    }
}

async fn paging_backward_survives_likes_and_unlikes(app: &App) {
    for list in [List::LikedItems, List::Likers] {
        survives_changes(app, list, false).await;
    }
}

/// Between two pages one row comes, one that was seen goes and one that was not seen goes, the cursor's own row among
/// them. What stays is seen once and in order; what went before its page is not seen; nothing is seen twice.
async fn survives_changes(app: &App, list: List, forward: bool) {
    let ana = app.as_user("ana");
    for size in PAGE_SIZES {
        let mut expected = list.fill(app, ROWS).await;
        if !forward {
            expected.reverse();
        }
        let (mut seen, mut cursor) = (Vec::new(), None);
        let mut gone = BTreeSet::new();
        let mut rounds = 0;
        loop {
            rounds += 1;
            assert!(rounds < MOST_PAGES, "{MOST_PAGES} pages of {size} did not end: {seen:?}");
            let arguments = match forward {
                true => json!({ "first": size, "after": cursor }),
                false => json!({ "last": size, "before": cursor }),
            };
            let page = list.page(&ana, arguments).await;
            let (more, next) = if forward { (page.has_next, page.end) } else { (page.has_previous, page.start) };
            let mut ids = page.ids;
            if !forward {
                ids.reverse();
            }
            seen.extend(ids);
            cursor = next.or(cursor);
            if !more {
                break;
            }
            // Backward, what is new lies ahead: were there ever more of it, the walk would not end.
            if rounds <= ROWS / 2 {
                list.set(app, &format!("new{rounds}"), Reaction::Like).await;
            }
            let last_seen = seen.last().cloned().expect("a page before the end has rows");
            let unseen = expected.iter().find(|name| !seen.contains(name) && !gone.contains(*name)).cloned();
            for name in [Some(last_seen), unseen].into_iter().flatten() {
                list.set(app, &name, Reaction::None).await;
                gone.insert(name);
            }
        }
        let unique: BTreeSet<_> = seen.iter().collect();
        assert_eq!(unique.len(), seen.len(), "size {size}: a row came twice: {seen:?}");
        let old: Vec<_> = seen.iter().filter(|name| !name.starts_with("new")).collect();
        let positions: Vec<_> = old.iter().map(|name| expected.iter().position(|known| known == *name)).collect();
        assert!(positions.is_sorted(), "size {size}: out of order: {old:?}");
        for name in expected.iter().filter(|name| !gone.contains(*name)) {
            assert!(unique.contains(name), "size {size}: {name} stayed and was not seen: {seen:?}");
        }
        let new = (0..rounds).map(|number| format!("new{number}"));
        for name in expected.into_iter().chain(new) {
            list.set(app, &name, Reaction::None).await;
        }
    }
}

async fn ninety_likers_at_once_are_paged_whole(app: &App) {
    let likes = (0..90).map(|number| {
        let user = app.as_user(&format!("user{number:02}"));
        tokio::spawn(async move { user.like("post:hot").await })
    });
    for like in join_all(likes).await {
        like.expect("every like succeeds");
    }
    let ana = app.as_user("ana");
    let expected: BTreeSet<_> = (0..90).map(|number| format!("user{number:02}")).collect();
    for size in [1, 7, 100] {
        for ids in [walk_forward(List::Likers, &ana, size).await, walk_backward(List::Likers, &ana, size).await] {
            assert_eq!(ids.len(), expected.len(), "pages of {size}");
            assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), expected, "pages of {size}");
        }
    }
}

async fn a_like_again_comes_first(app: &App) {
    let ana = app.as_user("ana");
    List::LikedItems.fill(app, 3).await;
    ana.unlike("row00").await;
    ana.like("row00").await;
    ana.like("row01").await;
    let page = ana.liked_items(json!({ "first": 10 })).await;
    assert_eq!(page.ids, ["row00", "row02", "row01"], "liking what is liked moves nothing");
}

async fn lists_and_hearts_agree(app: &App) {
    let ana = app.as_user("ana");
    let names: Vec<_> = (0..20).map(|number| format!("post:{number}")).collect();
    for (number, name) in names.iter().enumerate() {
        ana.set(name, Reaction::ALL[number % 3]).await;
        ana.set(name, Reaction::ALL[number / 3 % 3]).await;
    }
    let liked = ana.liked_items(json!({ "first": 100 })).await.ids;
    for item in ana.items(&names).await {
        let likes = item.my_reaction == Some(Reaction::Like);
        assert_eq!(item.liked_by_me, Some(likes), "{item:?}");
        assert_eq!(liked.contains(&item.id), likes, "{item:?}");
        let likers = ana.likers(&item.id, json!({ "first": 100 })).await.ids;
        assert_eq!(likers.contains(&"ana".to_owned()), likes, "{item:?}");
        let row = format!("SELECT count(*) FROM reaction WHERE state = 1 AND item_id = '{}'", item.id);
        assert_eq!(app.number(&row).await, i64::from(likes), "{item:?}");
    }
}

async fn twenty_is_the_page_without_a_size(app: &App) {
    let expected = List::LikedItems.fill(app, 21).await;
    let page = app.as_user("ana").liked_items(json!({})).await;
    assert_eq!(page.ids, expected[..20]);
    assert!(page.has_next);
    let null = app.as_user("ana").liked_items(json!({ "first": null, "last": null, "after": null })).await;
    assert_eq!(null.ids, page.ids, "a null argument is as an absent one");
}

async fn a_dislike_is_in_no_list(app: &App) {
    let ana = app.as_user("ana");
    ana.set("post:hot", Reaction::Dislike).await;
    assert!(ana.liked_items(json!({})).await.ids.is_empty());
    assert!(ana.likers("post:hot", json!({})).await.ids.is_empty());
}
