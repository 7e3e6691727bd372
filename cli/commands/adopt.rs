//! `skillhub adopt` takes over existing skill folders as they are.

use std::{
    io,
    path::{Path, PathBuf},
};

use anstyle::Style;
use clap::Args;
use client::{
    Accept, AdoptRequest, AdoptStatus, Adopted, BlockedSkill, LockFile, VisibilityOutcome, public_and_custom,
};
use library::Library;
use ops::FolderVisibility;
use scan::{Finding, Report, Severity};
use serde_json::{Value, json};
use skill::counted;
use unicode_width::UnicodeWidthStr;

use crate::{
    accepting::{AcceptArgs, Acceptor, accept_hint, is_acceptable_at_once},
    context::Context,
    exit::{CliError, Exit, error_of_one, exit_of_one, failed},
    print::{
        BAD, FAINT, GOOD, Page, STRONG, WARN, findings_lines, page_columns, problem_line, shell_word, visible,
        wrapped_message,
    },
};

/// Indentation of a reason that does not fit beside its skill, below the skill's name.
const REASON: &str = "            ";

/// Flags of `adopt`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub adopt ~/.claude/skills                all skills in a folder
  skillhub adopt ~/.claude/skills/my-skill --global
  skillhub adopt .agents/skills/my-skill         start the history of a folder in the library
  skillhub adopt my-skill --accept remote-pipe-to-shell --reason 'our own installer'

Copies folders from elsewhere into the library (yours for skills of your own agents' folders, else the
project's) and links them for the agents in use. An original in an agent's folder is replaced with a link and
kept for 90 days; `skillhub undo` restores it. Links to skills elsewhere are followed in your own agents'
folders at a terminal, or with --link.")]
pub struct AdoptArgs {
    /// Skill folders, or folders of skills
    #[arg(required = true)]
    path: Vec<PathBuf>,
    /// Also replace originals that git tracks with links, and follow links to skills elsewhere
    #[arg(long)]
    link: bool,
    /// Show what would be adopted and linked, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    accept: AcceptArgs,
}

/// Adopts the given folders. The exit code is the most severe of all results.
pub fn run(context: &Context, args: &AdoptArgs) -> Result<Exit, CliError> {
    let paths: Vec<PathBuf> = args.path.iter().map(|path| own_skills(context, context.absolute(path))).collect();
    let (of_user, others): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| context.belongs_to_user(path));
    let acceptor = Acceptor::new(context, &args.accept)?;
    let mut adopted = Vec::new();
    for (is_users, paths) in [(false, others), (true, of_user)] {
        if !paths.is_empty() {
            let mut library = if is_users { context.user_library()? } else { context.library()? };
            adopted.extend(adopt(context, &mut library, &paths, args, &acceptor)?);
        }
    }
    answer(context, adopted)
}

/// Returns the folder itself, or its `custom` part if it holds public skills beside the user's own.
fn own_skills(context: &Context, folder: PathBuf) -> PathBuf {
    let Some((public, custom)) = public_and_custom(&folder) else { return folder };
    context.out.note(&format!(
        "{} stays unchanged: public skills are read-only. To manage the folder in place, set `path = {:?}` under \
         `[skills]` in config.toml (`skillhub where` shows the file)",
        context.short(&public),
        folder.display().to_string()
    ));
    custom
}

/// Prints one line per folder, and the hint for blocked skills.
fn answer(context: &Context, mut adopted: Vec<Adopted>) -> Result<Exit, CliError> {
    let accept_hint = accept_hint(adopted.iter().filter_map(|skill| skill.error.as_ref()?.report()));
    if let [Adopted { error: Some(_), .. }] = adopted.as_slice()
        && let Some(error) = adopted.pop().and_then(|only| only.error)
    {
        return Err(failed(error).with_accept_hint(accept_hint));
    }
    let exit = adopted.iter().map(|skill| exit_of_one(skill.error.as_ref())).max().unwrap_or(Exit::Done);
    let skills: Vec<Value> = adopted.iter().map(document).collect();
    let document = json!({"ok": exit == Exit::Done, "skills": skills, "hint": accept_hint});
    context.out.answer(&document, |out| {
        match adopted.as_slice() {
            [only] => text(context, only, out)?,
            all => lines(context, all, out)?,
        }
        accept_hint.iter().try_for_each(|hint| writeln!(out, "{GOOD}hint{GOOD:#}: {hint}"))
    })?;
    Ok(exit)
}

