//! [`skill_md`]: the initial `SKILL.md` of a new skill, and [`placeholders`]: its lines that are still unedited.

use crate::frontmatter;

/// Lines of the template's body for the author to replace.
const BODY: [&str; 3] = [
    "Say which tasks this skill is for, and which it is not.",
    "1. Write what to do, in the order of doing it.",
    "2. Put long material into `references/` and programs into `scripts/`, and say here when to open them.",
];

/// Start of the template's description, before the skill's name.
const DESCRIPTION: &str = "TODO: say what ";

/// End of the template's description, after the skill's name.
const WHEN: &str = "Use when TODO: name the tasks and words that should bring it up.";

/// Returns the text of a new skill, with a title if it has another one than its name. Without a description, it contains a placeholder.
pub fn skill_md(name: &str, title: Option<&str>, description: Option<&str>) -> String {
    let unwritten = format!("{DESCRIPTION}{name} does. {WHEN}");
    let heading = title.map_or_else(|| name.split('-').map(capitalised).collect::<Vec<_>>().join(" "), str::to_owned);
    let metadata = title.map(|title| format!("metadata:\n  title: {}\n", frontmatter::scalar(title)));
    let [scope, first, second] = BODY;
    format!(
        "---\nname: {}\ndescription: {}\n{}---\n\n# {heading}\n\n## When to use\n\n{scope}\n\n## Steps\n\n{first}\n{second}\n",
        frontmatter::scalar(name),
        frontmatter::scalar(description.unwrap_or(&unwritten)),
        metadata.unwrap_or_default(),
    )
}

/// Returns the numbers, from 1, of the lines that are unchanged from the template.
pub fn placeholders(skill_md: &str) -> Vec<usize> {
    let is_placeholder = |line: &str| {
        let description = line.strip_prefix("description:").map(|text| text.trim_start_matches([' ', '"', '\'']));
        description.is_some_and(|text| text.starts_with(DESCRIPTION)) || BODY.contains(&line)
    };
    let numbered = skill_md.lines().enumerate();
    numbered.filter(|(_, line)| is_placeholder(line.trim_end())).map(|(number, _)| number + 1).collect()
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untouched_lines_are_placeholders() {
        assert_eq!(placeholders(&skill_md("pdf-forms", None, None)), [3, 10, 14, 15]);
        assert_eq!(placeholders(&skill_md("pdf-forms", None, Some("Fills PDF forms."))), [10, 14, 15]);
    }

    #[test]
    fn written_skill_has_no_placeholders() {
        let text = skill_md("pdf-forms", None, Some("Fills forms. TODO lists are not its work."));
        let written = text.replace(BODY[0], "Forms in PDF.").replace(BODY[1], "1. Open it.").replace(BODY[2], "");
        assert_eq!(placeholders(&written), [0_usize; 0]);
    }

    #[test]
    fn crlf_template_is_recognised() {
        assert_eq!(placeholders(&skill_md("a", None, None).replace('\n', "\r\n")), [3, 10, 14, 15]);
    }
}
