//! Skills that a tool call changes or reads, by the paths and commands in its arguments. Pure text.

use serde_json::Value;

/// Maximum number of skills that one call changes or reads.
const SKILLS: usize = 50;

/// Actions of the tool for skills that change an existing skill.
const ACTIONS: [&str; 4] = ["patch", "edit", "write_file", "remove_file"];

/// Arguments in which hosts pass a file to change.
const PATHS: [&str; 3] = ["file_path", "filePath", "path"];

/// Tools that change a file, by the ends of their names in lower case.
const EDITORS: [&str; 6] = ["edit", "write", "write_file", "replace", "apply_patch", "patch"];

/// Arguments in which hosts pass a command or a patch.
const TEXTS: [&str; 5] = ["command", "cmd", "input", "patch", "patchText"];

/// Folders that hold skills.
const FOLDERS: [&str; 2] = ["skills", "skill"];

/// Returns the skills that a call changes: over MCP, with the host's editor, or with `skillhub manage`.
pub fn changed_skills(tool: &str, arguments: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if tool.ends_with("skill_manage") {
        let is_change = arguments["action"].as_str().is_some_and(|action| ACTIONS.contains(&action));
        found.extend(arguments["name"].as_str().filter(|_| is_change).map(last_segment));
    }
    let tool = tool.to_ascii_lowercase();
    if EDITORS.iter().any(|editor| tool.ends_with(editor)) {
        found.extend(PATHS.iter().filter_map(|name| skill_of_path(arguments[*name].as_str()?)));
    }
    for text in TEXTS.iter().filter_map(|name| arguments[*name].as_str()) {
        found.extend(in_patch(text));
        found.extend(in_command(text));
    }
    found.truncate(SKILLS);
    found
}

/// Returns the skills whose `SKILL.md` a command names by path.
pub fn named_skills(command: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (at, _) in command.match_indices("/SKILL.md").take(SKILLS) {
        let before = command.get(..at).unwrap_or_default();
        let name = before.rsplit(|c: char| !c.is_alphanumeric() && c != '-' && c != '_').next().unwrap_or_default();
        if !name.is_empty() && !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    }
    found
}

fn last_segment(name: &str) -> String {
    name.rsplit('/').next().unwrap_or(name).to_owned()
}

/// Returns the skill of a file below a folder of skills.
fn skill_of_path(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split(['/', '\\']).collect();
    let folder = parts.iter().rposition(|part| FOLDERS.contains(part))?;
    let (name, file) = (parts.get(folder + 1)?, parts.get(folder + 2)?);
    (!name.is_empty() && !file.is_empty()).then(|| (*name).to_owned())
}

/// Returns the skills of the files that a patch in the form of `apply_patch` changes.
fn in_patch(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(|line| skill_of_path(line.strip_prefix("*** Update File: ")?.trim())).take(SKILLS)
}

/// Returns the skills that the commands `skillhub … manage ACTION NAME` in a text change.
fn in_command(text: &str) -> impl Iterator<Item = String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_ours = words.iter().any(|word| last_segment(word) == "skillhub");
    let changes: Vec<String> = words
        .windows(3)
        .filter(|three| matches!(three, ["manage", action, _] if is_ours && ACTIONS.contains(action)))
        .filter_map(|three| three.last().map(|name| last_segment(name.trim_matches(['"', '\'']))))
        .take(SKILLS)
        .collect();
    changes.into_iter()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_are_found_in_each_form() {
        for (tool, arguments) in [
            ("mcp__skillhub__skill_manage", json!({"action": "patch", "name": "acme/pdf", "find": "a"})),
            ("skillhub_skill_manage", json!({"action": "write_file", "name": "pdf"})),
            ("Edit", json!({"file_path": "/home/a/.claude/skills/pdf/SKILL.md"})),
            ("write", json!({"filePath": "C:\\work\\.agents\\skills\\pdf\\scripts\\a.py"})),
            ("replace", json!({"file_path": ".agents/skills/pdf/SKILL.md"})),
            ("apply_patch", json!({"input": "*** Begin Patch\n*** Update File: .agents/skills/pdf/SKILL.md\n"})),
            ("Bash", json!({"command": "cd x && skillhub --global manage patch pdf --find a --replace b"})),
        ] {
            assert_eq!(changed_skills(tool, &arguments), ["pdf"], "{tool} {arguments}");
        }
    }

    #[test]
    fn other_calls_change_nothing() {
        for (tool, arguments) in [
            ("skill_manage", json!({"action": "create", "name": "pdf"})),
            ("Read", json!({"file_path": "/home/a/.claude/skills/pdf/SKILL.md"})),
            ("Edit", json!({"file_path": "/home/a/skills/README.md"})),
            ("Bash", json!({"command": "git manage patch pdf"})),
            ("Bash", json!({"command": "skillhub manage create pdf"})),
            ("Edit", json!({"file_path": 7})),
        ] {
            assert_eq!(changed_skills(tool, &arguments), Vec::<String>::new(), "{tool} {arguments}");
        }
    }

    #[test]
    fn command_names_skills_by_path() {
        assert_eq!(
            named_skills("cat -- /a/skills/pdf/SKILL.md 'b/my-tables/SKILL.md' /a/pdf/SKILL.md"),
            ["pdf", "my-tables"]
        );
        assert_eq!(named_skills("cat SKILL.md /SKILL.md"), Vec::<String>::new());
    }
}