/// Adopts folders into one library.
fn adopt(
    context: &Context,
    library: &mut Library,
    paths: &[PathBuf],
    args: &AdoptArgs,
    acceptor: &Acceptor<'_>,
) -> Result<Vec<Adopted>, CliError> {
    let is_asked_for = args.link || context.is_at_terminal();
    let followed: Vec<PathBuf> =
        paths.iter().filter(|path| is_asked_for || is_users_own(context, path)).cloned().collect();
    let request = AdoptRequest {
        paths,
        follows_links: &followed,
        replaces_tracked: is_asked_for,
        dry_run: args.dry_run,
        ..AdoptRequest::default()
    };
    carry_out_in(context, library, request, &|blocked| acceptor.decide(blocked))
}

/// Returns whether a folder belongs to the user's own agents, outside of any project, where nobody else can have made
/// its links.
fn is_users_own(context: &Context, path: &Path) -> bool {
    let Ok(real) = library::real_path(path) else { return false };
    let is_of_agents = context.user_agent_folders().all().iter().any(|folder| real.starts_with(&folder.path));
    let home = library::real_path(&context.user_home).unwrap_or_else(|_| context.user_home.clone());
    is_of_agents && !real.ancestors().take_while(|above| *above != home).any(|above| above.join(".git").exists())
}

/// Describes a link that was skipped, with the command that adopts it.
fn passed_over(context: &Context, skill: &Adopted) -> String {
    let leads_to = library::real_path(&skill.source).unwrap_or_else(|_| skill.source.clone());
    let place = shell_word(&skill.source.display().to_string());
    format!("a link to {}; manage it: skillhub adopt --link {place}", context.short(&leads_to))
}

/// Prints everything about one folder.
fn text(context: &Context, skill: &Adopted, out: &mut Page) -> io::Result<()> {
    let (style, word) = word(skill.status);
    writeln!(out, "{style}{word}{style:#} {STRONG}{}{STRONG:#}", context.short(&skill.source))?;
    if skill.status == AdoptStatus::PassedOver {
        write_indented(out, "  ", &visible(&passed_over(context, skill)))?;
    }
    if let Some(path) = &skill.path {
        let copied = if skill.copied { " (copied; the original stays)" } else { "" };
        writeln!(out, "  {}{FAINT}{copied}{FAINT:#}", context.short(path))?;
    }
    for link in &skill.links {
        let replaced = if skill.originals.contains(link) { " (replaces the original)" } else { "" };
        writeln!(out, "  linked {}{FAINT}{replaced}{FAINT:#}", context.short(link))?;
    }
    for line in findings_lines(skill.report.iter().flat_map(|report| &report.findings)) {
        writeln!(out, "  {line}")?;
    }
    for problem in &skill.problems {
        write_indented(out, "  ", &problem_line(problem))?;
    }
    for warning in &skill.warnings {
        note(out, "  ", warning)?;
    }
    if let Some(pending) = &skill.checkout_pending {
        note(out, "  ", &format!("the folder is not updated yet: {pending}"))?;
    }
    Ok(())
}

/// Prints a text in lines that fit, each with this indentation.
fn write_indented(out: &mut Page, indent: &str, text: &str) -> io::Result<()> {
    wrapped_message(text, page_columns().saturating_sub(indent.len()))
        .iter()
        .try_for_each(|line| writeln!(out, "{indent}{line}"))
}

