//! `skillhub install` installs skills from a registry, folder, `.skill` file or git repository.

mod offer;
mod retry;

use std::{
    fmt::Display,
    io::{self, Write},
    path::Path,
};

use clap::Args;
use client::{BlockedSkill, InstallRequest, InstallStatus, Installed, Installer, Pick, Progress, Spec, SpecError};
use library::Library;
use ops::{InstallCallbacks, Refusal, document_of, whole_document};
use serde_json::json;
use skill::{
    Limits, SkillName, SkillPath,
    failure::{Fails, FailureKind, NextStep},
    shell_word,
};

use self::offer::Further;
use crate::{
    accepting::{AcceptArgs, Acceptor, accept_hint},
    context::Context,
    exit::{CliError, Exit, failed},
    global::Global,
    hints, needs,
    print::{
        BAD, FAINT, GOOD, Page, STRONG, WARN, capability_lines, coloured_diff, delta_lines, findings_lines, folded,
        notes_lines, terminal_columns, verdict_style, visible, wrapped,
    },
    reading::text_at,
};

/// Width, in columns, of the names of unchanged skills.
const NAMES_COLUMNS: usize = 70;

/// Flags of `install`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub install acme/pdf-forms                the newest release
  skillhub install acme/pdf-forms@^1.2           the newest release in a range
  skillhub install ./my-skill ../other.skill     a folder, and a .skill file
  skillhub install \"https://host/team/skills.git#skills/pdf@main\"
  skillhub install github:acme/skills --skill pdf-forms
  skillhub install github:acme/skills --list     what a repository or folder offers
  skillhub install https://github.com/acme/skills/tree/main/skills/pdf-forms
  skillhub install https://host/pdf-forms.skill
  skillhub install zoe/pdf-forms --as zoe-forms  under another name, beside acme/pdf-forms
  skillhub install acme/pdf-forms --registry git@host:team/skills.git
  skillhub install acme/pdf-forms --agent claude-code --copy
  skillhub install                               exactly what skillhub.lock lists

Installs into .agents/skills of the git repository, or into ~/.agents/skills outside of one or with --global,
and links the skills for the agents in use. skillhub.lock records the exact releases.")]
pub struct InstallArgs {
    /// Skills to install: owner/name or owner/name@version, name, folder or folder#skill, .skill file or URL, git URL,
    /// github:owner/repo, gitlab:group/repo, a browser's link to a folder, a site with a well-known index or
    /// clawhub:owner/slug; omit to install what skillhub.lock lists
    spec: Vec<String>,
    /// Link for these agents only (ids: `skillhub list --agents`) [default: agents in use]
    #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    agent: Vec<String>,
    /// Install these skills, or all skills of these plugins, of a source that has several. A name that means several:
    /// give the skill's folder, PLUGIN:SKILL, or PLUGIN: for a whole plugin
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    skill: Vec<String>,
    /// Install all skills of a source that has several
    #[arg(long, conflicts_with = "skill")]
    all: bool,
    /// List the skills of a folder or repository with their descriptions, and change nothing
    #[arg(long, requires = "spec", conflicts_with_all = ["skill", "all", "frozen"])]
    list: bool,
    /// Install the skill under this name, beside another skill of its own name
    #[arg(long = "as", value_name = "NAME")]
    alias: Option<String>,
    /// Copy the skills into agents' folders instead of linking them
    #[arg(long)]
    copy: bool,
    /// Also replace folders that git tracks with links
    #[arg(long, conflicts_with = "copy")]
    link: bool,
    /// Fail if the lock file would change
    #[arg(long)]
    frozen: bool,
    /// Use only the cache and local files
    #[arg(long)]
    offline: bool,
    /// Accept the owner's new signing key with this fingerprint, as the error prints it (people only)
    #[arg(long, value_name = "SHA256:…")]
    accept_key: Vec<String>,
    /// Show what would be installed, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    accept: AcceptArgs,
}

/// Installs the skills. The exit code is the most severe of all results.
pub fn run(context: &Context, global: &Global, args: &InstallArgs) -> Result<Exit, CliError> {
    let complete = |hint: &str| retry::with_flags(hint, args);
    install(context, global, args, &complete).map_err(|error| {
        let hint = error.hint.as_deref().map(complete);
        CliError { hint, ..error }
    })
}

