//! Acceptance of blocking findings by a person, in the command that installs the skill.
//!
//! At a terminal, the person is asked once for all skills. Elsewhere, flags name the rules and a reviewer's token
//! proves that a person acts. In both cases the decision is stored as one waiver per rule and file.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal},
};

use clap::Args;
use client::BlockedSkill;
use library::StoredWaiver;
use scan::{Finding, Report, Severity};
use skill::{Limits, counted};
use skill_manage::{Reviewer, WaiveError, waivers_for};

use crate::{
    context::Context,
    exit::CliError,
    print::{STRONG, shell_word, visible},
    reading::read_answer,
};

/// Flags by which a person accepts what blocks a skill.
#[derive(Debug, Clone, Default, Args)]
pub struct AcceptArgs {
    /// Accept blocking findings of these rules (people only)
    #[arg(long, value_name = "RULE", num_args = 1.., value_delimiter = ',', requires = "reason")]
    #[arg(conflicts_with = "dry_run")]
    accept: Vec<String>,
    /// Accept critical findings too
    #[arg(long, requires = "accept")]
    accept_critical: bool,
    /// Reason why the findings are acceptable
    #[arg(long, value_name = "TEXT", requires = "accept")]
    reason: Option<String>,
}

/// Makes the decision about blocked skills, from flags or by asking a person.
pub struct Acceptor<'a> {
    context: &'a Context,
    by: Option<(Reviewer, DecisionSource)>,
}

/// Source of a person's decision.
enum DecisionSource {
    /// The flags of the command.
    Rules(AcceptArgs),
    /// A question at the terminal.
    Asked,
    /// Earlier consent to all acceptable findings that are not critical, with its reason.
    Agreed(String),
}

/// A person's decision about all blocked skills.
struct AcceptanceDecision {
    reason: String,
    /// True if it covers critical findings.
    takes_critical: bool,
}

impl<'a> Acceptor<'a> {
    /// Reads the flags and determines whether a person can be asked.
    ///
    /// # Errors
    /// The flags come without proof that a person acts, name an unknown rule or one whose findings cannot be accepted,
    /// or give an empty reason.
    pub fn new(context: &'a Context, args: &AcceptArgs) -> Result<Self, CliError> {
        let Some(reason) = args.reason.as_ref().filter(|_| !args.accept.is_empty()) else {
            let can_ask = !context.out.json && !context.out.quiet && is_terminal();
            let reviewer = can_ask.then(|| context.reviewer("accept a finding").ok()).flatten();
            return Ok(Self { context, by: reviewer.map(|reviewer| (reviewer, DecisionSource::Asked)) });
        };
        let reviewer = context.reviewer("accept a finding")?;
        for rule in &args.accept {
            if context.home.scanner().rule(rule).is_none() {
                return Err(WaiveError::NoRule(rule.clone()).into());
            }
            if !scan::can_be_waived(rule) {
                return Err(WaiveError::NotWaivable(rule.clone()).into());
            }
        }
        if reason.trim().is_empty() || reason.chars().count() > Limits::default().note_chars {
            return Err(WaiveError::Reason(Limits::default().note_chars).into());
        }
        Ok(Self { context, by: Some((reviewer, DecisionSource::Rules(args.clone()))) })
    }

    /// Creates an acceptor for a person who has consented to all acceptable findings that are not critical.
    ///
    /// # Errors
    /// There is no proof that a person acts.
    pub fn agreed(context: &'a Context, reason: &str) -> Result<Self, CliError> {
        let reviewer = context.reviewer("accept a finding")?;
        Ok(Self { context, by: Some((reviewer, DecisionSource::Agreed(reason.to_owned()))) })
    }

