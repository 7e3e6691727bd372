//! `skillhub install`: skills from a registry, folder, `.skill` file or git repository.

use std::io;

use clap::Args;
use client::{Ahead, InstallError, InstallRequest, InstallStatus, Installed, Installer, Pick, SightOutcome};
use evolve::Stats;
use jiff::Timestamp;
use library::{Action, Denied, Library, LibraryError, RevisionId, State};
use serde_json::{Value, json};
use skill::{SkillName, failure::Fails};

use crate::{
    accepting::{AcceptArgs, Acceptor, way_on},
    commands::update,
    context::{self, Context},
    exit::{CliError, Exit, error_of_one, exit_of_one, failed},
    hints,
    print::{BAD, FAINT, GOOD, Page, STRONG, WARN, capability_lines, delta_lines, findings_lines, verdict_style},
    sight::FolderSight,
};

/// Flags of `install`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub install acme/pdf-forms                the newest release
  skillhub install acme/pdf-forms@^1.2           the newest that fits
  skillhub install ./my-skill ../other.skill     a folder, a packed skill
  skillhub install \"https://host/team/skills.git#skills/pdf@main\"
  skillhub install github:acme/skills --skill pdf-forms
  skillhub install https://host/pdf-forms.skill
  skillhub install acme/pdf-forms --registry git@host:team/skills.git
  skillhub install acme/pdf-forms --agent claude-code --copy
  skillhub install                               everything in skillhub.lock, exactly")]
pub struct InstallArgs {
    /// What to install: owner/name or owner/name@version, name, folder, .skill file or URL, git URL; nothing restores the lock file
    spec: Vec<String>,
    /// Agents to place the skills for, by id; otherwise those in use
    #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    agent: Vec<String>,
    /// Which skills of a source with several
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    skill: Vec<String>,
    /// All skills of a source with several
    #[arg(long, conflicts_with = "skill")]
    all: bool,
    /// Copy into agents' folders instead of linking
    #[arg(long)]
    copy: bool,
    /// Replace folders in agents' folders that git tracks with links
    #[arg(long, conflicts_with = "copy")]
    link: bool,
    /// Fail unless the lock file says exactly this
    #[arg(long)]
    frozen: bool,
    /// Use the cache and this machine only
    #[arg(long)]
    offline: bool,
    /// Go on although an owner signs with another key than before: its fingerprint, as the refusal names it
    #[arg(long, value_name = "SHA256:…")]
    accept_key: Vec<String>,
    /// Do everything but install
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    accept: AcceptArgs,
}

/// Installs; the exit code is the gravest of all.
pub fn run(context: &Context, args: &InstallArgs) -> Result<Exit, CliError> {
    let specs = args.spec.iter().map(|text| text.parse().map_err(|error: client::SpecError| failed(error)));
    let request = InstallRequest {
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
    };
    let installed = install(context, &request, &args.accept)?;
    answer(context, installed, "There is nothing to install: the lock file names no skill")
}

/// Installs a skill of a registry for an agent, and gives the document.
///
/// # Errors
/// It is not there, it is blocked, or something is in its way.
pub fn for_agent(context: &Context, spec: &str) -> Result<Value, CliError> {
    let spec = spec.parse().map_err(|error: client::SpecError| failed(error))?;
    without_flags(context, &InstallRequest { specs: vec![spec], ..InstallRequest::default() })
}

/// Installs as no flag says, and gives the document.
///
/// # Errors
/// As [`for_agent`].
pub fn without_flags(context: &Context, request: &InstallRequest) -> Result<Value, CliError> {
    let (document, _) = document_of(&mut install(context, request, &AcceptArgs::default())?)?;
    Ok(document)
}

fn install(context: &Context, request: &InstallRequest, accept: &AcceptArgs) -> Result<Vec<Installed>, CliError> {
    let mut library = context.library()?;
    let sight = FolderSight::new(context)?;
    let mut installed = installer(context, &mut library, ("installing", accept), |installer| {
        installer.install(request).map_err(failed)
    })?;
    let is_known = known_to(context)?;
    installed.retain(|skill| is_known(skill) || !(request.specs.is_empty() || skill.is_dependency));
    for skill in installed.iter_mut().filter(|skill| !is_known(skill)) {
        if let Some(denied) = denied(skill) {
            *skill = Installed::failed(skill.name.clone(), None, InstallError::Denied(denied));
        }
    }
    let state = library.state();
    for skill in installed.iter_mut().filter(|skill| skill.error.is_none() && !skill.links.is_empty()) {
        keep_from_agents(&sight, &library, &state, skill);
    }
    Ok(installed)
}

/// A test for results about skills that who acts may know of.
///
/// # Errors
/// A part of the configuration cannot be used.
pub fn known_to(context: &Context) -> Result<impl Fn(&Installed) -> bool + use<>, CliError> {
    let is_seen = context.seen()?;
    Ok(move |skill: &Installed| is_seen(skill.name.rsplit('/').next().unwrap_or_default()))
}

