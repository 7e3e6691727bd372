//! [`resolve_conflicts`]: resolves the conflicts of a lock file that has both sides of a merge.
//!
//! git merges lines and does not know entries: the text outside its markers may mix both sides. The two sides are
//! therefore read from git's index, which has them until the merge is finished. If the index does not have them, they
//! are read from between the markers.
//!
//! The sides are merged entry by entry:
//!
//! - An entry on one side only is kept.
//! - An entry that one side did not change is taken from the other side.
//! - An entry that both sides changed is taken from the side that includes the other: a newer release of the same
//!   source if the older one was not changed, or the same release with changes.
//! - Any other entry is written between markers for a person to decide. No side of an entry is lost.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use cap_std::{ambient_authority, fs::Dir};
use git2::Repository;
use library::{Durability, Library, read_bounded, write_atomically};
use semver::Version;
use skill::{Digest, Limits, SkillName};
use toml::Table;

use super::{FORMAT, HEAD, LOCK_FILE, LockFile, LockFileError, LockedSkill, bounds::readable, folder_of};

const OURS: &str = "<<<<<<<";
const BASE: &str = "|||||||";
const MIDDLE: &str = "=======";
const THEIRS: &str = ">>>>>>>";

/// Labels of the remaining markers, which distinguish them from git's.
const LABELS: [&str; 2] = ["ours (skillhub)", "theirs (skillhub)"];

/// Result of resolving the conflicts of a lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedConflicts {
    /// Number of entries in the file.
    pub entries: usize,
    /// Entries that a person has to decide. They are still between markers.
    pub undecided: Vec<Undecided>,
}

/// An entry that could not be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecided {
    /// Full name of the skill.
    pub name: String,
    /// Description of the entry on the current branch.
    pub ours: String,
    /// Description of the entry on the merged branch.
    pub theirs: String,
}

/// Both sides of a merge, and their base.
struct Sides {
    /// Merge base; empty if unknown.
    base: LockFile,
    ours: LockFile,
    theirs: LockFile,
}

/// Returns the first line that is a conflict marker, from 1.
pub(super) fn first_marker(text: &str) -> Option<usize> {
    let is_marker = |line: &str| kind_of(line).is_some();
    text.lines().position(is_marker).map(|at| at + 1)
}

/// Describes the differences between the sides of a text with markers.
pub(super) fn differences(text: &str, path: &Path) -> String {
    let Ok(sides) = Sides::find(text, path) else { return "its two sides cannot be separated".to_owned() };
    let mut told = Vec::new();
    for name in sides.names() {
        match (sides.ours.get(&name), sides.theirs.get(&name)) {
            (Some(ours), Some(theirs)) if ours != theirs => {
                told.push(format!("{name} ({} here, {} there)", describe(ours), describe(theirs)));
            }
            (Some(_), None) => told.push(format!("{name} (here only)")),
            (None, Some(_)) => told.push(format!("{name} (there only)")),
            _ => {}
        }
    }
    match told.is_empty() {
        true => "its two sides list the same skills".to_owned(),
        false => format!("its two sides differ in {}", told.join(", ")),
    }
}

/// Resolves the conflicts of a lock file that has both sides of a merge. Entries that need a decision stay between
/// markers.
///
/// # Errors
/// [`LockFileError`]; the file is then unchanged.
pub fn resolve_conflicts(path: &Path, library: &Library) -> Result<ResolvedConflicts, LockFileError> {
    let io = |source| LockFileError::Io { path: path.to_owned(), source };
    let _lock = library.lock()?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or(LOCK_FILE);
    let dir = Dir::open_ambient_dir(folder_of(path), ambient_authority()).map_err(io)?;
    let bytes = read_bounded(&dir, name, Limits::default().lock_file_bytes).map_err(io)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let sides = Sides::find(&text, path)?;
    let content_here = |name: &str| {
        let name = SkillName::parse(name.rsplit('/').next().unwrap_or(name)).ok()?;
        let head = library.head(&name).ok().flatten().filter(|head| !head.tombstone)?;
        Some(head.digest)
    };
    let (text, healed) = sides.merged(path, content_here)?;
    write_atomically(&dir, name, readable(text, path)?.as_bytes(), Durability::Whole).map_err(io)?;
    Ok(healed)
}

fn kind_of(line: &str) -> Option<&'static str> {
    let marks = [OURS, BASE, MIDDLE, THEIRS];
    let is_it = |mark: &&str| line.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    marks.into_iter().find(|mark| is_it(mark))
}

