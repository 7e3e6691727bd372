//! [`Overview`]: the folders against the history, and what people should know besides.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    slice,
};

use jiff::{SignedDuration, Timestamp};
use library::{
    Closeness, FindError, FolderEdit, FolderState, Glance, HandEditFault, Head, Home, Library, RevisionId, Standing,
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

/// Days before its end from which on a waiver is named.
const SOON_DAYS: i64 = 14;

/// How a skill's folder stands to its history.
#[derive(Debug)]
pub struct SkillStanding {
    /// The skill.
    pub name: SkillName,
    /// Whether it has a history.
    pub managed: bool,
    /// `clean`, `modified`, `missing`, `absent`, `new` or `blocked`.
    pub state: &'static str,
    /// The revision that the folder holds or was edited from, and the newest one.
    pub at: Option<(Place, Place)>,
    /// Why an edit waits for a person; agents get the head until then.
    pub held: Option<String>,
    /// The files that differ.
    pub files: Vec<FileStanding>,
    /// Why what is in the folder is not taken over.
    pub fault: Option<HandEditFault>,
    /// What is damaged of its history.
    pub damaged: Option<String>,
    /// What the scanner says of a head that was let pass with a warning, or by earlier rules.
    pub findings: Vec<Finding>,
    /// Whether those that block are new with the rules of today, so that a person decides.
    pub judged_anew: bool,
}

/// A revision in a skill's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its id.
    pub id: RevisionId,
    /// Its number.
    pub number: u64,
}

impl From<&Head> for Place {
    fn from(head: &Head) -> Self {
        Self { id: head.id.clone(), number: head.number }
    }
}

/// A file that differs from the head.
#[derive(Debug, Serialize)]
pub struct FileStanding {
    path: String,
    change: Change,
}

impl FileStanding {
    /// As a clause, such as `added scripts/run.sh`.
    #[must_use]
    pub fn describe(&self) -> String {
        let word = match self.change {
            Change::Added => "added",
            Change::Modified => "modified",
            Change::Removed => "removed",
        };
        format!("{word} {}", self.path)
    }
}

impl SkillStanding {
    fn new(name: SkillName, managed: bool, state: &'static str, (findings, judged_anew): Told) -> Self {
        let (at, held, files, fault, damaged) = (None, None, Vec::new(), None, None);
        Self { name, managed, state, at, held, files, fault, damaged, findings, judged_anew }
    }

    /// Rules and files with findings that block by the rules of today, where earlier ones let the head pass.
    #[must_use]
    pub fn undecided(&self) -> BTreeSet<(&str, &str)> {
        let blocks = |finding: &&Finding| {
            !finding.waived && finding.severity.verdict() == Verdict::Block && scan::can_be_waived(&finding.rule)
        };
        let found = self.findings.iter().filter(|_| self.judged_anew).filter(blocks);
        found.map(|finding| (finding.rule.as_ref(), finding.path.as_str())).collect()
    }

    /// At a revision, whose newest is the head.
    fn at(self, at: Option<&Head>, head: Option<&Head>) -> Self {
        let head = head.map(Place::from);
        Self { at: at.map(Place::from).or_else(|| head.clone()).zip(head), ..self }
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

/// The skills of a library, or one of them.
#[derive(Debug, Default)]
pub struct Overview {
    /// The skills, by name.
    pub skills: Vec<SkillStanding>,
    /// How many proposals wait for each skill of the library.
    pub waiting: BTreeMap<SkillName, usize>,
    /// The waivers that ended or end soon.
    pub waivers: Vec<Value>,
    /// Where the library may have been before.
    pub moved_from: Vec<PathBuf>,
}

/// What agents' hosts read, as JSON.
#[derive(Debug, Clone, Default)]
pub struct HostsDocument {
    /// Content other than skillhub serves.
    pub problems: Vec<Value>,
    /// The same of agents that are not in use.
    pub warnings: Vec<Value>,
    /// Agents that lack skills.
    pub lacking: Vec<Value>,
}

impl HostsDocument {
    /// Leaves out the skills that do not pass a test of their names, and agents that lack no others.
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
    /// As JSON, with what agents' hosts read.
    #[must_use]
    pub fn document_with(&self, hosts: HostsDocument) -> Value {
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
        })
    }

    /// Leaves out the skills that do not pass a test of their names.
    pub fn retain(&mut self, is_seen: impl Fn(&str) -> bool) {
        self.skills.retain(|skill| is_seen(skill.name.as_str()));
        self.waiting.retain(|name, _| is_seen(name.as_str()));
        self.waivers.retain(|waiver| waiver["name"].as_str().is_none_or(&is_seen));
    }

    /// Adds what another library has.
    fn add(&mut self, other: Self) {
        let known: BTreeSet<SkillName> = self.skills.iter().map(|skill| skill.name.clone()).collect();
        self.skills.extend(other.skills.into_iter().filter(|skill| !known.contains(&skill.name)));
        self.waivers.extend(other.waivers);
        self.moved_from.extend(other.moved_from);
        other.waiting.into_iter().for_each(|(name, count)| *self.waiting.entry(name).or_default() += count);
    }

