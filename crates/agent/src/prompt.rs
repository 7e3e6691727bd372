//! [`prompt`]: what a model is told of the skills that there are.

mod deerflow;
mod forms;
mod opencode;
mod spring;
mod tree;

use std::path::Path;

pub(crate) use tree::Tree;

use crate::{listed::Listed, safe_text::one_line, settings::Settings};

/// Every form of the list. Those of other systems are a module each, and hang on what is here by their line alone.
pub const FORMS: &[Form] = &[Form::XML, spring::MARKDOWN, deerflow::DEERFLOW, opencode::OPENCODE, Form::NAMES];

/// A form of the list.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Its name in requests.
    pub name: &'static str,
    /// What people who choose one are told of it.
    pub about: &'static str,
    /// Whether an agent that may change skills is told when to.
    pub tells_of_evolution: bool,
    /// Where skills stand for an agent in a container, if it tells that.
    tree: Option<Tree>,
    /// Writes the skills in it, with those in mind that have no room.
    write: fn(&[&Listed], &[&Listed], Look<'_>) -> String,
}

impl Form {
    /// `<available_skills>` as the standard has it.
    pub const XML: Self = Self {
        name: "xml",
        about: "`<available_skills>` as the standard has it",
        tells_of_evolution: false,
        tree: None,
        write: forms::xml,
    };

    /// Names only, and how to find out more.
    const NAMES: Self = Self { name: "names", about: "Names only", write: forms::names, ..Self::XML };

    /// The form of a name, as requests have it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        FORMS.iter().find(|form| form.name == name).copied()
    }

    /// The names of all, with a word such as "or" before the last.
    #[must_use]
    pub fn all_names(word: &str) -> String {
        let names: Vec<&str> = FORMS.iter().map(|form| form.name).collect();
        let (last, others) = names.split_last().unwrap_or((&"", &[]));
        format!("{} {word} {last}", others.join(", "))
    }
}

/// The trees of skills that forms tell of.
pub(crate) fn trees() -> impl Iterator<Item = Tree> {
    FORMS.iter().filter_map(|form| form.tree)
}

impl<'a> Look<'a> {
    /// The form as an agent gets it, in some with the advice to change skills where it may.
    #[must_use]
    pub fn for_agent(form: Form, settings: &'a Settings, agent: &str) -> Self {
        let evolution = form.tells_of_evolution && settings.tells_of_evolution(agent);
        Self { container_path: settings.container_path.as_deref(), evolution, ..Self::of(form) }
    }
}

/// How a list is written.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// Its form.
    pub form: Form,
    /// Where skills stand for an agent in a container, for forms that tell it.
    pub container_path: Option<&'a str>,
    /// The folder with the files of the built-in skills; without it they are named by their resources.
    pub builtin: Option<&'a Path>,
    /// Whether the agent is told when to change skills.
    pub evolution: bool,
}

impl<'a> Look<'a> {
    /// A form with nothing else said.
    #[must_use]
    pub fn of(form: Form) -> Self {
        Self { form, container_path: None, builtin: None, evolution: false }
    }

    /// The folder that a skill can be read from, absolute; the resource of a built-in one that has none.
    fn folder(&self, listed: &Listed) -> String {
        let name = listed.name.as_str();
        match (&listed.path, self.builtin) {
            (Some(path), _) => path.to_string_lossy().into_owned(),
            (None, Some(builtin)) => builtin.join(name).to_string_lossy().into_owned(),
            (None, None) => format!("skill://skillhub/{name}"),
        }
    }

    /// The `SKILL.md` in that folder.
    #[must_use]
    pub fn location(&self, listed: &Listed) -> String {
        self.folder(listed) + "/SKILL.md"
    }
}

/// The list of `skills`, of which `left_out` more have no room.
#[must_use]
pub fn prompt(skills: &[&Listed], left_out: &[&Listed], look: Look<'_>) -> String {
    let mut text = (look.form.write)(skills, left_out, look);
    text.push_str(&rest(left_out));
    if look.evolution {
        text.push_str(evolution_advice());
    }
    text
}

/// The sentence about the skills that did not fit.
fn rest(left_out: &[&Listed]) -> String {
    if left_out.is_empty() {
        return String::new();
    }
    let names: Vec<String> = left_out.iter().map(|listed| one_line(listed.name.as_str())).collect();
    format!(
        "{} not described here: {}. Search them by what you need to do, or read one by its name.\n",
        skill::counted(names.len(), "more skill"),
        names.join(", ")
    )
}

/// When an agent should change skills, and how.
#[must_use]
pub fn evolution_advice() -> &'static str {
    "
## Skill Self-Evolution

You may improve skills with `skill_manage`; every change is checked, kept in a history and can be undone.
- Patch a skill at once when you used it and it was wrong, out of date or lacked a step that you had to find out.
- Think of a new skill after work that took 5+ tool calls, after errors that you overcame, after a correction \
by the user that turned out right, or when the same kind of work comes back. Ask the user before you create one.
- Prefer `patch` with a short `find` over `edit`, which replaces the whole file, and give a `reason`.
- Write what holds in general: no secrets, no names of one task, nothing that only this conversation knows.
- A change that is held waits for a person; go on without it. A refusal says what to do.
"
}
