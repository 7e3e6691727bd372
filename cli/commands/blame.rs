//! `skillhub blame` shows the author of each line of a file.

use clap::Args;
use evolve::blame::{Blame, LineSource, blame};
use library::{Revision, RevisionId};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use skill::SkillPath;
use skill_manage::{ManageError, RequestError};

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, STRONG, time, visible},
};

/// Flags of `blame`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub blame my-skill                        revision, date and author of each line of SKILL.md
  skillhub blame my-skill scripts/run.sh
  skillhub blame my-skill@3 --json               at revision 3

Renamed files are followed. A rollback does not change the authors of the lines that it restores.")]
pub struct BlameArgs {
    /// Skill, and optionally a revision [default: newest]
    #[arg(value_name = "NAME[@REV]")]
    spec: String,
    /// File [default: SKILL.md]
    path: Option<String>,
}

/// Prints each line with its revision, time and author.
pub fn run(context: &Context, args: &BlameArgs) -> Result<Exit, CliError> {
    let (name, spec) = args.spec.split_once('@').unwrap_or((&args.spec, "head"));
    let name = context.skill_called(name)?;
    let path = match &args.path {
        Some(path) => SkillPath::parse(path).map_err(|error| ManageError::from(RequestError::from(error)))?,
        None => SkillPath::skill_md(),
    };
    let found = blame(&context.library_with_past(&name)?, &name, &path, spec).map_err(failed)?;
    context.out.long_answer(&document(&found), || text(&found))
}

/// The JSON document. Its lines are serialised one by one, because a million of them as JSON values would take a
/// gigabyte of memory.
#[derive(Serialize)]
struct Document<'a> {
    ok: bool,
    name: &'a str,
    path: &'a str,
    revision: &'a RevisionId,
    number: u64,
    cut: bool,
    revisions: Vec<Value>,
    #[serde(serialize_with = "write_lines")]
    lines: &'a Blame,
}

#[derive(Serialize)]
struct Line<'a> {
    line: usize,
    number: u64,
    text: &'a str,
    release: Option<&'a str>,
    path: Option<&'a str>,
}

fn write_lines<S: Serializer>(found: &Blame, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(found.lines().enumerate().filter_map(|(place, (text, source))| {
        let LineSource { revision, release, path } = found.sources.get(source)?;
        let (release, path) = (release.as_deref(), path.as_ref().map(SkillPath::as_str));
        Some(Line { line: place + 1, number: *revision, text, release, path })
    }))
}

fn document(found: &Blame) -> Document<'_> {
    let revisions = found.revisions.values().map(|revision| {
        let stamp = &revision.stamp;
        json!({
            "number": revision.number, "revision": revision.id, "time": time(stamp.time),
            "action": revision.action.as_str(), "actor": stamp.actor, "reason": stamp.reason,
            "proposal": revision.acceptance.as_ref().map(|acceptance| &acceptance.proposal),
            "reviewer": revision.acceptance.as_ref().map(|acceptance| acceptance.reviewer.to_string()),
        })
    });
    Document {
        ok: true,
        name: found.skill.as_str(),
        path: found.path.as_str(),
        revision: &found.of.id,
        number: found.of.number,
        cut: found.is_cut,
        revisions: revisions.collect(),
        lines: found,
    }
}

fn text(found: &Blame) -> String {
    let told: Vec<(String, String)> = found.sources.iter().map(|source| describe_line(found, source)).collect();
    let width = |of: fn(&(String, String)) -> &String| told.iter().map(|told| of(told).chars().count()).max();
    let (number, who) = (width(|told| &told.0).unwrap_or_default(), width(|told| &told.1).unwrap_or_default());
    let mut text = String::new();
    let mut last = None;
    for (line, source) in found.lines() {
        let Some((revision, by)) = told.get(source) else { continue };
        let style = if last == Some(revision) { FAINT } else { STRONG };
        text.push_str(&format!("{style}{revision:>number$}{style:#} {FAINT}{by:<who$}{FAINT:#} | {}\n", visible(line)));
        last = Some(revision);
    }
    if found.is_cut {
        text.push_str(&format!("{FAINT}Older revisions were not searched.{FAINT:#}\n"));
    }
    text
}

/// Formats a line's revision number, and its author, time and action.
fn describe_line(found: &Blame, source: &LineSource) -> (String, String) {
    let who = found.revisions.get(&source.revision).map(|revision| who(revision, source)).unwrap_or_default();
    (source.revision.to_string(), who)
}

fn who(revision: &Revision, source: &LineSource) -> String {
    let stamp = &revision.stamp;
    let day = time(stamp.time).get(..10).unwrap_or_default().to_owned();
    let from = source.release.as_ref().map_or_else(|| stamp.actor.to_string(), |release| format!("from {release}"));
    let renamed = source.path.as_ref().map(|path| format!(" ({path})")).unwrap_or_default();
    visible(&format!("{day} {:<11} {from}{renamed}", revision.action.as_str()))
}
