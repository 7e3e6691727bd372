//! [`Chooser`]: the choice of skills for a query, by the user's command or, as a baseline, by the ranking of the search.

use std::{cell::RefCell, io, path::PathBuf, time::Duration};

use agent::{Catalogue, Form, GivenFolder, ListOptions, ListedSkill, Settings, search};
use library::interrupt;
use skill::SkillName;

use super::{RunnerArgs, input::ChooserInput, side::Side};
use crate::{
    catalogue::public_folder,
    context::Context,
    exit::{CliError, Exit},
    process::{self, BoundedCommand},
};

/// Chooses skills for queries.
pub(super) struct Chooser<'a> {
    args: &'a RunnerArgs,
    /// Command line. `None` for the ranking.
    command: Option<String>,
    settings: Settings,
    agent: String,
    /// Installed skills. The tested one is replaced by the side under test.
    installed: Catalogue,
    builtin: Option<PathBuf>,
    /// Reason why the last run failed.
    failure: RefCell<Option<String>>,
}

/// Skills to choose from, with one side of the tested skill among them.
pub(super) struct Listing {
    tested: Catalogue,
    /// List in the standard's form, as `skillhub prompt` prints it.
    text: String,
}

impl<'a> Chooser<'a> {
    /// Creates the chooser that the flags select.
    ///
    /// # Errors
    /// The installed skills cannot be read.
    pub fn new(context: &Context, args: &'a RunnerArgs) -> Result<Self, CliError> {
        let public = context.public_skills()?;
        let builtin = public_folder(context, &public);
        let mut installed = context.catalogue(&context.places(true), public, None)?;
        let command = args.runner.as_ref().map(|runner| process::from_here(runner, &context.cwd));
        if command.is_none() {
            // The ranking has to be the same on every machine.
            installed.skills.iter_mut().for_each(|listed| listed.path = None);
        }
        let (settings, agent) = (context.settings()?, context.agent(None));
        Ok(Self { args, command, settings, agent, installed, builtin, failure: RefCell::default() })
    }

    /// Describes who chooses, for people and documents.
    pub fn words(&self) -> &str {
        match self.command {
            Some(_) => "the runner",
            None => "skillhub's search over names and descriptions, a baseline and not an agent",
        }
    }

    /// Returns whether each run of a query has the same result.
    pub fn is_deterministic(&self) -> bool {
        self.command.is_none()
    }

    /// Lists the installed skills with one side of the tested skill in its place.
    ///
    /// # Errors
    /// The name or the `SKILL.md` of the side is invalid.
    pub fn listing(&self, context: &Context, side: &Side) -> Result<Listing, CliError> {
        let unusable = |why: &str| {
            CliError::new("invalid_skill", Exit::Invalid, format!("{} cannot be listed: {why}", side.label))
                .hint(format!("check it: skillhub validate {}", side.written()))
        };
        let name = SkillName::parse(&side.name).map_err(|fault| unusable(&fault.to_string()))?;
        let place = self.installed.find(&name).ok().and_then(|listed| listed.path.clone());
        let place = place.unwrap_or_else(|| context.library_path().join(name.as_str()));
        let root = place.parent().unwrap_or(&place).to_owned();
        let folder = GivenFolder { root, path: place, files: side.bundle.clone() };
        let mut tested = Catalogue::of_folders(vec![folder], context.home.scanner());
        let listed = tested.skills.first_mut().ok_or_else(|| unusable("its name is not valid"))?;
        if let Some(fault) = &listed.fault {
            return Err(unusable(fault));
        }
        if self.command.is_none() {
            listed.path = None;
        }
        let mut listing = Listing { tested, text: String::new() };
        let look = ListOptions { builtin: self.builtin.as_deref(), ..ListOptions::of(Form::XML) };
        listing.text = agent::prompt(&self.skills(&listing), &[], look);
        Ok(listing)
    }

    /// Returns the skills to choose from, by name.
    fn skills<'l>(&'l self, listing: &'l Listing) -> Vec<&'l ListedSkill> {
        let tested = &listing.tested.skills;
        let others = self.installed.seen(&self.settings, &self.agent).into_iter();
        let mut skills: Vec<&ListedSkill> =
            others.filter(|other| tested.iter().all(|tested| tested.name != other.name)).chain(tested).collect();
        skills.sort_by(|a, b| a.name.cmp(&b.name));
        skills
    }

