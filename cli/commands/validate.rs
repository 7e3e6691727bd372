//! `skillhub validate`: skills against the standard.

use std::path::PathBuf;

use clap::Args;
use library::folder;
use serde_json::{Value, json};
use skill::{
    Limits, Problem, Severity, Strictness,
    validate::{Examined, Listing, examine, examine_bundle},
};

use crate::{
    commands::found::{Found, find, map_parallel},
    context::Context,
    exit::{CliError, Exit},
    print::{BAD, GOOD, STRONG, problem_line},
};

/// Flags of `validate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub validate ./my-skill
  skillhub validate --strict skills/            every skill below a folder
  skillhub validate my-skill.skill --json")]
pub struct ValidateArgs {
    /// Skill folders, .skill files, or folders of skills
    #[arg(required = true)]
    path: Vec<PathBuf>,
    /// Refuse what the standard's reference library refuses: unknown keys, nested metadata
    #[arg(long)]
    strict: bool,
}

struct Checked {
    found: Found,
    name: Option<String>,
    problems: Vec<Problem>,
}

impl Checked {
    fn is_valid(&self) -> bool {
        !self.problems.iter().any(Problem::is_error)
    }
}

/// Checks every skill and reports every problem.
pub fn run(context: &Context, args: &ValidateArgs) -> Result<Exit, CliError> {
    let strictness = if args.strict { Strictness::Strict } else { Strictness::Standard };
    let skills = find(context, &args.path)?;
    let checked = map_parallel(&skills, |found| check(found, strictness));
    let valid = checked.iter().all(Checked::is_valid);
    let document = json!({"ok": valid, "skills": checked.iter().map(document).collect::<Vec<_>>()});
    context.out.answer(&document, |out| {
        for skill in &checked {
            let (style, word) = if skill.is_valid() { (GOOD, "valid") } else { (BAD, "invalid") };
            writeln!(out, "{style}{word}{style:#} {STRONG}{}{STRONG:#}", skill.found.path.display())?;
            for problem in &skill.problems {
                writeln!(out, "  {}", problem_line(problem))?;
            }
        }
        let count = checked.iter().filter(|skill| skill.is_valid()).count();
        if checked.len() > 1 {
            writeln!(out, "{count} of {} skills are valid", checked.len())?;
        }
        Ok(())
    })?;
    Ok(if valid { Exit::Done } else { Exit::Invalid })
}

fn document(skill: &Checked) -> Value {
    json!({
        "path": skill.found.path, "name": skill.name, "valid": skill.is_valid(), "problems": skill.problems,
    })
}

fn check(found: &Found, strictness: Strictness) -> Checked {
    let Examined { name, problems } =
        look(found, strictness).unwrap_or_else(|error| Examined { name: None, problems: vec![unreadable(&error)] });
    Checked { found: found.clone(), name, problems }
}

fn look(found: &Found, strictness: Strictness) -> Result<Examined, CliError> {
    let limits = Limits::default();
    if found.archive {
        return Ok(examine_bundle(&found.bundle(folder::Leftovers::Skip)?, None, strictness, &limits));
    }
    let survey = folder::survey(folder::open_at(&found.path)?, &limits)?;
    let folder = found.folder_name();
    let listing = Listing { folder: folder.as_deref(), skill_md: survey.skill_md.as_deref(), paths: &survey.paths };
    Ok(examine(&listing, strictness, &limits))
}

/// What keeps a skill from being read at all, as a problem of it.
fn unreadable(error: &CliError) -> Problem {
    Problem {
        code: error.code,
        severity: Severity::Error,
        message: error.message.clone(),
        path: ".".to_owned(),
        line: None,
    }
}
