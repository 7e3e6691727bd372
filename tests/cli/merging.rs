//! 200 generated pairs of changes through the whole of `update`: edits, renames, deletions, modes, binaries and line
//! ends.
//!
//! The changes of each pair follow from a seed. After `update`, every line that either side added is in the skill, or
//! in the skill and the proposal that holds both sides.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde_json::Value;

use crate::support::{Entry, Random, Sandbox, snapshot, write_files};

const PAIRS: usize = 200;
const SEED: u64 = 20_261_122;

/// A skill's files with their executable bits.
type Files = BTreeMap<String, (Vec<u8>, bool)>;

/// Text files that are edited.
const TEXTS: [&str; 4] = ["SKILL.md", "references/a.md", "references/b.md", "references/crlf.md"];
const SCRIPT: &str = "scripts/run.sh";
const BINARY: &str = "assets/data.bin";
/// Lines of `SKILL.md` before its text.
const HEAD: usize = 6;

fn base(pair: usize, random: &mut Random) -> Files {
    let lines = |file: &str, count: u64, end: &str| -> String {
        (0..count).map(|line| format!("base {file} {pair} line {line}{end}")).collect()
    };
    let name = name(pair);
    let head = format!("---\nname: {name}\ndescription: Sorts lists of kind {pair}. Use in tests.\n---\n\n# {name}\n");
    let mut files = Files::new();
    let mut put = |path: &str, bytes: Vec<u8>, executable| files.insert(path.to_owned(), (bytes, executable));
    put("SKILL.md", format!("{head}{}", lines("s", 8 + random.below(8), "\n")).into_bytes(), false);
    put("references/a.md", lines("a", 6 + random.below(20), "\n").into_bytes(), false);
    put("references/b.md", lines("b", 3 + random.below(5), "\n").into_bytes(), false);
    put("references/crlf.md", lines("c", 5 + random.below(5), "\r\n").into_bytes(), false);
    put(SCRIPT, b"#!/bin/sh\nprintf one\nprintf two\n".to_vec(), true);
    put(BINARY, noise(random), false);
    files
}

fn name(pair: usize) -> String {
    format!("pair-{pair:03}")
}

fn noise(random: &mut Random) -> Vec<u8> {
    let random = |_| u8::try_from(random.below(256)).unwrap();
    [0, 1, 2, 0].into_iter().chain((0..60).map(random)).collect()
}

/// Applies random edits of one side; `side` is in every line that it adds.
fn changed(files: &Files, side: &str, random: &mut Random, done: &mut BTreeMap<u64, usize>) -> Files {
    let mut files = files.clone();
    for step in 0..=random.below(3) {
        let what = random.below(11);
        *done.entry(what).or_default() += 1;
        let tag = format!("{side} added {step}");
        match what {
            0..=4 => edit(&mut files, &tag, what, random),
            5 => rename(&mut files, "references/a.md", &format!("references/moved-by-{side}.md")),
            6 => drop(files.remove("references/b.md")),
            7 => files.get_mut(SCRIPT).into_iter().for_each(|(_, executable)| *executable = !*executable),
            8 => drop(files.insert(BINARY.to_owned(), (noise(random), false))),
            9 => {
                let text = format!("{tag} in a new file\n{tag} once more\n");
                drop(files.insert(format!("references/new-{side}.md"), (text.into_bytes(), false)));
            }
            _ => turn_line_ends(&mut files, TEXTS[1 + usize::try_from(random.below(3)).unwrap()]),
        };
    }
    files
}

fn edit(files: &mut Files, tag: &str, what: u64, random: &mut Random) {
    let path = TEXTS[usize::try_from(random.below(4)).unwrap()];
    let Some((bytes, _)) = files.get_mut(path) else { return };
    let text = String::from_utf8(bytes.clone()).unwrap();
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let first = if path == "SKILL.md" { HEAD } else { 0 };
    let room = u64::try_from(lines.len() - first).unwrap();
    if room == 0 {
        return;
    }
    let at = first + usize::try_from(random.below(room)).unwrap();
    match what {
        0 | 1 => lines.insert(at, format!("{tag} before line {at}")),
        2 | 3 => lines[at] = format!("{tag} in place of line {at}"),
        _ => drop(lines.remove(at)),
    }
    *bytes = lines.iter().map(|line| format!("{line}{end}")).collect::<String>().into_bytes();
}

fn rename(files: &mut Files, from: &str, to: &str) {
    if let Some(file) = files.remove(from) {
        files.insert(to.to_owned(), file);
    }
}

fn turn_line_ends(files: &mut Files, path: &str) {
    let Some((bytes, _)) = files.get_mut(path) else { return };
    let text = String::from_utf8(bytes.clone()).unwrap();
    let turned = if text.contains('\r') { text.replace("\r\n", "\n") } else { text.replace('\n', "\r\n") };
    *bytes = turned.into_bytes();
}

/// Makes a folder contain exactly these files.
fn write(folder: &Path, files: &Files) {
    if folder.exists() {
        fs::remove_dir_all(folder).unwrap();
    }
    for (path, (bytes, executable)) in files {
        write_files(folder, &[(path, bytes, *executable)]);
    }
}

fn read(folder: &Path) -> Files {
    let file = |(path, entry)| match entry {
        Entry::File(executable, bytes) => Some((path, (bytes, executable))),
        _ => None,
    };
    snapshot(folder).into_iter().filter_map(file).collect()
}

