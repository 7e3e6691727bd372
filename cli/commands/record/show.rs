//! The stored outcomes of a skill, for `record --show`.

use std::path::Path;

use library::{Library, Outcome};
use serde_json::json;
use skill::{SkillName, counted};

use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{FAINT, Table, visible},
};

/// Number of outcomes that a person sees, the newest ones.
const LINES: usize = 100;

/// Prints the outcomes of a skill and the path of their file.
///
/// # Errors
/// The skill does not exist, or its outcomes cannot be read.
pub fn run(context: &Context, name: &str) -> Result<Exit, CliError> {
    let name = context.skill_called(name)?;
    let library = context.library_with(&name)?;
    let stored = library.outcomes(&name)?;
    let file = library.own_path().join("outcomes").join(format!("{name}.jsonl"));
    let document = json!({
        "ok": true, "skill": name.as_str(), "file": file, "limit_bytes": library::OUTCOME_BYTES,
        "outcomes": stored.outcomes, "unreadable": stored.unreadable,
    });
    context.out.answer(&document, |out| {
        table(&library, &name, &stored.outcomes)?.write(out)?;
        let shown = context.shown(Path::new(&file));
        let earlier = stored.outcomes.len().saturating_sub(LINES);
        if earlier > 0 {
            writeln!(out, "{FAINT}{earlier} earlier: skillhub record {name} --show --json{FAINT:#}")?;
        }
        writeln!(out, "{} in {shown}", counted(stored.outcomes.len(), "outcome"))
    })?;
    Ok(Exit::Done)
}

/// Makes a table of the newest outcomes.
fn table(library: &Library, name: &SkillName, outcomes: &[Outcome]) -> std::io::Result<Table> {
    let revisions = library.revisions(name, usize::MAX).map_err(std::io::Error::other)?;
    let number = |outcome: &Outcome| {
        let found = revisions.iter().find(|revision| revision.id == outcome.revision);
        found.map_or_else(|| outcome.revision.short().to_owned(), |revision| revision.number.to_string())
    };
    let mut table = Table::new(&["time", "event", "rev", "source", "run", "query"]);
    for outcome in outcomes.iter().skip(outcomes.len().saturating_sub(LINES)) {
        let source = outcome.source.as_deref().unwrap_or_default();
        let query = outcome.query.as_deref().unwrap_or_default();
        let cells = [outcome.ts.as_str(), outcome.event.as_str(), &number(outcome), source, &outcome.run, query];
        table.row(&cells.map(visible));
    }
    Ok(table)
}
