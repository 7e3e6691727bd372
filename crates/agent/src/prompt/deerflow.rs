//! Prompt section of DeerFlow: `<skill_system>` and `<critical_reminders>`.

use library::Scope;

use super::{Form, ListOptions, Tree};
use crate::{
    listed_skill::ListedSkill,
    safe_text::{escape, one_line},
};

/// Instructions for the use of skills, with labels and container paths.
pub(super) const DEERFLOW: Form = Form {
    name: "deerflow",
    about: "A section with labels and the paths in a container",
    tells_of_evolution: true,
    tree: Some(TREE),
    write,
};

const TREE: Tree = Tree { root: "/mnt/skills", public: "public", custom: "custom" };

const PATTERN: &str = "<skill_system>
Skills are folders with proven instructions, references and scripts, each for one kind of work.

**Progressive Loading Pattern:**
1. As soon as a request matches a skill, call `read_file` on the path in its `<location>` below
2. Read the instructions to the end before you act on them
3. They refer to other files in the same folder
4. Load each file when a step needs it, not before
5. Follow the instructions exactly
";

const REMINDERS: &str = "<critical_reminders>
- Skill First: before **complex** work, load the matching skill.
- Progressive Loading: load other files one by one, when the skill refers to them.
</critical_reminders>
";

/// Formats the section and the reminders.
fn write(skills: &[&ListedSkill], _left_out: &[&ListedSkill], look: ListOptions<'_>) -> String {
    let items: String = skills.iter().map(|listed| item(listed, look)).collect();
    let root = escape(TREE.root(look.container_path));
    format!(
        "{PATTERN}\n**Skills are located at:** {root}\n\n<available_skills>\n{items}</available_skills>\n\
         </skill_system>\n{REMINDERS}"
    )
}

fn item(listed: &ListedSkill, look: ListOptions<'_>) -> String {
    let label = match listed.scope {
        Scope::Builtin => " [built-in]",
        Scope::Project | Scope::User if listed.found_elsewhere => "",
        Scope::Project | Scope::User => " [custom, editable]",
    };
    let (name, description) = (escape(listed.name.as_str()), one_line(&listed.description));
    let location = escape(&format!("{}/SKILL.md", TREE.folder(look.container_path, listed))).into_owned();
    format!(
        "<skill>\n<name>{name}</name>\n<description>{description}{label}</description>\n\
         <location>{location}</location>\n</skill>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::super::prompt;
    use super::*;

    // DF3
    #[test]
    fn skills_show_label_and_container_path() {
        let user = ListedSkill::described("b", "B.").in_scope(Scope::User, "/u/.agents/skills/b");
        let builtin = ListedSkill::described("c", "C.");
        let text = prompt(
            &[&user, &builtin],
            &[],
            ListOptions { container_path: Some("/mnt/x/"), ..ListOptions::of(DEERFLOW) },
        );
        for part in [
            "B. [custom, editable]</description>\n<location>/mnt/x/custom/b/SKILL.md</location>",
            "C. [built-in]</description>\n<location>/mnt/x/public/c/SKILL.md</location>",
            "**Skills are located at:** /mnt/x\n",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
