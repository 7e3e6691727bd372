//! Prompt section of Spring AI Alibaba: Markdown under `## Skills System`.

use library::Scope;

use super::{Form, ListOptions};
use crate::{listed_skill::ListedSkill, safe_text::single_line};

/// Skills of the user, of the project and of the program in separate lists, with instructions for reading them.
pub(super) const MARKDOWN: Form =
    Form { name: "markdown", about: "Markdown, with project and user skills in separate lists", write, ..Form::XML };

const OPENING: &str = "## Skills System

You have a library of skills: folders with instructions, scripts and references, each for one kind of work. They are \
files on this machine.

### Available Skills
";

const USE: &str = "
### How to Use Skills (Progressive Disclosure)

The list above gives the name and purpose of each skill. Load the rest when you need it, in this order:

1. **Find a matching skill**: compare the task with the descriptions
2. **Read its instructions**: call `read_skill` with its name
3. **Follow them**: they contain the steps, examples and advice for this kind of work
4. **Open its other files**: scripts, settings and references, each by its absolute path

#### How to Read The Full Skill Instruction

Call `read_skill` with `skill_name`, with `skill_path` (the folder in the list), or with both for the same skill. It \
returns the text of `SKILL.md` without the frontmatter. For an unknown name, it returns similar names.

**Important:**

  - **For SKILL.md files (skill instructions)**: use only `read_skill` to open them.
  - **For other supporting files that skill uses (scripts, references, etc.)**: use any tool that reads files, with an \
absolute path: the folder in the list, followed by the path in the instructions.

#### When to Use Skills

  - The task matches a description, as \"research X\" matches web-research
  - The work needs special knowledge, or steps in a fixed order
  - A complex task has a proven procedure

#### Skills are Self-Documenting

  - SKILL.md describes what a skill does and how
  - The list above gives its folder

#### Executing Skill Scripts

Run the scripts of a skill by their absolute paths, from any working directory.

### Example Workflow

User: \"Please find out what is new in quantum computing.\"

1. Check the list → \"web-research\" matches
2. Call `read_skill` with its name
3. Follow its steps: search, sort, summarize
4. Run its helper scripts by their absolute paths

When in doubt, check for a matching skill before you start.
";

/// Formats the section of all scopes.
fn write(skills: &[&ListedSkill], _left_out: &[&ListedSkill], look: ListOptions<'_>) -> String {
    let mut text = String::from(OPENING);
    for (scope, title) in [(Scope::User, "User"), (Scope::Project, "Project"), (Scope::Builtin, "Built-in")] {
        let of_scope = skills.iter().filter(|listed| listed.scope == scope);
        let items: String = of_scope.map(|listed| item(listed, look)).collect();
        if !items.is_empty() {
            text.push_str(&format!("\n**{title} Skills:**\n{items}"));
        }
    }
    text + USE
}

fn item(listed: &ListedSkill, look: ListOptions<'_>) -> String {
    let (name, description) = (single_line(listed.name.as_str()), single_line(&listed.description));
    let folder = single_line(&look.folder(listed)).replace('`', "'");
    format!(
        "- **{name}**: {description}  → Its other files are in `{folder}`; prefix the paths that it mentions with this \
         folder.\n"
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::prompt;
    use super::*;

    // SA4
    #[test]
    fn scopes_are_grouped_and_omissions_named() {
        let project = ListedSkill::described("a", "A's & B's.").in_scope(Scope::Project, "/p/.agents/skills/a");
        let user = ListedSkill::described("b", "B.").in_scope(Scope::User, "/u/.agents/skills/b");
        let (builtin, more) = (ListedSkill::described("c", "C."), ListedSkill::described("d", "D."));
        let look = ListOptions { evolution: true, builtin: Some(Path::new("/h/builtin")), ..ListOptions::of(MARKDOWN) };
        let text = prompt(&[&project, &user, &builtin], &[&more], look);
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
        assert!(place("**User Skills:**\n- **b**: B.") < place("**Project Skills:**\n- **a**: A's & B's."), "{text}");
        assert!(place("`/p/.agents/skills/a`") < place("**Built-in Skills:**") && place("`/h/builtin/c`") > 0);
        assert!(place("1 more skill not listed in full: d") < place("## Skill Self-Evolution"));
    }
}