fn install(
    context: &Context,
    global: &Global,
    args: &InstallArgs,
    complete: &dyn Fn(&str) -> String,
) -> Result<Exit, CliError> {
    let specs = args.spec.iter().map(|text| parse(context, global, text));
    let mut request = InstallRequest {
        specs: specs.collect::<Result<_, _>>()?,
        agents: args.agent.clone(),
        copy: args.copy,
        replaces_tracked: args.link || context.is_at_terminal(),
        frozen: args.frozen,
        offline: args.offline,
        dry_run: args.dry_run,
        pick: Pick { skills: args.skill.clone(), all: args.all },
        evolved: client::Evolved::Refuse,
        accept_keys: args.accept_key.clone(),
        alias: args.alias.as_deref().map(|name| alias(args, name)).transpose()?,
    };
    if args.list {
        return offer::list(context, global, &request);
    }
    let install = |request: &InstallRequest| {
        with_progress(context, "installing", &args.accept, |waiting| context.install(request, waiting))
    };
    let mut installed = install(&request)?;
    while let Some(further) = offer::ask_further(context, global, &request, &installed) {
        match further {
            Further::Retry(next) => request = *next,
            Further::Nothing => return answer(context, Vec::new(), "Nothing was installed", &[], complete),
        }
        installed = install(&request)?;
    }
    let warnings = warnings(context, &installed);
    answer(context, installed, "Nothing to install: the lock file has no skills", &warnings, complete)
}

/// Returns warnings about hosts that do not list all skills any more, and about needs of the new skills that this
/// machine does not meet.
fn warnings(context: &Context, installed: &[Installed]) -> Vec<String> {
    let is_new = |skill: &&Installed| matches!(skill.status, InstallStatus::Installed | InstallStatus::Updated);
    let folders: Vec<&Path> = installed.iter().filter(is_new).filter_map(|skill| skill.path.as_deref()).collect();
    if folders.is_empty() {
        return Vec::new();
    }
    let stated = folders.into_iter().filter_map(|folder| {
        let name = SkillName::parse(folder.file_name()?.to_str()?).ok()?;
        let text = text_at(&folder.join(SkillPath::SKILL_MD), Limits::default().text_file_bytes).ok()?;
        Some((name, needs::stated(&text)))
    });
    let unmet = needs::missing(context, stated);
    let mut warnings = context.listing_warnings_after();
    warnings.extend(unmet.iter().map(|(skill, needs)| needs::describe(skill, needs)));
    warnings
}

/// Parses a spec. At a terminal, the user may confirm that a name that no registry can have is a repository of GitHub.
fn parse(context: &Context, global: &Global, text: &str) -> Result<Spec, CliError> {
    text.parse().or_else(|error: SpecError| match &error {
        SpecError::Repository(path) | SpecError::Form(path) | SpecError::Packed(path)
            if context.absolute(Path::new(path)).is_dir() =>
        {
            let path = shell_word(&format!("./{path}"));
            Err(failed(error).hint(format!("to install the folder: skillhub install {path}")))
        }
        SpecError::Repository(name) => {
            offer::ask_repository(context, global, name).map(Spec::Git).ok_or_else(|| failed(error))
        }
        _ => Err(failed(error)),
    })
}

/// Returns the name given with `--as`, which must be valid and for a single skill.
fn alias(args: &InstallArgs, name: &str) -> Result<SkillName, CliError> {
    if args.spec.len() != 1 || args.all || args.skill.len() > 1 {
        return Err(CliError::usage("--as names one skill: give exactly one SPEC, without --all".to_owned()));
    }
    let fault = |fault: &dyn Display| {
        CliError::new("invalid_name", Exit::Invalid, format!("{name:?} is not a valid skill name: {fault}"))
            .hint("use lowercase letters, digits and single hyphens")
    };
    let parsed = SkillName::parse_standard(name).map_err(|error| fault(&error))?;
    if parsed.is_device_name() { Err(fault(&"Windows reserves it for a device")) } else { Ok(parsed) }
}

