//! [`Facts`]: all that the curator knows of a library, read once.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use library::{
    Closeness, Event, EventStatus, Glance, Library, LibraryError, Origin, RevisionId, Standing, StorageError, UseKind,
    UseState,
};
use skill::{
    Bundle, Limits, SkillName, SkillPath, frontmatter,
    validate::{self, Strictness, validate_bundle},
};

use super::{Record, near};

/// Which skills others need, by the name of the needed one; with who needs it.
pub type References = BTreeMap<String, Vec<String>>;

/// What stands on one line of a skill and leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLink {
    /// The line of SKILL.md, from 1.
    pub line: Option<usize>,
    /// What is said of it.
    pub message: String,
}

/// What a skill was when it came, or came anew from its release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// When.
    pub time: Timestamp,
    /// How many revisions came since.
    pub edits: usize,
    /// Bytes of its SKILL.md.
    pub bytes: usize,
    /// The tools of its `allowed-tools`.
    pub tools: Option<Vec<String>>,
    /// The release that it was, if it was one.
    pub release: Option<String>,
}

/// How a skill's folder departs from its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Changed by hand, and no revision has that.
    Unrecorded,
    /// Changed by hand, or damaged, in a way that agents do not see: why.
    Blocked(String),
    /// There is no folder.
    Missing,
}

/// What a skill's files say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spoken {
    /// Bytes of SKILL.md.
    pub bytes: usize,
    /// The stretches of words in its instructions.
    pub stretches: Vec<u64>,
    /// Skills that its instructions name.
    pub names: Vec<String>,
    /// Skills that it requires.
    pub requires: Vec<String>,
    /// What it refers to and does not have.
    pub dead_links: Vec<DeadLink>,
}

/// What is known of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFacts {
    /// The skill.
    pub name: SkillName,
    /// Its head.
    pub revision: RevisionId,
    /// The head's number.
    pub number: u64,
    /// What it says that it does.
    pub description: String,
    /// The tools of its `allowed-tools`.
    pub tools: Option<Vec<String>>,
    /// Whether agents see it.
    pub enabled: bool,
    /// Whether it is pinned.
    pub pinned: bool,
    /// In how many agents' folders it stands.
    pub placed: usize,
    /// How its folder departs from its history.
    pub fault: Option<Fault>,
    /// Who needs it.
    pub needed_by: Vec<String>,
    /// When it was changed last.
    pub changed: Timestamp,
    /// The last use that is recorded.
    pub used: Option<Timestamp>,
    /// What it was when it came; `None` where it is that still, or the log does not say.
    pub base: Option<Base>,
    /// What its files say.
    pub spoken: Spoken,
}

/// All that the curator knows of a library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The skills with a history, sorted by name.
    pub skills: Vec<SkillFacts>,
    /// What is recorded of their uses.
    pub record: Record,
}

/// What the log says of a skill since it came.
#[derive(Default)]
struct Past<'a> {
    /// When it came, and what it was then.
    base: Option<(Timestamp, &'a RevisionId)>,
    /// How many revisions came since.
    edits: usize,
    changed: Option<Timestamp>,
}

/// Reads what there is to know. `needed` says which skills others need, besides what their files say.
///
/// # Errors
/// The library cannot be read.
pub fn gather(library: &Library, needed: &References) -> Result<Facts, LibraryError> {
    let (events, _) = library.events()?;
    let pasts = pasts(&events);
    let (mut record, mut used) = uses(library)?;
    let has_outcomes = library.last_recorded()?.is_some();
    let state = library.state()?;
    let mut skills = Vec::new();
    for glance in library.glances(Closeness::Signatures)? {
        let Glance { name, head: Some(head), front, standing, .. } = glance else { continue };
        let files = match library.bundle(&head.id) {
            Ok(files) => files,
            Err(StorageError::Damaged(_) | StorageError::UnknownRevision(_)) => continue,
            Err(error) => return Err(error.into()),
        };
        if has_outcomes {
            add_outcomes(library, &name, &mut record, &mut used)?;
        }
        let set = state.of(&name);
        let past = pasts.get(name.as_str());
        let base = past.map(|past| base(library, past, (&name, &head.id, head.origin.as_ref()))).transpose()?.flatten();
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
            base,
            spoken: spoken(&name, &files, library.limits()),
            name,
        });
    }
    add_mentions(&mut skills);
    Ok(Facts { skills, record })
}

