//! Detection of DeerFlow's configuration files in the project, with the equivalent settings of skillhub.
//!
//! These files are never applied: they may come with a clone, and they name a folder that is written to. Only values of
//! the right type are shown, for a person to copy.

use std::path::{Path, PathBuf};

use library::{open_dir, read_bounded};
use serde_json::{Map, Value};
use skill::{Limits, SkillName, frontmatter};

use super::Findings;
use crate::{context::Context, print::visible};

/// Reports each file with the equivalent configuration lines and commands.
pub fn check(context: &Context, findings: &mut Findings) {
    let root = context.project_root().unwrap_or_else(|| context.cwd.clone());
    type Reader = fn(&Path, &str) -> Vec<String>;
    for (name, read) in [("config.yaml", of_config as Reader), ("extensions_config.json", of_extensions)] {
        let lines = text_of(&root, name).map(|text| read(&root, &text)).unwrap_or_default();
        if !lines.is_empty() {
            let path = root.join(name);
            let message =
                format!("skillhub ignores this file of DeerFlow; the equivalent settings are: {}", lines.join(", "));
            findings.note("config", "deerflow", path.display(), visible(&message));
        }
    }
}

fn text_of(root: &Path, name: &str) -> Option<String> {
    let dir = open_dir(root).ok().flatten()?;
    String::from_utf8(read_bounded(&dir, name, Limits::default().state_bytes).ok()??).ok()
}

/// Returns the `config.toml` lines equivalent to the file's sections about skills.
fn of_config(root: &Path, text: &str) -> Vec<String> {
    let fields = frontmatter::as_json(&format!("---\n{text}\n---\n"), &Limits::default()).unwrap_or_default();
    let mut lines = Vec::new();
    if let Some(skills) = fields.get("skills").and_then(Value::as_object) {
        let text = |key: &str| skills.get(key).and_then(Value::as_str);
        // DeerFlow writes paths as `./skills`. Collecting the components drops such dots.
        let folder: PathBuf = root.join(text("path").unwrap_or("skills")).components().collect();
        lines.push(line("skills.path", &folder.display().to_string()));
        lines.extend(text("container_path").map(|path| line("skills.container_path", path)));
    }
    let enabled = fields.get("skill_evolution").and_then(|evolution| evolution.get("enabled"));
    lines.extend(enabled.and_then(Value::as_bool).map(|is| format!("`skill_evolution.enabled = {is}`")));
    lines
}

fn line(key: &str, value: &str) -> String {
    format!("`{key} = {}`", toml::Value::from(value))
}

/// Returns the commands for skills that the file disables.
fn of_extensions(_: &Path, text: &str) -> Vec<String> {
    let fields: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
    let skills = fields.get("skills").and_then(Value::as_object).into_iter().flatten();
    let off = skills.filter(|(_, state)| state["enabled"] == false).filter_map(|(name, _)| SkillName::parse(name).ok());
    off.map(|name| format!("`skillhub disable {name}`")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // DF1, DF2, DF4
    #[test]
    fn files_of_deerflow_become_lines_and_commands() {
        let config = "models: []\nskills:\n  use: \"deerflow.skills.storage.local_skill_storage:LocalSkillStorage\"\n  \
                      path: null\n  container_path: \"/mnt/skills\"\nskill_evolution:\n  enabled: true\n";
        let lines = ["`skills.path = \"/deer/skills\"`", "`skills.container_path = \"/mnt/skills\"`"];
        let evolution = "`skill_evolution.enabled = true`";
        assert_eq!(of_config(Path::new("/deer"), config), [lines[0], lines[1], evolution]);
        for path in ["./skills", "././skills/", "skills/."] {
            let told = of_config(Path::new("/deer"), &format!("skills:\n  path: {path}\n"));
            assert_eq!(told, [lines[0]], "{path}");
        }
        for other in ["", "skills: []", "a: [", "skill_evolution: {enabled: maybe}"] {
            assert!(of_config(Path::new("/deer"), other).is_empty(), "{other}");
        }
        let extensions = r#"{"skills": {"data-analysis": {"enabled": true}, "bootstrap": {"enabled": false},
            "x; rm": {"enabled": false}}}"#;
        assert_eq!(of_extensions(Path::new("/deer"), extensions), ["`skillhub disable bootstrap`"]);
        assert!(of_extensions(Path::new("/deer"), "[").is_empty());
    }
}
