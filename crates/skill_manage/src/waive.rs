//! [`waive`]: a person's temporary acceptance of the findings of a rule in one file of a skill.

use std::collections::BTreeMap;

use jiff::{Timestamp, ToSpan};
use library::{FolderState, Library, LibraryError, ProposalEntry, SkillState, Stamp, StorageError, StoredWaiver};
use scan::{Blocked, Finding, Severity, Waivers};
use skill::{Bundle, BundleError, Digest, File, Limits, SkillName, SkillPath};
use thiserror::Error;

use crate::reviewer::Reviewer;

/// Digits of a waiver's id.
const ID_DIGITS: usize = 8;
/// Hours in a day, ignoring clock changes.
const HOURS_OF_DAY: i64 = 24;

/// Finding to accept, with the terms.
#[derive(Debug, Clone)]
pub struct Waive<'a> {
    /// Name of the skill.
    pub skill: &'a SkillName,
    /// Id of the rule.
    pub rule: &'a str,
    /// File with the finding. Optional if the rule fires in only one file.
    pub path: Option<&'a SkillPath>,
    /// Future content of the file, if it does not have it yet.
    pub content: Option<File>,
    /// Reason why the finding is acceptable.
    pub reason: &'a str,
    /// End of the waiver. Defaults to the standard number of days from now.
    pub until: Option<Timestamp>,
}

