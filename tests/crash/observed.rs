//! [`Observed`]: the state of a library as read without skillhub: by git, and by a walk over its files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use git2::{Repository, Sort, TreeWalkResult};
use serde_json::Value;

use crate::support::{Entry, Sandbox, Snapshot, snapshot, tree};

/// Fields of a lock file entry that the original command knows best. `doctor` rebuilds some of them.
const BY_THE_COMMAND: [&str; 2] = ["requested", "agents"];

/// Fields of a proposal with its times and revisions.
const OF_ITS_TIME: [&str; 7] = ["id", "base", "created", "updated", "expires", "decided", "scan"];

/// Caches that a read-only command may write.
const READERS_KEEP: [&str; 3] = ["glances", "numbers", "reviewed"];

/// Observed state of a library.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// Revisions of each skill, oldest first.
    pub history: BTreeMap<String, Vec<Revision>>,
    /// Files of each skill's head.
    pub heads: BTreeMap<String, Snapshot>,
    /// Files of each folder in the library, and loose files.
    pub folders: BTreeMap<String, Snapshot>,
    /// Proposals without names and times, sorted.
    pub proposals: Vec<String>,
    /// Applied changes in the event log, in order.
    pub events: Vec<Event>,
    /// Number of unparsable lines in the event log.
    pub unreadable_events: usize,
    /// Lock file entry of each skill, without [`BY_THE_COMMAND`].
    pub locked: BTreeMap<String, String>,
    /// All paths, except for the names of git objects.
    pub paths: BTreeSet<String>,
}

/// A revision as git shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    pub id: String,
    pub action: String,
    pub tree: String,
}

/// One line of the event log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub operation: String,
    pub skill: String,
    pub revision: String,
}

/// Returns the folder of the user's library.
pub fn library(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".agents/skills")
}

/// Returns the library's folder in the home, if it exists.
pub fn own(sandbox: &Sandbox) -> Option<PathBuf> {
    let mut entries = fs::read_dir(sandbox.skillhub_home().join("libraries")).ok()?;
    entries.next().map(|entry| entry.unwrap().path())
}

/// Returns the folders of a library as a plain walk finds them, without our temporary ones.
pub fn folders(sandbox: &Sandbox) -> BTreeMap<String, Snapshot> {
    let Ok(entries) = fs::read_dir(library(sandbox)) else { return BTreeMap::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = names.filter(|name| !name.starts_with(".skillhub-"));
    names.map(|name| (name.clone(), snapshot(&library(sandbox).join(name)))).collect()
}

impl Observed {
    /// Observes an idle library. Anything that git cannot read is an error.
    pub fn of(sandbox: &Sandbox) -> Result<Self, String> {
        let mut observed = Self { folders: folders(sandbox), paths: paths(sandbox), ..Self::default() };
        let Some(own) = own(sandbox) else { return Ok(observed) };
        if own.join("history.git").exists() {
            observed.read_history(&own).map_err(|error| format!("git cannot read the history: {error}"))?;
        }
        for part in (1..).map_while(|number| put_aside(&own, number)) {
            observed.read_events(&part);
        }
        observed.read_events(&fs::read_to_string(own.join("events.jsonl")).unwrap_or_default());
        observed.read_proposals(&own)?;
        observed.read_lock_file(&fs::read_to_string(own.join("skillhub.lock")).unwrap_or_default())?;
        Ok(observed)
    }

    fn read_history(&mut self, own: &Path) -> Result<(), git2::Error> {
        let repository = Repository::open_bare(own.join("history.git"))?;
        for reference in repository.references_glob("refs/skills/*")? {
            let reference = reference?;
            let skill = reference.name()?.trim_start_matches("refs/skills/").to_owned();
            let head = reference.peel_to_commit()?;
            let mut walk = repository.revwalk()?;
            walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
            walk.push(head.id())?;
            let revisions = walk.map(|id| revision(&repository, id?)).collect::<Result<_, _>>()?;
            self.history.insert(skill.clone(), revisions);
            self.heads.insert(skill, files(&repository, &head.tree()?)?);
        }
        Ok(())
    }

    fn read_events(&mut self, text: &str) {
        for line in text.lines().filter(|line| !line.is_empty()) {
            let Ok(event) = serde_json::from_str::<Value>(line) else {
                self.unreadable_events += 1;
                continue;
            };
            if event["status"] == "applied" {
                let [operation, skill, revision] =
                    ["operation", "skill", "revision"].map(|key| event[key].as_str().unwrap_or_default().to_owned());
                self.events.push(Event { operation, skill, revision });
            }
        }
    }

    fn read_proposals(&mut self, own: &Path) -> Result<(), String> {
        let queue = own.join("proposals");
        let entries = [queue.join("decided"), queue].into_iter().flat_map(fs::read_dir).flatten();
        let files = entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension() == Some("json".as_ref()));
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let mut document: Value =
                serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
            let fields = document.as_object_mut().ok_or("a proposal is no object")?;
            fields.retain(|key, _| !OF_ITS_TIME.contains(&key.as_str()));
            self.proposals.push(document.to_string());
        }
        self.proposals.sort();
        Ok(())
    }

    fn read_lock_file(&mut self, text: &str) -> Result<(), String> {
        let table: toml::Table = text.parse().map_err(|error| format!("the lock file cannot be read: {error}"))?;
        for entry in table.get("skill").and_then(toml::Value::as_array).into_iter().flatten() {
            let mut entry = entry.as_table().cloned().unwrap_or_default();
            BY_THE_COMMAND.iter().for_each(|key| drop(entry.remove(*key)));
            self.locked.insert(entry["name"].to_string(), entry.to_string());
        }
        Ok(())
    }

    /// Returns the number of revisions of each skill.
    pub fn counts(&self) -> BTreeMap<String, usize> {
        self.history.iter().map(|(skill, revisions)| (skill.clone(), revisions.len())).collect()
    }
}

