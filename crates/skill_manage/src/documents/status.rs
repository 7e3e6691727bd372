//! [`Overview`]: a comparison of the folders with the history, with notices for people.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    slice,
};

use jiff::{SignedDuration, Timestamp};
use library::{
    ChangeDetection, FindError, FolderEdit, FolderState, FolderStatus, HandEditFault, Head, Home, Library, RevisionId,
    SkillSummary,
};
use scan::{Finding, Verdict};
use serde::Serialize;
use serde_json::{Value, json};
use skill::{
    Bundle, SkillName,
    diff::{self, Change},
};

use super::{proposals::waiting, time};
use crate::error::ManageError;

/// Days before its end from which a waiver is listed.
const SOON_DAYS: i64 = 14;

/// State of a skill's folder relative to its history.
#[derive(Debug)]
pub struct SkillStatus {
    /// Name of the skill.
    pub name: SkillName,
    /// True if the skill has a history.
    pub managed: bool,
    /// One of `clean`, `modified`, `missing`, `absent`, `new` and `blocked`.
    pub state: &'static str,
    /// Revision in the folder or at the base of its edit, and the newest revision.
    pub at: Option<(NumberedRevision, NumberedRevision)>,
    /// Reason why an edit is held for a person. Agents get the head until then.
    pub held: Option<String>,
    /// Files that differ from the head.
    pub files: Vec<FileStatus>,
    /// Reason why the content of the folder is not accepted.
    pub fault: Option<HandEditFault>,
    /// Description of damage to the history.
    pub damaged: Option<String>,
    /// Scanner findings in a head that passed with a warning, or under earlier rules.
    pub findings: Vec<Finding>,
    /// True if blocking findings are new in the current rules, so that a person has to decide.
    pub judged_anew: bool,
}

/// Revision with its number in the skill's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedRevision {
    /// Id of the revision.
    pub id: RevisionId,
    /// Position in the history, counted from 1.
    pub number: u64,
}

impl From<&Head> for NumberedRevision {
    fn from(head: &Head) -> Self {
        Self { id: head.id.clone(), number: head.number }
    }
}

/// File that differs from the head.
#[derive(Debug, Serialize)]
pub struct FileStatus {
    path: String,
    change: Change,
}

impl FileStatus {
    /// Describes the change as a clause, such as `added scripts/run.sh`.
    pub fn describe(&self) -> String {
        let word = match self.change {
            Change::Added => "added",
            Change::Modified => "modified",
            Change::Removed => "removed",
        };
        format!("{word} {}", self.path)
    }
}

impl SkillStatus {
    fn new(name: SkillName, managed: bool, state: &'static str, (findings, judged_anew): HeadFindings) -> Self {
        let (at, held, files, fault, damaged) = (None, None, Vec::new(), None, None);
        Self { name, managed, state, at, held, files, fault, damaged, findings, judged_anew }
    }

    /// Returns the (rule, file) pairs of findings that block under the current rules, in a head that passed under
    /// earlier ones.
    #[must_use]
    pub fn undecided(&self) -> BTreeSet<(&str, &str)> {
        let blocks = |finding: &&Finding| {
            !finding.waived && finding.severity.verdict() == Verdict::Block && scan::can_be_waived(&finding.rule)
        };
        let found = self.findings.iter().filter(|_| self.judged_anew).filter(blocks);
        found.map(|finding| (finding.rule.as_ref(), finding.path.as_str())).collect()
    }

    /// Sets the revision of the folder and the newest one, which is the head.
    fn at(self, at: Option<&Head>, head: Option<&Head>) -> Self {
        let head = head.map(NumberedRevision::from);
        Self { at: at.map(NumberedRevision::from).or_else(|| head.clone()).zip(head), ..self }
    }

    fn has_folder(&self) -> bool {
        !matches!(self.state, "missing" | "absent")
    }