/// Splits a text with git's markers into its two sides; `None` if the markers are unbalanced.
fn split(text: &str) -> Option<[String; 2]> {
    let mut sides = [String::new(), String::new()];
    let mut within = None;
    for line in text.lines() {
        match (kind_of(line), within) {
            (Some(OURS), None) => within = Some(OURS),
            (Some(BASE), Some(OURS)) => within = Some(BASE),
            (Some(MIDDLE), Some(OURS | BASE)) => within = Some(MIDDLE),
            (Some(THEIRS), Some(MIDDLE)) => within = None,
            // The base may be the result of a merge itself, with markers of its own.
            (_, Some(BASE)) => {}
            (Some(_), _) => return None,
            (None, within) => {
                for (side, text) in [OURS, MIDDLE].into_iter().zip(&mut sides) {
                    if within.is_none_or(|within| within == side) {
                        text.push_str(line);
                        text.push('\n');
                    }
                }
            }
        }
    }
    within.is_none().then_some(sides)
}

/// Returns the versions of a file in git's index during a merge: base, ours and theirs.
fn stages(path: &Path) -> Option<[String; 3]> {
    let repository = Repository::open(folder_of(path)).ok()?;
    let index = repository.index().ok()?;
    let text = |stage| {
        let entry = index.get_path(Path::new(path.file_name()?), stage)?;
        let (size, _) = repository.odb().ok()?.read_header(entry.id).ok()?;
        let is_small = u64::try_from(size).is_ok_and(|size| size <= Limits::default().lock_file_bytes);
        let blob = is_small.then(|| repository.find_blob(entry.id).ok()).flatten()?;
        String::from_utf8(blob.content().to_vec()).ok()
    };
    Some([text(1).unwrap_or_default(), text(2)?, text(3)?])
}

impl Sides {
    /// Returns the sides from git's index. Returns those between the markers if the index does not have them, or if a
    /// person edited the file.
    fn find(text: &str, path: &Path) -> Result<Self, LockFileError> {
        let between = Self::of(text, path);
        if text.lines().any(|line| line.strip_prefix(OURS).is_some_and(|label| label.trim() == LABELS[0])) {
            return between;
        }
        let Some([base, ours, theirs]) = stages(path) else { return between };
        let base = LockFile::parse(&base, path).unwrap_or_default();
        let (Ok(ours), Ok(theirs)) = (LockFile::parse(&ours, path), LockFile::parse(&theirs, path)) else {
            return between;
        };
        let whole = Self { base, ours, theirs };
        match between {
            Ok(between) if !between.names().is_subset(&whole.names()) => Ok(between),
            _ => Ok(whole),
        }
    }

    fn of(text: &str, path: &Path) -> Result<Self, LockFileError> {
        let damaged = |message: &str| LockFileError::Damaged { path: path.to_owned(), message: message.to_owned() };
        let [ours, theirs] = split(text).ok_or_else(|| damaged("its conflict markers do not match"))?;
        let of_side = |text: &str, side: &str| {
            let fault = |error: LockFileError| damaged(&format!("cannot read {side} of the merge: {error}"));
            LockFile::parse(text, path).map_err(|error| match error {
                newer @ (LockFileError::Newer { .. } | LockFileError::NewerKind { .. }) => newer,
                error => fault(error),
            })
        };
        let (ours, theirs) = (of_side(&ours, "this side")?, of_side(&theirs, "the other side")?);
        Ok(Self { base: LockFile::default(), ours, theirs })
    }

    fn names(&self) -> BTreeSet<String> {
        self.ours.names().chain(self.theirs.names()).map(str::to_owned).collect()
    }

    /// Builds the text of the merged file.
    fn merged(
        &self,
        path: &Path,
        content_here: impl Fn(&str) -> Option<Digest>,
    ) -> Result<(String, ResolvedConflicts), LockFileError> {
        let others = union(&self.ours.others, &self.theirs.others).ok_or_else(|| {
            let message = "its two sides differ before the first skill; choose one of them by hand";
            LockFileError::Damaged { path: path.to_owned(), message: message.to_owned() }
        })?;
        let mut text = LockFile { path: PathBuf::new(), others, skills: Default::default() }.to_text();
        let mut undecided = Vec::new();
        let names = self.names();
        for name in &names {
            let entry = match (self.ours.get(name), self.theirs.get(name)) {
                (Some(ours), Some(theirs)) => match together(ours, theirs, self.base.get(name), content_here(name)) {
                    Some(both) => both.table_text(),
                    None => {
                        let (ours_told, theirs_told) = (describe(ours), describe(theirs));
                        undecided.push(Undecided { name: name.clone(), ours: ours_told, theirs: theirs_told });
                        let (ours, theirs) = (ours.table_text(), theirs.table_text());
                        let [here, there] = LABELS;
                        format!("{OURS} {here}\n{ours}{MIDDLE}\n{theirs}{THEIRS} {there}\n")
                    }
                },
                (Some(one), None) | (None, Some(one)) => one.table_text(),
                (None, None) => continue,
            };
            text.push('\n');
            text.push_str(&entry);
        }
        debug_assert!(text.starts_with(HEAD) && text.contains(&format!("format = {FORMAT}")));
        Ok((text, ResolvedConflicts { entries: names.len(), undecided }))
    }
}