    /// Returns the waivers under which each skill passes, in the order of `skills`. The list is empty for a skill that
    /// stays blocked.
    pub fn decide(&self, skills: &[BlockedSkill<'_>]) -> Vec<Vec<StoredWaiver>> {
        let none = || skills.iter().map(|_| Vec::new()).collect();
        let Some((reviewer, way)) = &self.by else { return none() };
        let Some(decision) = (match way {
            DecisionSource::Rules(AcceptArgs { reason, accept_critical, .. }) => {
                reason.clone().map(|reason| AcceptanceDecision { reason, takes_critical: *accept_critical })
            }
            DecisionSource::Agreed(reason) => {
                Some(AcceptanceDecision { reason: reason.clone(), takes_critical: false })
            }
            DecisionSource::Asked => self.ask(skills),
        }) else {
            return none();
        };
        let can_pass = |report: &Report| match way {
            DecisionSource::Rules(AcceptArgs { accept, .. }) => {
                report.blocking().all(|found| accept.iter().any(|r| *r == found.rule))
            }
            DecisionSource::Asked | DecisionSource::Agreed(_) => is_acceptable(report),
        };
        let of_skill = |skill: &BlockedSkill<'_>| match critical(skill.blocked.report()).next() {
            _ if !can_pass(skill.blocked.report()) => Vec::new(),
            Some(finding) if !decision.takes_critical => {
                let (name, rule) = (skill.name, &finding.rule);
                let flag = CRITICAL_FLAG;
                self.context.out.note(&format!("{name} stays blocked: {rule} is critical; accept it with {flag}"));
                Vec::new()
            }
            _ => self.waivers(skill, &decision.reason, reviewer),
        };
        skills.iter().map(of_skill).collect()
    }

    fn waivers(&self, skill: &BlockedSkill<'_>, reason: &str, reviewer: &Reviewer) -> Vec<StoredWaiver> {
        let BlockedSkill { name, blocked, .. } = *skill;
        waivers_for(name, blocked, reason, reviewer, self.context.now, &Limits::default()).unwrap_or_else(|error| {
            self.context.out.note(&format!("{} stays blocked: {error}", skill.name));
            Vec::new()
        })
    }

    /// Shows the blocking findings and asks for a reason to accept them, then asks again about critical ones. An empty
    /// answer declines.
    fn ask(&self, skills: &[BlockedSkill<'_>]) -> Option<AcceptanceDecision> {
        let askable: Vec<&BlockedSkill<'_>> =
            skills.iter().filter(|skill| is_acceptable(skill.blocked.report())).collect();
        if askable.is_empty() {
            return None;
        }
        self.context.out.note(&format!("The scanner blocks {}:", counted(askable.len(), "skill")));
        for skill in &askable {
            self.context.out.note(&format!("  {STRONG}{}{STRONG:#}", skill.name));
            let told = skill.told.iter().map(|told| told.not_ours());
            for line in place_lines(skill.blocked.report().blocking()).into_iter().chain(told) {
                self.context.out.note(&format!("    {line}"));
            }
        }
        let answer = read_answer("Type a reason to accept these findings, or press Enter to leave the skills out: ")?;
        let reason = match answer.to_ascii_lowercase().as_str() {
            "" | "n" | "no" => None,
            "y" | "yes" => read_answer("Reason: ").filter(|reason| !reason.is_empty()),
            _ => Some(answer),
        }?;
        Some(AcceptanceDecision { reason, takes_critical: self.ask_about_critical(&askable) })
    }

    /// Asks for a second confirmation of critical findings.
    fn ask_about_critical(&self, skills: &[&BlockedSkill<'_>]) -> bool {
        let lines: Vec<String> =
            skills.iter().flat_map(|skill| place_lines(critical(skill.blocked.report()))).collect();
        if lines.is_empty() {
            return false;
        }
        self.context.out.note("Critical findings:");
        for line in lines {
            self.context.out.note(&format!("    {line}"));
        }
        let answer = read_answer("Type CRITICAL to accept these too, or press Enter to leave the skills out: ");
        answer.is_some_and(|answer| answer.eq_ignore_ascii_case("critical"))
    }
}

/// The extra flag that accepting critical findings requires.
const CRITICAL_FLAG: &str = "--accept-critical";

/// Returns the blocking findings of critical severity.
fn critical(report: &Report) -> impl Iterator<Item = &Finding> {
    report.blocking().filter(|finding| finding.severity == Severity::Critical)
}

/// Returns whether a single confirmation suffices to accept the report: all blocking findings are acceptable and none
/// is critical.
pub fn is_acceptable_at_once(report: &Report) -> bool {
    is_acceptable(report) && critical(report).next().is_none()
}

/// Returns whether a person may accept every blocking finding.
pub fn is_acceptable(report: &Report) -> bool {
    report.blocking().all(|finding| scan::can_be_waived(&finding.rule))
}

/// Formats one line per rule and file that blocks, with its first finding.
fn place_lines<'r>(findings: impl Iterator<Item = &'r Finding>) -> Vec<String> {
    let mut places: BTreeMap<(&str, &str), Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        places.entry((&finding.path, &finding.rule)).or_default().push(finding);
    }
    let line = |found: Vec<&Finding>| {
        let first = found.iter().min_by_key(|finding| finding.line)?;
        let more = if found.len() > 1 { format!(" (and {} more)", found.len() - 1) } else { String::new() };
        let Finding { severity, path, line, message, rule, .. } = first;
        Some(format!("{severity} {}:{line} {message} [{rule}]{more}", visible(path)))
    };
    places.into_values().filter_map(line).collect()
}

fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Returns the current command with flags that accept the findings, as the hint for blocked skills. Returns `None` if
/// one of the findings cannot be accepted.
pub fn accept_hint<'r>(reports: impl IntoIterator<Item = &'r Report>) -> Option<String> {
    let (mut rules, mut flag) = (Vec::<&str>::new(), String::new());
    for report in reports {
        if !is_acceptable(report) {
            continue;
        }
        if critical(report).next().is_some() {
            flag = format!(" {CRITICAL_FLAG}");
        }
        rules.extend(report.blocking().map(|finding| finding.rule.as_ref()));
    }
    rules.sort_unstable();
    rules.dedup();
    let command = command_without_accepting(std::env::args().skip(1));
    (!rules.is_empty()).then(|| {
        format!(
            "follow the remedies, or accept the findings if you trust the author and understand each of them (people \
             only): {command} --accept {}{flag} --reason 'why they are acceptable'",
            rules.join(" ")
        )
    })
}

/// Returns the command as typed, without the flags that accept findings, `--json` and `--dry-run`.
fn command_without_accepting(args: impl Iterator<Item = String>) -> String {
    let (mut words, mut skips) = (vec!["skillhub".to_owned()], Skips::Nothing);
    for arg in args {
        skips = match arg.as_str() {
            "--accept" => Skips::Values,
            "--reason" => Skips::Value,
            "--json" | "--dry-run" | "-y" | "--yes" | CRITICAL_FLAG => skips.after_flag(),
            text if text.starts_with("--accept=") || text.starts_with("--reason=") => Skips::Nothing,
            text if skips == Skips::Value || skips == Skips::Values && !text.starts_with('-') => skips.after_value(),
            _ => {
                words.push(shell_word(&arg));
                Skips::Nothing
            }
        };
    }
    words.join(" ")
}

/// The words to drop next while a command line is filtered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Skips {
    Nothing,
    /// One value of a flag.
    Value,
    /// All values of a flag, up to the next flag.
    Values,
}

impl Skips {
    fn after_value(self) -> Self {
        if self == Self::Values { self } else { Self::Nothing }
    }

    fn after_flag(self) -> Self {
        Self::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(args: &[&str]) -> String {
        command_without_accepting(args.iter().map(|arg| (*arg).to_owned()))
    }

    #[test]
    fn command_keeps_the_flags_of_the_user() {
        assert_eq!(command(&["-g", "adopt", "--dry-run", "/a b", "--json"]), "skillhub -g adopt '/a b'");
        assert_eq!(command(&["adopt", "x", "--accept", "r", "s", "--reason", "so it is"]), "skillhub adopt x");
        assert_eq!(command(&["adopt", "--accept=r,s", "--reason=t", "x"]), "skillhub adopt x");
        assert_eq!(command(&["adopt", "x", "--accept", "r", CRITICAL_FLAG, "-g"]), "skillhub adopt x -g");
        assert_eq!(command(&["install", "--reason", "t", "a/b"]), "skillhub install a/b");
    }
}
