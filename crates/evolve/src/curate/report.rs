//! [`Report`]: what people may want to look at: copies, growth, drift, and what all descriptions cost.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Facts, Fault, SkillFacts,
    near::{self, Near},
};

/// Bytes that count as one token.
const BYTES_PER_TOKEN: usize = 4;
/// Pairs that are told.
const PAIRS: usize = 50;
/// Grown skills that are told.
const GROWN: usize = 20;
/// Tokens that a skill must have grown by to be told.
const GROWTH_TOKENS: usize = 100;
/// The shortest time over which growth is worked out, in days.
const SHORTEST_DAYS: f64 = 1.0;
/// Days of a month.
const MONTH_DAYS: f64 = 30.0;

/// Skills whose instructions are nearly the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duplicates {
    /// The skills.
    pub skills: Vec<String>,
    /// What those of them that are least alike have in common, of a hundred stretches of five words.
    pub percent: usize,
}

/// Two skills that say nearly the same of themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The two.
    pub skills: [String; 2],
    /// How alike, of a hundred.
    pub percent: u32,
}

/// A skill that has grown since it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grown {
    /// The skill.
    pub skill: String,
    /// Tokens of its SKILL.md when it came.
    pub from_tokens: usize,
    /// Its tokens now.
    pub tokens: usize,
    /// How many edits it had.
    pub edits: usize,
    /// Tokens for each edit, rounded.
    pub per_edit: i64,
    /// Tokens for each month, rounded.
    pub per_month: i64,
}

/// What departs from what it was or says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftKind {
    /// It refers to a file that it does not have.
    DeadLink,
    /// It allows itself tools that it did not when it came.
    WidenedTools,
    /// Its folder was changed by hand, and no revision has that.
    UnrecordedEdit,
    /// Its folder was changed by hand in a way that agents do not see.
    BlockedEdit,
    /// Its folder is gone.
    MissingFolder,
}

impl DriftKind {
    /// The kind's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DeadLink => "dead_link",
            Self::WidenedTools => "widened_tools",
            Self::UnrecordedEdit => "unrecorded_edit",
            Self::BlockedEdit => "blocked_edit",
            Self::MissingFolder => "missing_folder",
        }
    }
}

/// One such thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// The skill.
    pub skill: String,
    /// What it is.
    pub kind: DriftKind,
    /// In which line of SKILL.md.
    pub line: Option<usize>,
    /// What is to be said of it.
    pub message: String,
}

/// What people may want to look at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Tokens of the names and descriptions that agents are shown, by an estimate of four bytes each.
    pub description_tokens: usize,
    /// Tokens of all instructions.
    pub instruction_tokens: usize,
    /// Skills with nearly the same instructions.
    pub duplicates: Vec<Duplicates>,
    /// Whether all instructions were compared.
    pub compared_all: bool,
    /// Skills with the same description in the same words.
    pub collisions: Vec<Vec<String>>,
    /// Skills that say nearly the same of themselves, the most alike first.
    pub alike: Vec<Pair>,
    /// Skills that have grown, the fastest first.
    pub growth: Vec<Grown>,
    /// What departs from what it was or says.
    pub drift: Vec<Drift>,
}

/// The report of what was gathered; skills that agents do not see are left out.
pub(super) fn report(facts: &Facts, now: Timestamp) -> Report {
    let skills: Vec<&SkillFacts> = facts.skills.iter().filter(|skill| skill.enabled).collect();
    let name = |place: usize| skills.get(place).map(|skill| skill.name.to_string()).unwrap_or_default();
    let names = |places: Vec<usize>| places.into_iter().map(name).collect::<Vec<_>>();
    let sets: Vec<&[u64]> = skills.iter().map(|skill| skill.spoken.stretches.as_slice()).collect();
    let (groups, compared_all) = near::near_duplicates(&sets);
    let duplicates =
        groups.into_iter().map(|Near { places, percent }| Duplicates { skills: names(places), percent }).collect();
    let descriptions: Vec<&str> = skills.iter().map(|skill| skill.description.as_str()).collect();
    let collisions: Vec<Vec<String>> = near::equal(&descriptions).into_iter().map(names).collect();
    let both: Vec<String> = skills.iter().map(|skill| format!("{} {}", skill.name, skill.description)).collect();
    let both: Vec<&str> = both.iter().map(String::as_str).collect();
    let alike = near::alike(&both, PAIRS);
    let alike = alike.into_iter().map(|(a, b, percent)| Pair { skills: [name(a), name(b)], percent }).collect();
    let mut growth: Vec<Grown> = skills.iter().filter_map(|skill| grown(skill, now)).collect();
    growth.sort_by_key(|grown| std::cmp::Reverse(grown.per_month));
    growth.truncate(GROWN);
    let shown = both.iter().map(|text| text.len()).sum::<usize>();
    let instructions = skills.iter().map(|skill| skill.spoken.bytes).sum::<usize>();
    Report {
        description_tokens: shown.div_ceil(BYTES_PER_TOKEN),
        instruction_tokens: instructions.div_ceil(BYTES_PER_TOKEN),
        duplicates,
        compared_all,
        collisions,
        alike,
        growth,
        drift: skills.iter().flat_map(|skill| drift(skill)).collect(),
    }
}

fn grown(skill: &SkillFacts, now: Timestamp) -> Option<Grown> {
    let base = skill.base.as_ref()?;
    let (from, tokens) = (base.bytes.div_ceil(BYTES_PER_TOKEN), skill.spoken.bytes.div_ceil(BYTES_PER_TOKEN));
    let by = tokens.checked_sub(from).filter(|by| *by >= GROWTH_TOKENS)? as f64;
    let days = (now.duration_since(base.time).as_secs_f64() / 86_400.0).max(SHORTEST_DAYS);
    Some(Grown {
        skill: skill.name.to_string(),
        from_tokens: from,
        tokens,
        edits: base.edits,
        per_edit: (by / base.edits.max(1) as f64).round() as i64,
        per_month: (by / days * MONTH_DAYS).round() as i64,
    })
}

fn drift(skill: &SkillFacts) -> Vec<Drift> {
    let of = |kind, line, message: String| Drift { skill: skill.name.to_string(), kind, line, message };
    let dead = skill.spoken.dead_links.iter().map(|link| of(DriftKind::DeadLink, link.line, link.message.clone()));
    let mut found: Vec<Drift> = dead.collect();
    found.extend(widened(skill).map(|message| of(DriftKind::WidenedTools, None, message)));
    found.extend(skill.fault.as_ref().map(|fault| match fault {
        Fault::Unrecorded => {
            of(DriftKind::UnrecordedEdit, None, "its folder was changed by hand; no revision has that yet".to_owned())
        }
        Fault::Blocked(why) => of(DriftKind::BlockedEdit, None, why.clone()),
        Fault::Missing => of(DriftKind::MissingFolder, None, "its folder is gone".to_owned()),
    }));
    found
}

/// The tools that a skill allows itself now and did not when it came. Without the field all are allowed.
fn widened(skill: &SkillFacts) -> Option<String> {
    let base = skill.base.as_ref()?;
    let before = base.tools.as_ref()?;
    let since = base.release.clone().unwrap_or_else(|| "its first revision".to_owned());
    match &skill.tools {
        None => Some(format!("it has no allowed-tools any more, so that every tool is allowed; {since} had them")),
        Some(now) => {
            let more: Vec<&str> = now.iter().filter(|tool| !before.contains(tool)).map(String::as_str).collect();
            (!more.is_empty()).then(|| format!("allowed-tools has {} more than {since}", more.join(", ")))
        }
    }
}
