//! [`Facts`]: all inputs of the curator from a library, read once.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use library::{
    Action, ChangeDetection, Event, EventStatus, FolderStatus, Library, LibraryError, Origin, Outcome, RevisionId,
    SkillSummary, StorageError, UseKind, UseState,
};
use skill::{
    Bundle, Limits, SkillName, SkillPath, frontmatter,
    validate::{self, Strictness, validate_bundle},
};

use super::{
    FailedQuery, Record,
    queries::{failed_queries, undecided},
    similarity, store,
};

/// Skills that others need. Maps the needed name to the names that need it.
pub type References = BTreeMap<String, Vec<String>>;

/// Broken reference on a line of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLink {
    /// Line of SKILL.md, from 1.
    pub line: Option<usize>,
    /// Description of the broken reference.
    pub message: String,
}

/// State of a skill when it was created, or last replaced by a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// Time of that state.
    pub time: Timestamp,
    /// Number of revisions since then.
    pub edits: usize,
    /// Size of its SKILL.md in bytes.
    pub bytes: usize,
    /// Tools of its `allowed-tools`.
    pub tools: Option<Vec<String>>,
    /// Release that it came from, if any.
    pub release: Option<String>,
}

/// Deviation of a skill's folder from its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The folder has an edit that no revision records.
    Unrecorded,
    /// The folder has an edit or damage that is hidden from agents, with the reason.
    Blocked(String),
    /// The folder does not exist.
    Missing,
}

/// Facts extracted from a skill's files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextFacts {
    /// Size of SKILL.md in bytes.
    pub bytes: usize,
    /// Hashed word sequences of its instructions.
    pub stretches: Vec<u64>,
    /// Possible names of other skills in its instructions.
    pub names: Vec<String>,
    /// Skills that it requires.
    pub requires: Vec<String>,
    /// References to files that it does not have.
    pub dead_links: Vec<DeadLink>,
}

/// Facts about one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFacts {
    /// Name of the skill.
    pub name: SkillName,
    /// Current head.
    pub revision: RevisionId,
    /// Number of the head.
    pub number: u64,
    /// Description from the frontmatter.
    pub description: String,
    /// Tools of its `allowed-tools`.
    pub tools: Option<Vec<String>>,
    /// True if agents see it.
    pub enabled: bool,
    /// True if it is pinned.
    pub pinned: bool,
    /// Number of agents' folders that contain it.
    pub placed: usize,
    /// Deviation of its folder from its history.
    pub fault: Option<Fault>,
    /// Names of the skills that need it.
    pub needed_by: Vec<String>,
    /// Time of the last change.
    pub changed: Timestamp,
    /// Latest recorded use, if any.
    pub used: Option<Timestamp>,
    /// Queries of failed and corrected runs that could be added to its evals.
    pub failed_queries: Vec<FailedQuery>,
    /// Time until which a proposal with such queries may be accepted, if one is undecided.
    pub undecided_until: Option<Timestamp>,
    /// Original state. `None` if it has not changed, or the log does not contain it.
    pub base: Option<Base>,
    /// Facts extracted from its files.
    pub spoken: TextFacts,
}

/// All inputs of the curator from a library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Skills with a history, sorted by name.
    pub skills: Vec<SkillFacts>,
    /// Extent of the recorded uses.
    pub record: Record,
}

/// Log of a skill since its creation.
#[derive(Default)]
struct Past<'a> {
    /// Time and revision of its creation or replacement.
    base: Option<(Timestamp, &'a RevisionId)>,
    /// Number of revisions since then.
    edits: usize,
    changed: Option<Timestamp>,
}

/// Gathers the facts about a library. `needed` lists references to skills in addition to those in the skills' files.
///
/// # Errors
/// The library cannot be read.
pub fn gather(library: &Library, needed: &References) -> Result<Facts, LibraryError> {
    let (events, _) = library.events()?;
    let (pasts, suggested, undecided) = (pasts(&events), store::suggested(library)?, undecided(library)?);
    let (mut record, mut used) = uses(library)?;
    let has_outcomes = library.has_outcomes()?;
    let state = library.state()?;
    let mut skills = Vec::new();
    for glance in library.summaries(ChangeDetection::Signatures)? {
        let SkillSummary { name, head: Some(head), front, standing, .. } = glance else { continue };
        let files = match library.bundle(&head.id) {
            Ok(files) => files,
            Err(StorageError::Damaged(_) | StorageError::UnknownRevision(_)) => continue,
            Err(error) => return Err(error.into()),
        };
        let outcomes = if has_outcomes { library.outcomes(&name)?.outcomes } else { Vec::new() };
        add_outcomes(&outcomes, &name, &mut record, &mut used);
        let set = state.of(&name);
        let past = pasts.get(name.as_str());
        let base = past.map(|past| base(library, past, &name, &head.id, head.origin.as_ref())).transpose()?.flatten();
        skills.push(SkillFacts {
            revision: head.id,
            number: head.number,
            description: front.description,
            tools: front.tools,
            enabled: set.enabled,
            pinned: set.pinned,
            placed: set.placed.len(),
            fault: fault(standing),
            needed_by: needed.get(name.as_str()).cloned().unwrap_or_default(),
            changed: past.and_then(|past| past.changed).unwrap_or(Timestamp::MAX),
            used: used.get(name.as_str()).copied(),
            failed_queries: failed_queries(&files, &outcomes, suggested.get(name.as_str())),
            undecided_until: undecided.get(&name).copied(),
            base,
            spoken: spoken(&name, &files, library.limits()),
            name,
        });
    }
    add_mentions(&mut skills);
    Ok(Facts { skills, record })
}