    /// The skills of which the history is damaged, and how.
    pub fn damaged(&self) -> impl Iterator<Item = (&SkillName, &str)> {
        self.skills.iter().filter_map(|skill| Some((&skill.name, skill.damaged.as_deref()?)))
    }
}

/// What a document says of one damaged skill, which the others do not suffer from.
fn problem(name: &SkillName, why: &str) -> Value {
    json!({"skill": name.as_str(), "code": "damaged_history", "message": format!("its history is damaged: {why}")})
}

/// Compares the folder of one skill, or all of them, with the history. Of a skill that is not among those of the git
/// branch, no folder is missing; `None` stands for a library that lies in no git work tree.
///
/// # Errors
/// The skill is not there, or the library cannot be read.
pub fn overview(
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

/// The skills of several libraries, each name once, as the first of them has it. Of a library that is the folder of a group below another, what has
/// a history counts and what stands at one of the `paths` of all listed skills; of the others, everything but the folders of groups.
///
/// # Errors
/// One of them cannot be read.
pub fn overview_of_all(
    libraries: &[&Library],
    paths: &[&Path],
    home: &Home,
    of_branch: impl Fn(&Library) -> Option<BTreeSet<SkillName>>,
    now: Timestamp,
) -> Result<Overview, ManageError> {
    let mut all = Overview::default();
    for library in libraries {
        let is_above = |other: &&Library| other.path() != library.path() && library.path().starts_with(other.path());
        let is_group = libraries.iter().any(is_above);
        let of_branch = if is_group { None } else { of_branch(library) };
        let mut one = overview(library, home, None, of_branch.as_ref(), now)?;
        one.skills.retain(|skill| {
            let folder = library.path().join(skill.name.as_str());
            let holds_skills = || paths.iter().any(|path| *path != folder && path.starts_with(&folder));
            let counts =
                || if is_group { paths.contains(&&*folder) } else { skill.state != "blocked" || !holds_skills() };
            skill.managed || counts()
        });
        if is_group {
            one.moved_from.clear();
        }
        all.add(one);
    }
    Ok(all)
}

/// Every folder is read; one that is not as it was found good is looked at for what differs. Of those with
/// a history that is damaged nothing can be said but that.
fn look_at_all(library: &Library) -> Result<Vec<SkillStanding>, ManageError> {
    let mut skills = Vec::new();
    for glance in library.glances(Closeness::Contents)? {
        let Glance { name, head, standing, edit, paths, undecided, .. } = glance;
        let managed = head.is_some();
        let findings = match &head {
            Some(head) => told_of(library, &name, head, undecided > 0)?,
            None => Told::default(),
        };
        match standing {
            Standing::Damaged(why) => {
                let skill = SkillStanding::new(name, true, "blocked", findings);
                skills.push(SkillStanding { damaged: Some(why), ..skill });
            }
            Standing::Clean => {
                skills.push(SkillStanding::new(name, managed, "clean", findings).at(None, head.as_ref()));
            }
            Standing::Earlier => {
                let FolderEdit { at, held, .. } = edit.unwrap_or_default();
                let skill = SkillStanding::new(name, managed, "clean", findings).at(at.as_ref(), head.as_ref());
                skills.push(SkillStanding { held, ..skill });
            }
            Standing::Modified if !paths.is_empty() => {
                let added = |path: &skill::SkillPath| FileStanding { path: path.to_string(), change: Change::Added };
                let skill = SkillStanding::new(name, managed, "new", findings);
                skills.push(SkillStanding { files: paths.iter().map(added).collect(), ..skill });
            }
            _ => skills.extend(look(library, &name)?),
        }
    }
    Ok(skills)
}

fn look(library: &Library, name: &SkillName) -> Result<Option<SkillStanding>, ManageError> {
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
        changes.iter().map(|change| FileStanding { path: change.path.to_string(), change: change.change }).collect()
    });
    let findings = match &head {
        Some(head) => {
            let anew = library.judged_anew(name, &committed)?;
            told_of(library, name, &head.into(), anew.is_some_and(|report| report.undecided().next().is_some()))?
        }
        None => Told::default(),
    };
    let skill = SkillStanding::new(name.clone(), head.is_some(), state, findings);
    let skill = skill.at(at.as_ref(), head.as_ref().map(Head::from).as_ref());
    Ok(Some(SkillStanding { held, files, fault, ..skill }))
}

/// Findings in a head, and whether some of them block since the rules changed.
type Told = (Vec<Finding>, bool);

/// What the rules of today find in a head that was let pass with a warning, or because somebody accepted
/// a finding, or by earlier rules, and which of it is waived.
fn told_of(library: &Library, name: &SkillName, head: &Head, judged_anew: bool) -> Result<Told, ManageError> {
    let waivers = library.waivers(name)?;
    if head.verdict != Verdict::Warn && waivers.is_empty() && !judged_anew {
        return Ok(Told::default());
    }
    let files = library.bundle(&head.id)?;
    let mut report = library.scanner().scan(&files);
    report.waive(&files, &waivers);
    Ok((report.findings, judged_anew))
}

/// The waivers that ended or end soon, of one skill or of all.
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
