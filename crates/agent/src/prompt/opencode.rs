//! Description of a tool named `skill`, in the format of OpenCode.

use super::{Form, ListOptions};
use crate::{
    listed_skill::ListedSkill,
    safe_text::{escape, one_line},
};

/// Description of a tool that opens a skill.
pub(super) const OPENCODE: Form =
    Form { name: "opencode", about: "Description of a tool named `skill`", write, ..Form::XML };

fn write(skills: &[&ListedSkill], left_out: &[&ListedSkill], look: ListOptions<'_>) -> String {
    if skills.is_empty() && left_out.is_empty() {
        return "Open a skill by its name. No skills are available.\n".to_owned();
    }
    let mut text = String::from(
        "Open a skill: the instructions for one kind of work, and a list of its other files. Call this tool with the \
         name of a skill below as soon as that skill matches your task.\n<available_skills>\n",
    );
    for listed in skills {
        let (name, description) = (escape(listed.name.as_str()), one_line(&listed.description));
        let location = escape(&look.location(listed)).into_owned();
        text.push_str(&format!(
            "  <skill>\n    <name>{name}</name>\n    <description>{description}</description>\n    \
             <location>{location}</location>\n  </skill>\n"
        ));
    }
    text + "</available_skills>\n"
}