/// Reason why nothing was waived.
#[derive(Debug, Error)]
pub enum WaiveError {
    /// Neither the folder nor the history has the skill.
    #[error("the library has no skill {0}")]
    NoSkill(SkillName),
    /// The folder cannot be read as a skill.
    #[error("the folder of {0} is not a readable skill: {1}")]
    Unreadable(SkillName, String),
    /// The scanner has no such rule.
    #[error("the scanner has no rule {0:?}")]
    NoRule(String),
    /// The rule reports that the scan was incomplete.
    #[error("{0} cannot be waived: it means that the scan was incomplete")]
    NotWaivable(String),
    /// The rule has no finding in the file or skill.
    #[error("{rule} has no finding in {place}")]
    NoFinding {
        /// Id of the rule.
        rule: String,
        /// The file, or else the skill.
        place: String,
    },
    /// The rule fires in several files.
    #[error("{rule} has findings in several files: {}", paths.join(", "))]
    SeveralFiles {
        /// Id of the rule.
        rule: String,
        /// Files with findings of the rule.
        paths: Vec<String>,
    },
    /// A content was given without the path of its file.
    #[error("--content needs the path of its file")]
    ContentWithoutPath,
    /// The file cannot be part of the skill.
    #[error(transparent)]
    File(#[from] BundleError),
    /// The reason is missing or too long.
    #[error("the reason of a waiver must have 1 to {0} characters")]
    Reason(usize),
    /// The end is in the past or too far in the future.
    #[error("a waiver must end in the future and within {0} days")]
    End(u32),
    /// The skill has reached its limit of waivers.
    #[error("{0} already has {1} waivers")]
    TooMany(SkillName, usize),
    /// No waiver has this id.
    #[error("the waiver {0} does not exist")]
    NoSuchWaiver(String),
    /// The library cannot be read or written.
    #[error(transparent)]
    Library(#[from] LibraryError),
}

impl From<StorageError> for WaiveError {
    fn from(error: StorageError) -> Self {
        Self::Library(error.into())
    }
}

impl WaiveError {
    /// Returns the next step for the user.
    pub fn hint(&self) -> String {
        match self {
            Self::NoSkill(_) => "list the skills in this library: skillhub list".to_owned(),
            Self::Unreadable(..) => "fix the folder first".to_owned(),
            Self::NoRule(_) => "list the rules: skillhub scan --rules".to_owned(),
            Self::NotWaivable(_) => "change the file so that the scanner can read all of it".to_owned(),
            Self::NoFinding { .. } => "find the rules and files with `skillhub status`; for a file that the skill \
                                       does not have yet, add --content FILE"
                .to_owned(),
            Self::SeveralFiles { .. } => "choose one with --path; each file needs its own waiver".to_owned(),
            Self::ContentWithoutPath => "add --path".to_owned(),
            Self::File(_) => "give another path or a smaller file".to_owned(),
            Self::Reason(_) => "give --reason, why the finding is acceptable here".to_owned(),
            Self::End(days) => format!("give --days from 1 to {days}, or --until with a date in that period"),
            Self::TooMany(..) => "find one to remove with `skillhub waive --list`, then run `skillhub waive --remove \
                                  ID`"
            .to_owned(),
            Self::NoSuchWaiver(_) => "list the ids: skillhub waive --list".to_owned(),
            Self::Library(_) => "check the library: skillhub doctor".to_owned(),
        }
    }
}

/// Accepts a finding in one file, in its current or future content. A repeated waiver of the same finding replaces the
/// reason and the end.
///
/// # Errors
/// [`WaiveError`], in which case nothing is waived.
pub fn waive(
    library: &Library,
    order: &Waive<'_>,
    reviewer: &Reviewer,
    now: Timestamp,
) -> Result<StoredWaiver, WaiveError> {
    if library.scanner().rule(order.rule).is_none() {
        return Err(WaiveError::NoRule(order.rule.to_owned()));
    }
    if !scan::can_be_waived(order.rule) {
        return Err(WaiveError::NotWaivable(order.rule.to_owned()));
    }
    let terms = Terms::new(order.reason, order.until, reviewer, now, library.limits())?;
    let bundle = with_content(current(library, order.skill)?, order, library)?;
    let (path, severity) = place(&bundle, order, library, &library.state()?.of(order.skill).waivers_at(now))?;
    let file = bundle.get(&path).ok_or_else(|| no_finding(order))?;
    let stored = terms.waiver(order.skill, order.rule, &path, file, severity);
    let (limits, reason) = (library.limits(), &stored.reason);
    let most = limits.waivers_per_skill;
    let state = library.state()?.of(order.skill);
    let others = state.waivers.iter().filter(|other| other.id != stored.id && other.at(now).is_some()).count();
    if others >= most {
        return Err(WaiveError::TooMany(order.skill.clone(), most));
    }
    let told = format!("{} in {} until {}: {reason}", stored.rule, stored.path, stored.until);
    let kept = stored.clone();
    library
        .set_state(order.skill, &stamp(reviewer, now, told), "waive", |state| state.add_waivers(&[kept], now, most))?;
    Ok(stored)
}

/// Returns the waivers under which a blocked skill passes, one for each rule and file with a blocking finding. The
/// library stores them with the operation that needs them.
///
/// # Errors
/// [`WaiveError::NotWaivable`] if a finding reports an incomplete scan. Also for a missing or overlong reason, and for
/// more waivers than a skill may have.
pub fn waivers_for(
    skill: &SkillName,
    blocked: &Blocked,
    reason: &str,
    reviewer: &Reviewer,
    now: Timestamp,
    limits: &Limits,
) -> Result<Vec<StoredWaiver>, WaiveError> {
    let terms = Terms::new(reason, None, reviewer, now, limits)?;
    let mut places: BTreeMap<(&str, &str), Severity> = BTreeMap::new();
    for finding in blocked.report().blocking() {
        if !scan::can_be_waived(&finding.rule) {
            return Err(WaiveError::NotWaivable(finding.rule.to_string()));
        }
        let severity = places.entry((&finding.rule, &finding.path)).or_insert(finding.severity);
        *severity = (*severity).max(finding.severity);
    }
    if places.len() > limits.waivers_per_skill {
        return Err(WaiveError::TooMany(skill.clone(), limits.waivers_per_skill));
    }
    let of_place = |((rule, path), severity): ((&str, &str), Severity)| {
        let path = SkillPath::parse(path).ok()?;
        let file = blocked.bundle().get(&path)?;
        Some(terms.waiver(skill, rule, &path, file, severity))
    };
    Ok(places.into_iter().filter_map(of_place).collect())
}

/// Terms shared by all waivers of one decision.
struct Terms {
    reason: String,
    by: String,
    created: String,
    until: String,
}

impl Terms {
    fn new(
        reason: &str,
        until: Option<Timestamp>,
        reviewer: &Reviewer,
        now: Timestamp,
        limits: &Limits,
    ) -> Result<Self, WaiveError> {
        let reason = reason.trim();
        if reason.is_empty() || reason.chars().count() > limits.note_chars {
            return Err(WaiveError::Reason(limits.note_chars));
        }
        let until = end(until, now, limits)?;
        let (created, until) = (format!("{now:.0}"), format!("{until:.0}"));
        Ok(Self { reason: reason.to_owned(), by: reviewer.actor().to_string(), created, until })
    }

    fn waiver(&self, skill: &SkillName, rule: &str, path: &SkillPath, file: &File, severity: Severity) -> StoredWaiver {
        let content = Digest::of_bytes(&file.bytes).to_string();
        StoredWaiver {
            id: id(skill, rule, path, &content, file.executable),
            rule: rule.to_owned(),
            path: path.to_string(),
            content,
            executable: file.executable,
            severity,
            reason: self.reason.clone(),
            by: self.by.clone(),
            created: self.created.clone(),
            until: self.until.clone(),
        }
    }
}

/// Withdraws a waiver, so that its finding counts again.
///
/// # Errors
/// [`WaiveError::NoSuchWaiver`], or an error of the library.
pub fn unwaive(
    library: &Library,
    id: &str,
    reviewer: &Reviewer,
    now: Timestamp,
) -> Result<(SkillName, StoredWaiver), WaiveError> {
    let state = library.state()?;
    let holds = |state: &SkillState| state.waivers.iter().find(|waiver| waiver.id == id).cloned();
    let mut found = state.skills().filter_map(|(name, state)| Some((SkillName::parse(name).ok()?, holds(state)?)));
    let (skill, waiver) = found.next().ok_or_else(|| WaiveError::NoSuchWaiver(id.to_owned()))?;
    let told = format!("{} in {}", waiver.rule, waiver.path);
    library.set_state(&skill, &stamp(reviewer, now, told), "unwaive", |state| state.withdraw_waiver(id))?;
    Ok((skill, waiver))
}

fn stamp(reviewer: &Reviewer, now: Timestamp, told: String) -> Stamp {
    Stamp { reason: Some(told), ..Stamp::new(reviewer.actor().clone(), now) }
}

fn end(until: Option<Timestamp>, now: Timestamp, limits: &Limits) -> Result<Timestamp, WaiveError> {
    let most = limits.waiver_days_at_most;
    let after =
        |days: u32| now.checked_add((i64::from(days) * HOURS_OF_DAY).hours()).map_err(|_| WaiveError::End(most));
    let until = until.map_or_else(|| after(limits.waiver_days), Ok)?;
    if until <= now || until > after(most)? {
        return Err(WaiveError::End(most));
    }
    Ok(until)
}

/// Returns the files in the folder, or else those of the head.
fn current(library: &Library, skill: &SkillName) -> Result<Bundle, WaiveError> {
    match library.folder_state(skill)? {
        FolderState::Modified(cleared) | FolderState::Earlier { cleared, .. } => Ok(cleared.bundle().clone()),
        FolderState::Blocked(fault) => match fault.bundle() {
            Some(bundle) => Ok(bundle.clone()),
            None => Err(WaiveError::Unreadable(skill.clone(), fault.to_string())),
        },
        FolderState::Clean | FolderState::Missing => match library.head(skill)? {
            Some(head) => Ok(library.bundle(&head.id)?),
            None => Err(WaiveError::NoSkill(skill.clone())),
        },
        FolderState::Absent => Err(WaiveError::NoSkill(skill.clone())),
    }
}

/// Returns the files with the future content of one of them.
fn with_content(current: Bundle, order: &Waive<'_>, library: &Library) -> Result<Bundle, WaiveError> {
    let Some(file) = &order.content else { return Ok(current) };
    let path = order.path.ok_or(WaiveError::ContentWithoutPath)?;
    let mut files: Vec<(SkillPath, File)> =
        current.files().filter(|(other, _)| *other != path).map(|(path, file)| (path.clone(), file.clone())).collect();
    let executable = file.executable || is_executable(library, order.skill, path, file, current.get(path))?;
    files.push((path.clone(), File { executable, ..file.clone() }));
    Ok(Bundle::from_files(files, library.limits())?)
}

/// Determines the executable bit of a content that does not specify it: from an identical file in a proposal, or else
/// from the existing file.
fn is_executable(
    library: &Library,
    skill: &SkillName,
    path: &SkillPath,
    content: &File,
    stands: Option<&File>,
) -> Result<bool, WaiveError> {
    let open = library.open_proposals()?.into_iter().filter_map(ProposalEntry::into_whole);
    let files = open.filter(|proposal| proposal.skill == *skill).flat_map(|proposal| proposal.files);
    let same = files.filter(|proposed| proposed.path == *path).filter_map(|proposed| proposed.file);
    let bits: Vec<bool> = same.filter(|file| file.bytes == content.bytes).map(|file| file.executable).collect();
    Ok(if bits.is_empty() { stands.is_some_and(|file| file.executable) } else { bits.contains(&true) })
}

/// Returns the single file in which the rule fires, and the severity. If it fires in several, only files without a
/// waiver count.
fn place(
    bundle: &Bundle,
    order: &Waive<'_>,
    library: &Library,
    waivers: &Waivers,
) -> Result<(SkillPath, Severity), WaiveError> {
    let mut report = library.scanner().scan(bundle);
    report.waive(bundle, waivers);
    let is_meant =
        |finding: &&Finding| finding.rule == order.rule && order.path.is_none_or(|path| path.as_str() == finding.path);
    let mut found: Vec<&Finding> = report.findings.iter().filter(is_meant).collect();
    if found.iter().any(|finding| !finding.waived) {
        found.retain(|finding| !finding.waived);
    }
    let mut paths: Vec<String> = found.iter().map(|finding| finding.path.clone()).collect();
    paths.sort();
    paths.dedup();
    match (paths.as_slice(), found.iter().map(|finding| finding.severity).max()) {
        ([path], Some(severity)) => SkillPath::parse(path).map(|path| (path, severity)).map_err(|_| no_finding(order)),
        ([], _) | (_, None) => Err(no_finding(order)),
        _ => Err(WaiveError::SeveralFiles { rule: order.rule.to_owned(), paths }),
    }
}

fn no_finding(order: &Waive<'_>) -> WaiveError {
    let place = order.path.map_or_else(|| order.skill.to_string(), |path| format!("{path} of {}", order.skill));
    WaiveError::NoFinding { rule: order.rule.to_owned(), place }
}

/// Returns the first digits of the hash of everything that a waiver is bound to.
fn id(skill: &SkillName, rule: &str, path: &SkillPath, content: &str, executable: bool) -> String {
    let bound = format!("{skill}\n{rule}\n{path}\n{content}\n{executable}");
    Digest::of_bytes(bound.as_bytes()).hex().chars().take(ID_DIGITS).collect()
}