    fn document(&self, proposals: usize) -> Value {
        json!({
            "proposals": proposals, "name": self.name.as_str(), "state": self.state, "managed": self.managed,
            "revision": self.at.as_ref().filter(|_| self.has_folder()).map(|(at, _)| &at.id),
            "newest": self.at.as_ref().map(|(_, newest)| &newest.id),
            "number": self.at.as_ref().filter(|_| self.has_folder()).map(|(at, _)| at.number),
            "held": self.held, "files": self.files, "findings": self.findings,
            "undecided": self.undecided().iter().map(|(rule, path)| json!({"rule": rule, "path": path})).collect::<Vec<_>>(),
        })
    }
}

/// Status of the skills of a library, or of one skill.
#[derive(Debug, Default)]
pub struct Overview {
    /// Skills, sorted by name.
    pub skills: Vec<SkillStatus>,
    /// Number of pending proposals per skill of the library.
    pub waiting: BTreeMap<SkillName, usize>,
    /// Waivers that have ended or end soon, as JSON.
    pub waivers: Vec<Value>,
    /// Possible former locations of the library.
    pub moved_from: Vec<PathBuf>,
}

/// Differences between the library and the content read by agents' hosts, as JSON.
#[derive(Debug, Clone, Default)]
pub struct HostsDocument {
    /// Content that differs from that served by skillhub.
    pub problems: Vec<Value>,
    /// Such content at agents that are not in use.
    pub warnings: Vec<Value>,
    /// Agents that lack skills.
    pub lacking: Vec<Value>,
}

impl HostsDocument {
    /// Removes the skills whose names fail a predicate, and agents that lack only those.
    pub fn retain(&mut self, is_seen: impl Fn(&str) -> bool) {
        for of_skill in [&mut self.problems, &mut self.warnings] {
            of_skill.retain(|one| one["skill"].as_str().is_none_or(&is_seen));
        }
        for agent in &mut self.lacking {
            if let Some(skills) = agent["skills"].as_array_mut() {
                skills.retain(|skill| skill.as_str().is_none_or(&is_seen));
            }
        }
        self.lacking.retain(|agent| agent["skills"].as_array().is_none_or(|skills| !skills.is_empty()));
    }
}

impl Overview {
    /// Returns the overview as JSON, combined with the report on agents' hosts and the names of the skills that changed
    /// since a person kept them.
    #[must_use]
    pub fn document_with(&self, hosts: HostsDocument, changed: &[String]) -> Value {
        let damaged = self.damaged().map(|(name, why)| problem(name, why));
        let problems: Vec<Value> = damaged.chain(hosts.problems).collect();
        let waits = |name: &SkillName| self.waiting.get(name).copied().unwrap_or(0);
        json!({
            "ok": problems.is_empty(),
            "problems": problems,
            "skills": self.skills.iter().map(|skill| skill.document(waits(&skill.name))).collect::<Vec<_>>(),
            "proposals": self.waiting.values().sum::<usize>(),
            "moved_from": self.moved_from,
            "waivers": self.waivers,
            "warnings": hosts.warnings,
            "lacking": hosts.lacking,
            "changed_since_review": changed,
        })
    }

    /// Removes the skills whose names fail a predicate.
    pub fn retain(&mut self, is_seen: impl Fn(&str) -> bool) {
        self.skills.retain(|skill| is_seen(skill.name.as_str()));
        self.waiting.retain(|name, _| is_seen(name.as_str()));
        self.waivers.retain(|waiver| waiver["name"].as_str().is_none_or(&is_seen));
    }

    /// Adds the overview of another library. Skills already present are kept.
    fn add(&mut self, other: Self) {
        let known: BTreeSet<SkillName> = self.skills.iter().map(|skill| skill.name.clone()).collect();
        self.skills.extend(other.skills.into_iter().filter(|skill| !known.contains(&skill.name)));
        self.waivers.extend(other.waivers);
        self.moved_from.extend(other.moved_from);
        other.waiting.into_iter().for_each(|(name, count)| *self.waiting.entry(name).or_default() += count);
    }

    /// Yields the skills with a damaged history, and a description of the damage.
    pub fn damaged(&self) -> impl Iterator<Item = (&SkillName, &str)> {
        self.skills.iter().filter_map(|skill| Some((&skill.name, skill.damaged.as_deref()?)))
    }
}

