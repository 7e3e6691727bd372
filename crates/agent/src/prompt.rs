//! [`prompt`]: what a model is told of the skills that there are.

mod forms;

use library::Scope;

use crate::{
    catalogue::Listed,
    safe_text::{code, one_line},
};

/// A form of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `<available_skills>` as the standard has it.
    Xml,
    /// Markdown: the skills of the project, of the user and of the program apart, with how to read them.
    Markdown,
    /// One section with how to use skills, labels and the paths of a container.
    DeerFlow,
    /// The description of a tool named `skill`.
    OpenCode,
    /// Names only, and how to find out more.
    Names,
}

/// How a list is written.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// Its form.
    pub form: Form,
    /// Where skills stand for an agent in a container, for [`Form::DeerFlow`].
    pub container_path: Option<&'a str>,
    /// Whether the agent is told when to change skills.
    pub evolution: bool,
}

/// The list of `skills`, of which `left_out` more have no room.
#[must_use]
pub fn prompt(skills: &[&Listed], left_out: &[&Listed], look: Look<'_>) -> String {
    let mut text = match look.form {
        Form::Xml => forms::xml(skills),
        Form::Markdown => forms::markdown(skills),
        Form::DeerFlow => forms::deerflow(skills, look.container_path.unwrap_or(forms::CONTAINER_PATH)),
        Form::OpenCode => forms::opencode(skills),
        Form::Names => forms::names(skills),
    };
    text.push_str(&rest(left_out));
    if look.evolution {
        text.push_str(evolution_advice());
    }
    text
}

/// What an agent is told of the skills that did not fit.
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
    "<skill_evolution>
You may improve skills with `skill_manage`; every change is checked, kept in a history and can be undone.
- Patch a skill at once when you used it and it was wrong, out of date or lacked a step that you had to find out.
- Think of a new skill after work that took five or more tool calls, after errors that you overcame, after a correction \
by the user, or when the same kind of work comes back. Ask the user before you create one.
- Prefer `patch` with a short `find` over `edit`, which replaces the whole file, and give a `reason`.
- Write what holds in general: no secrets, no names of one task, nothing that only this conversation knows.
- A change that is held waits for a person; go on without it. A refusal says what to do.
</skill_evolution>
"
}

/// One skill as an item of a Markdown list.
fn item(listed: &Listed) -> String {
    let location = listed.location();
    let place = if location.is_empty() { String::new() } else { format!(" ({})", code(&location)) };
    format!("- **{}**: {}{place}\n", one_line(listed.name.as_str()), one_line(&listed.description))
}

/// What a list calls the skills of a scope.
fn title(scope: Scope) -> &'static str {
    match scope {
        Scope::Project => "Project skills (they go before user skills of the same name)",
        Scope::User => "User skills",
        Scope::Builtin => "Built-in skills",
    }
}
