//! [`guard`]: what keeps the gate from rolling back a revision by itself.

use library::{Action, ActorKind, Library, Revision, StoredTrial};
use scan::{Scanner, Severity};
use skill::{Bundle, SkillName};
use skill_manage::ManageError;

use crate::gate::GateState;

/// Returns the reason why only a person may roll back a revision: it would revert a change by a person, a
/// release, or a security fix.
pub(super) fn guard(
    library: &Library,
    skill: &SkillName,
    judged: &Revision,
    standing: &GateState,
    trial: Option<&StoredTrial>,
) -> Result<Option<String>, ManageError> {
    let Some(base) = standing.base.first() else {
        return Ok(Some("there is no earlier state to roll back to".to_owned()));
    };
    if let Some(finding) = brought_back(library.scanner(), &library.bundle(base)?, &library.bundle(&judged.id)?) {
        return Ok(Some(format!("a rollback would reintroduce a finding that it fixed: {finding}")));
    }
    if trial.is_some() {
        return Ok(None);
    }
    for revision in library.walk(skill) {
        let revision = revision?;
        if standing.base.contains(&revision.id) {
            break;
        }
        let is_release = matches!(revision.action, Action::Install | Action::Update | Action::Adopt);
        if is_release || (revision.upstream.is_some() && revision.action != Action::Merge) {
            return Ok(Some(format!("revision {} installed a release, which may contain a fix", revision.number)));
        }
        if revision.acceptance.as_ref().is_some_and(|accepted| accepted.reviewer.kind == ActorKind::Person) {
            return Ok(Some(format!("revision {} was accepted by a person", revision.number)));
        }
        let is_return = library.returned_to(skill, &revision)?.is_some();
        if !is_return && matches!(revision.stamp.actor.kind, ActorKind::Person | ActorKind::External) {
            return Ok(Some(format!("revision {} was made by a person", revision.number)));
        }
    }
    Ok(None)
}

/// Returns a finding of at least medium severity that the earlier state has and the later one does not.
fn brought_back(scanner: Scanner, before: &Bundle, after: &Bundle) -> Option<String> {
    let (before, after) = (scanner.scan(before).findings, scanner.scan(after).findings);
    let is_known = |rule: &str, path: &str| after.iter().any(|found| found.rule == rule && found.path == path);
    let mut gone = before.iter().filter(|found| found.severity >= Severity::Medium);
    gone.find(|found| !is_known(&found.rule, &found.path)).map(|found| format!("{} in {}", found.rule, found.path))
}
