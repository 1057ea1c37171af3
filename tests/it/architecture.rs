//! Who may use whom, read from the server's sources.

use std::path::{Path, PathBuf};

use likewise_tests::{binary, harness::Test, plain};

/// Modules, and `use`s of crates, each with what it may use or where it may stand; `app`, `lib`, `main` and tests may all.
const TABLE: &str = "api: domain error service; bulk: domain error pipeline realtime store transition;
    config: domain error; domain: error; error: domain; failpoint: error; lifecycle: error;
    pipeline: domain error failpoint realtime store; realtime: domain error failpoint; relay: domain error store;
    service: domain error realtime store transition; store: domain error failpoint transition;
    telemetry: config domain error pipeline service store; transition: domain error;
    use async_graphql: api app; use axum: api app; use fail: failpoint; use redis: realtime/redis; use rust_embed: api/web;
    use sea_orm: store";

pub(crate) fn tests() -> Vec<Test> {
    vec![plain!(modules_use_only_what_the_import_table_allows), plain!(the_chaos_run_shares_no_code_with_the_server)]
}

fn modules_use_only_what_the_import_table_allows() {
    let root = binary::workspace().join("server/src");
    let rules: Vec<(&str, &str)> = TABLE.split(';').filter_map(|rule| rule.trim().split_once(": ")).collect();
    let mut broken = Vec::new();
    for path in sources(&root) {
        let place = path.strip_prefix(&root).expect("below").with_extension("").display().to_string();
        let text = std::fs::read_to_string(&path).expect("a source");
        for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
            for (name, allowed) in &rules {
                let mut uses = line.split("crate::").skip(1).filter_map(|used| used.split([':', ';', ',', ' ']).next());
                let allowed = || allowed.split(' ');
                let of_module = place.split('/').next() != Some(*name)
                    || uses.all(|used| used == *name || allowed().any(|module| used == module));
                let of_crate = !(name.starts_with("use ") && line.starts_with(name))
                    || allowed().any(|start| place.starts_with(start));
                if !(of_module && of_crate || place.ends_with("/tests")) {
                    broken.push(format!("{place} breaks the rule of {name}: {line}"));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Its oracles would share the server's mistakes.
fn the_chaos_run_shares_no_code_with_the_server() {
    let files = sources(&binary::workspace().join("tests/src/chaos"));
    assert!(files.len() > 20, "{files:?}");
    for path in files.into_iter().chain(sources(&binary::workspace().join("tests/chaos"))) {
        let text = std::fs::read_to_string(&path).expect("a source");
        for word in ["likewise_server", "likewise_entity", "likewise_migration", "crate::app", "crate::services"] {
            assert!(!text.contains(word), "{} uses {word}", path.display());
        }
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(folder).expect("a folder of sources").flatten().map(|entry| entry.path());
    let files = paths.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
}
