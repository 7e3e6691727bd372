//! States of a skill that can be evaluated: a folder, a revision or a proposal.

use std::path::{Path, PathBuf};

use evolve::evals::{EVALS_FILE, EvalLimits, EvalSet, read};
use library::{Library, ProposalId, folder::ToolFiles};
use serde_json::{Value, json};
use skill::{Bundle, Problem, SkillName};
use skill_manage::{documents, review};

use crate::{
    commands::discovery::FoundSkill,
    context::Context,
    exit::{CliError, Exit, io_at},
    print::shell_word,
};

/// A state of a skill that can be evaluated.
#[derive(Debug, Clone)]
pub struct Side {
    /// Name of the skill.
    pub name: String,
    /// All files, including the evals.
    pub bundle: Bundle,
    /// Display name: `revision 3 (1a2b3c4d)`, a folder, or `proposal k7m3qx@1`.
    pub label: String,
    /// Revision id, if it is a revision.
    pub revision: Option<String>,
    /// Proposal id, if it is a proposal.
    pub proposal: Option<String>,
}

impl Side {
    /// Loads the current state of a skill: a folder, or a skill of the library. `NAME@REV` selects another revision.
    ///
    /// # Errors
    /// The skill does not exist or cannot be read.
    pub fn of_skill(context: &Context, written: &str) -> Result<Self, CliError> {
        if is_path(written) {
            return Self::of_folder(context, written);
        }
        let (name, revision) = written.split_once('@').unwrap_or((written, "head"));
        let name = context.skill_called(name)?;
        Self::of_revision(&context.library_with(&name)?, &name, revision)
    }

    /// Parses an operand of `compare`: a folder, a proposal, or a revision of the skill.
    ///
    /// # Errors
    /// The operand names nothing that exists, or it cannot be read.
    pub fn parse(context: &Context, skill: &str, written: &str) -> Result<Self, CliError> {
        if is_path(written) {
            return Self::of_folder(context, written);
        }
        if is_path(skill) {
            return Err(CliError::usage(format!(
                "{written:?} is not a folder, and {skill:?} is not a skill in the library"
            ))
            .hint("name two folders, or a skill in the library and two of its revisions or proposals"));
        }
        let name = context.skill_called(skill)?;
        let library = context.library_with(&name)?;
        match ProposalId::parse(written.split('@').next().unwrap_or_default()) {
            Ok(id) if library.proposal(&id)?.is_some() => Self::of_proposal(&library, &name, written),
            _ => Self::of_revision(&library, &name, written),
        }
    }

    /// Loads a revision of a skill, such as `head`.
    ///
    /// # Errors
    /// The revision does not exist or cannot be read.
    pub fn of_revision(library: &Library, name: &SkillName, written: &str) -> Result<Self, CliError> {
        let (revision, bundle) = documents::at(library, name, written)?;
        let label = format!("revision {} ({})", revision.number, revision.id.short());
        Ok(Self { name: name.to_string(), bundle, label, revision: Some(revision.id.to_string()), proposal: None })
    }

    fn of_proposal(library: &Library, name: &SkillName, written: &str) -> Result<Self, CliError> {
        let target = written.parse().map_err(|error: review::ProposalRefError| CliError::usage(error.to_string()))?;
        let proposal = review::proposal(library, &target)?;
        if proposal.skill != *name {
            let message = format!("the proposal {} is for {}", proposal.id, proposal.skill);
            return Err(
                CliError::usage(message).hint(format!("see what it changes: skillhub review show {}", proposal.id))
            );
        }
        let bundle = review::candidate(library, &proposal)?;
        let proposal = format!("{}@{}", proposal.id, proposal.revision);
        let label = format!("proposal {proposal}");
        Ok(Self { name: name.to_string(), bundle, label, revision: None, proposal: Some(proposal) })
    }

    fn of_folder(context: &Context, written: &str) -> Result<Self, CliError> {
        let path = context.absolute(&PathBuf::from(written));
        let path = library::real_path(&path).map_err(io_at(&path))?;
        let found = FoundSkill { archive: path.is_file(), path };
        let bundle = found.bundle(ToolFiles::Skip)?;
        let named = found.folder_name().unwrap_or_else(|| "skill".to_owned());
        let name = bundle.skill_md().and_then(name_of).unwrap_or(named);
        Ok(Self { name, bundle, label: written.to_owned(), revision: None, proposal: None })
    }

    /// Returns the argument that names it: a folder, or the name of the skill.
    pub(super) fn written(&self) -> String {
        match (&self.revision, &self.proposal) {
            (None, None) => shell_word(&self.label),
            _ => self.name.clone(),
        }
    }

    /// Formats the state for JSON documents.
    pub fn document(&self) -> Value {
        json!({
            "label": self.label, "revision": self.revision, "proposal": self.proposal,
            "digest": self.bundle.digest().to_string(),
        })
    }
}

/// Returns whether an argument is a path on disk rather than a skill, a revision or a proposal.
fn is_path(written: &str) -> bool {
    written.contains(['/', '\\']) || written.starts_with('.') || Path::new(written).join("SKILL.md").is_file()
}

/// Returns the name in the frontmatter if it is valid.
fn name_of(skill_md: &str) -> Option<String> {
    let reading = skill::frontmatter::read(skill_md, &skill::Limits::default()).ok()?;
    SkillName::parse(reading.frontmatter.name.as_deref()?).ok().map(|name| name.to_string())
}

/// Reads the cases of a skill.
///
/// # Errors
/// The skill has no cases, or they cannot be read.
pub fn evals_of(side: &Side) -> Result<EvalSet, CliError> {
    let reading = read(&side.bundle, &EvalLimits::default());
    reading.set.ok_or_else(|| refuse_evals(side, "test cases", EVALS_FILE, &reading.problems))
}

/// Returns the error for evals that are missing or invalid. `contents` names what the file should have.
pub(super) fn refuse_evals(side: &Side, contents: &str, file: &str, problems: &[Problem]) -> CliError {
    let errors: Vec<&Problem> = problems.iter().filter(|problem| problem.is_error()).collect();
    let is_missing = errors.iter().any(|problem| problem.code == "evals_missing");
    let line = |p: &&Problem| format!("{}:{} {}", p.path, p.line.unwrap_or(1), p.message);
    let lines = errors.iter().take(3).map(line).collect::<Vec<_>>().join("; ");
    match is_missing {
        true => CliError::new("not_found", Exit::NotFound, format!("{} has no {contents} ({file})", side.name))
            .hint("see its form: skillhub eval --help"),
        false => CliError::new("invalid_evals", Exit::Invalid, format!("{} has no {contents}: {lines}", side.name))
            .hint(format!("list all problems: skillhub eval lint {}", side.written()))
            .details(json!({"problems": problems})),
    }
}