/// Runs `work` with an installer for a library, and shows progress at a terminal.
///
/// # Errors
/// The errors of `work`, or a policy that cannot be read.
pub fn installer<T>(
    context: &Context,
    library: &mut Library,
    doing: &str,
    accept: &AcceptArgs,
    work: impl FnOnce(&mut Installer<'_>) -> Result<T, Refusal>,
) -> Result<T, CliError> {
    with_progress(context, doing, accept, |waiting| context.with_installer(library, waiting, work))
}

/// Runs `work` while progress is shown at a terminal. A person may accept findings that block a skill.
///
/// # Errors
/// The errors of `work`, or acceptance flags without proof that a person acts.
pub fn with_progress<T>(
    context: &Context,
    doing: &str,
    accept: &AcceptArgs,
    work: impl FnOnce(&InstallCallbacks<'_>) -> Result<T, Refusal>,
) -> Result<T, CliError> {
    let working = context.out.working(doing);
    let acceptor = Acceptor::new(context, accept)?;
    let accept = |blocked: &[BlockedSkill<'_>]| working.suspend(|| acceptor.decide(blocked));
    let progress = |progress: Progress| working.at(progress.stage, progress.done, progress.of);
    Ok(work(&InstallCallbacks { accept: &accept, progress: &progress })?)
}

/// Prints the result of each skill, or `nothing` if there are none, then the warnings about all of them. `complete` is
/// applied to the hint of an error.
pub fn answer(
    context: &Context,
    mut installed: Vec<Installed>,
    nothing: &str,
    warnings: &[String],
    complete: &dyn Fn(&str) -> String,
) -> Result<Exit, CliError> {
    let is_whole = context.out.json || installed.iter().any(|skill| !skill.conflicts.is_empty());
    let accept_hint = accept_hint(installed.iter().filter_map(|skill| skill.error.as_ref()?.report()));
    if let ([only], false) = (installed.as_slice(), is_whole)
        && only.error.is_some()
    {
        only.warnings.iter().for_each(|warning| context.out.note(warning));
    }
    let (mut document, gravest) = if is_whole {
        let (mut document, gravest) = whole_document(&installed, &NextStep::command);
        if let (Some(FailureKind::Blocked), Some(hint)) = (gravest, &accept_hint) {
            document["error"]["hint"] = json!(hint);
        }
        if let Some(hint) = document["error"]["hint"].as_str().map(complete) {
            document["error"]["hint"] = json!(hint);
        }
        (document, gravest)
    } else {
        document_of(&mut installed, &NextStep::command).map_err(|mut refusal| {
            hints::complete(&mut refusal.details);
            CliError::from(refusal).with_accept_hint(accept_hint.clone())
        })?
    };
    document["warnings"] = json!(warnings);
    hints::complete(&mut document);
    context.out.answer(&document, |out| {
        let is_folded = |skill: &&Installed| installed.len() > 1 && is_without_news(skill);
        installed.iter().filter(|skill| !is_folded(skill)).try_for_each(|skill| text(context, skill, out))?;
        let folded: Vec<String> = installed.iter().filter(is_folded).map(|skill| visible(&skill.name)).collect();
        if !folded.is_empty() {
            writeln!(out, "{GOOD}Unchanged{GOOD:#} {}", wrapped(&folded.join(", "), NAMES_COLUMNS).join("\n  "))?;
        }
        match installed.len() {
            0 => writeln!(out, "{nothing}"),
            1 => Ok(()),
            _ => writeln!(out, "{}", summary(&installed)),
        }?;
        accept_hint.iter().try_for_each(|hint| writeln!(out, "{GOOD}hint{GOOD:#}: {hint}"))
    })?;
    context.note_warnings(warnings);
    Ok(gravest.map_or(Exit::Done, Exit::from))
}

/// Returns true for an unchanged skill of which only the name is printed.
fn is_without_news(skill: &Installed) -> bool {
    let has_findings = skill.report.as_ref().is_some_and(|report| !report.findings.is_empty());
    let is_noted = skill.error.is_some() || skill.checkout_pending.is_some() || !skill.warnings.is_empty();
    skill.status == InstallStatus::Unchanged && skill.links.is_empty() && !has_findings && !is_noted
}

/// Counts the skills by result, such as `70 installed, 8 unchanged`.
fn summary(installed: &[Installed]) -> String {
    use InstallStatus::{Blocked, Conflict, DryRun, Failed, Merged, Unchanged, Updated};
    let count = |status| installed.iter().filter(|skill| skill.status == status).count();
    let counts = [InstallStatus::Installed, Updated, Merged, Unchanged, DryRun, Conflict, Blocked, Failed]
        .map(|status| (count(status), status.as_str().replace('_', " ")));
    let told: Vec<String> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    format!("{} skills: {}", installed.len(), told.join(", "))
}

fn text(context: &Context, skill: &Installed, out: &mut Page) -> io::Result<()> {
    let fold = |line: String| folded(&line, terminal_columns());
    let (style, word) = match skill.status {
        InstallStatus::Installed => (GOOD, "Installed"),
        InstallStatus::Updated => (GOOD, "Updated"),
        InstallStatus::Merged => (GOOD, "Merged"),
        InstallStatus::Unchanged => (GOOD, "Unchanged"),
        InstallStatus::DryRun if skill.previous.is_some() => (WARN, "Would update"),
        InstallStatus::DryRun => (WARN, "Would install"),
        InstallStatus::Conflict => (BAD, "Conflict"),
        InstallStatus::Blocked => (BAD, "Blocked"),
        InstallStatus::Failed => (BAD, "Failed"),
    };
    let version = skill.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let why = if skill.is_dependency { " (dependency)" } else { "" };
    writeln!(out, "{style}{word}{style:#} {STRONG}{}{STRONG:#}{version}{why}", skill.name)?;
    if let Some(path) = skill.path.as_ref().filter(|_| skill.error.is_none()) {
        writeln!(out, "  {}", context.short(path))?;
    }
    if let Some(key) = &skill.signer {
        writeln!(out, "  {FAINT}signed with {key}{FAINT:#}")?;
    }
    for link in &skill.links {
        writeln!(out, "  also at {}", context.short(link))?;
    }
    if let Some(report) = skill.report.as_ref().filter(|report| !report.findings.is_empty()) {
        let verdict = report.verdict();
        let style = verdict_style(verdict);
        writeln!(out, "  scan: {style}{verdict}{style:#}")?;
        for line in findings_lines(&report.findings) {
            writeln!(out, "{}", fold(format!("    {line}")))?;
        }
    }
    change_text(skill, out)?;
    for line in skill.delta.iter().flat_map(delta_lines) {
        writeln!(out, "{}", fold(format!("  {line}")))?;
    }
    let is_news = matches!(skill.status, InstallStatus::Installed | InstallStatus::Updated | InstallStatus::DryRun);
    for line in skill.capabilities.iter().filter(|_| is_news).flat_map(capability_lines) {
        writeln!(out, "{}", fold(format!("  {line}")))?;
    }
    for line in notes_lines(&skill.notes) {
        writeln!(out, "{}", fold(format!("  {line}")))?;
    }
    for warning in &skill.warnings {
        let line = fold(format!("  {WARN}note{WARN:#}: {}", hints::for_user(warning)));
        out.message(format_args!("{line}"))?;
    }
    if let Some(pending) = &skill.checkout_pending {
        out.message(format_args!("  {WARN}note{WARN:#}: the folder is not updated yet: {pending}"))?;
    }
    if let Some(error) = &skill.error {
        writeln!(out, "{}", fold(format!("  {error}")))?;
        if let Some(hint) = error.failure().hint.filter(|_| error.report().is_none()) {
            writeln!(out, "  {GOOD}hint{GOOD:#}: {}", hints::for_user(&hint.to_string()))?;
        }
    }
    Ok(())
}

/// Prints the changes of a merge or a dry run.
fn change_text(skill: &Installed, out: &mut dyn Write) -> io::Result<()> {
    let is_told = matches!(skill.status, InstallStatus::Merged | InstallStatus::DryRun | InstallStatus::Conflict);
    if !is_told || skill.previous.is_none() {
        return Ok(());
    }
    if !skill.touched.is_empty() {
        let touched: Vec<&str> = skill.touched.iter().map(skill::SkillPath::as_str).collect();
        let how = match skill.status {
            InstallStatus::Merged => "has the changes of both sides",
            _ => "changed on both sides",
        };
        writeln!(out, "  {how}: {}", visible(&touched.join(", ")))?;
    }
    for conflict in &skill.conflicts {
        writeln!(out, "  {WARN}conflict{WARN:#}: {}", visible(&conflict.to_string()))?;
    }
    let Some(change) = skill.change.as_ref() else { return Ok(()) };
    if skill.status == InstallStatus::DryRun {
        return write!(out, "{}", coloured_diff(&change.text));
    }
    for file in &change.files {
        writeln!(
            out,
            "  {FAINT}{:>+5} {:>+5}{FAINT:#} {}",
            file.added as i64,
            -(file.removed as i64),
            visible(file.path.as_str())
        )?;
    }
    Ok(())
}
