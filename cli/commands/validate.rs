//! `skillhub validate` checks skills against the standard.

use std::path::PathBuf;

use clap::Args;
use library::folder;
use serde::Serialize;
use skill::{
    Limits, Problem, Severity, Strictness, counted,
    validate::{Examined, Listing, examine, examine_bundle},
};

use crate::{
    commands::discovery::{FoundSkill, find, map_parallel},
    context::Context,
    exit::{CliError, Exit, io_at},
    print::{BAD, GOOD, STRONG, problem_line},
};

/// Flags of `validate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub validate ./my-skill
  skillhub validate --strict skills/             all skills below a folder
  skillhub validate my-skill.skill --json")]
pub struct ValidateArgs {
    /// Skill folders, .skill files, or folders of skills
    #[arg(required = true)]
    path: Vec<PathBuf>,
    /// Reject unknown keys and nested metadata, as the standard's reference library does
    #[arg(long)]
    strict: bool,
}

/// The JSON output of the command.
#[derive(Serialize)]
struct Document {
    ok: bool,
    skills: Vec<Checked>,
}

#[derive(Serialize)]
struct Checked {
    path: PathBuf,
    name: Option<String>,
    valid: bool,
    problems: Vec<Problem>,
}

/// Checks every skill and reports every problem.
pub fn run(context: &Context, args: &ValidateArgs) -> Result<Exit, CliError> {
    let strictness = if args.strict { Strictness::Strict } else { Strictness::Standard };
    let skills = find(context, &args.path)?;
    let checked = map_parallel(skills, |found| check(&found, strictness));
    let document = Document { ok: checked.iter().all(|skill| skill.valid), skills: checked };
    context.out.answer(&document, |out| {
        for skill in &document.skills {
            let (style, word) = if skill.valid { (GOOD, "valid") } else { (BAD, "invalid") };
            writeln!(out, "{style}{word}{style:#} {STRONG}{}{STRONG:#}", skill.path.display())?;
            for problem in &skill.problems {
                writeln!(out, "  {}", problem_line(problem))?;
            }
        }
        let count = document.skills.iter().filter(|skill| skill.valid).count();
        if document.skills.len() > 1 {
            writeln!(out, "Valid: {count} of {}", counted(document.skills.len(), "skill"))?;
        }
        Ok(())
    })?;
    Ok(if document.ok { Exit::Done } else { Exit::Invalid })
}

fn check(found: &FoundSkill, strictness: Strictness) -> Checked {
    let Examined { name, problems } =
        look(found, strictness).unwrap_or_else(|error| Examined { name: None, problems: vec![unreadable(&error)] });
    let valid = !problems.iter().any(Problem::is_error);
    Checked { path: found.path.clone(), name, valid, problems }
}

fn look(found: &FoundSkill, strictness: Strictness) -> Result<Examined, CliError> {
    let limits = Limits::default();
    if found.archive {
        return Ok(examine_bundle(&found.bundle(folder::Leftovers::Skip)?, None, strictness, &limits));
    }
    let survey = folder::survey(folder::open_resolved(&found.path).map_err(io_at(&found.path))?, &limits)?;
    let folder = found.folder_name();
    let texts: Vec<_> = survey.texts.iter().map(|(path, text)| (path, text.as_str())).collect();
    let listing = Listing {
        folder: folder.as_deref(),
        skill_md: survey.skill_md.as_deref(),
        paths: &survey.paths,
        texts: &texts,
    };
    Ok(examine(&listing, strictness, &limits))
}

/// Converts the error of an unreadable skill to a problem.
fn unreadable(error: &CliError) -> Problem {
    Problem {
        code: error.code,
        severity: Severity::Error,
        message: error.message.clone(),
        path: ".".to_owned(),
        line: None,
    }
}
