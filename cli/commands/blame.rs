//! `skillhub blame`: who wrote each line of a file.

use clap::Args;
use evolve::blame::{Blame, BlamedLine, blame};
use library::Revision;
use serde_json::{Value, json};
use skill::SkillPath;
use skill_manage::{ManageError, RequestError};

use crate::{
    catalogue::skill_called,
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, STRONG, time, visible},
};

/// Flags of `blame`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub blame my-skill                        each line of SKILL.md: revision, time, who, what
  skillhub blame my-skill scripts/run.sh
  skillhub blame my-skill@3 --json               as it was in revision 3

A rollback gives lines back to those who wrote them; a renamed file is followed.")]
pub struct BlameArgs {
    /// The skill, with @REV for another revision than the newest
    #[arg(value_name = "NAME[@REV]")]
    spec: String,
    /// The file; SKILL.md otherwise
    path: Option<String>,
}

/// Shows it.
pub fn run(context: &Context, args: &BlameArgs) -> Result<Exit, CliError> {
    let (name, spec) = args.spec.split_once('@').unwrap_or((&args.spec, "head"));
    let name = skill_called(context, name)?;
    let path = match &args.path {
        Some(path) => SkillPath::parse(path).map_err(|error| ManageError::from(RequestError::from(error)))?,
        None => SkillPath::skill_md(),
    };
    let found = blame(&context.library_of(&name)?, &name, &path, spec).map_err(failed)?;
    context.out.long_answer(&document(&found), || text(&found))?;
    Ok(Exit::Done)
}

fn document(found: &Blame) -> Value {
    let revisions = found.revisions.values().map(|revision| {
        let stamp = &revision.stamp;
        json!({
            "number": revision.number, "revision": revision.id, "time": time(stamp.time),
            "action": revision.action.as_str(), "actor": stamp.actor, "reason": stamp.reason,
            "proposal": revision.acceptance.as_ref().map(|acceptance| &acceptance.proposal),
            "reviewer": revision.acceptance.as_ref().map(|acceptance| acceptance.reviewer.to_string()),
        })
    });
    let lines = found.lines.iter().enumerate().map(|(place, line)| {
        json!({
            "line": place + 1, "number": line.revision, "text": line.text, "release": line.release,
            "path": line.path.as_ref().map(SkillPath::as_str),
        })
    });
    json!({
        "ok": true, "name": found.skill.as_str(), "path": found.path.as_str(), "revision": found.of.id,
        "number": found.of.number, "cut": found.is_cut, "revisions": revisions.collect::<Vec<_>>(),
        "lines": lines.collect::<Vec<_>>(),
    })
}

fn text(found: &Blame) -> String {
    let rows: Vec<(String, String, String)> = found.lines.iter().map(|line| row(found, line)).collect();
    let width = |of: fn(&(String, String, String)) -> &String| rows.iter().map(|row| of(row).chars().count()).max();
    let (number, who) = (width(|row| &row.0).unwrap_or_default(), width(|row| &row.1).unwrap_or_default());
    let mut text = String::new();
    let mut last = None;
    for (row, line) in rows.iter().zip(&found.lines) {
        let style = if last == Some(line.revision) { FAINT } else { STRONG };
        let fill = " ".repeat(who - row.1.chars().count());
        text.push_str(&format!(
            "{style}{:>number$}{style:#} {FAINT}{}{fill}{FAINT:#} | {}\n",
            row.0,
            row.1,
            visible(&line.text)
        ));
        last = Some(line.revision);
    }
    if found.is_cut {
        text.push_str(&format!("{FAINT}Older revisions were not looked at.{FAINT:#}\n"));
    }
    text
}

/// The number of the revision, and who it was, when and what.
fn row(found: &Blame, line: &BlamedLine) -> (String, String, String) {
    let who = found.revisions.get(&line.revision).map(|revision| who(revision, line)).unwrap_or_default();
    (line.revision.to_string(), who, line.text.clone())
}

fn who(revision: &Revision, line: &BlamedLine) -> String {
    let stamp = &revision.stamp;
    let day = time(stamp.time).get(..10).unwrap_or_default().to_owned();
    let from = line.release.as_ref().map_or_else(|| stamp.actor.to_string(), |release| format!("from {release}"));
    let renamed = line.path.as_ref().map(|path| format!(" ({path})")).unwrap_or_default();
    visible(&format!("{day} {:<11} {from}{renamed}", revision.action.as_str()))
}
