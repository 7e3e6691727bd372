//! Subcommands that show and control the gate's decisions about revisions on trial.

use clap::{Args, ValueEnum};
use evolve::{Decision, Evaluation, Evidence, Line, Verdict};
use library::StoredTrial;
use serde_json::{Value, json};
use skill::{SkillName, counted};

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    print::{BAD, FAINT, GOOD, STRONG, WARN, visible},
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
    let libraries = match &named {
        Some(name) => vec![context.library_with(name)?],
        None => context.visible_libraries()?,
    };
    let config = context.gate()?;
    let terms = config.terms(None).map_err(failed)?;
    for mut library in libraries {
        let names = library.skills()?.into_iter().map(|(name, _)| name);
        for name in names.filter(|name| named.as_ref().is_none_or(|named| named == name)).collect::<Vec<_>>() {
            found.extend(match args.dry_run {
                true => evolve::look(&library, &name, &terms, config.on_decline(), context.now)?,
                false => context.run_gate(&mut library, &name)?,
            });
        }
    }
    if named.is_none() {
        let is_tested = |found: &Evaluation| found.line.is_none() || found.decision.worse.is_some();
        found.retain(|found| found.trial.is_some() || found.decision.candidate.runs > 0 && is_tested(found));
    }
    let skills: Vec<Value> = found.iter().map(document).collect();
    context.out.answer(&json!({"ok": true, "skills": skills}), |out| {
        if found.is_empty() {
            return writeln!(out, "No trials, and no recorded runs to judge a skill by");
        }
        found.iter().try_for_each(|found| out.write_all(text(found).as_bytes()))
    })?;
    Ok(Exit::Done)
}

fn document(found: &Evaluation) -> Value {
    json!({
        "name": found.skill.as_str(), "state": state(found), "revision": found.revision.id,
        "number": found.revision.number, "trial": found.trial, "line": found.line, "decision": found.decision,
        "acted": found.acted,
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

fn text(found: &Evaluation) -> String {
    let Evaluation { skill, decision, .. } = found;
    let style = match decision.verdict {
        Verdict::Wait => FAINT,
        Verdict::Promote => GOOD,
        Verdict::RollBack => BAD,
        Verdict::Inconclusive | Verdict::Alarm => WARN,
    };
    let judged = match &found.line {
        None => format!("revision {}", found.revision.number),
        Some(Line { kept: Some(number), .. }) => format!("since revision {number}, which a person kept"),
        Some(Line { kept: None, .. }) => "all revisions, of which a person kept none".to_owned(),
    };
    let mut text = format!("{STRONG}{skill}{STRONG:#} {judged}: {style}{}{style:#}", state(found));
    if let Some(trial) = found.trial.as_ref().filter(|_| !found.acted) {
        text.push_str(&format!(", {} % of the runs", f64::from(trial.terms.share) / 100.0));
        text.push_str(
            "\n  of runs that read it through skillhub, or through a link that follows it (hooks of Claude Code, Gemini CLI \
             and OpenCode); other hosts keep the former revision",
        );
    }
    text.push_str(&format!("\n  {}\n", visible(&decision.why)));
    for (label, count) in [("before", decision.base), ("judged", decision.candidate)] {
        let known = count.known();
        let rate = if known > 0 {
            format!(", {:.0} % good", 100.0 * f64::from(count.successes) / f64::from(known))
        } else {
            String::new()
        };
        text.push_str(&format!("  {label}: {}{rate}, {} unknown\n", counted(count.runs, "run"), count.unknown));
    }
    let uncounted = decision.uncounted.sentence().map(|sentence| format!("  {sentence}\n")).unwrap_or_default();
    text + &uncounted + &evidence_lines(decision) + &next_steps(found)
}

/// Returns the commands with which a person ends the alarm of a line.
fn next_steps(found: &Evaluation) -> String {
    let Some(line) = found.line.as_ref().filter(|_| found.decision.verdict == Verdict::Alarm) else {
        return String::new();
    };
    let name = &found.skill;
    let keep = format!("  a person keeps the newest revision: skillhub review keep {name}\n");
    match line.kept {
        Some(number) => format!("  restore what you kept: skillhub rollback {name} {number}\n{keep}"),
        None => format!("  choose an earlier revision: skillhub history {name}\n{keep}"),
    }
}

fn evidence_lines(decision: &Decision) -> String {
    let line = |label: &str, evidence: Option<Evidence>| {
        evidence.map(|Evidence { n, e_value, threshold }| {
            format!("  {label}: evidence {e_value:.2}, decides at {threshold:.0} ({n} observed)\n")
        })
    };
    let lines = [line("worse", decision.worse), line("no worse", decision.good), line("drift", decision.drift)];
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
    })?;
    Ok(Exit::Done)
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
    })?;
    Ok(Exit::Done)
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
    let elsewhere = || context.elsewhere();
    let mut library = context.library_with(&name)?;
    let verdict = match args.verdict {
        Forced::Promote => Verdict::Promote,
        Forced::Rollback => Verdict::RollBack,
    };
    let manage = context.manage(&elsewhere)?;
    let found = evolve::force(&mut library, &name, verdict, &reviewer, &terms, &manage)?;
    let found = found.ok_or_else(|| nothing_on_trial(&name))?;
    context.refresh_lock(&library, &name);
    let mut document = document(&found);
    document["ok"] = json!(true);
    context.out.answer(&document, |out| out.write_all(text(&found).as_bytes()))?;
    Ok(Exit::Done)
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
            writeln!(out, "{FAINT}{}{FAINT:#}  {word}  {}", one.time, visible(&one.noted.decision.why))?;
        }
        let count = counted(decisions.len(), "decision");
        writeln!(out, "{STRONG}{name}{STRONG:#}: {count}, of which {differ} differ from the log")
    })?;
    Ok(if differ == 0 { Exit::Done } else { Exit::Integrity })
}
