//! `skillhub curate` plans the upkeep of skills and archives unused ones.

use std::io::{self, Write};

use agent::Visibility;
use clap::{Args, Subcommand};
use evolve::curate::{
    self, Applied, Archived, CurateError, Facts, Plan, References, Report, SuggestedEvals, Terms, archived, gather,
    restore,
};
use library::Library;
use ops::FolderVisibility;
use serde_json::json;
use skill::{SkillName, counted};

use crate::{
    access::check_request,
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, GOOD, Page, STRONG, Table, WARN, stored_past_time, visible},
};

/// Number of lines printed for each part of a plan. `--json` is complete.
const SHOWN: usize = 10;

/// What `curate` does.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  skillhub curate plan                           find unused, duplicate and growing skills
  skillhub curate apply                          archive the skills of the last plan, propose its evals
  skillhub curate list                           list archived skills
  skillhub curate restore my-skill               restore one; `skillhub undo` does too

Queries of failed and corrected runs are proposed as trigger evals; a person accepts them in review.
Archived skills are hidden from agents; their files and history are kept. Pinned skills and dependencies
of other skills are never archived. Without recorded uses, no skill counts as unused.")]
pub enum CurateCommand {
    /// Report unused, duplicate, growing and faulty skills, and evals to propose
    Plan(PlanArgs),
    /// Archive the unused skills of a plan, and propose its evals
    Apply(ApplyArgs),
    /// List archived skills
    List(ListArgs),
    /// Restore archived skills
    Restore(RestoreArgs),
}

/// Flags of `curate plan`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub curate plan
  skillhub curate plan --stale-days 180 --json")]
pub struct PlanArgs {
    /// Days without a use or change after which a skill counts as stale
    #[arg(long, value_name = "DAYS", default_value_t = Terms::default().stale_days,
          value_parser = clap::value_parser!(u32).range(1..=3650))]
    stale_days: u32,
}

/// Flags of `curate apply`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub curate apply                          the last plan
  skillhub curate apply 3fa92c1d --dry-run")]
