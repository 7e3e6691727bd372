//! `skillhub validate` checks skills against the standard.

use std::{collections::HashMap, path::PathBuf};

use agent::{HostListing, ListingBudget, ListingText};
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
    print::{BAD, GOOD, STRONG, WARN, problem_line, visible},
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
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Checked {
    path: PathBuf,
    name: Option<String>,
    valid: bool,
    problems: Vec<Problem>,
    #[serde(skip)]
    description: String,
}

/// A checked skill with the description that hosts list.
struct Looked {
    examined: Examined,
    description: String,
}

/// Checks every skill and reports every problem.
pub fn run(context: &Context, args: &ValidateArgs) -> Result<Exit, CliError> {
    let strictness = if args.strict { Strictness::Strict } else { Strictness::Standard };
    let skills = find(context, &args.path)?;
    let checked = map_parallel(skills, |found| check(&found, strictness));
    let warnings = cut_descriptions(&checked);
    let document = Document { ok: checked.iter().all(|skill| skill.valid), skills: checked, warnings };
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
        for warning in &document.warnings {
            writeln!(out, "{WARN}note{WARN:#}: {}", visible(warning))?;
        }
        Ok(())
    })?;
    Ok(if document.ok { Exit::Done } else { Exit::Invalid })
}

/// Names the hosts that would not list all descriptions if an agent got all of these skills.
fn cut_descriptions(skills: &[Checked]) -> Vec<String> {
    let listed = skills.iter().filter(|skill| !skill.description.is_empty());
    let texts: Vec<ListingText<'_>> = listed
        .filter_map(|skill| {
            let (name, description, folder) = (skill.name.as_deref()?, &skill.description, Some(skill.path.as_path()));
            Some(ListingText { name, description, folder })
        })
        .collect();
    if texts.len() < 2 {
        return Vec::new();
    }
    let of_host = |budget: &ListingBudget| {
        let listing = HostListing::of_texts(&texts, Some(budget), &HashMap::new());
        let cuts = listing.described_cuts(find_agent(budget.agent)?.name, budget, |_| true)?;
        Some(format!("if an agent gets all of these skills, {cuts}"))
    };
    ListingBudget::all().iter().filter_map(of_host).collect()
}

fn check(found: &FoundSkill, strictness: Strictness) -> Checked {
    let unusable = |error: &CliError| Looked {
        examined: Examined { name: None, problems: vec![unreadable(error)] },
        description: String::new(),
    };
    let Looked { examined, description } = look(found, strictness).unwrap_or_else(|error| unusable(&error));
    let Examined { name, problems } = examined;
    let valid = !problems.iter().any(Problem::is_error);
    Checked { path: found.path.clone(), name, valid, problems, description }
}

fn look(found: &FoundSkill, strictness: Strictness) -> Result<Looked, CliError> {
    let limits = Limits::default();
    if found.archive {
        let bundle = found.bundle(folder::ToolFiles::Skip)?;
        let description = bundle.skill_md().map(|text| field_of(text, "description")).unwrap_or_default();
        return Ok(Looked { examined: examine_bundle(&bundle, None, strictness, &limits), description });
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
    let skill_md = survey.skill_md.as_deref().and_then(|text| str::from_utf8(text).ok()).unwrap_or_default();
    examined.problems.extend(shortened(skill_md));
    Ok(Looked { examined, description: field_of(skill_md, "description") })
}

/// Returns the text of a key of the frontmatter; empty if it cannot be read.
fn field_of(skill_md: &str, key: &str) -> String {
    let fields = as_json(skill_md, &Limits::default()).ok();
    fields.as_ref().and_then(|fields| fields.get(key)?.as_str()).unwrap_or_default().to_owned()
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
