//! The README and the guides: their command blocks run as a reader runs them, in a fresh home and folder.
//!
//! - A `console` block has commands after `$ ` and their output. Most words of the output must occur in the real one.
//! - ` ```console exits 4 ` expects this exit code of its last command. All other commands must succeed.
//! - A `sh` block has commands only. ` ```sh no-run: REASON ` is not run.
//! - `<!-- run COMMANDS -->` runs commands that the reader does not see, such as making a sample skill.
//! - `<!-- file: PATH -->` writes the block below it to a file.
//! - `<!-- value WORD: COMMAND -->` replaces a word of the following commands by the command's output, such as an id.

mod page;
mod prose;
mod shell;

use std::{fs, sync::Mutex, thread};

use page::{steps, unmarked_commands};
use shell::Shell;

/// Pages that run at the same time.
const WORKERS: usize = 6;

/// Returns the paths of all pages in the checkout, the longest first.
fn pages() -> Vec<(String, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let guides = fs::read_dir(root.join("docs/guides")).unwrap();
    let names = guides.map(|entry| format!("docs/guides/{}", entry.unwrap().file_name().display()));
    let read = |name: String| (fs::read_to_string(root.join(&name)).unwrap(), name);
    let mut pages: Vec<_> = names.chain(["README.md".to_owned()]).map(read).map(|(text, name)| (name, text)).collect();
    pages.sort_by_key(|(_, text)| std::cmp::Reverse(text.len()));
    pages
}

/// Runs the steps of a page in their order. Returns its faults.
fn run_page(name: &str, text: &str) -> Vec<String> {
    let mut shell = Shell::start();
    let mut faults = Vec::new();
    for step in steps(text) {
        if let Err(fault) = shell.run(&step) {
            faults.push(format!("{name}:{}: {}\n{fault}", step.line, step.text));
        }
        if shell.is_over() {
            break;
        }
    }
    faults
}

#[test]
fn every_command_block_works() {
    let pages = pages();
    assert!(pages.len() > 15, "the guides are missing");
    let (waiting, faults) = (Mutex::new(pages.iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some((name, text)) = { waiting.lock().unwrap().next() } {
                    faults.lock().unwrap().extend(run_page(name, text));
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{} faults:\n\n{}", faults.len(), faults.join("\n\n"));
}

#[test]
fn commands_are_only_in_marked_blocks() {
    for (name, text) in pages() {
        assert_eq!(unmarked_commands(&text), [] as [&str; 0], "{name}");
    }
}

#[test]
fn commands_in_prose_exist() {
    let sandbox = crate::support::Sandbox::new();
    for (name, text) in pages() {
        assert_eq!(prose::unknown_commands(&sandbox, &text), [] as [String; 0], "{name}");
    }
}

#[test]
fn first_page_lists_every_guide() {
    let pages = pages();
    let (_, first) = pages.iter().find(|(name, _)| name == "docs/guides/README.md").unwrap();
    for (name, _) in &pages {
        let file = name.rsplit('/').next().unwrap();
        assert!(file == "README.md" || first.contains(&format!("]({file})")), "{file} is not in docs/guides/README.md");
    }
}

#[test]
fn wrong_commands_are_faults() {
    let lines = |text: &str| run_page("page", text).len();
    assert_eq!(lines("```console\n$ skillhub help list\nList skills\n```\n"), 0);
    assert_eq!(lines("```console\n$ skillhub lisp\n```\n"), 1, "the command does not exist");
    assert_eq!(lines("```console exits 3\n$ skillhub help list\n```\n"), 1, "the command succeeds");
    assert_eq!(lines("```console\n$ echo one\nquite another output than this\n```\n"), 1);
    assert_eq!(lines("```sh\nfalse\ntrue\n```\n\n```sh\ntrue\n```\n"), 1, "a block ends at its first failure");
    assert_eq!(lines("```sh no-run: it fails\nfalse\n```\n"), 0);
    assert_eq!(
        lines("<!-- value abc: echo 'a b' -->\n<!-- file: f -->\n```text\nabc\n```\n```sh\ngrep 'a b' f\n```\n"),
        0
    );
}