/// Returns the lines of all texts without their ends.
fn lines(files: &Files) -> BTreeSet<String> {
    let texts = files.values().filter_map(|(bytes, _)| std::str::from_utf8(bytes).ok());
    texts.flat_map(str::lines).map(str::to_owned).collect()
}

fn added(files: &Files, side: &str) -> Vec<String> {
    lines(files).into_iter().filter(|line| line.starts_with(&format!("{side} added"))).collect()
}

/// Three states of a skill, and the result of `update`.
struct Pair {
    base: Files,
    ours: Files,
    theirs: Files,
    after: Files,
}

impl Pair {
    /// Asserts the result of a merge without conflicts.
    fn check_merged(&self, told: &str) {
        let found = lines(&self.after);
        for line in added(&self.ours, "ours").iter().chain(&added(&self.theirs, "theirs")) {
            assert!(found.contains(line), "{line:?} is lost: {told}");
        }
        let bit = |files: &Files| files.get(SCRIPT).map(|(_, executable)| *executable);
        let merged = if bit(&self.ours) != bit(&self.base) { bit(&self.ours) } else { bit(&self.theirs) };
        assert_eq!(bit(&self.after), merged, "the executable bit: {told}");
        let binary = |files: &Files| files.get(BINARY).map(|(bytes, _)| bytes.clone());
        let merged = match (binary(&self.ours) == binary(&self.base), binary(&self.theirs) == binary(&self.base)) {
            (false, false) => panic!("two binaries cannot be merged: {told}"),
            (false, true) => binary(&self.ours),
            (true, _) => binary(&self.theirs),
        };
        assert_eq!(binary(&self.after), merged, "the binary: {told}");
        for [one, other] in [[&self.ours, &self.theirs], [&self.theirs, &self.ours]] {
            let (path, before) = ("references/b.md", self.base.get("references/b.md"));
            if !one.contains_key(path) && other.get(path) == before {
                assert!(!self.after.contains_key(path), "what one side removed is gone: {told}");
            }
            for (path, file) in one {
                let is_moved = path.starts_with("references/moved-by-") || path.starts_with("references/new-");
                assert!(!is_moved || self.after.contains_key(path), "{path} with {} bytes: {told}", file.0.len());
            }
        }
    }

    /// Asserts the result of a merge with conflicts: the skill is unchanged, and the proposal has the new content.
    fn check_held(&self, proposal: &str, told: &str) {
        assert!(self.after == self.ours, "the skill stays as it is: {told}");
        for line in added(&self.theirs, "theirs") {
            assert!(proposal.contains(&line), "{line:?} is not in the proposal: {told}");
        }
        for line in added(&self.ours, "ours") {
            let is_kept = proposal.contains(&line) || lines(&self.after).contains(&line);
            assert!(is_kept, "{line:?} is nowhere: {told}");
        }
    }
}

#[test]
fn two_hundred_merges_lose_no_line() {
    let sandbox = Sandbox::new();
    let mut random = Random::new(SEED);
    let (mut pairs, mut done) = (Vec::new(), BTreeMap::new());
    for pair in 0..PAIRS {
        let base = base(pair, &mut random);
        let ours = changed(&base, "ours", &mut random, &mut done);
        let theirs = changed(&base, "theirs", &mut random, &mut done);
        write(&sandbox.cwd().join("source").join(name(pair)), &base);
        pairs.push((base, ours, theirs));
    }
    assert_eq!(done.len(), 11, "every kind of change is made: {done:?}");
    let installed = sandbox.done(&["install", "./source", "--all"]);
    assert_eq!(installed["skills"].as_array().unwrap().len(), PAIRS);
    for (pair, (_, ours, theirs)) in pairs.iter().enumerate() {
        write(&sandbox.user_skill(&name(pair)), ours);
        write(&sandbox.cwd().join("source").join(name(pair)), theirs);
    }
    let updated = sandbox.ask(&["update"]).json();
    let skills = updated["skills"].as_array().unwrap();
    assert_eq!(skills.len(), PAIRS);
    let mut statuses: BTreeMap<&str, usize> = BTreeMap::new();
    for (pair, (base, ours, theirs)) in pairs.into_iter().enumerate() {
        let skill = skills.iter().find(|skill| skill["name"] == name(pair).as_str()).unwrap();
        let status = skill["status"].as_str().unwrap();
        *statuses.entry(status).or_default() += 1;
        let after = read(&sandbox.user_skill(&name(pair)));
        let told = format!("seed {SEED}, {skill:#}");
        let pair = Pair { base, ours, theirs, after };
        match status {
            "merged" | "updated" | "unchanged" => pair.check_merged(&told),
            "conflict" => pair.check_held(&proposal(&sandbox, skill), &told),
            _ => panic!("{told}"),
        }
    }
    let of = |status: &str| statuses.get(status).copied().unwrap_or_default();
    assert!(of("merged") >= PAIRS / 2 && of("conflict") >= PAIRS / 20, "{statuses:?}");
}

/// The file of a proposal, in which texts are readable.
fn proposal(sandbox: &Sandbox, skill: &Value) -> String {
    let id = skill["proposal"].as_str().unwrap_or_else(|| panic!("{skill:#}"));
    let libraries = fs::read_dir(sandbox.skillhub_home().join("libraries")).unwrap();
    let library = libraries.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    fs::read_to_string(library.join("proposals").join(format!("{id}.json"))).unwrap()
}
