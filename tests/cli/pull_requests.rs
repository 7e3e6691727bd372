//! `outdated --pr-body`: the text of a pull request, which is safe to post whatever publishers wrote.

use serde_json::json;

use crate::support::Sandbox;

/// Syntax that code hosts act on outside of code: mentions, closing words, references, HTML, links, images and quick actions.
const HOSTILE: &str = "Thanks @everyone fixes #1, closes acme/other#2 GH-3\n<img src=https://evil.test/x><!-- hidden\n\
                       ```\n![x](https://evil.test/y) [z](javascript:1)\n````text\n/close\n~~~\n# Heading\u{202e}";

/// Returns the text without its blocks of code and inline code, as CommonMark delimits them.
fn outside_code(text: &str) -> String {
    let (mut outside, mut fence) = (String::new(), None::<String>);
    for line in text.lines() {
        let ticks: String = line.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(open) if ticks.len() >= open.len() && ticks == line => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 && !line[ticks.len()..].contains('`') => fence = Some(ticks),
            None => outside.push_str(&(without_inline_code(line) + "\n")),
        }
    }
    assert_eq!(fence, None, "{text}");
    outside
}

fn without_inline_code(line: &str) -> String {
    let (mut outside, mut rest) = (String::new(), line);
    while let Some(start) = rest.find('`') {
        outside.push_str(&rest[..start]);
        let ticks = rest[start..].chars().take_while(|c| *c == '`').count();
        rest = &rest[start + ticks..];
        let mut runs = rest.match_indices('`').map(|(at, _)| at).collect::<Vec<_>>().into_iter().peekable();
        let mut end = None;
        while let Some(at) = runs.next() {
            let mut length = 1;
            while runs.next_if_eq(&(at + length)).is_some() {
                length += 1;
            }
            if length == ticks {
                end = Some(at);
                break;
            }
        }
        let end = end.unwrap_or_else(|| panic!("inline code has no end: {line}"));
        rest = &rest[end + ticks..];
    }
    outside + rest
}

fn publish(sandbox: &Sandbox, index: &str, version: &str, files: &[(&str, &str)], more: &[&str]) {
    let _old = std::fs::remove_dir_all(sandbox.cwd().join("pages"));
    sandbox.skill("pages", "Counts pages. Use in tests.", files);
    let args = ["publish", "pages", "--owner", "acme", "--version", version, "--registry", index];
    sandbox.done(&[&args, more].concat());
}

#[test]
fn hostile_changelog_stays_inside_code() {
    let sandbox = Sandbox::new();
    let index = sandbox.path("index").display().to_string();
    sandbox.done(&["index", "init", &index]);
    let outdated = ["outdated", "--pr-body", "--registry", &index];
    let none = sandbox.run(&outdated).exits(0).text();
    assert_eq!(none, "## Updates of skills\n\nAll installed skills are up to date.\n");
    publish(&sandbox, &index, "1.0.0", &[], &[]);
    sandbox.done(&["install", "acme/pages", "--registry", &index]);
    let script = [("scripts/run.sh", "#!/bin/sh\ncurl -s https://api.acme.test/pages\n")];
    publish(&sandbox, &index, "1.1.0", &script, &["--changelog", HOSTILE]);
    let reason = "see @everyone, fixes #4 `code` <b>";
    sandbox.done(&["yank", "acme/pages@1.0.0", "--reason", reason, "--registry", &index]);

    let text = sandbox.run(&outdated).exits(0).text();
    for part in [
        "### `acme/pages`\n",
        "`1.0.0` → `1.1.0` from `",
        "New capabilities:\n\n- `network api.acme.test`\n",
        "@everyone, fixes #4",
        "/close\n",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let outside = outside_code(&text);
    for part in ["@", "#1", "#2", "#4", "GH-", "evil", "://", "<", "/close", "[", "Heading", "~~~", "\u{202e}"] {
        assert!(!outside.contains(part), "{part} in\n{outside}");
    }
    assert_eq!(sandbox.done(&outdated)["pr_body"], json!(text));
    let before = sandbox.done(&["list"]);
    sandbox.run(&outdated).exits(0);
    assert_eq!(sandbox.done(&["list"]), before, "nothing is installed");
}

/// The exit code and the text say which source could not be asked.
#[test]
fn unreachable_source_is_named() {
    let sandbox = Sandbox::new();
    let index = sandbox.path("index").display().to_string();
    sandbox.done(&["index", "init", &index]);
    publish(&sandbox, &index, "1.0.0", &[], &[]);
    sandbox.done(&["install", "acme/pages", "--registry", &index]);
    std::fs::rename(sandbox.path("index"), sandbox.path("moved")).unwrap();
    let plain = sandbox.ask(&["outdated", "--registry", &index]);
    let code = plain.exit;
    assert_ne!(code, 0, "{plain}");
    let text = sandbox.run(&["outdated", "--pr-body", "--registry", &index]).exits(code).text();
    assert!(text.contains("Not checked:\n\n- `"), "{text}");
}
