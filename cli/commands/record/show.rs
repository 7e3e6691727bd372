//! The stored outcomes of a skill, for `record --show`.

use std::path::PathBuf;

use library::{Library, Outcome};
use serde_json::{Value, json};
use skill::{SkillName, counted};

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, Table, visible},
};

/// Number of outcomes that a person sees, the newest ones.
const LINES: usize = 100;

/// Prints the number of outcomes of each skill, and where they are stored.
///
/// # Errors
/// A library or its outcomes cannot be read.
pub fn all(context: &Context) -> Result<Exit, CliError> {
    let (is_seen, mut skills) = (context.seen()?, Vec::new());
    for library in context.visible_libraries()? {
        for (name, _) in library.heads().map_err(failed)?.into_iter().filter(|(name, _)| is_seen(name.as_str())) {
            let stored = library.outcomes(&name)?.outcomes.len();
            skills.extend((stored > 0).then(|| (file_of(&library, &name), name, stored)));
        }
    }
    let document = |(file, name, stored): &(PathBuf, SkillName, usize)| json!({"skill": name.as_str(), "outcomes": stored, "file": file});
    let documents: Vec<Value> = skills.iter().map(document).collect();
    context.out.answer(&json!({"ok": true, "skills": documents}), |out| {
        let Some((_, first, _)) = skills.first() else { return writeln!(out, "No outcomes are stored") };
        let mut table = Table::new(&["skill", "outcomes", "file"]);
        skills.iter().for_each(|(file, name, stored)| {
            table.row(&[name.to_string(), stored.to_string(), context.shown(file)]);
        });
        table.write(out)?;
        out.message(format_args!("Print those of one: skillhub record {first} --show"))
    })
}

fn file_of(library: &Library, name: &SkillName) -> PathBuf {
    library.own_path().join("outcomes").join(format!("{name}.jsonl"))
}

/// Prints the outcomes of a skill and the path of their file.
///
/// # Errors
/// The skill does not exist, or its outcomes cannot be read.
pub fn run(context: &Context, name: &str) -> Result<Exit, CliError> {
    let name = context.skill_called(name)?;
    let library = context.library_with(&name)?;
    let stored = library.outcomes(&name)?;
    let file = file_of(&library, &name);
    let document = json!({
        "ok": true, "skill": name.as_str(), "file": file, "limit_bytes": library::OUTCOME_BYTES,
        "outcomes": stored.outcomes, "unreadable": stored.unreadable,
    });
    context.out.answer(&document, |out| {
        table(&library, &name, &stored.outcomes)?.write(out)?;
        let shown = context.shown(&file);
        let earlier = stored.outcomes.len().saturating_sub(LINES);
        if earlier > 0 {
            writeln!(out, "{FAINT}{earlier} earlier: skillhub record {name} --show --json{FAINT:#}")?;
        }
        writeln!(out, "{} in {shown}", counted(stored.outcomes.len(), "outcome"))
    })
}

/// Makes a table of the newest outcomes.
fn table(library: &Library, name: &SkillName, outcomes: &[Outcome]) -> std::io::Result<Table> {
    let revisions = library.revisions(name, usize::MAX).map_err(std::io::Error::other)?;
    let number = |outcome: &Outcome| {
        let found = revisions.iter().find(|revision| revision.id == outcome.revision);
        found.map_or_else(|| outcome.revision.short().to_owned(), |revision| revision.number.to_string())
    };
    let mut table = Table::new(&["time", "event", "revision", "source", "run", "query"]);
    for outcome in outcomes.iter().skip(outcomes.len().saturating_sub(LINES)) {
        let source = outcome.source.as_deref().unwrap_or_default();
        let query = outcome.query.as_deref().unwrap_or_default();
        let cells = [outcome.ts.as_str(), outcome.event.as_str(), &number(outcome), source, &outcome.run, query];
        table.row(&cells.map(visible));
    }
    Ok(table)
}
