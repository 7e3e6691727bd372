//! [`prompt`]: what a model is told of the skills that there are.

mod deerflow;
mod forms;
mod spring;

pub(crate) use deerflow::folder_in;

use std::path::Path;

use library::Scope;

use crate::{catalogue::Listed, safe_text::one_line, settings::Settings};

/// A form of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `<available_skills>` as the standard has it.
    Xml,
    /// Markdown as Spring AI Alibaba has it: the skills of the user, of the project and of the program apart, with how
    /// to read them.
    Markdown,
    /// `<skill_system>` as DeerFlow has it: how to use skills, labels and the paths of a container.
    DeerFlow,
    /// The description of a tool named `skill`, as OpenCode has it.
    OpenCode,
    /// Names only, and how to find out more.
    Names,
}

impl Form {
    /// The form of a name, as requests have it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let known = [
            ("xml", Self::Xml),
            ("markdown", Self::Markdown),
            ("deerflow", Self::DeerFlow),
            ("opencode", Self::OpenCode),
            ("names", Self::Names),
        ];
        known.into_iter().find(|(known, _)| *known == name).map(|(_, form)| form)
    }
}

impl<'a> Look<'a> {
    /// The form as an agent gets it: in DeerFlow's, with the advice to change skills where it may.
    #[must_use]
    pub fn for_agent(form: Form, settings: &'a Settings, agent: &str) -> Self {
        let evolution = form == Form::DeerFlow && settings.tells_of_evolution(agent);
        Self { container_path: settings.container_path.as_deref(), evolution, ..Self::of(form) }
    }
}

/// How a list is written.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// Its form.
    pub form: Form,
    /// Where skills stand for an agent in a container, for [`Form::DeerFlow`].
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
    let mut text = match look.form {
        Form::Xml => forms::xml(skills, look),
        Form::Markdown => spring::prompt(skills, look),
        Form::DeerFlow => deerflow::prompt(skills, look),
        Form::OpenCode if left_out.is_empty() && skills.is_empty() => forms::opencode_none(),
        Form::OpenCode => forms::opencode(skills, look),
        Form::Names => forms::names(skills, left_out),
    };
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

/// The skills of a scope.
fn in_scope<'a>(skills: &'a [&'a Listed], scope: Scope) -> impl Iterator<Item = &'a Listed> {
    skills.iter().copied().filter(move |listed| listed.scope == scope)
}