/// Returns the JSON problem for one damaged skill, which does not affect the others.
fn problem(name: &SkillName, why: &str) -> Value {
    json!({"skill": name.as_str(), "code": "damaged_history", "message": format!("its history is damaged: {why}")})
}

/// Compares the folder of one skill, or of all skills, of a library with the history.
fn overview_of(
    library: &Library,
    home: &Home,
    named: Option<&SkillName>,
    of_branch: Option<&BTreeSet<SkillName>>,
    now: Timestamp,
) -> Result<Overview, ManageError> {
    let mut skills = match named {
        Some(name) => vec![look(library, name)?.ok_or_else(|| FindError::NoSkill(name.clone()))?],
        None => look_at_all(library)?,
    };
    let is_elsewhere = |name: &SkillName| of_branch.is_some_and(|skills| !skills.contains(name));
    for skill in skills.iter_mut().filter(|skill| skill.state == "missing" && is_elsewhere(&skill.name)) {
        skill.state = "absent";
    }
    Ok(Overview {
        skills,
        waivers: ending_waivers(library, named, now)?,
        waiting: waiting(slice::from_ref(library), now)?,
        moved_from: library.moved_from(home)?,
    })
}

/// Compares the folders of all skills of several libraries, or of one skill of a library, with the history. The first
/// library with a name takes precedence.
///
/// A library that is the folder of a group below another one contributes the skills that have a history or whose folder
/// is among the `paths` of all listed skills. Any other library contributes everything except the folders of groups.
///
/// `of_branch` returns the skills of a library's git branch. The folder of any other skill is reported as absent, not as
/// missing. `None` means that the library is not in a git work tree.
///
/// # Errors
/// The skill does not exist, or one of the libraries cannot be read.
pub fn overview(
    libraries: &[&Library],
    paths: &[PathBuf],
    named: Option<&SkillName>,
    home: &Home,
    of_branch: impl Fn(&Library) -> Option<BTreeSet<SkillName>>,
    now: Timestamp,
) -> Result<Overview, ManageError> {
    let mut all = Overview::default();
    for library in libraries {
        let is_above = |other: &&Library| other.path() != library.path() && library.path().starts_with(other.path());
        let is_group = libraries.iter().any(is_above);
        let of_branch = if is_group { None } else { of_branch(library) };
        let mut one = overview_of(library, home, named, of_branch.as_ref(), now)?;
        one.skills.retain(|skill| {
            let folder = library.path().join(skill.name.as_str());
            let holds_skills = || paths.iter().any(|path| *path != folder && path.starts_with(&folder));
            let counts =
                || if is_group { paths.contains(&folder) } else { skill.state != "blocked" || !holds_skills() };
            named.is_some() || skill.managed || counts()
        });
        if is_group {
            one.moved_from.clear();
        }
        all.add(one);
    }
    Ok(all)
}

/// Reads every folder, and examines the differences of one that is not known to be good. A skill with a damaged history
/// is only reported as damaged.
fn look_at_all(library: &Library) -> Result<Vec<SkillStatus>, ManageError> {
    let mut skills = Vec::new();
    for glance in library.summaries(ChangeDetection::Contents)? {
        let SkillSummary { name, head, standing, edit, paths, undecided, .. } = glance;
        let managed = head.is_some();
        let findings = match &head {
            Some(head) => rescan_head(library, &name, head, undecided > 0)?,
            None => HeadFindings::default(),
        };
        match standing {
            FolderStatus::Damaged(why) => {
                let skill = SkillStatus::new(name, true, "blocked", findings);
                skills.push(SkillStatus { damaged: Some(why), ..skill });
            }
            FolderStatus::Clean => {
                skills.push(SkillStatus::new(name, managed, "clean", findings).at(None, head.as_ref()));
            }
            FolderStatus::Earlier => {
                let FolderEdit { at, held, .. } = edit.unwrap_or_default();
                let skill = SkillStatus::new(name, managed, "clean", findings).at(at.as_ref(), head.as_ref());
                skills.push(SkillStatus { held, ..skill });
            }
            FolderStatus::Modified if !paths.is_empty() => {
                let added = |path: &skill::SkillPath| FileStatus { path: path.to_string(), change: Change::Added };
                let skill = SkillStatus::new(name, managed, "new", findings);
                skills.push(SkillStatus { files: paths.iter().map(added).collect(), ..skill });
            }
            _ => skills.extend(look(library, &name)?),
        }
    }
    Ok(skills)
}

