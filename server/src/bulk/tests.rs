//! Imports into a real SQLite file.

use std::fs;
use std::path::PathBuf;

use futures_util::FutureExt;
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement, TryGetable};
use tempfile::TempDir;

use super::import::import_in;
use super::write::Chunks;
use super::*;
use crate::domain::{ItemId, ReactionState, UserId};
use crate::store::decide::{Command, Source, UnknownItems};
use crate::store::{Store, StoreSettings};

/// So small that a test file is many transactions.
const SMALL: Chunks = Chunks { least: 7, most: 7 };

struct Fixture {
    folder: TempDir,
    store: Store,
    sql: DatabaseConnection,
}

async fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let url = url(&folder);
    let mut store = Store::connect(&StoreSettings::new(url.clone(), 2)).await.unwrap();
    store.migrate(1).await.unwrap();
    let sql = Database::connect(url).await.unwrap();
    Fixture { folder, store, sql }
}

fn url(folder: &TempDir) -> String {
    format!("sqlite://{}/likewise.db?mode=rwc", folder.path().display())
}

impl Fixture {
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> ImportOptions {
        let file: PathBuf = self.folder.path().join(name);
        fs::write(&file, content).unwrap();
        ImportOptions { file, time_unit: TimeUnit::Microseconds, skip_bad_lines: false }
    }

    async fn import(&self, options: &ImportOptions) -> Result<ImportReport, BulkError> {
        import(self.store.clone(), options.clone()).await
    }

    async fn value<T: TryGetable>(&self, sql: &str) -> T {
        let statement = Statement::from_string(DbBackend::Sqlite, sql);
        self.sql.query_one_raw(statement).await.unwrap().expect("a row").try_get_by_index(0).unwrap()
    }

    async fn likes(&self, item: &str) -> i64 {
        self.value(&format!("SELECT coalesce(max(like_count), 0) FROM item_count WHERE item_id = '{item}'")).await
    }

    async fn events(&self) -> i64 {
        self.value("SELECT count(*) FROM reaction_event").await
    }

    /// The log is folded, each row has as many events as its version says, and the counts are those of the rows.
    async fn check(&self) {
        let unfolded = "SELECT (SELECT next_offset - 1 FROM log_partition) - (SELECT \"offset\" FROM checkpoint)";
        assert_eq!(self.value::<i64>(unfolded).await, 0, "the log is folded");
        let versions = "SELECT count(*) FROM reaction r WHERE r.version <> (SELECT count(*) FROM reaction_event e
                        WHERE e.user_id = r.user_id AND e.item_id = r.item_id)";
        assert_eq!(self.value::<i64>(versions).await, 0, "an event for each flip");
        let counts = "SELECT count(*) FROM item i LEFT JOIN item_count c ON c.item_id = i.id
                      WHERE coalesce(c.like_count, 0) <> (SELECT count(*) FROM reaction r
                                                          WHERE r.item_id = i.id AND r.state = 1)";
        assert_eq!(self.value::<i64>(counts).await, 0, "counts are those of the rows");
    }
}

fn many(lines: usize) -> String {
    (0..lines).map(|line| format!("user-{},item-{},LIKE,{}\n", line % 23, line, line + 1)).collect()
}

#[tokio::test]
async fn rows_keep_their_time_and_events_have_the_databases() {
    let fixture = fixture().await;
    let content = "user,item,state,time\n\nana,post:1,LIKE,1000000\nben,post:1,like,1970-01-01T00:00:02Z\n\
                   cem,post:1,DISLIKE,3000000\ndan,post:1,NONE,4000000\nana,post:2,LIKE,5000000\n\
                   ana,post:2,NONE,6000000\n";
    let report = fixture.import(&fixture.file("likes.csv", content)).await.unwrap();
    assert_eq!((report.lines, report.imported, report.unchanged), (6, 5, 1), "NONE where nothing was changes nothing");
    let reacted_at = "SELECT group_concat(user_id || ' ' || item_id || ' ' || state || ' ' || reacted_at, ', ')
                      FROM (SELECT * FROM reaction ORDER BY item_id, user_id)";
    let rows: String = fixture.value(reacted_at).await;
    assert_eq!(rows, "ana post:1 1 1000000, ben post:1 1 2000000, cem post:1 2 3000000, ana post:2 0 6000000");
    let recent = "SELECT count(*) FROM reaction_event
                  WHERE origin = 1 AND created_at > (unixepoch() - 60) * 1000000";
    assert_eq!(fixture.value::<i64>(recent).await, 5);
    assert_eq!((fixture.likes("post:1").await, fixture.likes("post:2").await), (2, 0));
    fixture.check().await;
}

#[tokio::test]
async fn an_import_that_is_done_imports_nothing_more() {
    let fixture = fixture().await;
    let content = r#"{"user":"ana","item":"a","state":"LIKE","time":1}
                     {"user":"ana","item":"a","state":"NONE","time":1}"#;
    let options = fixture.file("likes.ndjson", content);
    assert_eq!(fixture.import(&options).await.unwrap().imported, 2);
    let again = fixture.import(&options).await.unwrap();
    assert_eq!((again.imported, again.unchanged, again.done_before, again.resumed_at), (0, 0, 2, None));
    assert_eq!(fixture.events().await, 2);

    // In another unit it is another import. Its times are later, so its rows count.
    let seconds = ImportOptions { time_unit: TimeUnit::Seconds, ..options };
    let report = fixture.import(&seconds).await.unwrap();
    assert_eq!((report.imported, report.done_before), (2, 0));
    fixture.check().await;
}

