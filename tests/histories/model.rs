//! [`Files`]: a minimal model of a skill's expected files.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Entry, Random, Snapshot, skill_md};

/// A skill's files with their executable bits. Empty if the skill does not exist.
pub type Files = BTreeMap<String, (String, bool)>;

const PATHS: [&str; 4] = ["references/notes.md", "references/deep/er/é.md", "assets/table.txt", "scripts/run.sh"];
const LINES: usize = 6;

/// A change of a skill, both as a request and as its resulting files.
pub struct Edit {
    pub request: Value,
    pub after: Files,
}

/// Returns a SKILL.md with a number on each of its lines.
fn text(numbers: [u64; LINES]) -> String {
    let lines: Vec<String> = numbers.iter().enumerate().map(|(at, n)| format!("Line {at} is {n}.")).collect();
    skill_md("demo", "Counts. Use in tests.", &lines.join("\n\n"))
}

/// Returns the expected content of a folder on disk.
pub fn on_disk(files: &Files) -> Snapshot {
    files.iter().map(|(path, (text, x))| (path.clone(), Entry::File(*x, text.clone().into_bytes()))).collect()
}

/// Returns a random change that a request can express and the skill's state permits.
pub fn edit(files: &Files, random: &mut Random) -> Edit {
    if files.is_empty() {
        let content = text([random.below(9); LINES]);
        let after = Files::from([("SKILL.md".to_owned(), (content.clone(), false))]);
        return Edit { request: json!({"action": "create", "name": "demo", "content": content}), after };
    }
    let mut after = files.clone();
    let mut operation = match random.below(10) {
        0 => whole(&mut after, random),
        1..=4 => patch(&mut after, random),
        5..=7 => write(&mut after, random),
        8 => remove(&mut after, random),
        _ => json!({"operations": [write(&mut after, random), patch(&mut after, random)]}),
    };
    operation["name"] = json!("demo");
    Edit { request: operation, after }
}

fn whole(files: &mut Files, random: &mut Random) -> Value {
    let content = text(std::array::from_fn(|_| random.below(1000)));
    files.insert("SKILL.md".to_owned(), (content.clone(), false));
    json!({"action": "edit", "content": content})
}

fn patch(files: &mut Files, random: &mut Random) -> Value {
    let (at, number) = (random.below(LINES as u64), random.below(1000));
    let (text, _) = files.get_mut("SKILL.md").unwrap();
    let find = text.lines().find(|line| line.starts_with(&format!("Line {at} is"))).unwrap().to_owned();
    let replace = format!("Line {at} is {number}.");
    *text = text.replace(&find, &replace);
    json!({"action": "patch", "find": find, "replace": replace})
}

fn write(files: &mut Files, random: &mut Random) -> Value {
    let (path, content, executable) = file(random);
    files.insert(path.to_owned(), (content.clone(), executable));
    json!({"action": "write_file", "path": path, "content": content, "executable": executable})
}

/// Returns a random file.
pub fn file(random: &mut Random) -> (&'static str, String, bool) {
    let path = PATHS[usize::try_from(random.below(PATHS.len() as u64)).unwrap()];
    (path, "drei ☂\n".repeat(usize::try_from(random.below(4)).unwrap()), random.below(2) == 0)
}

fn remove(files: &mut Files, random: &mut Random) -> Value {
    let Some(path) = files.keys().find(|path| *path != "SKILL.md").cloned() else { return patch(files, random) };
    files.remove(&path);
    json!({"action": "remove_file", "path": path})
}
