//! Pages that name code: every file and every test they name exists.

use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What stands between backticks on a page, fenced blocks left out.
fn names(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let prose: String = text.split("```").step_by(2).collect();
    prose.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A path in this repository. Patterns and paths elsewhere are none.
fn path(name: &str) -> Option<PathBuf> {
    let ours = ["src/", "tests/", "docs/", "config/"].iter().any(|folder| name.starts_with(folder));
    let ours = ours || ["src", "tests", "docs"].contains(&name);
    (ours && !name.contains('*')).then(|| root().join(name))
}

#[test]
fn every_test_named_in_invariants_md_exists_in_the_file_before_it() {
    let mut file = String::new();
    let mut tests = 0;
    for name in names("docs/invariants.md") {
        if let Some(path) = path(&name) {
            file = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        } else if name.contains('_') && name.split('_').count() > 3 {
            assert!(file.contains(&format!("fn {name}(")), "{name} is not in the file named before it");
            tests += 1;
        }
    }
    assert!(tests > 20, "{tests} tests found: this looks in the wrong place");
}

#[test]
fn every_rule_is_there_and_has_a_test_or_says_what_it_comes_with() {
    let page = std::fs::read_to_string(root().join("docs/invariants.md")).unwrap();
    let rules: Vec<_> = page.split("\n## ").skip(1).collect();
    assert_eq!(rules.len(), 14);
    for (rule, number) in rules.iter().zip(1..) {
        assert!(rule.starts_with(&format!("{number}. ")), "{rule}");
        assert!(rule.contains("- Tests: ") || rule.contains("Comes with judging"), "{rule}");
    }
}

#[test]
fn every_file_named_on_a_page_exists() {
    let decisions = std::fs::read_dir(root().join("docs/decisions")).unwrap();
    let decisions = decisions.map(|entry| format!("docs/decisions/{}", entry.unwrap().file_name().to_str().unwrap()));
    let pages = ["invariants", "architecture", "testing", "formats"].map(|page| format!("docs/{page}.md"));
    for page in pages.into_iter().chain(decisions) {
        for path in names(&page).iter().filter_map(|name| path(name)) {
            assert!(path.exists(), "{page} names {}, which is not there", path.display());
        }
    }
}
