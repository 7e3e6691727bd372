//! [`body`]: available updates as the text of a pull request, in Markdown.
//!
//! Texts of other people, such as changelogs, are code. In code, hosts expand no HTML, links, mentions or commands.

use anstream::adapter::strip_str;
use client::{Installed, Outdated};
use scan::CapabilityDelta;

use crate::{
    exit::CliError,
    hints,
    print::{capability_lines, visible},
};

/// Maximum length of the text in characters. Code hosts accept 65,536.
const CHARS: usize = 65_000;

/// Characters that are reserved for the last line.
const LAST_LINE_CHARS: usize = 200;

/// Maximum length of a quoted line in characters.
const LINE_CHARS: usize = 300;

/// Maximum number of quoted lines of each kind about one skill.
const LINES: usize = 40;

/// Writes the text about skills with an update, a warning or an error. `preview` has the results of a dry run of the
/// update, from which the added capabilities are taken.
pub fn body(skills: &[&Outdated], preview: &Result<Vec<Installed>, CliError>) -> String {
    let mut text = "## Updates of skills\n".to_owned();
    if skills.is_empty() {
        text.push_str("\nAll installed skills are up to date.\n");
    }
    if let Err(error) = preview {
        text.push_str(&format!("\nCapabilities are not compared: {}\n", code(&error.message)));
    }
    let results = preview.as_deref().unwrap_or_default();
    let of_skill = |skill: &Outdated| results.iter().find(|result| is_about(result, skill));
    let required = results.iter().filter(|result| result.previous.is_none() && result.error.is_none());
    let sections = skills.iter().map(|skill| section(skill, of_skill(skill)));
    let sections: Vec<String> = sections.chain(required.map(new_requirement)).collect();
    let mut chars = text.chars().count();
    for (written, section) in sections.iter().enumerate() {
        chars += section.chars().count();
        if chars > CHARS - LAST_LINE_CHARS {
            let more = sections.len() - written;
            text.push_str(&format!("\n{more} more, which `skillhub outdated` lists.\n"));
            break;
        }
        text.push_str(section);
    }
    text
}

/// Returns whether a result of the dry run is about an installed skill, which may have another name than its release.
fn is_about(result: &Installed, skill: &Outdated) -> bool {
    let folder = result.path.as_ref().and_then(|path| path.file_name()?.to_str());
    result.name == skill.origin.name() && folder.is_none_or(|folder| folder == skill.skill.as_str())
}

fn section(skill: &Outdated, result: Option<&Installed>) -> String {
    let origin = &skill.origin;
    let installed = origin.commit().map(ToString::to_string).or(origin.version()).unwrap_or_default();
    let mut text = format!("\n### {}\n\n", code(&origin.name()));
    match &skill.wanted {
        Some(wanted) => text.push_str(&format!("{} → {}", code(&installed), code(wanted))),
        None => text.push_str(&code(&installed)),
    }
    text.push_str(&format!(" from {}\n", code(origin.location())));
    push_list(&mut text, "Notes", skill.warnings.iter().map(|warning| hints::for_user(warning)));
    push_list(&mut text, "Not checked", skill.error.iter().map(ToString::to_string));
    if let Some(result) = result.filter(|_| skill.wanted.is_some()) {
        let error = result.error.iter().filter(|_| result.conflicts.is_empty());
        push_list(&mut text, "This update fails", error.map(ToString::to_string));
        push_list(&mut text, "Conflicts with local changes", result.conflicts.iter().map(ToString::to_string));
        push_delta(&mut text, result.delta.as_ref());
    }
    push_changelog(&mut text, skill);
    text
}

/// Describes a skill that an update brings, because it requires it.
fn new_requirement(result: &Installed) -> String {
    let version = result.version.as_deref().unwrap_or_default();
    let mut text = format!("\n### {}\n\nnew: {}, required by an update\n", code(&result.name), code(version));
    let lines = result.capabilities.iter().flat_map(capability_lines);
    push_list(&mut text, "Capabilities", lines.map(|line| strip_str(&line).to_string()));
    text
}