/// The answer about a skill that is hidden from who acts, whether or not the library has one of the name.
fn denied(skill: &Installed) -> Option<Denied> {
    let name = SkillName::parse(skill.name.rsplit('/').next()?).ok()?;
    Some(Denied { skill: name, action: Action::Install, why: "the configuration denies it to this agent".to_owned() })
}

/// Does something with an installer for a library; a terminal shows what, and how far it is.
///
/// # Errors
/// Those of `work`, and a policy that cannot be read.
pub fn installer<T>(
    context: &Context,
    library: &mut Library,
    (doing, accept): (&str, &AcceptArgs),
    work: impl FnOnce(&mut Installer<'_>) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let lock_path = context.lock_path(library);
    let working = context.out.working(doing);
    let program = context::program();
    let acceptor = Acceptor::new(context, accept)?;
    let registries = context.registries_of(library)?.requiring_signatures(context.required_signers()?);
    let mut installer = Installer {
        library,
        home: &context.home,
        registries: &registries,
        agent_folders: &context.agent_folders(),
        lock_path: &lock_path,
        user_home: Some(&context.user_home),
        stamp: &context.stamp(),
        permit: &context.permit()?,
        outcomes: &|library, name, revision| how_it_went(library, name, revision, context.now),
        accept: &|blocked| working.suspend(|| acceptor.decide(blocked)),
        progress: &|progress| working.at(progress.stage, progress.done, progress.of),
        program: program.as_deref(),
        ahead: Ahead::default(),
    };
    work(&mut installer)
}

/// How uses of a revision went, where that is known. What cannot be read is not known.
fn how_it_went(library: &Library, name: &SkillName, revision: &RevisionId, now: Timestamp) -> Option<String> {
    let stats = Stats::of(library, name, now).ok()?;
    let of_revision = stats.revisions.iter().find(|stats| stats.revision.id == *revision)?;
    Some(of_revision.sentence())
}

/// Takes back the links for agents that may not see the skill. The install stands, whatever becomes of that.
fn keep_from_agents(
    sight: &FolderSight,
    library: &Library,
    state: &Result<State, LibraryError>,
    installed: &mut Installed,
) {
    let name = installed.path.as_ref().and_then(|path| path.file_name()?.to_str()).map(SkillName::parse);
    let Some(Ok(name)) = name else { return };
    if installed.status == InstallStatus::DryRun {
        installed.links.retain(|link| link.parent().is_none_or(|folder| !sight.hides(library, &name, folder)));
        return;
    }
    let outcomes = match state {
        Ok(state) => sight.apply(library, &name, &state.of(&name)),
        Err(error) => {
            installed.warnings.push(format!("agents that may not see {name} may do so: {error}"));
            Vec::new()
        }
    };
    for outcome in outcomes {
        match outcome {
            SightOutcome::Hidden(path) => {
                installed.links.retain(|link| *link != path);
                let path = path.display();
                installed.warnings.push(format!("nothing is placed at {path}: agents are not to see the skill there"));
            }
            SightOutcome::Left(path, why) => {
                let path = path.display();
                installed.warnings.push(format!("agents are not to see the skill at {path}, but it stays: {why}"));
            }
            SightOutcome::Shown(_) => {}
        }
    }
}

/// What became of each skill, the gravest exit code, and the error that has it.
fn whole_document(installed: &[Installed]) -> (Value, Exit) {
    let exit_of = |skill: &&Installed| exit_of_one(skill.error.as_ref());
    let exit = installed.iter().map(|skill| exit_of(&skill)).max().unwrap_or(Exit::Done);
    let mut document = json!({"ok": exit == Exit::Done, "skills": installed.iter().map(document).collect::<Vec<_>>()});
    let gravest = installed.iter().filter(|skill| skill.error.is_some()).max_by_key(exit_of);
    if let Some(error) = gravest.and_then(|skill| skill.error.as_ref()) {
        document["error"] = error_of_one(error);
        document["error"]["details"] = error.details();
    }
    (document, exit)
}

/// Collects the outcome of each skill and the gravest exit code; a single failure is that of the whole.
///
/// # Errors
/// The failure of the only skill.
pub fn document_of(installed: &mut Vec<Installed>) -> Result<(Value, Exit), CliError> {
    if let [Installed { error: Some(_), .. }] = installed.as_slice() {
        let skills: Vec<Value> = installed.iter().map(document).collect();
        if let Some(error) = installed.pop().and_then(|only| only.error) {
            let mut failure = failed(error);
            failure.details["skills"] = json!(skills);
            return Err(failure);
        }
    }
    Ok(whole_document(installed))
}

/// Prints what became of each skill; `nothing` where there is none.
pub fn answer(context: &Context, mut installed: Vec<Installed>, nothing: &str) -> Result<Exit, CliError> {
    let is_whole = context.out.json || installed.iter().any(|skill| !skill.conflicts.is_empty());
    let way_on = way_on(installed.iter().filter_map(|skill| skill.error.as_ref()?.report()));
    if let ([only], false) = (installed.as_slice(), is_whole)
        && only.error.is_some()
    {
        only.warnings.iter().for_each(|warning| context.out.note(warning));
    }
    let (document, exit) = if is_whole {
        let (mut document, exit) = whole_document(&installed);
        if let (Exit::Blocked, Some(hint)) = (exit, &way_on) {
            document["error"]["hint"] = json!(hint);
        }
        (document, exit)
    } else {
        document_of(&mut installed).map_err(|error| error.with_way_on(way_on.clone()))?
    };
    context.out.answer(&document, |out| {
        installed.iter().try_for_each(|skill| text(skill, out))?;
        match installed.len() {
            0 => writeln!(out, "{nothing}"),
            1 => Ok(()),
            _ => writeln!(out, "{}", summary(&installed)),
        }?;
        way_on.iter().try_for_each(|hint| writeln!(out, "{GOOD}hint{GOOD:#}: {hint}"))
    })?;
    Ok(exit)
}

/// How many skills ended how, as `70 installed, 8 unchanged`.
fn summary(installed: &[Installed]) -> String {
    use InstallStatus::{Blocked, Conflict, DryRun, Failed, Merged, Unchanged, Updated};
    let count = |status| installed.iter().filter(|skill| skill.status == status).count();
    let counts = [InstallStatus::Installed, Updated, Merged, Unchanged, DryRun, Conflict, Blocked, Failed]
        .map(|status| (count(status), status.as_str().replace('_', " ")));
    let told: Vec<String> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    format!("{} skills: {}", installed.len(), told.join(", "))
}

fn document(skill: &Installed) -> Value {
    let mut document = json!({
        "name": skill.name,
        "version": skill.version,
        "path": skill.path,
        "links": skill.links,
        "digest": skill.digest.map(|digest| digest.to_string()),
        "status": skill.status.as_str(),
        "revision": skill.revision,
        "previous": skill.previous,
        "proposal": skill.proposal.as_ref().map(library::ProposalId::as_str),
        "files": skill.change.as_ref().map(|change| &change.files),
        "diff": skill.change.as_ref().filter(|_| skill.previous.is_some()).map(|change| &change.text),
        "touched": skill.touched.iter().map(skill::SkillPath::as_str).collect::<Vec<_>>(),
        "conflicts": skill.conflicts,
        "origin": skill.origin,
        "signer": skill.signer,
        "dependency": skill.is_dependency,
        "verdict": skill.report.as_ref().map(scan::Report::verdict),
        "findings": skill.report.as_ref().map(|report| &report.findings),
        "capabilities": skill.capabilities,
        "warnings": skill.warnings,
        "checkout": if skill.checkout_pending.is_some() { "pending" } else { "done" },
        "error": skill.error.as_ref().map(error_of_one),
    });
    if let (Some(document), Value::Object(delta)) = (document.as_object_mut(), json!(skill.delta)) {
        document.extend(delta);
    }
    document
}

fn text(skill: &Installed, out: &mut Page) -> io::Result<()> {
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
    let why = if skill.is_dependency { " (required by others)" } else { "" };
    writeln!(out, "{style}{word}{style:#} {STRONG}{}{STRONG:#}{version}{why}", skill.name)?;
    if let Some(path) = skill.path.as_ref().filter(|_| skill.error.is_none()) {
        writeln!(out, "  {}", path.display())?;
    }
    if let Some(key) = &skill.signer {
        writeln!(out, "  {FAINT}signed with {key}{FAINT:#}")?;
    }
    for link in &skill.links {
        writeln!(out, "  {} {FAINT}(for its agent){FAINT:#}", link.display())?;
    }
    if let Some(report) = skill.report.as_ref().filter(|report| !report.findings.is_empty()) {
        let verdict = report.verdict();
        let style = verdict_style(verdict);
        writeln!(out, "  scan: {style}{verdict}{style:#}")?;
        for line in findings_lines(&report.findings) {
            writeln!(out, "    {line}")?;
        }
    }
    update::change_text(skill, out)?;
    for line in skill.delta.iter().flat_map(delta_lines) {
        writeln!(out, "  {line}")?;
    }
    let is_news = matches!(skill.status, InstallStatus::Installed | InstallStatus::Updated | InstallStatus::DryRun);
    for line in skill.capabilities.iter().filter(|_| is_news).flat_map(capability_lines) {
        writeln!(out, "  {line}")?;
    }
    for warning in &skill.warnings {
        out.message(format_args!("  {WARN}note{WARN:#}: {}", hints::for_user(warning)))?;
    }
    if let Some(pending) = &skill.checkout_pending {
        out.message(format_args!("  {WARN}note{WARN:#}: the folder does not show it yet: {pending}"))?;
    }
    if let Some(error) = &skill.error {
        writeln!(out, "  {error}")?;
        if let Some(hint) = error.failure().hint.filter(|_| error.report().is_none()) {
            writeln!(out, "  {GOOD}hint{GOOD:#}: {}", hints::for_user(&hint))?;
        }
    }
    Ok(())
}
