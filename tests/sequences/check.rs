//! The check after a step: compares the content that hosts would send with `read`, and expects `list`, `status` and
//! `doctor` to name each difference.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::Value;

use super::{
    hosts::{Host, Sent, files},
    world::{NAMES, World},
};

/// Documents of the commands that name differences.
struct Named {
    list: Value,
    status: Value,
    doctor: Value,
}

/// A skill as sent by a host and as served by `read`.
struct Case<'a> {
    name: &'a str,
    host: Host,
    sent: BTreeSet<Sent>,
    /// The skill's row of `list`.
    row: Option<&'a Value>,
    /// `SKILL.md` as served by `read`; `None` if it refuses.
    served: Option<&'a str>,
}

impl World {
    /// Checks that each agent reads what `read` serves, or that the difference is named.
    pub fn check(&mut self) {
        let was_killed = std::mem::take(&mut self.is_killed);
        let named = self.ask_all();
        if was_killed {
            self.check_recovered(&named.list);
        }
        for name in NAMES {
            let row = row(&named.list, name);
            let read = self.run(&["read", name, "SKILL.md"], b"");
            let served = (read.exit == 0).then(|| read.json()["text"].as_str().unwrap().to_owned());
            if let Some(text) = &served {
                let body = self.run(&["read", name], b"").done()["content"].as_str().unwrap().to_owned();
                assert!(text.ends_with(&body), "{name}: {text:?} and {body:?}");
            }
            for host in self.hosts.clone() {
                let sent = host.sends(name, self.project().as_deref(), &self.layout.sandbox.home());
                let kind = self.compare(&Case { name, host, sent, row, served: served.as_deref() }, &named);
                if let Some(kind) = kind {
                    *self.tally.named.entry(kind.to_owned()).or_default() += 1;
                }
            }
        }
    }

    fn ask_all(&mut self) -> Named {
        let list = self.run(&["list"], b"");
        let status = self.run(&["status"], b"");
        let doctor = self.run(&["doctor"], b"");
        let (status_exit, doctor_exit) = (status.exit, doctor.exit);
        assert_eq!(list.exit, 0, "{list}");
        let (list, status, doctor) = (list.json(), status.json(), doctor.json());
        let problems = status["problems"].as_array().is_some_and(|problems| !problems.is_empty());
        assert_eq!(status_exit, if problems { 8 } else { 0 }, "{status:#}");
        for check in doctor["checks"].as_array().unwrap().iter().filter(|check| check["state"] != "ok") {
            let code = check["code"].as_str().unwrap().to_owned();
            *self.tally.findings.entry(code).or_default() += 1;
        }
        assert_eq!(doctor_exit == 0, open_findings(&doctor).is_empty(), "{doctor:#}");
        Named { list, status, doctor }
    }

    /// Checks that the command after a kill left no skill between two revisions.
    fn check_recovered(&mut self, list: &Value) {
        for name in std::mem::take(&mut self.unedited) {
            let is_edited = row(list, &name).is_some_and(|row| row["edited"] == true || row["fault"].is_string());
            assert!(!is_edited, "{name} is half changed after a kill: {:#}", row(list, &name).unwrap());
        }
    }

    /// Records the skills whose folders match a revision.
    pub fn note_unedited(&mut self) {
        let list = self.run(&["list"], b"").json();
        let is_unedited = |row: &&Value| row["managed"] == true && row["edited"] == false && row["fault"].is_null();
        let rows = list["skills"].as_array().unwrap().iter().filter(is_unedited);
        self.unedited = rows.map(|row| bare(row["name"].as_str().unwrap()).to_owned()).collect();
    }

