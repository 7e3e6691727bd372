//! `skillhub show` prints the files of a revision, or one of them.

use std::io::{IsTerminal, Write};

use base64::{Engine, engine::general_purpose::STANDARD};
use clap::Args;
use library::Revision;
use serde_json::json;
use skill::{Bundle, File, SkillName, SkillPath};
use skill_manage::{ManageError, RequestError, documents};

use crate::{
    commands::history::accepted,
    context::Context,
    exit::{CliError, Exit},
    print::{Table, visible},
};

/// Flags of `show`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub show my-skill                         the files of the newest revision
  skillhub show my-skill SKILL.md
  skillhub show my-skill@3 scripts/run.py        a file at revision 3")]
pub struct ShowArgs {
    /// Skill, and optionally a revision [default: newest]
    #[arg(value_name = "NAME[@REV]")]
    spec: String,
    /// File to print [default: list the files]
    path: Option<String>,
}

/// Prints the list of files or one file.
pub fn run(context: &Context, args: &ShowArgs) -> Result<Exit, CliError> {
    let (name, spec) = args.spec.split_once('@').unwrap_or((&args.spec, "head"));
    let name = context.skill_called(name)?;
    let (revision, bundle) = documents::at(&context.library_with_past(&name)?, &name, spec)?;
    match &args.path {
        Some(path) => show_file(context, &name, &bundle, path),
        None => show_files(context, &name, &revision, &bundle),
    }
}

fn show_files(context: &Context, name: &SkillName, revision: &Revision, bundle: &Bundle) -> Result<Exit, CliError> {
    let files: Vec<_> = bundle
        .files()
        .map(|(path, file)| json!({"path": path.as_str(), "size": file.bytes.len(), "executable": file.executable}))
        .collect();
    let acceptance = revision.acceptance.as_ref();
    let document = json!({
        "ok": true, "name": name.as_str(), "revision": revision.id, "number": revision.number, "files": files,
        "actor": revision.stamp.actor, "proposal": acceptance.map(|acceptance| &acceptance.proposal),
        "reviewer": acceptance.map(|acceptance| acceptance.reviewer.to_string()),
        "edited_by": acceptance.and_then(|acceptance| Some(acceptance.edited_by.as_ref()?.to_string())),
    });
    context.out.answer(&document, |out| {
        let mut table = Table::new(&["file", "bytes", "mode"]);
        for (path, file) in bundle.files() {
            let mode = if file.executable { "executable" } else { "" };
            table.row(&[path.to_string(), file.bytes.len().to_string(), mode.to_owned()]);
        }
        table.write(out)?;
        accepted(revision)
            .map_or(Ok(()), |accepted| writeln!(out, "by {}, {accepted}", visible(&revision.stamp.actor.to_string())))
    })
}

fn show_file(context: &Context, name: &SkillName, bundle: &Bundle, path: &str) -> Result<Exit, CliError> {
    let parsed = SkillPath::parse(path).map_err(|error| ManageError::from(RequestError::from(error)))?;
    let file = bundle.get(&parsed).ok_or_else(|| {
        CliError::new("not_found", Exit::NotFound, format!("{name} has no file {path} in that revision"))
            .hint(format!("see its files: skillhub show {name}"))
    })?;
    print_file(context, &parsed, file)
}

/// Prints one file of a skill. A pipe gets its bytes unchanged.
pub fn print_file(context: &Context, path: &SkillPath, file: &File) -> Result<Exit, CliError> {
    let path = path.as_str();
    let document = match file.text() {
        Some(text) => json!({"ok": true, "path": path, "text": text}),
        None => json!({"ok": true, "path": path, "base64": STANDARD.encode(&file.bytes)}),
    };
    if context.out.json || std::io::stdout().is_terminal() {
        context.out.answer(&document, |out| out.write_all(&file.bytes))?;
    } else {
        // Raw bytes, so that a pipe gets the exact file.
        let _closed_pipe = std::io::stdout().lock().write_all(&file.bytes);
    }
    Ok(Exit::Done)
}
