//! Everything that is built in may be given on under Apache-2.0: each dependency's licence is one of these.

use serde_json::Value;
use std::process::Command;

const ALLOWED: [&str; 13] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "MIT",
    "MIT-0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "0BSD",
];

/// Whether an SPDX expression lets us choose allowed licences only.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    let (expression, parts) = match expression.trim().strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) if !inner.contains('(') => (inner.to_owned(), split(inner, " AND ")),
        _ => (expression.clone(), split(&expression, " AND ")),
    };
    match parts.len() {
        1 => split(&expression, " OR ").iter().any(|licence| ALLOWED.contains(&licence.trim())),
        _ => parts.iter().all(|part| is_allowed(part)),
    }
}

/// Splits where the word is not inside parentheses.
fn split(expression: &str, word: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for piece in expression.split(word) {
        let last = parts.last_mut().unwrap();
        let open = last.matches('(').count() > last.matches(')').count();
        match (last.is_empty(), open) {
            (true, _) => last.push_str(piece),
            (false, true) => *last += &format!("{word}{piece}"),
            (false, false) => parts.push(piece.to_owned()),
        }
    }
    parts
}

#[test]
fn expressions_are_read_as_choices() {
    for good in
        ["MIT", "GPL-3.0 OR MIT", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND Unicode-3.0", "MIT AND (ISC OR GPL-2.0)"]
    {
        assert!(is_allowed(good), "{good}");
    }
    for bad in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND SSPL-1.0", ""] {
        assert!(!is_allowed(bad), "{bad}");
    }
}

#[test]
fn every_dependency_has_a_licence_that_allows_giving_it_on() {
    let mut command = Command::new(env!("CARGO"));
    // What is built here: packages of other platforms need not even be on this machine.
    let arguments = ["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", &host()];
    let output = command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let refused = packages.iter().filter(|package| !is_allowed(package["license"].as_str().unwrap_or_default()));
    let names: Vec<_> = refused.map(|package| format!("{}: {}", package["name"], package["license"])).collect();
    assert!(names.is_empty(), "{names:#?}");
    assert!(packages.len() > 100);
}

fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}
