//! [`Report`]: findings of the curator for people: copies, growth, drift, and the cost of all descriptions.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Facts, Fault, SkillFacts,
    similarity::{self, SimilarGroup},
};

/// Estimated bytes per token.
const BYTES_PER_TOKEN: usize = 4;
/// Largest number of pairs to report.
const PAIRS: usize = 50;
/// Largest number of grown skills to report.
const GROWN: usize = 20;
/// Smallest growth to report, in tokens.
const GROWTH_TOKENS: usize = 100;
/// Shortest period for growth rates, in days.
const SHORTEST_DAYS: f64 = 1.0;
/// Days in a month, for growth rates.
const MONTH_DAYS: f64 = 30.0;

/// Skills with nearly identical instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duplicates {
    /// Names of the skills.
    pub skills: Vec<String>,
    /// Overlap of the least similar pair, in percent of the sequences of five words.
    pub percent: usize,
}

/// Two skills with similar names and descriptions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// Names of the two skills.
    pub skills: [String; 2],
    /// Similarity in percent.
    pub percent: u32,
}

/// Skill that has grown since its creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grown {
    /// Name of the skill.
    pub skill: String,
    /// Original size of its SKILL.md, in tokens.
    pub from_tokens: usize,
    /// Current size in tokens.
    pub tokens: usize,
    /// Number of edits since then.
    pub edits: usize,
    /// Tokens per edit, rounded.
    pub per_edit: i64,
    /// Tokens per month, rounded.
    pub per_month: i64,
}

/// Deviation of a skill from its original state or its description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftKind {
    /// It refers to a file that does not exist.
    DeadLink,
    /// It allows tools that it did not allow originally.
    WidenedTools,
    /// Its folder has an edit that no revision records.
    UnrecordedEdit,
    /// Its folder has an edit that is hidden from agents.
    BlockedEdit,
    /// Its folder does not exist.
    MissingFolder,
}

impl DriftKind {
    /// Returns the name of the kind in JSON.
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

/// Drift of one skill, of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// Name of the skill.
    pub skill: String,
    /// Kind of drift.
    pub kind: DriftKind,
    /// Line of SKILL.md, if known.
    pub line: Option<usize>,
    /// Description for people.
    pub message: String,
}

/// Findings for people to look at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Tokens of the names and descriptions shown to agents, estimated at four bytes each.
    pub description_tokens: usize,
    /// Tokens of all instructions.
    pub instruction_tokens: usize,
    /// Groups of skills with nearly identical instructions.
    pub duplicates: Vec<Duplicates>,
    /// True if all instructions were compared.
    pub compared_all: bool,
    /// Groups of skills with identical descriptions.
    pub collisions: Vec<Vec<String>>,
    /// Pairs of skills with similar names and descriptions, most similar first.
    pub alike: Vec<Pair>,
    /// Skills that have grown, fastest first.
    pub growth: Vec<Grown>,
    /// Deviations of skills from their original state or their description.
    pub drift: Vec<Drift>,
}

/// Builds the report from gathered facts. Skills hidden from agents are excluded.
pub(super) fn report(facts: &Facts, now: Timestamp) -> Report {
    let skills: Vec<&SkillFacts> = facts.skills.iter().filter(|skill| skill.enabled).collect();
    let name = |place: usize| skills.get(place).map(|skill| skill.name.to_string()).unwrap_or_default();
    let names = |places: Vec<usize>| places.into_iter().map(name).collect::<Vec<_>>();
    let sets: Vec<&[u64]> = skills.iter().map(|skill| skill.spoken.stretches.as_slice()).collect();
    let (groups, compared_all) = similarity::near_duplicates(&sets);
    let duplicates = groups
        .into_iter()
        .map(|SimilarGroup { places, percent }| Duplicates { skills: names(places), percent })
        .collect();
    let descriptions: Vec<&str> = skills.iter().map(|skill| skill.description.as_str()).collect();
    let collisions: Vec<Vec<String>> = similarity::equal(&descriptions).into_iter().map(names).collect();
    let both: Vec<String> = skills.iter().map(|skill| format!("{} {}", skill.name, skill.description)).collect();
    let both: Vec<&str> = both.iter().map(String::as_str).collect();
    let alike = similarity::similar_pairs(&both, PAIRS);
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
        Fault::Unrecorded => of(
            DriftKind::UnrecordedEdit,
            None,
            "its folder was edited by hand, and the edit is not recorded yet".to_owned(),
        ),
        Fault::Blocked(why) => of(DriftKind::BlockedEdit, None, why.clone()),
        Fault::Missing => of(DriftKind::MissingFolder, None, "its folder is missing".to_owned()),
    }));
    found
}

/// Describes the tools that a skill allows now but did not allow originally. Without the field, every tool is allowed.
fn widened(skill: &SkillFacts) -> Option<String> {
    let base = skill.base.as_ref()?;
    let before = base.tools.as_ref()?;
    let since = base.release.clone().unwrap_or_else(|| "its first revision".to_owned());
    match &skill.tools {
        None => Some(format!("it no longer has allowed-tools, so every tool is allowed; {since} had the field")),
        Some(now) => {
            let more: Vec<&str> = now.iter().filter(|tool| !before.contains(tool)).map(String::as_str).collect();
            (!more.is_empty()).then(|| format!("allowed-tools has {}, which {since} did not have", more.join(", ")))
        }
    }
}
