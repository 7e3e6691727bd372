//! `skillhub validate` checks skills against the standard.

use std::path::PathBuf;

use agent::ListingBudget;
use clap::Args;
use library::{find_agent, folder};
use serde::Serialize;
use skill::{
    Limits, Problem, Severity, SkillPath, Strictness, counted,
    frontmatter::as_json,
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
    let mut examined = examine(&listing, strictness, &limits);
    examined.problems.extend(survey.skill_md.as_deref().and_then(|text| shortened(str::from_utf8(text).ok()?)));
    Ok(examined)
}

/// Warns about a description that a host shortens in its list of skills, together with the key `when_to_use` that
/// Claude Code adds to it.
fn shortened(skill_md: &str) -> Option<Problem> {
    let fields = as_json(skill_md, &Limits::default()).ok()?;
    let length = |key: &str| fields.get(key).and_then(|value| value.as_str()).map_or(0, |text| text.chars().count());
    let chars = length("description") + length("when_to_use");
    let is_too_long = |budget: &&ListingBudget| budget.description_chars.is_some_and(|most| chars > most);
    let budget = ListingBudget::all().iter().find(is_too_long)?;
    let (host, most) = (find_agent(budget.agent)?.name, budget.description_chars.unwrap_or_default());
    Some(Problem {
        code: "description_shortened",
        severity: Severity::Warning,
        message: format!(
            "{host} shortens `description` with `when_to_use` to {most} characters in its list of skills, but they \
             have {chars}; state first when to use the skill"
        ),
        path: SkillPath::SKILL_MD.to_owned(),
        line: None,
    })
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