    /// Compares the content that a host sends with that of `read`. Returns the kind of a named difference.
    fn compare(&self, case: &Case<'_>, named: &Named) -> Option<&'static str> {
        let Case { name, host, sent, row, served } = case;
        let library = self.skill(name);
        let is_in_library =
            row.is_some_and(|row| row["path"].as_str().is_some_and(|path| Path::new(path) == real(&library)));
        if !is_in_library {
            return self.unmanaged(case, named);
        }
        let row = (*row)?;
        let Some(served) = served else { return self.refused(case, row, named) };
        if sent.is_empty() {
            if self.is_hidden(name, *host) {
                return None;
            }
            named.names_lacking(name, *host);
            return Some("lacking");
        }
        let is_other = |sent: &Sent| {
            sent.text != *served || sent.folder != real(&library) && files(&sent.folder) != files(&library)
        };
        if sent.iter().any(is_other) {
            named.names_other(name, *host);
            return Some(if row["held"].is_string() { "held edit" } else { "other content" });
        }
        let is_alarmed = named.list["differences"].as_array().unwrap().iter().any(|one| concerns(one, name, *host));
        assert!(!is_alarmed || row["held"].is_string(), "{name}, {}: a false alarm: {:#}", host.id, named.list);
        let reads = row["agents"].as_array().unwrap().iter().any(|agent| agent == host.id);
        assert!(reads || is_alarmed, "{name}: {} reads it, `list` has {row:#}", host.id);
        None
    }

    /// Checks a skill that `read` refuses: hosts do not send it, or the difference is named.
    fn refused(&self, case: &Case<'_>, row: &Value, named: &Named) -> Option<&'static str> {
        let Case { name, host, sent, .. } = case;
        if sent.is_empty() {
            return None;
        }
        if row["enabled"] == false {
            named.names_hidden(case, row);
            return Some("disabled, and read");
        }
        let library = real(&self.skill(name));
        if !library.exists() {
            named.names_other(name, *host);
            return Some("without a folder in the library");
        }
        assert!(row["fault"].is_string(), "{name}: {} sends it, `read` refuses it, `list` has {row:#}", host.id);
        let state = named.state(name);
        assert!(["blocked", "missing", "absent"].contains(&state.as_str()), "{name} is {state}, {:#}", named.status);
        named.doctor_names(name, "");
        Some("blocked")
    }

    /// Checks a skill without a folder in the library: hosts do not send it, or `list` shows it as unmanaged.
    fn unmanaged(&self, case: &Case<'_>, named: &Named) -> Option<&'static str> {
        let Case { name, sent, host, .. } = case;
        if sent.is_empty() {
            return None;
        }
        let unmanaged = named.list["unmanaged"].as_array().unwrap();
        let is_named = unmanaged.iter().any(|found| found["name"] == *name);
        assert!(is_named, "{name}: {} sends {sent:#?}, `list` has {:#}", host.id, named.list);
        Some("unmanaged")
    }

    /// Returns whether the library's state hides a skill from an agent.
    fn is_hidden(&self, name: &str, host: Host) -> bool {
        host.id == "claude-code" && self.set_of(name).any(|set| self.hides(&set))
    }

    /// Returns whether a skill is disabled or hidden from Claude Code. Any command then removes a link to it that git
    /// restored.
    pub fn is_withheld(&self, name: &str) -> bool {
        self.set_of(name)
            .any(|set| set.get("enabled").and_then(toml::Value::as_bool) == Some(false) || self.hides(&set))
    }

    fn hides(&self, set: &toml::Value) -> bool {
        let own = real(&self.layout.folder(".claude/skills"));
        let folders = set.get("hidden_in").and_then(toml::Value::as_array).into_iter().flatten();
        folders.filter_map(toml::Value::as_str).any(|folder| Path::new(folder) == own)
    }

    /// Returns the settings of a skill.
    fn set_of(&self, name: &str) -> impl Iterator<Item = toml::Value> {
        let libraries = fs::read_dir(self.layout.sandbox.skillhub_home().join("libraries")).unwrap();
        libraries.filter_map(move |entry| {
            let text = fs::read_to_string(entry.unwrap().path().join("state.toml")).ok()?;
            text.parse::<toml::Table>().ok()?.get("skills")?.get(name).cloned()
        })
    }
}

impl Named {
    /// Checks that every command names an agent that reads other content.
    #[track_caller]
    fn names_other(&self, name: &str, host: Host) {
        for (command, list) in [("list", &self.list["differences"]), ("status", &self.status["problems"])] {
            let is_named = list.as_array().is_some_and(|list| list.iter().any(|one| concerns(one, name, host)));
            assert!(is_named, "`{command}` does not name that {} reads other content of {name}: {list:#}", host.id);
        }
        self.doctor_names(name, host.id);
    }

    /// Checks that every command names an agent that does not find a skill.
    #[track_caller]
    fn names_lacking(&self, name: &str, host: Host) {
        for (command, document) in [("list", &self.list), ("status", &self.status)] {
            let lacks = |one: &Value| {
                one["agent"] == host.id && one["skills"].as_array().unwrap().iter().any(|skill| skill == name)
            };
            let is_named = document["lacking"].as_array().is_some_and(|list| list.iter().any(lacks));
            assert!(is_named, "`{command}` does not name that {} lacks {name}: {document:#}", host.id);
        }
        let checks = self.doctor["checks"].as_array().unwrap();
        let is_named = checks.iter().any(|check| check["code"] == "agent_not_linked" && check["path"] == host.id);
        assert!(is_named, "`doctor` does not name that {} lacks {name}: {:#}", host.id, self.doctor);
    }

    /// Checks that a host that reads a disabled skill is named.
    #[track_caller]
    fn names_hidden(&self, case: &Case<'_>, row: &Value) {
        let Case { name, host, .. } = case;
        let is_listed = row["agents"].as_array().unwrap().iter().any(|agent| agent == host.id);
        let Some(warnings) = self.status["warnings"].as_array() else {
            return;
        };
        let of_list = self.list["differences"].as_array().unwrap();
        assert!(is_listed || of_list.iter().any(|one| concerns(one, name, *host)), "`list` has {row:#}");
        let mut of_status = self.status["problems"].as_array().unwrap().iter().chain(warnings);
        let is_named = of_status.any(|one| concerns(one, name, *host));
        assert!(is_named, "{name} is disabled, {} sends it, `status` has {:#}", host.id, self.status);
        let mut checks = self.doctor["checks"].as_array().unwrap().iter();
        let is_named = checks.any(|check| {
            let message = check["message"].as_str().unwrap();
            check["check"] == "agents" && message.contains(name) && message.contains(host.id)
        });
        assert!(is_named, "{name} is disabled, {} sends it, `doctor` has {:#}", host.id, self.doctor);
    }

    /// Checks that an open finding of `doctor` has both words.
    #[track_caller]
    fn doctor_names(&self, name: &str, agent: &str) {
        let findings = open_findings(&self.doctor);
        let is_named = findings.iter().any(|finding| {
            let text = format!("{} {}", finding["path"], finding["message"]);
            text.contains(name) && text.contains(agent)
        });
        assert!(is_named, "`doctor` does not name {name} {agent}: {findings:#?}");
    }

    /// Returns the state of a skill in `status`.
    fn state(&self, name: &str) -> String {
        let skills = self.status["skills"].as_array().unwrap();
        let skill = skills.iter().find(|skill| skill["name"] == name);
        skill.map(|skill| skill["state"].as_str().unwrap().to_owned()).unwrap_or_default()
    }
}

fn open_findings(doctor: &Value) -> Vec<&Value> {
    let checks = doctor["checks"].as_array().unwrap().iter();
    checks.filter(|check| matches!(check["state"].as_str(), Some("found" | "cannot"))).collect()
}

fn concerns(difference: &Value, name: &str, host: Host) -> bool {
    difference["skill"] == name && difference["agents"].as_array().is_some_and(|all| all.iter().any(|id| id == host.id))
}

fn row<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    list["skills"].as_array().unwrap().iter().find(|row| bare(row["name"].as_str().unwrap()) == name)
}

fn bare(name: &str) -> &str {
    name.rsplit('/').next().unwrap()
}

/// Resolves the links in a path's parent.
fn real(path: &Path) -> std::path::PathBuf {
    let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
    parent.map_or_else(|| path.to_owned(), |parent| parent.join(path.file_name().unwrap()))
}
