//! The section of DeerFlow: `<skill_system>` and `<critical_reminders>`.

use library::Scope;

use super::Look;
use crate::{
    catalogue::Listed,
    safe_text::{escape, one_line},
};

/// The folder of skills in a container, where nothing else is said.
const CONTAINER_PATH: &str = "/mnt/skills";

const PATTERN: &str = "<skill_system>
Skills are folders with instructions, references and scripts, each for one kind of work that somebody has done well \
before.

**Progressive Loading Pattern:**
1. As soon as a request fits what a skill is for, call `read_file` on the path in its `<location>` below
2. Read the instructions to the end before you act on them
3. They refer to further files in the same folder
4. Load such a file at the step that needs it, not before
5. Keep to the instructions
";

const REMINDERS: &str = "<critical_reminders>
- Skill First: before **complex** work, load the skill that fits it.
- Progressive Loading: load further files one by one, when the skill gets to them.
</critical_reminders>
";

/// The section and the reminders.
pub(super) fn prompt(skills: &[&Listed], look: Look<'_>) -> String {
    let root = look.container_path.unwrap_or(CONTAINER_PATH).trim_end_matches('/');
    let items: String = skills.iter().map(|listed| item(listed, root)).collect();
    format!(
        "{PATTERN}\n**Skills are located at:** {}\n\n<available_skills>\n{items}</available_skills>\n\
         </skill_system>\n{REMINDERS}",
        escape(root)
    )
}

/// The folder of a skill for an agent in a container.
pub(crate) fn folder_in(container_path: Option<&str>, listed: &Listed) -> String {
    let root = container_path.unwrap_or(CONTAINER_PATH).trim_end_matches('/');
    let category = if listed.scope == Scope::Builtin { "public" } else { "custom" };
    match &listed.group {
        Some(group) => format!("{root}/{category}/{group}/{}", listed.name),
        None => format!("{root}/{category}/{}", listed.name),
    }
}

fn item(listed: &Listed, root: &str) -> String {
    let label = match listed.scope {
        Scope::Builtin => " [built-in]",
        Scope::Project | Scope::User if listed.found_elsewhere => "",
        Scope::Project | Scope::User => " [custom, editable]",
    };
    let (name, description) = (escape(listed.name.as_str()), one_line(&listed.description));
    let location = escape(&format!("{}/SKILL.md", folder_in(Some(root), listed))).into_owned();
    format!(
        "<skill>\n<name>{name}</name>\n<description>{description}{label}</description>\n\
         <location>{location}</location>\n</skill>\n"
    )
}