    /// Returns the names of the skills that are chosen for a query. `None` if the command failed or did not answer
    /// with names.
    ///
    /// # Errors
    /// The temporary folder cannot be created, or the shell cannot be started.
    pub fn choose(&self, listing: &Listing, query: &str) -> Result<Option<Vec<String>>, CliError> {
        let skills = self.skills(listing);
        let Some(command) = &self.command else {
            let best = search(&skills, query, 1);
            return Ok(Some(best.iter().map(|hit| hit.listed.name.to_string()).collect()));
        };
        let names: Vec<&str> = skills.iter().map(|listed| listed.name.as_str()).collect();
        let answer = self.run(command, query, listing, &names)?;
        Ok(answer.map_err(|why| self.failure.replace(Some(why))).ok())
    }

    /// Runs the command, which learns neither the tested skill nor the expected choice.
    fn run(
        &self,
        command: &str,
        query: &str,
        listing: &Listing,
        names: &[&str],
    ) -> Result<Result<Vec<String>, String>, CliError> {
        let root = tempfile::Builder::new().prefix("skillhub-eval-").tempdir()?;
        interrupt::note_temporary(root.path());
        let work = root.path().join("work");
        std::fs::create_dir(&work)?;
        let list = root.path().join("skills.txt");
        std::fs::write(&list, &listing.text)?;
        let input = ChooserInput { v: 1, prompt: query, skills: &listing.text, names, work: &work };
        let done = process::run(&BoundedCommand {
            command,
            folder: &work,
            variables: vec![
                ("SKILLHUB_EVAL_PROMPT", query.into()),
                ("SKILLHUB_EVAL_SKILLS", list.clone().into()),
                ("SKILLHUB_EVAL_WORK", work.clone().into()),
            ],
            scrubbed: false,
            passed: &[],
            input: serde_json::to_vec(&input).map_err(io::Error::from)?,
            time: Duration::from_secs(self.args.time_limit),
            output_bytes: self.args.output_limit.saturating_mul(1024),
            memory_mib: None,
        })?;
        if done.exit != Some(0) || done.ended != ::process::ExitReason::Exited {
            let end = done
                .exit
                .map_or_else(|| process::ended(done.ended).words().to_owned(), |exit| format!("exit code {exit}"));
            let said = String::from_utf8_lossy(&done.stderr);
            let said: String = said.trim().chars().take(200).collect();
            return Ok(Err(if said.is_empty() { end } else { format!("{end}: {said}") }));
        }
        Ok(names_in(&String::from_utf8_lossy(&done.stdout)))
    }

    /// Fails if every run so far has failed, since failed runs say nothing about the skill.
    ///
    /// # Errors
    /// All runs have failed.
    pub fn check(&self, runs: &[Option<Vec<String>>]) -> Result<(), CliError> {
        if runs.iter().any(Option::is_some) {
            return Ok(());
        }
        let why = self.failure.borrow().clone().unwrap_or_default();
        let runner = self.args.runner.as_deref().unwrap_or_default();
        let message = format!("every run of the runner {runner:?} failed; the last one: {why}");
        Err(CliError::new("runner_failed", Exit::Failed, message).hint(
            "print the names of the skills to read, one per line, or nothing; give the runner's full path, as it runs \
             in a temporary folder",
        ))
    }
}

/// Parses an answer: names of skills, one per line or as a JSON list, or nothing.
fn names_in(answer: &str) -> Result<Vec<String>, String> {
    let answer = answer.trim();
    let words: Vec<String> = match answer.starts_with('[') {
        true => serde_json::from_str(answer).map_err(|error| format!("the answer is not a list of names: {error}"))?,
        false => answer.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect(),
    };
    let name = |word: &String| {
        let bare = word.trim_start_matches(['-', '*', ' ']).trim_matches(['`', '"', '\'']);
        let bare = bare.rsplit('/').next().unwrap_or(bare);
        let shown = || word.chars().take(100).collect::<String>();
        SkillName::parse(bare)
            .map(|name| name.to_string())
            .map_err(|_| format!("{:?} is not the name of a skill", shown()))
    };
    words.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_names_alone() {
        let names = |answer: &str| names_in(answer).ok();
        let two = Some(vec!["pdf-forms".to_owned(), "docs".to_owned()]);
        for answer in ["pdf-forms\ndocs\n", "[\"pdf-forms\", \"docs\"]", "- `pdf-forms`\n\n* acme/docs"] {
            assert_eq!(names(answer), two, "{answer}");
        }
        assert_eq!((names(""), names(" \n"), names("[]")), (Some(vec![]), Some(vec![]), Some(vec![])));
        for prose in ["I would read pdf-forms.", "[7]", "[\"a b\"]", "{\"skills\": []}", "[\"pdf"] {
            assert_eq!(names(prose), None, "{prose}");
        }
    }
}
