//! [`line`]: a history entry in the format of DeerFlow.

use std::collections::BTreeSet;

use library::{Action, ActorKind, Revision};
use scan::{Scanner, Verdict};
use serde_json::{Value, json};
use skill::{Bundle, SkillPath};

use super::{lines::Contents, time};

/// Returns the entry of a revision, with file contents if they are given.
pub(super) fn line(revision: &Revision, contents: Option<Contents<'_>>) -> Value {
    let Some((before, after, scanner)) = contents else { return brief(revision) };
    let all: BTreeSet<&SkillPath> = before.paths().chain(after.paths()).collect();
    let changed: Vec<&SkillPath> = all.into_iter().filter(|path| before.get(path) != after.get(path)).collect();
    let skill_md = SkillPath::skill_md();
    let path = changed.iter().find(|path| ***path == skill_md).or(changed.first()).map_or(&skill_md, |path| *path);
    let text = |files: &Bundle| files.get(path).and_then(|file| file.text().map(str::to_owned));
    let mut entry = brief(revision);
    entry["file_path"] = json!(path.as_str());
    entry["prev_content"] = json!(text(before));
    entry["new_content"] = json!(text(after));
    entry["files"] = changed.iter().map(|path| path.as_str()).collect();
    entry["scanner"] = decision(revision, Some((scanner, after)));
    entry
}

/// Returns an entry without contents.
fn brief(revision: &Revision) -> Value {
    let stamp = &revision.stamp;
    let is_human = matches!(stamp.actor.kind, ActorKind::Person | ActorKind::External);
    let action = match revision.action {
        Action::Edit if is_human => "human_edit",
        Action::Delete if is_human => "human_delete",
        action => action.as_str(),
    };
    json!({
        "ts": time(stamp.time),
        "action": action,
        "author": if is_human { "human" } else { "agent" },
        "thread_id": stamp.thread,
        "file_path": SkillPath::skill_md().as_str(),
        "prev_content": null,
        "new_content": null,
        "scanner": decision(revision, None),
        "history_index": revision.number.saturating_sub(1),
        "revision": revision.id.as_str(),
    })
}

/// Returns the scanner's decision as it was made. The findings are not stored, so they come from the current rules.
fn decision(revision: &Revision, files: Option<(Scanner, &Bundle)>) -> Value {
    let findings = match files.filter(|_| revision.verdict != Verdict::Allow) {
        Some((scanner, files)) => scanner.scan(files).findings,
        None => Vec::new(),
    };
    let reason = match findings.first() {
        _ if revision.verdict == Verdict::Allow => "no relevant findings".to_owned(),
        Some(worst) => format!("{}:{}: {}", worst.path, worst.line, worst.message),
        None => format!("decided by the ruleset {}", revision.ruleset),
    };
    json!({"decision": revision.verdict, "reason": reason, "findings": findings})
}
