//! `record --hook`: starts the import of the session that a host reports, or leads links to revisions on trial if the
//! session begins.
//!
//! Hosts wait for their hooks, and some end them with the session. So for an import, this process only reads the report
//! and starts `skillhub record --import`, which outlives it.

use std::{
    ffi::OsString,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use ::process::{child, start_detached};
use evolve::Host;
use ops::{Setup, Workspace};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    context::{Context, setup},
    exit::Exit,
    global::Global,
};

/// Maximum size of a report, in bytes. Only the plugin of one host sends contents, and cuts them.
const REPORT_BYTES: u64 = 16 << 20;

/// Maximum number of folders, one for each day, that are searched for a session.
const DAYS: usize = 1000;

/// Maximum length of the id of a session, in bytes.
const ID_BYTES: usize = 100;

/// A session that can be imported.
#[derive(Debug, Default, PartialEq, Eq)]
struct Session {
    /// Folder in which the host works.
    folder: Option<PathBuf>,
    /// Transcripts, as arguments of `record --import`.
    transcripts: Vec<OsString>,
    /// Transcript on standard input.
    input: Vec<u8>,
}

/// Report of a session that begins.
#[derive(Debug, Deserialize)]
struct BegunSession {
    hook_event_name: String,
    session_id: String,
    /// Folder in which the host works.
    cwd: Option<PathBuf>,
}

/// Starts the import or leads links. Whatever happens, nothing is printed, and the exit code is 0: a host's session never fails
/// because of its record.
pub fn run(global: &Global, words: &[String]) -> Exit {
    let _nothing_to_import = start(global, words);
    Exit::Done
}

fn start(global: &Global, words: &[String]) -> Option<()> {
    let (host, given) = words.split_first()?;
    let host = Host::from_word(host)?;
    let context = Context::new(global).ok().filter(|context| context.settings().is_ok_and(|it| it.use_log))?;
    let report = match given.first() {
        Some(report) => report.clone().into_bytes(),
        None => standard_input()?,
    };
    if let Some(begun) = begun(&report) {
        return follow_trials(global, &context, host, begun);
    }
    let session = session(host, report, &context.user_home)?;
    let mut command = child::command(std::env::current_exe().ok()?);
    if let Some(library) = &global.library {
        command.arg("--library").arg(context.absolute(library));
    }
    command.arg("--actor").arg(format!("agent:{}", host.as_str()));
    command.args(["record", "--import", host.as_str()]).args(&session.transcripts);
    if let Some(folder) = session.folder.filter(|folder| folder.is_dir()) {
        command.current_dir(folder);
    }
    start_detached(&mut command, &session.input).ok()
}

/// Parses the report of a session that begins; `None` for any other report.
fn begun(report: &[u8]) -> Option<BegunSession> {
    let begun: BegunSession = serde_json::from_slice(report).ok()?;
    let is_usable = (1..=ID_BYTES).contains(&begun.session_id.len());
    (begun.hook_event_name == "SessionStart" && is_usable).then_some(begun)
}

/// Makes the links in the host's own folders lead to the revisions that the session gets.
fn follow_trials(global: &Global, context: &Context, host: Host, begun: BegunSession) -> Option<()> {
    let around = setup(global).ok()?;
    let library = around.library.map(|library| context.absolute(&library));
    let cwd = begun.cwd.filter(|folder| folder.is_absolute() && folder.is_dir()).unwrap_or(around.cwd);
    let place = Workspace::open(Setup { library, cwd, ..around }).ok()?;
    let (agent, run) = (place.host(host.as_str())?, host.run(&begun.session_id));
    for library in place.visible_libraries().ok()? {
        let _left_to_next_session = evolve::follow_trials(&library, &run, |path| agent.owns(path));
    }
    Some(())
}

fn standard_input() -> Option<Vec<u8>> {
    let mut report = Vec::new();
    std::io::stdin().lock().take(REPORT_BYTES + 1).read_to_end(&mut report).ok()?;
    (report.len() as u64 <= REPORT_BYTES).then_some(report)
}

