//! Hooks with which hosts report the start and the end of their sessions: `skillhub record --hook HOST`. At the start,
//! links follow the trials of skills; at the end, outcomes are recorded.
//!
//! | host | form | described in |
//! |---|---|---|
//! | Claude Code 2.1.331 | `hooks.SessionStart` and `hooks.SessionEnd` of `settings.json`, or of `settings.local.json` in a project | code.claude.com/docs/en/hooks |
//! | Codex 0.169.0 | `notify` of `config.toml`, for the user only; it runs after each turn | developers.openai.com/codex/config-advanced |
//! | Gemini CLI 0.61.0 | `hooks.SessionStart` and `hooks.SessionEnd` of `settings.json` | `docs/hooks/reference.md` in its package |
//! | OpenCode 1.18.33 | a file in `plugins`; it gets `session.created`, and `session.idle` after each turn | opencode.ai/docs/plugins |
//!
//! Codex runs the entries of its own `hooks.json` only after the user has trusted each of them, so `notify` is used,
//! which has no event for the start of a session.
//! `tests/hosts` runs the hooks in these versions.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use skill::shell_word;

use super::{Host, HostError, UserFile, below, json as json_file, toml};

/// Place of a host's hook.
#[derive(Debug)]
pub struct HookSite {
    /// File in a project, relative to its root, that only its user reads, if the host has one. A hook runs a program, so
    /// it is not written to a file that others get with the project.
    project: Option<&'static str>,
    /// File in the user's home.
    user: UserFile,
    form: HookForm,
}

/// The syntax of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HookForm {
    /// `{"hooks": {EVENT: [{"hooks": [{"type": "command", "command", "timeout"}]}]}}` for each of [`EVENTS`]
    Events {
        /// Time limit in the host's unit.
        timeout: u64,
    },
    /// `notify = ["skillhub", …]`
    Notify,
    /// A JavaScript file that belongs to skillhub.
    Plugin,
}

/// Hook of Claude Code, with a limit of ten seconds.
pub const CLAUDE_CODE: HookSite = HookSite {
    project: Some(".claude/settings.local.json"),
    user: UserFile { variable: Some("CLAUDE_CONFIG_DIR"), folder: ".claude", file: "settings.json" },
    form: HookForm::Events { timeout: 10 },
};
/// Hook of Codex, which ignores `notify` in projects.
pub const CODEX: HookSite = HookSite {
    project: None,
    user: UserFile { variable: Some("CODEX_HOME"), folder: ".codex", file: "config.toml" },
    form: HookForm::Notify,
};
/// Hook of Gemini CLI, with a limit of ten seconds. The file of a project is shared, so it gets none.
pub const GEMINI_CLI: HookSite =
    HookSite { project: None, user: below(".gemini", "settings.json"), form: HookForm::Events { timeout: 10_000 } };
/// Hook of OpenCode. Plugins of a project are shared, so it gets none.
pub const OPENCODE: HookSite =
    HookSite { project: None, user: below(".config/opencode/plugins", "skillhub.js"), form: HookForm::Plugin };

/// Path of the lists of hooks.
const LISTS: &[&str] = &["hooks"];
/// Names of the lists of hooks at the start and at the end of a session.
const EVENTS: [&str; 2] = ["SessionStart", "SessionEnd"];

/// First words of the plugin, by which it is recognised.
const PLUGIN_MARK: &str = "// Written by skillhub";
const PLUGIN: &str = include_str!("plugin.js");
/// Stands for the command in the plugin's template.
const PLUGIN_COMMAND: &str = "[\"COMMAND\"]";

/// Returns the last words of each hook's command, by which it is recognised.
fn ending(id: &str) -> [String; 3] {
    ["record".to_owned(), "--hook".to_owned(), id.to_owned()]
}

impl Host {
    /// Returns the file of the hook in a project; `None` if the host has no hooks there.
    pub fn project_hook_file(&self, root: &Path) -> Option<PathBuf> {
        Some(root.join(self.hook.as_ref()?.project?))
    }

    /// Returns the file of the user's hook; `None` if the host has no hooks. `variable` reads an environment variable.
    pub fn user_hook_file(&self, home: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
        let file = &self.hook.as_ref()?.user;
        Some(file.variable.and_then(variable).unwrap_or_else(|| home.join(file.folder)).join(file.file))
    }

    /// Adds the hook to a file's text and preserves everything else. `program` is skillhub with its flags. Returns the
    /// text unchanged if the hook is already there.
    ///
    /// # Errors
    /// [`HostError::Taken`] if something of the user has the place of the hook, and [`HostError::Unsafe`] with a
    /// snippet to paste by hand.
    pub fn with_hook(&self, file: &Path, text: &str, program: &[String]) -> Result<String, HostError> {
        if let Some(taken) = self.taken(file, text, program) {
            return Err(taken);
        }
        let made = self.hook_in(text, program);
        made.map_err(|why| HostError::Unsafe {
            file: file.display().to_string(),
            why,
            snippet: self.hook_in("", program).unwrap_or_default(),
        })
    }

