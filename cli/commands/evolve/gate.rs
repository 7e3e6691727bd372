//! Subcommands that show and control the gate's decisions about revisions on trial.

use clap::{Args, ValueEnum};
use evolve::{Decision, Evaluation, Evidence, Line, Verdict};
use library::{Library, StoredTrial};
use serde_json::{Value, json};
use skill::{SkillName, counted};

use super::reach::TrialReach;
use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    print::{BAD, FAINT, GOOD, STRONG, WARN, stored_past_time, visible},
};

/// Flags of `evolve status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Skill [default: all]
    name: Option<String>,
    /// Show the state, and decide nothing
    #[arg(long)]
    dry_run: bool,
}

/// Flags of `evolve try`.
#[derive(Debug, Args)]
pub struct TryArgs {
    /// Skill
    name: String,
    /// Revision: a number, or an id or its first digits
    revision: String,
    /// Share of the runs that use it, from 0 to 1 [default: `[gate] share` in config.toml]
    #[arg(long, value_name = "SHARE")]
    share: Option<f64>,
}

/// A skill.
#[derive(Debug, Args)]
pub struct NameArgs {
    /// Skill
    name: String,
}

/// Flags of `evolve force`.
#[derive(Debug, Args)]
pub struct ForceArgs {
    /// Skill
    name: String,
    /// Verdict
    verdict: Forced,
}

/// What a person may force.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Forced {
    /// Use the revision on trial in all runs
    Promote,
    /// End the trial, or restore the revision before the newest
    Rollback,
}

/// Returns the display phrase of a verdict.
pub fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Wait => "waits for more outcomes of",
        Verdict::Promote => "promoted",
        Verdict::RollBack => "rolled back",
        Verdict::Inconclusive => "ended the trial of",
        Verdict::Alarm => "asks a person to look at",
    }
}

/// Prints the gate's state for each skill, and makes the decisions that are due.
pub fn status(context: &Context, args: &StatusArgs) -> Result<Exit, CliError> {
    let named = args.name.as_deref().map(|name| context.skill_called(name)).transpose()?;
    let mut found = Vec::new();
    let mut libraries = match &named {
        Some(name) => vec![context.library_with(name)?],
        None => context.visible_libraries()?,
    };
    let config = context.gate()?;
    let terms = config.terms(None).map_err(failed)?;
    for library in &mut libraries {
        let names = library.skills()?.into_iter().map(|(name, _)| name);
        for name in names.filter(|name| named.as_ref().is_none_or(|named| named == name)).collect::<Vec<_>>() {
            found.extend(match args.dry_run {
                true => evolve::look(library, &name, &terms, config.on_decline(), context.now)?,
                false => context.run_gate(library, &name)?,
            });
        }
    }
    if named.is_none() {
        let is_tested = |found: &Evaluation| found.line.is_none() || found.decision.worse.is_some();
        found.retain(|found| found.trial.is_some() || found.decision.candidate.runs > 0 && is_tested(found));
    }
    let reaches = found.iter().map(|found| reach(context, found)).collect::<Result<Vec<_>, _>>()?;
    let both = || found.iter().zip(&reaches);
    let skills: Vec<Value> = both().map(|(found, reach)| document(found, reach.as_ref())).collect();
    let is_recorded = found.is_empty() && has_runs(&libraries, named.as_ref())?;
    context.out.answer(&json!({"ok": true, "skills": skills}), |out| {
        if is_recorded {
            writeln!(out, "No trials, and nothing to judge by the recorded runs yet")?;
            let name = named.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
            return out.message(format_args!("See the runs: skillhub stats{name}"));
        }
        if found.is_empty() {
            return writeln!(out, "No trials, and no recorded runs to judge a skill by");
        }
        both().try_for_each(|(found, reach)| out.write_all(text(found, reach.as_ref()).as_bytes()))
    })
}

