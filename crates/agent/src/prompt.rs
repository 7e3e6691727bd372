//! [`prompt`]: the list of skills for a model.

mod deerflow;
mod forms;
mod opencode;
mod spring;
mod tree;

use std::path::Path;

pub(crate) use tree::Tree;

use crate::{listed_skill::ListedSkill, safe_text::one_line, settings::Settings};

/// All forms of the list. The form of another system is a separate module, connected only by its entry here.
pub const FORMS: &[Form] = &[Form::XML, spring::MARKDOWN, deerflow::DEERFLOW, opencode::OPENCODE, Form::NAMES];

/// Form of the list.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Name in requests.
    pub name: &'static str,
    /// Description for people who choose a form.
    pub about: &'static str,
    /// True if an agent that may change skills gets advice on when to do so.
    pub tells_of_evolution: bool,
    /// Layout of skills in a container, if the form shows it.
    tree: Option<Tree>,
    /// Formats the skills, given those that did not fit.
    write: fn(&[&ListedSkill], &[&ListedSkill], ListOptions<'_>) -> String,
}

impl Form {
    /// `<available_skills>` as in the standard.
    pub const XML: Self = Self {
        name: "xml",
        about: "`<available_skills>` as in the Agent Skills standard",
        tells_of_evolution: false,
        tree: None,
        write: forms::xml,
    };

    /// Names only, with advice on finding out more.
    const NAMES: Self = Self { name: "names", about: "Names only", write: forms::names, ..Self::XML };

    /// Returns the form with a name from a request.
    pub fn named(name: &str) -> Option<Self> {
        FORMS.iter().find(|form| form.name == name).copied()
    }

    /// Lists the names of all forms, with a word such as "or" before the last.
    pub fn all_names(word: &str) -> String {
        let names: Vec<&str> = FORMS.iter().map(|form| form.name).collect();
        let (last, others) = names.split_last().unwrap_or((&"", &[]));
        format!("{} {word} {last}", others.join(", "))
    }
}

/// Yields the container layouts of all forms.
pub(crate) fn trees() -> impl Iterator<Item = Tree> {
    FORMS.iter().filter_map(|form| form.tree)
}

impl<'a> ListOptions<'a> {
    /// Returns the form for an agent, with advice on changing skills if the form has it and the agent may.
    pub fn for_agent(form: Form, settings: &'a Settings, agent: &str) -> Self {
        let evolution = form.tells_of_evolution && settings.mentions_evolution(agent);
        Self { container_path: settings.container_path.as_deref(), evolution, ..Self::of(form) }
    }
}

/// Options for formatting a list.
#[derive(Debug, Clone, Copy)]
pub struct ListOptions<'a> {
    /// Form of the list.
    pub form: Form,
    /// Root of the skills for an agent in a container, for forms that show it.
    pub container_path: Option<&'a str>,
    /// Folder with the files of the built-in skills. Without it, they are referred to by resource URIs.
    pub builtin: Option<&'a Path>,
    /// True to include the advice on changing skills.
    pub evolution: bool,
}

impl<'a> ListOptions<'a> {
    /// Returns the default options for a form.
    pub fn of(form: Form) -> Self {
        Self { form, container_path: None, builtin: None, evolution: false }
    }

    /// Returns the absolute path of a skill's folder, or the resource URI of a built-in skill without one.
    fn folder(&self, listed: &ListedSkill) -> String {
        let name = listed.name.as_str();
        match (&listed.path, self.builtin) {
            (Some(path), _) => path.to_string_lossy().into_owned(),
            (None, Some(builtin)) => builtin.join(name).to_string_lossy().into_owned(),
            (None, None) => format!("skill://skillhub/{name}"),
        }
    }

    /// Returns the location of the `SKILL.md` in that folder.
    pub fn location(&self, listed: &ListedSkill) -> String {
        self.folder(listed) + "/SKILL.md"
    }
}

/// Formats the list of `skills`. `left_out` are those that did not fit.
pub fn prompt(skills: &[&ListedSkill], left_out: &[&ListedSkill], look: ListOptions<'_>) -> String {
    let mut text = (look.form.write)(skills, left_out, look);
    text.push_str(&rest(left_out));
    if look.evolution {
        text.push_str(evolution_advice());
    }
    text
}

/// Returns the sentence about the skills that did not fit.
fn rest(left_out: &[&ListedSkill]) -> String {
    if left_out.is_empty() {
        return String::new();
    }
    let names: Vec<String> = left_out.iter().map(|listed| one_line(listed.name.as_str())).collect();
    format!(
        "{} not listed in full: {}. Search for skills by what you need to do, or read one by its name.\n",
        skill::counted(names.len(), "more skill"),
        names.join(", ")
    )
}

/// Returns the advice on when and how an agent should change skills.
pub fn evolution_advice() -> &'static str {
    "
## Skill Self-Evolution

You may improve skills with `skill_manage`. Every change is checked, recorded in a history and can be undone.
- Patch a skill at once if you used it and found it wrong, out of date, or without a step that you had to work out.
- Consider a new skill after work that took 5+ tool calls, after errors that you solved, after a correction \
by the user that proved right, or when the same kind of work recurs. Ask the user before you create one.
- Prefer `patch` with a short `find` over `edit`, which replaces the whole file, and give a `reason`.
- Write general rules: no secrets, no details of a single task, nothing that only this conversation knows.
- A held change waits for a person's decision; continue without it. If a change is refused, follow the hint.
"
}
