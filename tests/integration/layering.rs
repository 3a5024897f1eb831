//! Imports run strictly downward. The table is the design's; this test holds the source to it.

use std::fs;
use std::path::{Path, PathBuf};

const BASE: &[&str] = &["model", "config", "telemetry"];
const COMPONENT: &[&str] = &["component", "model", "config", "telemetry"];

/// Who may use what, besides itself. The longest prefix of a file's path that stands here decides.
const LAYERS: &[(&str, &[&[&str]])] = &[
    ("main", &[&["cli", "app"], COMPONENT]),
    ("cli", &[&["app", "storage", "sampling", "merge", "wasm", "graph"], COMPONENT]),
    (
        "app",
        &[
            &["receivers", "processors", "exporters", "extensions", "api"],
            &["merge", "wasm", "graph", "storage", "sampling"],
            COMPONENT,
        ],
    ),
    ("receivers", &[COMPONENT]),
    ("processors", &[COMPONENT]),
    ("exporters", &[COMPONENT]),
    ("exporters/storage", &[COMPONENT, &["storage", "merge", "sampling", "wasm"]]),
    ("extensions", &[COMPONENT]),
    // The extension that serves the read APIs.
    ("extensions/query", &[COMPONENT, &["api"]]),
    ("api", &[COMPONENT]),
    ("merge", &[&["storage", "sampling", "model", "telemetry"]]),
    ("wasm", &[&["sampling", "model", "telemetry"]]),
    ("graph", &[COMPONENT]),
    ("storage", &[&["model", "telemetry"]]),
    ("sampling", &[&["model", "telemetry"]]),
    ("component", &[BASE]),
    ("model", &[]),
    ("config", &[]),
    ("telemetry", &[]),
];

/// Every import of `text`, the source of module `module` (`exporters/debug/text`), that the table does not allow.
fn offences(module: &str, text: &str) -> Vec<String> {
    let row = LAYERS.iter().filter(|(prefix, _)| within(module, prefix)).max_by_key(|(prefix, _)| prefix.len());
    let Some((_, allowed)) = row else { return vec![format!("src/{module}: has no row in the layer table")] };
    let own = module.split('/').next().unwrap();
    // The binary reaches the library by its name.
    let root = if module == "main" { "sluice::" } else { "crate::" };
    let bad = imports(root, text).into_iter().filter(|name| name != own && !allowed.concat().contains(&name.as_str()));
    bad.map(|name| format!("src/{module} may not use crate::{name}")).collect()
}

fn within(module: &str, prefix: &str) -> bool {
    module.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The top-level modules that a source text names by `crate::…` or `crate::{…}`, where `root` is `crate::`.
fn imports(root: &str, text: &str) -> Vec<String> {
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).fold(String::new(), add_line);
    code.split(root).skip(1).flat_map(names).collect()
}

fn add_line(code: String, line: &str) -> String {
    code + line + "\n"
}

fn names(rest: &str) -> Vec<String> {
    match rest.strip_prefix('{') {
        None => vec![first_name(rest)],
        Some(group) => top_level(group).iter().map(|item| first_name(item.trim())).collect(),
    }
}

fn first_name(path: &str) -> String {
    path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The items of a use group, up to its closing brace.
fn top_level(group: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0;
    for c in group.chars() {
        match c {
            '}' if depth == 0 => break,
            ',' if depth == 0 => items.push(String::new()),
            _ => items.last_mut().unwrap().push(c),
        }
        depth += i32::from(c == '{') - i32::from(c == '}');
    }
    items.retain(|item| !item.trim().is_empty());
    items
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let rust = files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    rust.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

fn module(root: &Path, file: &Path) -> String {
    let path = file.strip_prefix(root).unwrap().with_extension("");
    path.to_str().unwrap().trim_end_matches("/mod").to_owned()
}

#[test]
fn imports_run_strictly_downward() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = sources(&root);
    assert!(files.len() > 30, "{} files under src/: this test looks in the wrong place", files.len());
    let checked = files.iter().filter(|file| **file != root.join("lib.rs"));
    let found: Vec<_> =
        checked.flat_map(|file| offences(&module(&root, file), &fs::read_to_string(file).unwrap())).collect();
    assert!(found.is_empty(), "imports that the layer table does not allow:\n{}", found.join("\n"));
}

#[test]
fn an_import_upward_is_found_however_it_is_written() {
    let upward = [
        "use crate::app::Running;",
        "use crate::{model::Batch, app};",
        "use crate::{\n    model::{Batch, TraceId},\n    app::{self, Running},\n};",
        "fn f() { crate::app::run(); }",
        "#[cfg(test)]\nmod tests {\n    use crate::app;\n}",
    ];
    for text in upward {
        assert_eq!(offences("graph/build", text), ["src/graph/build may not use crate::app"], "{text}");
    }
    assert_eq!(offences("exporters/debug/text", "use crate::storage::Engine;").len(), 1);
    assert_eq!(offences("telemetry/logs", "use crate::model::Batch;").len(), 1);
    assert_eq!(offences("main", "fn main() { sluice::storage::open() }").len(), 1);
    assert_eq!(offences("attic", "").len(), 1);
}

#[test]
fn imports_downward_and_comments_are_left_alone() {
    assert!(offences("graph", "//! See crate::app.\nuse crate::component::{self, Consumer};").is_empty());
    assert!(offences("exporters/storage/config", "use crate::{storage, merge, config::Node};").is_empty());
    assert!(offences("storage", "use crate::storage::wal;").is_empty());
}