/// Summarises the log of each skill since its creation. A skill that was deleted and created again starts over.
fn pasts(events: &[Event]) -> HashMap<&str, Past<'_>> {
    let mut pasts: HashMap<&str, Past<'_>> = HashMap::new();
    for event in events.iter().filter(|event| event.status == EventStatus::Applied) {
        let (Some(revision), Ok(time)) = (&event.revision, event.time.parse::<Timestamp>()) else { continue };
        let past = pasts.entry(&event.skill).or_default();
        match Action::from_word(&event.action) {
            Some(Action::Delete | Action::Uninstall) => *past = Past::default(),
            Some(Action::Install | Action::Update | Action::Adopt) => {
                *past = Past { base: Some((time, revision)), ..Past::default() };
            }
            _ if past.base.is_none() => past.base = Some((time, revision)),
            _ => past.edits += 1,
        }
        past.changed = Some(time);
    }
    pasts
}

fn base(
    library: &Library,
    past: &Past<'_>,
    name: &SkillName,
    head: &RevisionId,
    origin: Option<&Origin>,
) -> Result<Option<Base>, LibraryError> {
    let Some((time, revision)) = past.base.filter(|(_, revision)| *revision != head) else { return Ok(None) };
    let file = library.file_history(revision, &SkillPath::skill_md()).next().transpose();
    let Ok(Some(Some(file))) = file else { return Ok(None) };
    let loaded = validate::load(&file.bytes, name.as_str(), library.limits()).ok();
    Ok(Some(Base {
        time,
        edits: past.edits,
        bytes: file.bytes.len(),
        tools: loaded.and_then(|loaded| loaded.frontmatter.allowed_tools.clone()),
        release: origin.map(Origin::release),
    }))
}

fn fault(standing: FolderStatus) -> Option<Fault> {
    match standing {
        FolderStatus::Clean | FolderStatus::Earlier => None,
        FolderStatus::Missing => Some(Fault::Missing),
        FolderStatus::Modified => Some(Fault::Unrecorded),
        FolderStatus::Blocked(why) | FolderStatus::Lapsed(why) | FolderStatus::Damaged(why) => {
            Some(Fault::Blocked(why))
        }
    }
}

/// Returns the extent of the recorded uses, and the latest use of each skill. A search hit is not a use of the skill,
/// but it proves that uses are recorded.
fn uses(library: &Library) -> Result<(Record, HashMap<String, Timestamp>), LibraryError> {
    let (mut record, mut last) = (Record::default(), HashMap::new());
    for found in library.uses()? {
        let Ok(time) = found.time.parse::<Timestamp>() else { continue };
        record.add(time);
        if found.kind != UseKind::Found && found.state == UseState::Done {
            let known = last.entry(found.skill).or_insert(time);
            *known = time.max(*known);
        }
    }
    Ok((record, last))
}

/// Adds the recorded outcomes of a skill's runs, each of which is a use.
fn add_outcomes(outcomes: &[Outcome], name: &SkillName, record: &mut Record, last: &mut HashMap<String, Timestamp>) {
    for time in outcomes.iter().filter_map(Outcome::time) {
        record.add(time);
        let known = last.entry(name.to_string()).or_insert(time);
        *known = time.max(*known);
    }
}

fn spoken(name: &SkillName, files: &Bundle, limits: &Limits) -> TextFacts {
    let Some(text) = files.skill_md() else { return TextFacts::default() };
    let (yaml, body) = frontmatter::split(text).map_or(("", text), |split| (split.yaml, split.body));
    let missing = validate_bundle(files, Some(name.as_str()), Strictness::Standard, limits);
    let missing = missing.into_iter().filter(|problem| problem.code == "reference_missing");
    let dead_links = missing.map(|problem| DeadLink { line: problem.line, message: problem.message }).collect();
    let requires = match yaml.contains("requires") {
        true => files.reading(limits).map(|read| read.frontmatter.requires.clone()).unwrap_or_default(),
        false => Vec::new(),
    };
    TextFacts { bytes: text.len(), stretches: similarity::stretches(body), names: named(body), requires, dead_links }
}

/// Extracts possible names of other skills from a text: single words in backticks, and sibling folders that a link
/// targets.
fn named(body: &str) -> Vec<String> {
    let code = body.split('`').skip(1).step_by(2);
    let links = body.split("](../").skip(1).filter_map(|rest| rest.split(['/', ')']).next());
    let mut names: Vec<String> =
        code.chain(links).filter_map(|word| SkillName::parse(word).ok()).map(|n| n.to_string()).collect();
    names.sort();
    names.dedup();
    names
}

/// Adds references between skills, by name or requirement.
fn add_mentions(skills: &mut [SkillFacts]) {
    let places: HashMap<String, usize> =
        skills.iter().enumerate().map(|(place, skill)| (skill.name.to_string(), place)).collect();
    let mut needed: Vec<(usize, String)> = Vec::new();
    for (place, skill) in skills.iter().enumerate().filter(|(_, skill)| skill.enabled) {
        let bare = |text: &String| {
            let name = text.split(['@', ' ']).next().unwrap_or_default();
            name.rsplit('/').next().unwrap_or_default().to_owned()
        };
        let required = skill.spoken.requires.iter().map(bare);
        for name in required.chain(skill.spoken.names.iter().cloned()) {
            needed.extend(places.get(&name).filter(|at| **at != place).map(|at| (*at, skill.name.to_string())));
        }
    }
    for (place, by) in needed {
        if let Some(skill) = skills.get_mut(place).filter(|skill| !skill.needed_by.contains(&by)) {
            skill.needed_by.push(by);
        }
    }
}