/// Prints a warning in lines that fit, each with this indentation.
fn note(out: &mut Page, indent: &str, warning: &str) -> io::Result<()> {
    let lines = wrapped_message(&format!("{WARN}note{WARN:#}: {warning}"), page_columns().saturating_sub(indent.len()));
    lines.iter().try_for_each(|line| out.message(format_args!("{indent}{line}")))
}

/// Prints one line per folder, and then the counts by result.
fn lines(context: &Context, all: &[Adopted], out: &mut Page) -> io::Result<()> {
    for skill in all {
        let (style, word) = word(skill.status);
        let of_source = || skill.source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = skill.name.as_ref().map_or_else(of_source, ToString::to_string);
        let why = visible(&reason(context, skill));
        let head = format!("{style}{word:<11}{style:#} {STRONG}{}{STRONG:#}", visible(&name));
        if word.len().max(11) + name.width() + why.width() + 3 <= page_columns() {
            writeln!(out, "{head}  {why}")?;
        } else {
            writeln!(out, "{head}")?;
            write_indented(out, REASON, &why)?;
        }
    }
    for warning in all.iter().flat_map(|skill| &skill.warnings) {
        note(out, "", warning)?;
    }
    let count = |status| all.iter().filter(|skill| skill.status == status).count();
    let counts = [
        (count(AdoptStatus::Adopted), "adopted"),
        (count(AdoptStatus::Unchanged), "unchanged"),
        (count(AdoptStatus::DryRun), "would be adopted"),
        (count(AdoptStatus::Blocked), "blocked"),
        (count(AdoptStatus::PassedOver), "skipped"),
        (count(AdoptStatus::Failed), "not adopted"),
    ];
    let counts: Vec<String> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    writeln!(out, "{}: {}", counted(all.len(), "skill"), counts.join(", "))
}

fn word(status: AdoptStatus) -> (Style, &'static str) {
    match status {
        AdoptStatus::Adopted => (GOOD, "Adopted"),
        AdoptStatus::Unchanged => (GOOD, "Unchanged"),
        AdoptStatus::DryRun => (WARN, "Would adopt"),
        AdoptStatus::Blocked => (BAD, "Blocked"),
        AdoptStatus::PassedOver => (WARN, "Skipped"),
        AdoptStatus::Failed => (BAD, "Not adopted"),
    }
}

/// Returns the skill's location with the number of warnings, or the reason that it was not adopted.
fn reason(context: &Context, skill: &Adopted) -> String {
    if skill.status == AdoptStatus::PassedOver {
        return passed_over(context, skill);
    }
    if let Some(error) = &skill.error {
        return error.report().and_then(blocked_by).unwrap_or_else(|| error.to_string());
    }
    let place = context.short(skill.path.as_ref().unwrap_or(&skill.source));
    let found = skill.report.iter().flat_map(|report| &report.findings);
    let waived = found.clone().filter(|finding| finding.waived).count();
    let warnings = found.filter(|finding| !finding.waived && finding.severity >= Severity::Medium).count();
    let parts = [(waived, "accepted"), (warnings, if warnings == 1 { "warning" } else { "warnings" })];
    let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    if parts.is_empty() { place } else { format!("{place} ({})", parts.join(", ")) }
}

/// Formats the most severe blocking finding, with the number of further ones.
fn blocked_by(report: &Report) -> Option<String> {
    let Finding { path, line, rule, .. } = report.worst_new()?;
    let more = report.blocking().count().saturating_sub(1);
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    Some(format!("{rule} in {path}:{line}{more}"))
}

fn document(skill: &Adopted) -> Value {
    json!({
        "source": skill.source,
        "name": skill.name.as_ref().map(ToString::to_string),
        "path": skill.path,
        "status": skill.status.as_str(),
        "revision": skill.revision,
        "digest": skill.digest.map(|digest| digest.to_string()),
        "agents": skill.agents,
        "copied": skill.copied,
        "links": skill.links,
        "originals": skill.originals,
        "warnings": skill.warnings,
        "checkout": if skill.checkout_pending.is_some() { "pending" } else { "done" },
        "findings": skill.report.as_ref().map(|report| &report.findings),
        "problems": skill.problems,
        "error": skill.error.as_ref().map(error_of_one),
    })
}