/// Merges two entries; `None` if a person has to decide.
fn together(
    ours: &LockedSkill,
    theirs: &LockedSkill,
    base: Option<&LockedSkill>,
    content_here: Option<Digest>,
) -> Option<LockedSkill> {
    if ours == theirs || base == Some(theirs) {
        return Some(ours.clone());
    }
    if base == Some(ours) {
        return Some(theirs.clone());
    }
    let is_same_source =
        ours.origin.kind() == theirs.origin.kind() && ours.origin.location() == theirs.origin.location();
    let release = |skill: &LockedSkill| LockedSkill {
        content: None,
        agents: Vec::new(),
        ruleset: String::new(),
        waivers: Vec::new(),
        capabilities: Vec::new(),
        dependency: false,
        raw: Table::new(),
        ..skill.clone()
    };
    let chosen = match is_same_source && release(ours) == release(theirs) {
        true => of_same_release(ours, theirs, content_here)?,
        false if is_same_source => newer(ours, theirs)?,
        false => return None,
    };
    let mut agents: Vec<String> = ours.agents.iter().chain(&theirs.agents).cloned().collect();
    agents.sort();
    agents.dedup();
    let dependency = ours.dependency && theirs.dependency;
    Some(LockedSkill { agents, dependency, raw: union(&ours.raw, &theirs.raw)?, ..chosen.clone() })
}

/// Chooses between two entries of the same release: the changed one or, if both were changed, the one that the library
/// has.
fn of_same_release<'a>(
    ours: &'a LockedSkill,
    theirs: &'a LockedSkill,
    content_here: Option<Digest>,
) -> Option<&'a LockedSkill> {
    match (ours.is_evolved(), theirs.is_evolved()) {
        (_, false) => Some(ours),
        (false, true) => Some(theirs),
        (true, true) if ours.content == theirs.content => Some(ours),
        (true, true) => [ours, theirs].into_iter().find(|side| side.content == content_here),
    }
}

/// Returns the newer release, if the older one was not changed.
fn newer<'a>(ours: &'a LockedSkill, theirs: &'a LockedSkill) -> Option<&'a LockedSkill> {
    let version = |skill: &LockedSkill| skill.origin.version().and_then(|version| Version::parse(&version).ok());
    let (older, newer) = match version(ours)?.cmp_precedence(&version(theirs)?) {
        std::cmp::Ordering::Less => (ours, theirs),
        std::cmp::Ordering::Greater => (theirs, ours),
        std::cmp::Ordering::Equal => return None,
    };
    (!older.is_evolved()).then_some(newer)
}

/// Merges the fields of both tables; `None` if a field has two different values.
fn union(ours: &Table, theirs: &Table) -> Option<Table> {
    let differs = |(key, value): (&String, &toml::Value)| theirs.get(key).is_some_and(|other| other != value);
    if ours.iter().any(differs) { None } else { Some(ours.clone().into_iter().chain(theirs.clone()).collect()) }
}