/// Returns whether runs of the named skill, or of any skill, are recorded.
fn has_runs(libraries: &[Library], named: Option<&SkillName>) -> Result<bool, CliError> {
    for library in libraries {
        for (name, _) in library.skills()? {
            if named.is_none_or(|named| *named == name) && !library.outcomes(&name)?.outcomes.is_empty() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Determines the agents that can follow a running trial.
fn reach(context: &Context, found: &Evaluation) -> Result<Option<TrialReach>, CliError> {
    let Some(trial) = found.trial.as_ref().filter(|_| !found.acted) else { return Ok(None) };
    TrialReach::of(context, &context.library_with(&found.skill)?, &found.skill, trial).map(Some)
}

fn document(found: &Evaluation, reach: Option<&TrialReach>) -> Value {
    json!({
        "name": found.skill.as_str(), "state": state(found), "revision": found.revision.id,
        "number": found.revision.number, "trial": found.trial, "line": found.line, "decision": found.decision,
        "acted": found.acted, "restored": found.restored, "agents": reach.map(TrialReach::document),
    })
}

/// Returns the JSON word for the state of the evaluated revision.
fn state(found: &Evaluation) -> &'static str {
    match (&found.trial, found.decision.verdict, found.acted) {
        (_, Verdict::Promote, true) => "promoted",
        (_, Verdict::RollBack, true) => "rolled_back",
        (_, Verdict::Inconclusive, true) => "inconclusive",
        (Some(StoredTrial { paused: true, .. }), _, _) => "paused",
        (Some(_), _, _) => "canary",
        (None, Verdict::Alarm, _) => "alarm",
        (None, _, _) => "active",
    }
}

/// Returns the state of the evaluated revision in words.
fn state_words(found: &Evaluation) -> String {
    let words = match (state(found), found.restored) {
        ("promoted", _) => "promoted: all runs get it",
        ("rolled_back", Some(number)) => return format!("rolled back to revision {number}"),
        ("rolled_back", None) => "rolled back: the former revision stays",
        ("inconclusive", _) => "the trial ended without a result",
        ("paused", _) => "the trial is paused",
        ("canary", _) => "on trial",
        ("alarm", _) => "alarm: a person has to look",
        _ => "in use, and watched",
    };
    words.to_owned()
}

fn text(found: &Evaluation, reach: Option<&TrialReach>) -> String {
    let Evaluation { skill, decision, .. } = found;
    let style = match decision.verdict {
        Verdict::Wait => FAINT,
        Verdict::Promote => GOOD,
        Verdict::RollBack => BAD,
        Verdict::Inconclusive | Verdict::Alarm => WARN,
    };
    let judged = match &found.line {
        None => format!("revision {}", found.revision.number),
        Some(Line { kept: Some(number), .. }) => format!("changes since its review checkpoint, revision {number}"),
        Some(Line { kept: None, .. }) => "all changes; no person has kept a revision yet".to_owned(),
    };
    let mut text = format!("{STRONG}{skill}{STRONG:#}, {judged}: {style}{}{style:#}", state_words(found));
    if let Some(trial) = found.trial.as_ref().filter(|_| !found.acted) {
        text.push_str(&format!(" with {} % of the runs", f64::from(trial.terms.share) / 100.0));
    }
    text.push('\n');
    let mut line = |line: &str| text.push_str(&format!("  {line}\n"));
    line(&visible(&decision.why));
    reach.map(TrialReach::sentences).unwrap_or_default().iter().for_each(|sentence| line(sentence));
    let (former, judged) = match found.line {
        Some(_) => ("up to the checkpoint", "since"),
        None => ("former revision", "this revision"),
    };
    let is_rated = decision.base.successes + decision.candidate.successes > 0;
    for (label, count) in [(former, decision.base), (judged, decision.candidate)] {
        let words = match count.known() {
            0 => format!("{} with a known result", counted(0, "run")),
            _ => count.words(is_rated),
        };
        let unknown = if count.unknown > 0 { format!(", {} unknown", count.unknown) } else { String::new() };
        line(&format!("{label}: {words}{unknown}"));
    }
    decision.uncounted.sentence().iter().for_each(|sentence| line(sentence));
    evidence_lines(decision).iter().chain(&next_steps(found)).for_each(|step| line(step));
    text
}

/// Returns the commands that undo a rollback, or with which a person ends the alarm of a line.
fn next_steps(found: &Evaluation) -> Vec<String> {
    let name = &found.skill;
    let number = found.revision.number;
    let keep = format!("a person keeps the newest revision: skillhub review keep {name}");
    match (found.decision.verdict, found.acted, &found.line) {
        (Verdict::RollBack, true, _) if found.trial.is_none() => {
            vec![format!("bring revision {number} back, as a person: skillhub rollback {name} {number}")]
        }
        (Verdict::Alarm, _, Some(Line { kept: Some(kept), .. })) => {
            vec![format!("restore what you kept: skillhub rollback {name} {kept}"), keep]
        }
        (Verdict::Alarm, _, Some(_)) => vec![format!("choose an earlier revision: skillhub history {name}"), keep],
        _ => Vec::new(),
    }
}

/// Describes how far each test is from its decision.
fn evidence_lines(decision: &Decision) -> Vec<String> {
    let line = |claim: &str, evidence: Option<Evidence>| {
        evidence.map(|Evidence { n, e_value, threshold }| {
            format!("evidence that {claim}: {e_value:.1} after {n} observations; the gate acts at {threshold:.0}")
        })
    };
    let lines = [
        line("it is worse", decision.worse),
        line("it is not worse", decision.good),
        line("it has become worse", decision.drift),
    ];
    lines.into_iter().flatten().collect()
}

/// Starts a trial of a revision.
pub fn start_trial(context: &Context, args: &TryArgs) -> Result<Exit, CliError> {
    let name = context.skill_called(&args.name)?;
    let terms = context.gate()?.terms(args.share).map_err(failed)?;
    let reviewer = context.reviewer("start a trial")?;
    let library = context.library_with(&name)?;
    let (revision, trial) = skill_manage::start_trial(&library, &name, &args.revision, terms, &reviewer, context.now)?;
    let share = f64::from(trial.terms.share) / 100.0;
    let document =
        json!({"ok": true, "name": name.as_str(), "revision": revision.id, "number": revision.number, "trial": trial});
    context.out.answer(&document, |out| {
        writeln!(
            out,
            "Started a trial of {STRONG}{name}{STRONG:#} revision {} in {share} % of the runs",
            revision.number
        )
    })
}

/// Pauses a trial, or resumes it.
pub fn pause(context: &Context, args: &NameArgs, pauses: bool) -> Result<Exit, CliError> {
    let name = context.skill_called(&args.name)?;
    let what = if pauses { "pause a trial" } else { "resume a trial" };
    let reviewer = context.reviewer(what)?;
    let library = context.library_with(&name)?;
    let stamp = library::Stamp::new(reviewer.actor().clone(), context.now);
    let mut on_trial = None;
    let action = if pauses { "pause" } else { "resume" };
    library.set_state(&name, &stamp, action, |state| {
        if let Some(trial) = &mut state.trial {
            trial.paused = pauses;
            on_trial = Some(trial.clone());
        }
    })?;
    let trial = on_trial.ok_or_else(|| nothing_on_trial(&name))?;
    if pauses {
        let _left_to_next_session = library.point_links(&name, &trial, false, |_| true);
    }
    let document = json!({"ok": true, "name": name.as_str(), "paused": pauses});
    context.out.answer(&document, |out| match pauses {
        true => writeln!(out, "Paused the trial of {STRONG}{name}{STRONG:#}: all runs use the previous revision"),
        false => writeln!(out, "Resumed the trial of {STRONG}{name}{STRONG:#}"),
    })
}

fn nothing_on_trial(name: &SkillName) -> CliError {
    CliError::new("not_found", Exit::NotFound, format!("{name} has no trial"))
        .hint(format!("start one as a person: skillhub evolve try {name} REV"))
}

/// Promotes or rolls back on a person's order.
pub fn force(context: &Context, args: &ForceArgs) -> Result<Exit, CliError> {
    let name = context.skill_called(&args.name)?;
    let reviewer = context.reviewer("force a decision")?;
    let terms = context.gate()?.terms(None).map_err(failed)?;
    let mut library = context.library_with(&name)?;
    let verdict = match args.verdict {
        Forced::Promote => Verdict::Promote,
        Forced::Rollback => Verdict::RollBack,
    };
    let manage = context.manage()?;
    let found = evolve::force(&mut library, &name, verdict, &reviewer, &terms, &manage)?;
    let found = found.ok_or_else(|| nothing_on_trial(&name))?;
    context.refresh_lock(&library, &name);
    let mut document = document(&found, None);
    document["ok"] = json!(true);
    context.out.answer(&document, |out| out.write_all(text(&found, None).as_bytes()))
}

/// Recomputes every decision from the log and compares it with the recorded one.
pub fn check(context: &Context, args: &NameArgs) -> Result<Exit, CliError> {
    let name = context.skill_called(&args.name)?;
    let library = context.library_with(&name)?;
    let (events, unreadable_events) = library.events()?;
    let log = library.outcomes(&name)?;
    let (decisions, unreadable) = evolve::replay(&events, &log.outcomes, &name);
    let differ = decisions.iter().filter(|decision| !decision.holds()).count() + unreadable;
    let list: Vec<Value> = decisions
        .iter()
        .map(|one| json!({"time": one.time, "decision": one.noted.decision, "forced_by": one.noted.forced_by, "same": one.holds()}))
        .collect();
    let document = json!({
        "ok": differ == 0, "name": name.as_str(), "decisions": list, "differ": differ,
        "unreadable": {"events": unreadable_events, "outcomes": log.unreadable},
    });
    context.out.answer(&document, |out| {
        for one in &decisions {
            let word = if one.holds() { format!("{GOOD}same{GOOD:#}") } else { format!("{BAD}differs{BAD:#}") };
            let time = stored_past_time(&one.time);
            writeln!(out, "{FAINT}{time}{FAINT:#}  {word}  {}", visible(&one.noted.decision.why))?;
        }
        let count = counted(decisions.len(), "decision");
        match (decisions.len() + unreadable, differ) {
            (0, _) => writeln!(out, "{STRONG}{name}{STRONG:#}: the gate has decided nothing yet"),
            (_, 0) => writeln!(out, "{STRONG}{name}{STRONG:#}: {count}, each the same when made again from the log"),
            _ => writeln!(out, "{STRONG}{name}{STRONG:#}: {count}; {differ} differ when made again from the log"),
        }
    })?;
    Ok(if differ == 0 { Exit::Done } else { Exit::Integrity })
}