/// What the log says of each skill since it came. A skill that was gone and came back came anew.
fn pasts(events: &[Event]) -> HashMap<&str, Past<'_>> {
    let mut pasts: HashMap<&str, Past<'_>> = HashMap::new();
    for event in events.iter().filter(|event| event.status == EventStatus::Applied) {
        let (Some(revision), Ok(time)) = (&event.revision, event.time.parse::<Timestamp>()) else { continue };
        let past = pasts.entry(&event.skill).or_default();
        match event.action.as_str() {
            "delete" | "uninstall" => *past = Past::default(),
            "install" | "update" | "adopt" => *past = Past { base: Some((time, revision)), ..Past::default() },
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
    (name, head, origin): (&SkillName, &RevisionId, Option<&Origin>),
) -> Result<Option<Base>, LibraryError> {
    let Some((time, revision)) = past.base.filter(|(_, revision)| *revision != head) else { return Ok(None) };
    let file = library.file_history(revision, &SkillPath::skill_md()).next().transpose();
    let Ok(Some(Some(file))) = file else { return Ok(None) };
    let loaded = validate::load(&file.bytes, name.as_str(), library.limits()).ok();
    Ok(Some(Base {
        time,
        edits: past.edits,
        bytes: file.bytes.len(),
        tools: loaded.and_then(|loaded| loaded.frontmatter.allowed_tools),
        release: origin.map(Origin::release),
    }))
}

fn fault(standing: Standing) -> Option<Fault> {
    match standing {
        Standing::Clean | Standing::Earlier => None,
        Standing::Missing => Some(Fault::Missing),
        Standing::Modified => Some(Fault::Unrecorded),
        Standing::Blocked(why) | Standing::Lapsed(why) | Standing::Damaged(why) => Some(Fault::Blocked(why)),
    }
}

/// What is recorded of uses, and the last of each skill. To be found by a search is no use of a skill, but shows
/// that uses are recorded.
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

/// Adds what is recorded of how runs with a skill went: each is a use.
fn add_outcomes(
    library: &Library,
    name: &SkillName,
    record: &mut Record,
    last: &mut HashMap<String, Timestamp>,
) -> Result<(), LibraryError> {
    for time in library.outcomes(name)?.outcomes.iter().filter_map(library::Outcome::time) {
        record.add(time);
        let known = last.entry(name.to_string()).or_insert(time);
        *known = time.max(*known);
    }
    Ok(())
}

fn spoken(name: &SkillName, files: &Bundle, limits: &Limits) -> Spoken {
    let Some(text) = files.skill_md() else { return Spoken::default() };
    let (yaml, body) = frontmatter::split(text).map_or(("", text), |split| (split.yaml, split.body));
    let missing = validate_bundle(files, Some(name.as_str()), Strictness::Standard, limits);
    let missing = missing.into_iter().filter(|problem| problem.code == "reference_missing");
    let dead_links = missing.map(|problem| DeadLink { line: problem.line, message: problem.message }).collect();
    let requires = match yaml.contains("requires") {
        true => frontmatter::read(text, limits).map(|read| read.frontmatter.requires).unwrap_or_default(),
        false => Vec::new(),
    };
    Spoken { bytes: text.len(), stretches: near::stretches(body), names: named(body), requires, dead_links }
}

/// What may be the names of other skills in a text: whole words in backticks, and folders beside the skill's own
/// that a link leads to.
fn named(body: &str) -> Vec<String> {
    let code = body.split('`').skip(1).step_by(2);
    let links = body.split("](../").skip(1).filter_map(|rest| rest.split(['/', ')']).next());
    let mut names: Vec<String> =
        code.chain(links).filter_map(|word| SkillName::parse(word).ok()).map(|n| n.to_string()).collect();
    names.sort();
    names.dedup();
    names
}

/// Adds who names or requires whom.
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
