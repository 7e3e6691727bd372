//! `skillhub review edit` lets a person change a proposal before deciding on it.

use std::{io::IsTerminal, path::PathBuf};

use clap::Args;
use skill::{File, Limits, SkillPath};
use skill_manage::review::{self, EditProposal, ProposalRef, Replacement};

use super::{conflict_text, keys::ask, target};
use crate::{
    commands::manage::{self, parse_path, read_input},
    context::Context,
    exit::{CliError, Exit, io_at},
};

/// Flags of `review edit`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub review edit k7m3qx                    in $VISUAL or $EDITOR
  skillhub review edit k7m3qx --path scripts/run.sh --content run.sh
  skillhub review edit k7m3qx --remove scripts/extra.sh
  skillhub review edit k7m3qx --not-executable scripts/run.sh")]
pub struct EditArgs {
    /// Proposal; ID@N edits it only if it is at its revision N
    #[arg(value_name = "ID")]
    id: String,
    /// File to replace; repeat with --content for each file
    #[arg(long, value_name = "PATH", requires = "content")]
    path: Vec<String>,
    /// File with the whole new content, `-` for stdin
    #[arg(long, value_name = "FILE", requires = "path")]
    content: Vec<PathBuf>,
    /// Remove this file from the proposed skill
    #[arg(long, value_name = "PATH")]
    remove: Vec<String>,
    /// Make this file not executable
    #[arg(long, value_name = "PATH")]
    not_executable: Vec<String>,
    /// Reason, for the log
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl EditArgs {
    /// Creates the arguments that open a proposal in the editor.
    pub fn of(target: &ProposalRef) -> Self {
        let (path, content, remove, not_executable) = Default::default();
        Self { id: target.to_string(), path, content, remove, not_executable, reason: None }
    }
}

/// Applies the edits from flags or from the editor.
pub fn run(context: &Context, args: &EditArgs) -> Result<Exit, CliError> {
    let mut target = target(&args.id)?;
    let reviewer = context.reviewer("edit a proposal")?;
    let mut library = context.library_with_proposal(&target.id)?;
    let not_executable = args.not_executable.iter().map(|path| parse_path(path)).collect::<Result<Vec<_>, _>>()?;
    let is_by_flags = [&args.path, &args.remove, &args.not_executable].iter().any(|paths| !paths.is_empty());
    let manage = context.manage()?;
    let reason = args.reason.clone();
    if is_by_flags {
        let request =
            EditProposal { target, replacements: of_flags(context, args)?, not_executable, shown: None, reason };
        return manage::print(context.out, &review::edit(&mut library, &request, &reviewer, &manage)?);
    }
    let proposal = review::waiting(&library, &target, context.now)?;
    target.revision = Some(proposal.revision);
    let editable = review::editable(&library, &proposal)?;
    for conflict in &editable.conflicts {
        context.out.note(&conflict_text(conflict));
    }
    let conflicting: Vec<SkillPath> = editable.conflicts.iter().map(|conflict| conflict.path.clone()).collect();
    let subject = format!("the proposal {}", proposal.id);
    let mut request =
        EditProposal { target, replacements: Vec::new(), not_executable, shown: Some(editable.shown), reason };
    let report = until_taken(context, &subject, &editable.files, &conflicting, |replacements| {
        request.replacements = replacements;
        Ok(review::edit(&mut library, &request, &reviewer, &manage)?)
    })?;
    manage::print(context.out, &report)
}

/// Opens files in the editor until `apply` takes the result, or the person discards it. So a refused edit is not lost.
pub fn until_taken<T>(
    context: &Context,
    subject: &str,
    files: &[(SkillPath, File)],
    conflicting: &[SkillPath],
    mut apply: impl FnMut(Vec<Replacement>) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let (mut files, mut always) = (files.to_vec(), conflicting.to_vec());
    loop {
        let replacements = in_editor(context, subject, &files, &always)?;
        let error = match apply(replacements.clone()) {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let _exit = context.out.fail(&error);
        if !ask(context, "your edit was refused", &[('e', "edit it again", true), ('q', "discard it", false)])? {
            return Err(CliError { message: "your edit was discarded".to_owned(), hint: None, ..error });
        }
        for Replacement { path, bytes } in replacements {
            let edited = files.iter_mut().find(|(known, _)| *known == path);
            if let (Some((_, file)), Some(bytes)) = (edited, bytes) {
                file.bytes = bytes.into();
                always.push(path);
            }
        }
    }
}

fn of_flags(context: &Context, args: &EditArgs) -> Result<Vec<Replacement>, CliError> {
    if args.path.len() != args.content.len() {
        return Err(CliError::usage("each --path needs a --content"));
    }
    let mut replacements = Vec::new();
    for (path, content) in args.path.iter().zip(&args.content) {
        let bytes = Some(read_input(context, content, Limits::default().skill_bytes)?);
        replacements.push(Replacement { path: parse_path(path)?, bytes });
    }
    for path in &args.remove {
        replacements.push(Replacement { path: parse_path(path)?, bytes: None });
    }
    Ok(replacements)
}

/// Opens the texts among some files in the user's editor. Returns the changed ones and the `conflicting` ones.
fn in_editor(
    context: &Context,
    subject: &str,
    files: &[(SkillPath, File)],
    conflicting: &[SkillPath],
) -> Result<Vec<Replacement>, CliError> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(CliError::usage("an editor needs a terminal").hint("pass --path PATH --content FILE"));
    }
    let texts: Vec<_> = files.iter().filter(|(_, file)| file.text().is_some()).collect();
    if texts.is_empty() {
        return Err(CliError::usage(format!("{subject} has no text to edit")).hint("pass --path PATH --content FILE"));
    }
    let folder = tempfile::tempdir()?;
    let mut places = Vec::new();
    for (path, file) in &texts {
        let place = folder.path().join(path.as_str());
        place.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(io_at(&place))?;
        std::fs::write(&place, &file.bytes).map_err(io_at(&place))?;
        places.push(place);
    }
    run_editor(&places)?;
    let (mut replacements, mut is_changed) = (Vec::new(), false);
    for ((path, file), place) in texts.iter().zip(&places) {
        let bytes = read_input(context, place, Limits::default().skill_bytes)?;
        let changed = *bytes != *file.bytes;
        is_changed |= changed;
        if changed || conflicting.contains(path) {
            replacements.push(Replacement { path: path.clone(), bytes: Some(bytes) });
        }
    }
    match is_changed {
        false => Err(CliError::usage(format!("nothing was changed in the editor; {subject} is unchanged"))),
        true => Ok(replacements),
    }
}

fn run_editor(places: &[PathBuf]) -> Result<(), CliError> {
    let set = |name: &str| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let failed = |what: String| CliError::new("io", Exit::Failed, what).hint("set VISUAL or EDITOR to an editor");
    let status = process::child::command(program).args(words).args(places).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(format!("the editor {editor} ended with {status}; nothing was changed"))),
        Err(error) => Err(failed(format!("cannot run the editor {editor}: {error}"))),
    }
}