fn push_delta(text: &mut String, delta: Option<&CapabilityDelta>) {
    let Some(delta) = delta else { return };
    push_list(text, "New capabilities", delta.added.iter().map(ToString::to_string));
    text.push_str(match (delta.complete, delta.added.is_empty()) {
        (true, true) => "\nNo new capabilities\n",
        (true, false) => "",
        (false, _) => "\nThe skill is too large for a complete comparison of capabilities.\n",
    });
}

/// Adds a list of quoted lines under a title. An empty list adds nothing.
fn push_list(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return;
    }
    text.push_str(&format!("\n{title}:\n\n"));
    lines.iter().take(LINES).for_each(|line| text.push_str(&format!("- {}\n", code(line))));
    if lines.len() > LINES {
        text.push_str(&format!("- and {} more\n", lines.len() - LINES));
    }
}

/// Adds the changelogs as a block of code, whose fence is longer than any in them.
fn push_changelog(text: &mut String, skill: &Outdated) {
    let of_release = |version: &str, changelog: &str| {
        let lines = changelog.lines().map(|line| format!("  {}", cut(line)));
        [cut(version)].into_iter().chain(lines).collect::<Vec<_>>()
    };
    let lines: Vec<String> =
        skill.notes.iter().flat_map(|notes| of_release(&notes.version, &notes.changelog)).collect();
    if lines.is_empty() {
        return;
    }
    let shown = lines.get(..LINES).unwrap_or(&lines).join("\n");
    let fence = "`".repeat(longest_run(&shown).max(2) + 1);
    text.push_str(&format!("\nChanges:\n\n{fence}text\n{shown}\n{fence}\n"));
    if lines.len() > LINES {
        text.push_str(&format!("\nand {} more lines\n", lines.len() - LINES));
    }
}

/// Formats a text as inline code.
fn code(text: &str) -> String {
    let shown = cut(text);
    let fence = "`".repeat(longest_run(&shown) + 1);
    match shown.trim().is_empty() {
        true => "(none)".to_owned(),
        false if shown.contains('`') => format!("{fence} {shown} {fence}"),
        false => format!("`{shown}`"),
    }
}

/// Escapes hidden characters, and shortens the line to the maximum length.
fn cut(line: &str) -> String {
    skill::shortened(&visible(line), LINE_CHARS)
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use client::ReleaseNotes;
    use library::{Origin, SourceDigest, SourceSkill};
    use skill::{Digest, SkillName};

    use super::*;

    #[test]
    fn quoted_texts_cannot_end_their_code() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a ``b`` @ann"), "``` a ``b`` @ann ```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code(" \n"), "` \\u{a}`");
        assert_eq!(code(""), "(none)");
        assert_eq!(code(&"x".repeat(900)).chars().count(), LINE_CHARS + 3);
    }

    #[test]
    fn text_fits_into_a_pull_request() {
        let outdated = |at: usize| {
            let name = SkillName::parse(&format!("skill-{at}")).unwrap();
            let digest = SourceDigest::Known(Digest::of_bytes(b""));
            let origin = Origin::Folder {
                path: "é".repeat(5000),
                skill: SourceSkill { name: name.clone(), version: None, digest },
            };
            let notes = vec![ReleaseNotes { version: "1.1.0".to_owned(), changelog: "``\n".repeat(1300) }; 50];
            let warnings = vec!["@ann".repeat(1000); 90];
            let (requested, wanted) = (String::new(), Some("1.1.0".to_owned()));
            Outdated { skill: name, origin, requested, wanted, newest: None, notes, warnings, error: None }
        };
        let skills: Vec<Outdated> = (0..60).map(outdated).collect();
        let text = body(&skills.iter().collect::<Vec<_>>(), &Ok(Vec::new()));
        let chars = text.chars().count();
        assert!((40_000..=CHARS).contains(&chars), "{chars}");
        assert!(text.ends_with("more, which `skillhub outdated` lists.\n"), "{text}");
        assert!(text.contains("\nand 65010 more lines\n") && text.contains("- and 50 more\n"), "{text}");
    }
}