/// Options with which `setup` adopts skills.
#[derive(Debug, Clone, Copy)]
pub struct SetupOptions {
    /// True if folders tracked by git are replaced with links.
    pub replaces_tracked: bool,
    /// True if a person accepts the findings that block skills.
    pub accepts_all: bool,
}

/// Returns the results that adopting these folders would have, without changing anything.
///
/// # Errors
/// The library cannot be read.
pub fn preview(context: &Context, paths: &[PathBuf]) -> Result<Vec<Adopted>, CliError> {
    let mut library = context.library_to_inspect()?;
    let request = AdoptRequest { paths, dry_run: true, ..AdoptRequest::default() };
    carry_out_in(context, &mut library, request, &client::accept_nothing)
}

/// Adopts folders on behalf of `setup`.
///
/// # Errors
/// The commit failed and nothing was adopted.
pub fn carry_out(context: &Context, paths: &[PathBuf], options: SetupOptions) -> Result<Vec<Adopted>, CliError> {
    let mut library = context.library()?;
    let acceptor = if options.accepts_all { Some(Acceptor::agreed(context, "accepted in setup")?) } else { None };
    let accept = |blocked: &[BlockedSkill<'_>]| {
        acceptor.as_ref().map_or_else(|| client::accept_nothing(blocked), |acceptor| acceptor.decide(blocked))
    };
    let request = AdoptRequest { paths, replaces_tracked: options.replaces_tracked, ..AdoptRequest::default() };
    carry_out_in(context, &mut library, request, &accept)
}

/// Adopts folders into one library, linked for the agents in use.
fn carry_out_in(
    context: &Context,
    library: &mut Library,
    request: AdoptRequest<'_>,
    accept: &Accept<'_>,
) -> Result<Vec<Adopted>, CliError> {
    let folders = context.agent_folders_of(library);
    let in_use = folders.chosen(&[], library.path()).map_err(failed)?;
    let known = [folders, context.user_agent_folders()];
    // An unreadable lock file stops the next command that needs it.
    let locked = LockFile::read(&context.lock_path(library)).ok();
    let request = AdoptRequest { in_use: &in_use, known: &known, locked: locked.as_ref(), ..request };
    let (stamp, permit) = (context.stamp(), context.permit()?);
    let mut adopted = client::adopt(library, &request, &stamp, &permit, accept).map_err(failed)?;
    if !request.dry_run {
        keep_hidden(context, library, &mut adopted)?;
    }
    Ok(adopted)
}

/// Removes the new links for agents that may not see a skill.
fn keep_hidden(context: &Context, library: &Library, adopted: &mut [Adopted]) -> Result<(), CliError> {
    let (sight, state) = (FolderVisibility::new(context)?, library.state()?);
    for skill in adopted.iter_mut().filter(|skill| !skill.links.is_empty()) {
        let outcomes = skill.name.iter().flat_map(|name| sight.apply(library, name, &state.of(name)));
        for outcome in outcomes.collect::<Vec<_>>() {
            if let VisibilityOutcome::Hidden(path) = outcome {
                skill.links.retain(|link| *link != path);
                let path = path.display();
                skill.warnings.push(format!("not linked at {path}: the skill is hidden from agents there"));
            }
        }
    }
    Ok(())
}

/// Returns whether a blocked skill has only findings that a person may accept, none of them critical.
pub fn can_be_accepted(skill: &Adopted) -> bool {
    skill.status == AdoptStatus::Blocked && skill.report.as_ref().is_some_and(is_acceptable_at_once)
}

/// Returns the warnings about a skill, one sentence each.
pub fn warnings(skill: &Adopted) -> Vec<String> {
    let pending = skill.checkout_pending.iter();
    let pending = pending.map(|why| format!("the folder of {} is not updated yet: {why}", skill.source.display()));
    skill.warnings.iter().cloned().chain(pending).collect()
}