    /// Removes the hook from a file's text and preserves everything else. Returns the text unchanged if there is no
    /// hook, and an empty text for a file that holds nothing else.
    ///
    /// # Errors
    /// [`HostError::Left`]
    pub fn without_hook(&self, file: &Path, text: &str) -> Result<String, HostError> {
        let made = match self.hook.as_ref().map(|hook| hook.form) {
            Some(HookForm::Events { .. }) => {
                let without = |text: String, event: &&str| {
                    json_file::retain(&text, LISTS, event, |group| !is_ours(group, self.id))
                };
                EVENTS.iter().try_fold(text.to_owned(), without)
            }
            Some(HookForm::Notify) => toml::remove_notify(text, &ending(self.id)),
            Some(HookForm::Plugin) if text.starts_with(PLUGIN_MARK) => Ok(String::new()),
            Some(HookForm::Plugin) | None => Ok(text.to_owned()),
        };
        made.map_err(|why| HostError::Left {
            file: file.display().to_string(),
            why,
            entry: "the hook `skillhub record`",
        })
    }

    /// Returns the error if the file holds a program or plugin of the user where the hook would be.
    fn taken(&self, file: &Path, text: &str, program: &[String]) -> Option<HostError> {
        let (why, advice) = match self.hook.as_ref()?.form {
            HookForm::Notify if toml::has_other_notify(text, &ending(self.id)) => {
                let command: Vec<String> =
                    program.iter().cloned().chain(ending(self.id)).map(|word| shell_word(&word)).collect();
                let advice = format!(
                    "have that program also run `{} JSON`, with the last argument that {} gave it as JSON",
                    command.join(" "),
                    self.title
                );
                ("`notify` already starts another program", advice)
            }
            HookForm::Plugin if !text.is_empty() && !text.starts_with(PLUGIN_MARK) => {
                let other = file.with_file_name("own-skillhub.js");
                let paths = [file, other.as_path()].map(|path| shell_word(&path.display().to_string()));
                let advice =
                    format!("{} runs all files of that folder, so rename yours: mv {}", self.title, paths.join(" "));
                ("it was not written by skillhub", advice)
            }
            _ => return None,
        };
        Some(HostError::Taken { file: file.display().to_string(), why, advice })
    }

    /// Returns whether the host reports the start of a session, so that its links can follow a trial.
    pub fn reports_starts(&self) -> bool {
        self.hook.as_ref().is_some_and(|hook| hook.form != HookForm::Notify)
    }

    fn hook_in(&self, text: &str, program: &[String]) -> Result<String, String> {
        let words: Vec<String> = program.iter().cloned().chain(ending(self.id)).collect();
        match self.hook.as_ref().map(|hook| hook.form) {
            Some(HookForm::Events { timeout }) => {
                EVENTS.iter().try_fold(text.to_owned(), |text, event| on_event(event, &text, &words, timeout, self.id))
            }
            Some(HookForm::Notify) => toml::set_notify(text, &words),
            Some(HookForm::Plugin) => Ok(PLUGIN.replace(PLUGIN_COMMAND, &json!(words).to_string())),
            None => Err(format!("{} has no hooks", self.title)),
        }
    }
}

/// Adds the hook to the list of an event, in place of one with another command.
fn on_event(event: &str, text: &str, words: &[String], timeout: u64, id: &str) -> Result<String, String> {
    let command = words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
    let group = json!({"hooks": [{"type": "command", "command": command, "timeout": timeout}]});
    let others = json_file::retain(text, LISTS, event, |known| !is_ours(known, id) || *known == group)?;
    let kept = json_file::retain(&others, LISTS, event, |known| !is_ours(known, id))?;
    if kept == others { json_file::push(&others, LISTS, event, &group) } else { Ok(others) }
}

/// Returns whether a group of hooks holds nothing but hooks of skillhub.
fn is_ours(group: &Value, id: &str) -> bool {
    let ending = format!(" {}", ending(id).join(" "));
    let is_hook = |hook: &Value| hook["command"].as_str().is_some_and(|command| command.ends_with(&ending));
    group["hooks"].as_array().is_some_and(|hooks| !hooks.is_empty() && hooks.iter().all(is_hook))
}

#[cfg(test)]
mod tests {
    use skill::failure::Fails;

    use super::*;