pub struct ApplyArgs {
    /// Plan, by the id that `curate plan` prints [default: the last]
    plan: Option<String>,
    /// Show what would be archived, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Flags of `curate list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub curate list --json")]
pub struct ListArgs {}

/// Flags of `curate restore`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub curate restore my-skill
  skillhub curate restore 9c01d2ab               by the id that `curate list` prints")]
pub struct RestoreArgs {
    /// Skills, by name or id
    #[arg(required = true, value_name = "NAME|ID")]
    which: Vec<String>,
}

/// Runs the subcommand.
pub fn run(context: &Context, command: &CurateCommand) -> Result<Exit, CliError> {
    match command {
        CurateCommand::Plan(args) => plan(context, args),
        CurateCommand::Apply(args) => apply(context, args),
        CurateCommand::List(_) => list(context),
        CurateCommand::Restore(args) => bring_back(context, args),
    }
}

/// Collects the facts about the library's skills that a plan is based on.
fn facts(context: &Context, library: &Library) -> Result<Facts, CliError> {
    let requirers = client::requirers(&context.lock_path(library)).map_err(failed)?;
    let needed: References = requirers.into_iter().map(|(name, requirers)| (name, requirers.by)).collect();
    let mut facts = gather(library, &needed)?;
    let is_seen = context.seen()?;
    facts.skills.retain(|skill| is_seen(skill.name.as_str()));
    Ok(facts)
}

fn plan(context: &Context, args: &PlanArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    let terms = Terms { stale_days: args.stale_days, ..Terms::default() };
    let plan = curate::plan(&facts(context, &library)?, terms, context.now);
    curate::keep(&library, &plan)?;
    let warnings = context.listing_warnings_after();
    let mut document = serde_json::to_value(&plan).map_err(io::Error::from)?;
    if let Some(fields) = document.as_object_mut() {
        fields.insert("ok".to_owned(), json!(true));
        fields.insert("warnings".to_owned(), json!(warnings));
    }
    context.out.answer(&document, |out| show(&plan, out))?;
    context.note_warnings(&warnings);
    Ok(Exit::Done)
}

fn show(plan: &Plan, out: &mut Page) -> io::Result<()> {
    let report = &plan.report;
    writeln!(
        out,
        "{STRONG}plan {}{STRONG:#}  {FAINT}{}; descriptions take about {} of each prompt{FAINT:#}",
        plan.id,
        counted(plan.skills, "skill"),
        counted(report.description_tokens, "token")
    )?;
    if let Some(silence) = &plan.silence {
        writeln!(out, "{WARN}Nothing is archived{WARN:#}: {silence}")?;
    }
    let archive: Vec<String> = plan.archive.iter().map(|step| format!("{}: {}", step.skill, step.reason)).collect();
    part(out, "To archive", &archive)?;
    let kept: Vec<String> = plan.kept.iter().map(|kept| format!("{}: {}", kept.skill, kept.why)).collect();
    part(out, "Unused, but kept", &kept)?;
    let evals = plan.evals.iter().map(|found| {
        format!("{}: {} from failed or corrected runs", found.skill, counted(found.queries.len(), "query"))
    });
    part(out, "Evals to propose", &evals.collect::<Vec<_>>())?;
    show_report(report, out)?;
    let next = match (plan.archive.is_empty(), plan.evals.is_empty()) {
        (true, true) => return writeln!(out, "Nothing to archive."),
        (false, true) => "Archive them",
        (true, false) => "Propose the evals",
        (false, false) => "Archive them and propose the evals",
    };
    out.message(format_args!("{next}: skillhub curate apply {}", plan.id))
}

fn show_report(report: &Report, out: &mut Page) -> io::Result<()> {
    let copies = report.duplicates.iter().map(|group| format!("{} ({} %)", group.skills.join(", "), group.percent));
    part(out, "Near-identical instructions", &copies.collect::<Vec<_>>())?;
    if !report.compared_all {
        out.message(format_args!("{WARN}note{WARN:#}: too many similar skills to compare all of them"))?;
    }
    let same: Vec<String> = report.collisions.iter().map(|names| names.join(", ")).collect();
    part(out, "Same description", &same)?;
    let alike = report.alike.iter().map(|pair| format!("{} ({} %)", pair.skills.join(", "), pair.percent));
    part(out, "Similar name and description", &alike.collect::<Vec<_>>())?;
    let growth = report.growth.iter().map(|grown| {
        format!(
            "{}: {} to {} tokens in {}, {} each, {} a month",
            grown.skill,
            grown.from_tokens,
            grown.tokens,
            counted(grown.edits, "edit"),
            grown.per_edit,
            grown.per_month
        )
    });
    part(out, "Growing", &growth.collect::<Vec<_>>())?;
    let drift = report.drift.iter().map(|drift| {
        let line = drift.line.map(|line| format!(" line {line}")).unwrap_or_default();
        format!("{}{line}: {}", drift.skill, drift.message)
    });
    part(out, "Faulty", &drift.collect::<Vec<_>>())
}

fn part(out: &mut dyn Write, title: &str, lines: &[String]) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "{STRONG}{title}{STRONG:#}")?;
    lines.iter().take(SHOWN).try_for_each(|line| writeln!(out, "  {}", visible(line)))?;
    match lines.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        Some(more) => writeln!(out, "  {FAINT}and {more} more; --json has all{FAINT:#}"),
        None => Ok(()),
    }
}

fn apply(context: &Context, args: &ApplyArgs) -> Result<Exit, CliError> {
    let mut library = context.library()?;
    let mut plan = match &args.plan {
        Some(id) => curate::stored(&library, id)?.ok_or_else(|| failed(CurateError::NoPlan(id.clone())))?,
        None => curate::latest(&library)?.ok_or_else(|| failed(CurateError::NoPlans))?,
    };
    // A plan made by somebody else may contain skills that the current actor may not hide.
    let sight = context.visibility_check()?;
    let is_allowed = |skill: &str| {
        SkillName::parse(skill)
            .is_ok_and(|name| !matches!(sight(&name), Visibility::Denied | Visibility::NotOnList | Visibility::Asked))
    };
    plan.archive.retain(|step| is_allowed(&step.skill));
    plan.evals.retain(|suggestion| is_allowed(&suggestion.skill));
    let facts = facts(context, &library)?;
    let (policy, stamp) = (context.policy()?, context.stamp());
    let applied = curate::apply(&library, &plan, &facts, &policy, &stamp, args.dry_run).map_err(failed)?;
    if !args.dry_run {
        let done = applied.skills.iter().filter(|skill| skill.status == "archived");
        follow(context, &library, done.map(|skill| skill.skill.as_str()))?;
    }
    let acting = context.manage()?;
    let policy = acting.policy.holding("skillhub curate apply", "suggested evals always wait for a person");
    let acting = skill_manage::Context { policy, ..acting };
    let evals = curate::suggest(&mut library, &plan, &facts, &acting, args.dry_run)?;
    let is_refused = applied.skills.iter().any(|skill| skill.status == "refused")
        || evals.iter().any(|found| found.status == "refused");
    let document = json!({
        "ok": !is_refused, "plan": applied.plan, "status": if args.dry_run { "dry_run" } else { "applied" },
        "skills": applied.skills, "evals": evals,
    });
    context.out.answer(&document, |out| {
        tell_evals(&evals, out)?;
        tell(&applied, !evals.is_empty(), out)
    })?;
    Ok(if is_refused { Exit::Conflict } else { Exit::Done })
}