/// Describes an entry briefly for error messages.
fn describe(skill: &LockedSkill) -> String {
    let short = |text: &str| text.get(..12).unwrap_or(text).to_owned();
    let mut told = match (skill.origin.version(), skill.origin.commit()) {
        (_, Some(commit)) => short(commit.as_str()),
        (Some(version), None) => version,
        (None, None) => short(skill.origin.digest().to_string().trim_start_matches("sha256:")),
    };
    if let Some(content) = skill.content.filter(|_| skill.is_evolved()) {
        let _never_fails = write!(told, " with the changes {}", short(&content.hex()));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, version: &str, content: &str) -> String {
        format!(
            "\n[[skill]]\nname = \"{name}\"\nrequested = \"\"\nversion = \"{version}\"\nkind = \"registry\"\n\
             source = \"/r\"\narchive = \"{}\"\ndigest = \"{}\"\ncontent = \"{}\"\nagents = []\nruleset = \"1\"\n",
            digest(&format!("a{version}")),
            digest(&format!("d{version}")),
            digest(content)
        )
    }

    fn digest(text: &str) -> Digest {
        Digest::of_bytes(text.as_bytes())
    }

    fn file(entries: &[&String]) -> String {
        format!("{HEAD}format = 1\n{}", all(entries))
    }

    fn all(entries: &[&String]) -> String {
        entries.iter().map(|entry| entry.as_str()).collect()
    }

    /// Builds the conflict that git writes for two files with nothing in common but their first lines.
    fn conflict(ours: &[&String], theirs: &[&String]) -> String {
        let base = "||||||| base\nformat = 1\n<<<<<<<<< nested\n=========\n>>>>>>>>> nested\n";
        format!("{HEAD}format = 1\n<<<<<<< HEAD\n{}{base}=======\n{}>>>>>>> other\n", all(ours), all(theirs))
    }

    fn healed(ours: &[&String], theirs: &[&String], here: Option<&str>) -> (String, ResolvedConflicts) {
        let path = Path::new("skillhub.lock");
        let sides = Sides::of(&conflict(ours, theirs), path).unwrap();
        sides.merged(path, |_| here.map(digest)).unwrap()
    }

    #[test]
    fn newer_release_replaces_unmodified_one() {
        let (old, new) = (entry("acme/pdf", "1.2.0", "d1.2.0"), entry("acme/pdf", "1.10.0", "e"));
        let (here, there) = (entry("acme/a", "1.0.0", "d1.0.0"), entry("zoe/z", "1.0.0", "d1.0.0"));
        let (text, done) = healed(&[&here, &old], &[&new, &there], None);
        assert_eq!(done, ResolvedConflicts { entries: 3, undecided: Vec::new() });
        assert_eq!(text, file(&[&here, &new, &there]));
        assert_eq!(healed(&[&new], &[&old], None).0, file(&[&new]), "whichever side it is on");
    }

    #[test]
    fn modified_release_is_never_replaced() {
        let (old, new) = (entry("acme/pdf", "1.2.0", "e"), entry("acme/pdf", "1.3.0", "d1.3.0"));
        let (text, done) = healed(&[&old], &[&new], None);
        assert_eq!(done.undecided.len(), 1);
        assert!(done.undecided[0].ours.starts_with("1.2.0 with") && done.undecided[0].theirs == "1.3.0");
        let again = Sides::of(&text, Path::new("x")).unwrap();
        assert_eq!(again.ours.to_text(), file(&[&old]));
        assert_eq!(again.theirs.to_text(), file(&[&new]), "both are there still");
    }

    #[test]
    fn library_decides_between_two_modifications() {
        let (plain, one, two) =
            (entry("a/b", "1.0.0", "d1.0.0"), entry("a/b", "1.0.0", "x"), entry("a/b", "1.0.0", "y"));
        assert_eq!(healed(&[&plain], &[&one], None).0, file(&[&one]));
        assert_eq!(healed(&[&one], &[&two], None).1.undecided.len(), 1);
        assert_eq!(healed(&[&one], &[&two], Some("y")).0, file(&[&two]));
    }

    #[test]
    fn different_sources_are_not_merged() {
        let one = entry("a/b", "1.0.0", "d1.0.0");
        let other = one.replace("/r", "/elsewhere").replace("1.0.0", "2.0.0");
        assert_eq!(healed(&[&one], &[&other], None).1.undecided.len(), 1);
        let (signed, placed) = (format!("{one}signer = \"z\"\n"), one.replace("agents = []", "agents = [\"x\"]"));
        let (text, _) = healed(&[&signed], &[&placed], None);
        assert!(text.contains("signer = \"z\"") && text.contains("agents = [\"x\"]"), "{text}");
    }

    #[test]
    fn unbalanced_markers_are_refused() {
        for text in ["<<<<<<< a\n", "=======\n", ">>>>>>> a\n", "<<<<<<< a\n=======\n", "<<<<<<< a\n<<<<<<< b\n"] {
            assert!(split(text).is_none(), "{text:?}");
        }
        assert_eq!(split("a\r\n<<<<<<< x\r\nb\r\n=======\r\n>>>>>>> y\r\n").unwrap(), ["a\nb\n", "a\n"]);
    }
}
