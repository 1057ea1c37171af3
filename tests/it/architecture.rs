//! Who may use whom, read from the server's sources.

use std::path::{Path, PathBuf};

use likewise_tests::{binary, harness::Test, plain};

/// (module, the modules of ours that it may use); `app`, `lib` and `main` may use all.
const MODULES: &[(&str, &[&str])] = &[
    ("api", &["domain", "error", "service", "telemetry"]),
    ("bulk", &["domain", "error", "pipeline", "realtime", "store", "transition"]),
    ("config", &["domain", "error"]),
    ("domain", &["error"]),
    ("error", &["domain"]),
    ("lifecycle", &["error", "telemetry"]),
    ("pipeline", &["domain", "error", "realtime", "store"]),
    ("realtime", &["domain", "error"]),
    ("service", &["domain", "error", "realtime", "store", "transition"]),
    ("store", &["domain", "error", "transition"]),
    ("telemetry", &["domain", "error"]),
    ("transition", &["domain", "error"]),
];
/// (crate, the places that may use it; unit tests in files of their own may look past their module)
const CRATES: &[(&str, &[&str])] = &[
    ("async_graphql", &["api/", "app"]),
    ("axum", &["api/", "app"]),
    ("redis", &["realtime/redis"]),
    ("sea_orm", &["store/"]),
];

pub(crate) fn tests() -> Vec<Test> {
    vec![plain!(modules_use_only_what_the_import_table_allows)]
}

fn modules_use_only_what_the_import_table_allows() {
    let root = binary::workspace().join("server/src");
    let mut wrong = Vec::new();
    for path in sources(&root) {
        let place = path.strip_prefix(&root).expect("below the root").with_extension("").display().to_string();
        let module = place.split('/').next().unwrap_or_default();
        let text = std::fs::read_to_string(&path).expect("a source");
        for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
            let (_, allowed) = MODULES.iter().find(|(known, _)| *known == module).unwrap_or(&("", &["*"]));
            for used in line.split("crate::").skip(1).map(first_word) {
                if !allowed.contains(&used) && *allowed != ["*"] && used != module {
                    wrong.push(format!("{place} may not use {used}: {line}"));
                }
            }
            for (name, places) in CRATES.iter().filter(|(name, _)| line.starts_with(&format!("use {name}"))) {
                if !place.ends_with("/tests") && !places.iter().any(|start| place.starts_with(start)) {
                    wrong.push(format!("{place} may not use the crate {name}: {line}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of sources").flatten().map(|entry| entry.path());
    let below = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    entries.flat_map(below).filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
}