/// Returns a segment of the event log that was set aside, packed if that exists.
fn put_aside(own: &Path, number: u32) -> Option<String> {
    let plain = own.join(format!("events.{number}.jsonl"));
    let Ok(packed) = fs::File::open(plain.with_extension("jsonl.gz")) else { return fs::read_to_string(plain).ok() };
    let mut text = String::new();
    GzDecoder::new(packed).read_to_string(&mut text).unwrap();
    Some(text)
}

fn revision(repository: &Repository, id: git2::Oid) -> Result<Revision, git2::Error> {
    let commit = repository.find_commit(id)?;
    let message = commit.message()?;
    let action = message.lines().find_map(|line| line.strip_prefix("Skillhub-Action: ")).unwrap_or_default();
    Ok(Revision { id: id.to_string(), action: action.to_owned(), tree: commit.tree_id().to_string() })
}

fn files(repository: &Repository, tree: &git2::Tree<'_>) -> Result<Snapshot, git2::Error> {
    let mut files = Snapshot::new();
    let mut failed = None;
    tree.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
        if entry.kind() == Some(git2::ObjectType::Blob) {
            match repository.find_blob(entry.id()) {
                Ok(blob) => {
                    let path = format!("{folder}{}", entry.name().unwrap_or_default());
                    files.insert(path, Entry::File(entry.filemode() == 0o100_755, blob.content().to_vec()));
                }
                Err(error) => failed = Some(error),
            }
        }
        TreeWalkResult::Ok
    })?;
    failed.map_or(Ok(files), Err)
}

/// Returns every path of a sandbox, except for the names of git objects: these differ between runs, because revisions
/// contain the time. Files with invalid object names are included.
fn paths(sandbox: &Sandbox) -> BTreeSet<String> {
    let paths = tree(&sandbox.path("")).into_keys().filter(|path| !is_object(path) && !is_of_no_use(path));
    paths.map(without_id).collect()
}

/// Removes from a path the ids that differ between runs: those of proposals, setup records, and the operations of
/// originals.
fn without_id(path: String) -> String {
    if let Some((library, kept)) = path.split_once("/originals/") {
        let below = kept.split_once('/').map(|(_, below)| format!("/{below}")).unwrap_or_default();
        return format!("{library}/originals/*{below}");
    }
    let has_id = path.contains("/proposals/") || path.contains("/.skillhub/setup/");
    path.rsplit_once('/')
        .filter(|_| has_id && path.ends_with(".json"))
        .map_or_else(|| path.clone(), |(folder, _)| format!("{folder}/*.json"))
}

/// Returns whether a path is dispensable: caches of readers, and files that git puts into a repository for people.
fn is_of_no_use(path: &str) -> bool {
    if path.contains("/libraries/") && path.split('/').any(|part| READERS_KEEP.contains(&part)) {
        return true;
    }
    let below = path.rsplit_once("/history.git/").map_or("", |(_, below)| below);
    ["description", "hooks", "info"].iter().any(|name| below.split('/').next() == Some(name))
}

/// Returns whether a path is that of a git object, or of a folder of them.
pub fn is_object(path: &str) -> bool {
    let Some((_, name)) = path.rsplit_once("/objects/") else { return false };
    let is_hex = |text: &str, len| text.len() == len && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let pack = name.strip_prefix("pack/pack-").and_then(|name| name.rsplit_once('.'));
    is_hex(name, 2)
        || name.split_once('/').is_some_and(|(folder, rest)| is_hex(folder, 2) && is_hex(rest, 38))
        || pack.is_some_and(|(sum, kind)| is_hex(sum, 40) && matches!(kind, "pack" | "idx"))
}

#[test]
fn leftovers_of_git_are_not_objects() {
    let object = "0123456789abcdef0123456789abcdef01234567";
    for path in [format!("a/objects/{}/{}", &object[..2], &object[2..]), format!("a/objects/pack/pack-{object}.idx")] {
        assert!(is_object(&path), "{path}");
    }
    for path in ["a/objects/tmp_object_git2_1", "a/objects/01/tmp_obj_2", "a/objects/pack/pack-1.idx", "a/journal"] {
        assert!(!is_object(path), "{path}");
    }
}