/// Determines what a report refers to; `None` if it is malformed or refers to nothing.
fn session(host: Host, report: Vec<u8>, home: &Path) -> Option<Session> {
    if host == Host::OpenCode {
        return Some(Session { folder: None, transcripts: vec!["-".into()], input: report });
    }
    let report: Value = serde_json::from_slice(&report).ok()?;
    let transcript = match host {
        Host::Codex => codex_transcript(home, report["thread-id"].as_str()?)?,
        _ => PathBuf::from(report["transcript_path"].as_str()?),
    };
    if !transcript.is_absolute() || !transcript.is_file() {
        return None;
    }
    // The conversations of subagents are in a folder beside it.
    let beside = Some(transcript.with_extension("")).filter(|folder| host == Host::ClaudeCode && folder.is_dir());
    let transcripts = [Some(transcript), beside].into_iter().flatten().map(OsString::from).collect();
    Some(Session { folder: report["cwd"].as_str().map(PathBuf::from), transcripts, input: Vec::new() })
}

/// Finds the transcript of a conversation: `sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl`.
fn codex_transcript(home: &Path, id: &str) -> Option<PathBuf> {
    let is_id = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if id.is_empty() || id.len() > ID_BYTES || !id.chars().all(is_id) {
        return None;
    }
    let own = std::env::var_os("CODEX_HOME").filter(|path| !path.is_empty());
    let sessions = own.map_or_else(|| home.join(".codex"), PathBuf::from).join("sessions");
    let ending = format!("-{id}.jsonl");
    let days = newest_first(&sessions).into_iter().flat_map(|year| newest_first(&year));
    let days = days.flat_map(|month| newest_first(&month)).take(DAYS);
    days.flat_map(|day| newest_first(&day)).find(|file| file.to_string_lossy().ends_with(&ending))
}

/// Returns the entries of a folder, the last by name first. A folder that cannot be read has none.
fn newest_first(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort_by(|one, other| other.cmp(one));
    paths
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reports_name_the_transcript() {
        let home = tempfile::tempdir().unwrap();
        let day = home.path().join(".codex/sessions/2026/01/02");
        fs::create_dir_all(&day).unwrap();
        let rollout = day.join("rollout-2026-01-02T03-04-05-a1b2.jsonl");
        fs::write(&rollout, "{}\n").unwrap();
        let found = |host: Host, report: &Value| session(host, report.to_string().into_bytes(), home.path());
        let codex = json!({"thread-id": "a1b2", "cwd": "/work"});
        let expected = |transcripts: &[&Path]| Session {
            folder: Some("/work".into()),
            transcripts: transcripts.iter().map(|path| path.as_os_str().to_owned()).collect(),
            input: Vec::new(),
        };
        assert_eq!(found(Host::Codex, &codex), Some(expected(&[&rollout])));
        let claude = json!({"transcript_path": rollout, "cwd": "/work"});
        assert_eq!(found(Host::GeminiCli, &claude), Some(expected(&[&rollout])));
        let beside = rollout.with_extension("");
        fs::create_dir(&beside).unwrap();
        assert_eq!(found(Host::ClaudeCode, &claude), Some(expected(&[&rollout, &beside])));
    }

    #[test]
    fn session_starts_are_recognised() {
        let is_start = |event: &str, id: &str| {
            begun(json!({"hook_event_name": event, "session_id": id, "source": "startup"}).to_string().as_bytes())
                .is_some()
        };
        assert!(is_start("SessionStart", "a1b2"));
        assert!(!is_start("SessionEnd", "a1b2") && !is_start("SessionStart", ""));
        assert!(!is_start("SessionStart", &"x".repeat(ID_BYTES + 1)));
        assert!(begun(b"[]").is_none() && begun(b"").is_none());
    }

    #[test]
    fn unusable_reports_start_nothing() {
        let home = tempfile::tempdir().unwrap();
        for (host, report) in [
            (Host::Codex, "{\"thread-id\": \"../a\"}"),
            (Host::Codex, "{\"thread-id\": \"a1b2\"}"),
            (Host::ClaudeCode, "{\"transcript_path\": \"relative.jsonl\"}"),
            (Host::ClaudeCode, "{\"transcript_path\": \"/\"}"),
            (Host::GeminiCli, "{\"transcript_path\": 7}"),
            (Host::GeminiCli, "no JSON"),
        ] {
            assert_eq!(session(host, report.as_bytes().to_vec(), home.path()), None, "{host:?} {report}");
        }
    }
}