    fn host(id: &str) -> &'static Host {
        Host::find(id).unwrap()
    }

    fn with(id: &str, text: &str) -> Result<String, HostError> {
        host(id).with_hook(Path::new("file"), text, &["skillhub".to_owned()])
    }

    fn without(id: &str, text: &str) -> String {
        host(id).without_hook(Path::new("file"), text).unwrap()
    }

    const HOOKED: [&str; 4] = ["claude-code", "codex", "gemini-cli", "opencode"];

    #[test]
    fn empty_file_gets_each_hosts_hook() {
        let hook = |id: &str, timeout: u64| {
            let groups = json!([{"hooks": [
                {"type": "command", "command": format!("skillhub record --hook {id}"), "timeout": timeout},
            ]}]);
            json!({"hooks": {"SessionStart": groups, "SessionEnd": groups}})
        };
        let read = |id: &str| serde_json::from_str::<Value>(&with(id, "").unwrap()).unwrap();
        assert_eq!(read("claude-code"), hook("claude-code", 10));
        assert_eq!(read("gemini-cli"), hook("gemini-cli", 10_000));
        assert_eq!(with("codex", "").unwrap(), "notify = [\"skillhub\", \"record\", \"--hook\", \"codex\"]\n");
        assert!(with("opencode", "").unwrap().contains("= [\"skillhub\",\"record\",\"--hook\",\"opencode\"]\n"));
    }

    #[test]
    fn hook_is_written_once_and_removed() {
        for id in HOOKED {
            let once = with(id, "").unwrap();
            assert_eq!(with(id, &once).unwrap(), once, "{id}");
            assert!(!without(id, &once).contains("skillhub"), "{id}");
            let moved = host(id).with_hook(Path::new("file"), &once, &["/opt/a b/skillhub".to_owned()]).unwrap();
            assert_eq!(with(id, &moved).unwrap(), once, "{id}: another path replaces the former one");
        }
    }

    #[test]
    fn users_hooks_stay_untouched() {
        let own = "{\n  \"theme\": \"dark\", // mine\n  \"hooks\": {\n    \"Stop\": [{ \"hooks\": [] }],\n    \"SessionEnd\": [\n      \
                   { \"hooks\": [{ \"type\": \"command\", \"command\": \"bye.sh\" }] } // said at the end\n    ]\n  }\n}\n";
        for id in ["claude-code", "gemini-cli"] {
            let hooked = with(id, own).unwrap();
            assert!(hooked.contains("bye.sh") && hooked.contains("// said at the end") && hooked.contains("// mine"));
            assert_eq!(without(id, &hooked).replace(char::is_whitespace, ""), own.replace(char::is_whitespace, ""));
            let inline = r#"{"hooks":{"SessionEnd":[{"hooks":[{"command":"bye.sh"}]}]}}"#;
            assert_eq!(without(id, &with(id, inline).unwrap()), inline);
            let before_ours = with(id, "{}").unwrap();
            let after = before_ours.replace("\n    ]", ",\n      {\"hooks\": [{\"command\": \"bye.sh\"}]}\n    ]");
            assert!(without(id, &after).contains("bye.sh") && !without(id, &after).contains("skillhub"), "{after}");
        }
        let toml = "# mine\nmodel = \"x\"\n\n[analytics]\nenabled = false\n";
        assert_eq!(without("codex", &with("codex", toml).unwrap()), toml);
    }

    #[test]
    fn damaged_and_foreign_files_are_refused() {
        for (id, text, why) in [
            ("claude-code", "{\"hooks\": {", "not valid JSON"),
            ("claude-code", "{\"hooks\": []}", "`hooks` is not an object"),
            ("claude-code", "{\"hooks\": {\"SessionEnd\": {}}}", "`hooks.SessionEnd` is not a list"),
            ("gemini-cli", "[]", "`hooks` is not an object"),
            ("codex", "notify = [\"mine.sh\"]\n", "`notify` already starts another program"),
            ("codex", "notify = ", "not valid TOML"),
            ("opencode", "export const Mine = 1\n", "not written by skillhub"),
        ] {
            let error = with(id, text).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
        let advice = |id: &str, text: &str| with(id, text).unwrap_err().failure().hint.unwrap().to_string();
        let advised = advice("codex", "notify = [\"mine.sh\"]\n");
        assert!(advised.contains("`skillhub record --hook codex JSON`") && !advised.contains("notify ="), "{advised}");
        let advised = advice("opencode", "export const Mine = 1\n");
        assert!(advised.ends_with("so rename yours: mv file own-skillhub.js"), "{advised}");
        assert_eq!(without("codex", "notify = [\"mine.sh\"]\n"), "notify = [\"mine.sh\"]\n");
        assert_eq!(without("opencode", "export const Mine = 1\n"), "export const Mine = 1\n");
    }
}