/// Updates the links in agents' folders to the current visibility settings.
fn follow<'a>(context: &Context, library: &Library, names: impl Iterator<Item = &'a str>) -> Result<(), CliError> {
    let (sight, state) = (FolderVisibility::new(context)?, library.state()?);
    for name in names.filter_map(|name| SkillName::parse(name).ok()) {
        sight.apply(library, &name, &state.of(&name));
    }
    Ok(())
}

fn tell_evals(evals: &[SuggestedEvals], out: &mut Page) -> io::Result<()> {
    for SuggestedEvals { skill, status, proposal, why, .. } in evals {
        let (style, word) = match *status {
            "refused" => (WARN, "evals not proposed"),
            "dry_run" => (FAINT, "evals would be proposed"),
            _ => (GOOD, "evals proposed"),
        };
        writeln!(out, "  {STRONG}{skill}{STRONG:#} {style}{word}{style:#}: {}", visible(why))?;
        if let Some(id) = proposal {
            out.message(format_args!("Read the proposal: skillhub review show {id}"))?;
        }
    }
    Ok(())
}

fn tell(applied: &Applied, has_evals: bool, out: &mut Page) -> io::Result<()> {
    for skill in &applied.skills {
        let (style, status) = match skill.status {
            "refused" => (WARN, "not archived"),
            "dry_run" => (FAINT, "would be archived"),
            _ => (GOOD, "archived"),
        };
        let (name, why) = (&skill.skill, visible(&skill.why));
        writeln!(out, "  {STRONG}{name}{STRONG:#} {style}{status}{style:#}: {why}")?;
    }
    match applied.skills.iter().find(|skill| skill.status == "archived") {
        Some(first) => out.message(format_args!(
            "Their files and histories are kept. Restore one: skillhub curate restore {}",
            first.skill
        )),
        None if applied.skills.is_empty() && !has_evals => {
            writeln!(out, "Plan {} has nothing to archive.", applied.plan)
        }
        None => Ok(()),
    }
}

fn list(context: &Context) -> Result<Exit, CliError> {
    let is_seen = context.seen()?;
    let mut found = archived(&context.library()?)?;
    found.retain(|one| is_seen(&one.name));
    context.out.answer(&json!({"ok": true, "skills": found}), |out| {
        let Some(first) = found.first() else { return writeln!(out, "No archived skills.") };
        let mut table = Table::new(&["id", "skill", "archived", "by", "why"]);
        found.iter().for_each(|one| table.row(&row(one)));
        table.write(out)?;
        out.message(format_args!("Restore one: skillhub curate restore {}", first.name))
    })
}

fn row(one: &Archived) -> [String; 5] {
    let why = visible(one.reason.as_deref().unwrap_or_default());
    [one.id.clone(), one.name.clone(), stored_past_time(&one.time), visible(&one.actor), why]
}

fn bring_back(context: &Context, args: &RestoreArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    for one in archived(&library)?.iter().filter(|one| args.which.contains(&one.id)) {
        check_request(context, "curate restore", &context.skill_called(&one.name)?, false).map_err(
            |error| match error.exit {
                Exit::Refused => error,
                _ => failed(CurateError::NotArchived(one.id.clone())),
            },
        )?;
    }
    let names = restore(&library, &args.which, &context.stamp()).map_err(failed)?;
    follow(context, &library, names.iter().map(SkillName::as_str))?;
    let words: Vec<&str> = names.iter().map(SkillName::as_str).collect();
    context.out.answer(&json!({"ok": true, "restored": words}), |out| {
        words.iter().try_for_each(|name| writeln!(out, "Restored {STRONG}{name}{STRONG:#}"))
    })
}