#[tokio::test]
async fn a_file_with_bad_lines_imports_nothing_unless_they_are_left_out() {
    let fixture = fixture().await;
    let mut content = b"ana,a,LIKE,1\n\nana,b,LOVE,1\nben,a,LIKE,1\n\xff,a,LIKE,1\n".to_vec();
    content.extend_from_slice(format!("{}\n", "x".repeat(5_000)).as_bytes());
    content.extend(b"ana\n".repeat(30));
    let mut options = fixture.file("likes.csv", content);
    let Err(BulkError::BadLines(bad)) = fixture.import(&options).await else { panic!("the file is bad") };
    assert_eq!(bad.count, 33);
    let told = BulkError::BadLines(bad).to_string();
    for part in
        ["line 3: state: \"LOVE\"", "line 5: is not UTF-8", "line 6: is longer", "line 7: has 1 fields", "13 more"]
    {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert_eq!((fixture.events().await, fixture.likes("a").await), (0, 0));

    options.skip_bad_lines = true;
    let report = fixture.import(&options).await.unwrap();
    assert_eq!((report.lines, report.imported, report.skipped.count), (2, 2, 33));
    assert_eq!(fixture.likes("a").await, 2);
    fixture.check().await;
}

#[tokio::test]
async fn an_import_killed_half_way_goes_on_where_it_was() {
    let mut fixture = fixture().await;
    let options = fixture.file("likes.csv", many(500));
    for stop_after in [50, 200] {
        let mut import = Box::pin(import_in(SMALL, &fixture.store, &options));
        while fixture.events().await < stop_after {
            assert!(import.as_mut().now_or_never().is_none(), "stopped before its end");
        }
        drop(import);
        // What a new process has: nothing but the file.
        fixture.store.clone().close().await;
        let settings = StoreSettings::new(url(&fixture.folder), 2);
        fixture.store = Store::connect(&settings).await.unwrap();
    }
    let report = import_in(SMALL, &fixture.store, &options).await.unwrap();
    let resumed_at = report.resumed_at.expect("it was resumed");
    assert!(resumed_at > 200, "{resumed_at}");
    assert_eq!(report.done_before, resumed_at - 1);
    assert_eq!(report.imported, 500 - report.done_before);
    assert_eq!(fixture.events().await, 500);
    assert_eq!(fixture.value::<i64>("SELECT count(*) FROM reaction WHERE state = 1").await, 500);
    fixture.check().await;
}

#[tokio::test]
async fn a_live_reaction_that_is_newer_is_kept() {
    let fixture = fixture().await;
    let unlike = Command {
        user: UserId::parse("ana").unwrap(),
        item: ItemId::parse("a").unwrap(),
        wanted: ReactionState::Dislike,
        key: None,
        from: Source::User { unknown_items: UnknownItems::Welcome },
    };
    let answers = fixture.store.commit_chunk(0, &[unlike], None).await;
    assert!(answers[0].is_ok());
    let report = fixture.import(&fixture.file("likes.csv", "ana,a,LIKE,1000\nben,a,LIKE,1000\n")).await.unwrap();
    assert_eq!((report.imported, report.unchanged), (1, 1));
    let state: i64 = fixture.value("SELECT state FROM reaction WHERE user_id = 'ana'").await;
    assert_eq!(state, i64::from(ReactionState::Dislike.code()));
    fixture.check().await;
}

#[tokio::test]
async fn the_rows_of_a_deleted_account_are_left_out() {
    let fixture = fixture().await;
    fixture.sql.execute_unprepared("INSERT INTO account (id, erased_at) VALUES ('ana', 1)").await.unwrap();
    let report = fixture.import(&fixture.file("likes.csv", "ana,a,LIKE,1\nben,a,LIKE,1\n")).await.unwrap();
    assert_eq!((report.imported, report.refused), (1, 1));
    fixture.check().await;
}

#[tokio::test]
async fn a_file_that_is_missing_or_of_no_known_kind_is_named() {
    let fixture = fixture().await;
    let missing = ImportOptions { file: "nowhere.csv".into(), ..fixture.file("likes.txt", "") };
    assert!(fixture.import(&missing).await.unwrap_err().to_string().contains("nowhere.csv"));
    assert!(fixture.import(&fixture.file("likes.txt", "")).await.unwrap_err().to_string().contains("likes.txt"));
    let report = fixture.import(&fixture.file("likes.csv", "")).await.unwrap();
    assert_eq!(report.lines, 0);
}

#[tokio::test]
async fn seeding_makes_exactly_the_likes_that_were_asked_for() {
    let fixture = fixture().await;
    let options = SeedOptions { users: 60, items: 20, likes: 700, random_seed: 1 };
    let report = seed(fixture.store.clone(), options).await.unwrap();
    assert_eq!((report.imported, report.named_users), (700, 60));
    assert_eq!(fixture.value::<i64>("SELECT sum(like_count) FROM item_count").await, 700);
    let lonely = "SELECT count(*) FROM account a
                  WHERE name IS NULL OR NOT EXISTS (SELECT 1 FROM friendship f WHERE f.user_id = a.id)";
    assert_eq!(fixture.value::<i64>(lonely).await, 0);
    fixture.check().await;

    let again = seed(fixture.store.clone(), options).await.unwrap();
    assert_eq!((again.imported, again.unchanged), (0, 700), "the same likes again");
    let too_many = seed(fixture.store.clone(), SeedOptions { likes: 1_201, ..options }).await.unwrap_err();
    assert!(too_many.to_string().contains("1200"), "{too_many}");
}

#[test]
fn a_bulk_load_may_run_in_a_task() {
    fn is_send<T: Send>(_: &T) {}
    fn check(store: &Store, import_options: ImportOptions, seed_options: SeedOptions) {
        is_send(&import(store.clone(), import_options));
        is_send(&seed(store.clone(), seed_options));
    }
    let _ = check;
}