fn look(library: &Library, name: &SkillName) -> Result<Option<SkillStatus>, ManageError> {
    let head = library.head(name)?.filter(|head| !head.tombstone);
    let committed = match &head {
        Some(head) => library.bundle(&head.id)?,
        None => Bundle::default(),
    };
    let (state, held) = library.folder_state_held(name)?;
    let mut at = None;
    let (state, found, fault) = match state {
        FolderState::Absent => return Ok(None),
        FolderState::Clean => match library.lapsed(name, &committed)? {
            Some(blocked) => ("blocked", None, Some(blocked.into())),
            None => ("clean", None, None),
        },
        FolderState::Missing => ("missing", None, None),
        FolderState::Modified(cleared) if head.is_none() => ("new", Some(cleared.bundle().clone()), None),
        FolderState::Modified(cleared) => ("modified", Some(cleared.bundle().clone()), None),
        FolderState::Earlier { revision, .. } => {
            at = Some(Head::from(revision.as_ref()));
            ("clean", None, None)
        }
        FolderState::Blocked(fault) => ("blocked", fault.bundle().cloned(), Some(fault)),
    };
    let files = found.map_or_else(Vec::new, |found| {
        let changes = diff::diff(&committed, &found).files;
        changes.iter().map(|change| FileStatus { path: change.path.to_string(), change: change.change }).collect()
    });
    let findings = match &head {
        Some(head) => {
            let anew = library.rescan(name, &committed)?;
            rescan_head(library, name, &head.into(), anew.is_some_and(|report| report.undecided().next().is_some()))?
        }
        None => HeadFindings::default(),
    };
    let skill = SkillStatus::new(name.clone(), head.is_some(), state, findings);
    let skill = skill.at(at.as_ref(), head.as_ref().map(Head::from).as_ref());
    Ok(Some(SkillStatus { held, files, fault, ..skill }))
}

/// Findings in a head, and a flag that is true if some of them block since the rules changed.
type HeadFindings = (Vec<Finding>, bool);

/// Scans a head again with the current rules and marks waived findings. It does so only if the head passed with a
/// warning, has waivers, or passed under earlier rules.
fn rescan_head(
    library: &Library,
    name: &SkillName,
    head: &Head,
    judged_anew: bool,
) -> Result<HeadFindings, ManageError> {
    let waivers = library.waivers(name)?;
    if head.verdict != Verdict::Warn && waivers.is_empty() && !judged_anew {
        return Ok(HeadFindings::default());
    }
    let files = library.bundle(&head.id)?;
    let mut report = library.scanner().scan(&files);
    report.waive(&files, &waivers);
    Ok((report.findings, judged_anew))
}

/// Returns the waivers that have ended or end soon, of one skill or of all.
fn ending_waivers(library: &Library, named: Option<&SkillName>, now: Timestamp) -> Result<Vec<Value>, ManageError> {
    let soon = now.saturating_add(SignedDuration::from_hours(24 * SOON_DAYS)).unwrap_or(now);
    let mut ending = Vec::new();
    for (name, state) in library.state()?.skills().filter(|(name, _)| named.is_none_or(|n| n.as_str() == *name)) {
        let ends = state.waivers.iter().filter(|waiver| waiver.at(soon).is_none());
        ending.extend(ends.map(|waiver| {
            json!({
                "id": waiver.id, "name": name, "rule": waiver.rule, "path": waiver.path,
                "until": stored_time(&waiver.until), "active": waiver.at(now).is_some(),
            })
        }));
    }
    Ok(ending)
}

fn stored_time(text: &str) -> String {
    text.parse().map_or_else(|_| text.to_owned(), time)
}
