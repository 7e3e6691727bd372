//! Tests of held changes: proposed, amended, accepted on a moved head, and never applied without review.

use library::{Action, Proposal, ProposalEntry, ProposalId, ProposalState};

use super::*;
use crate::{
    Reviewer,
    review::{
        Accept, Decider, EditProposal, Editable, ProposalRef, Reject, Rejected, Replacement, ReviewedHead, accept,
        difference, edit, editable, get, reject,
    },
};

/// Returns a library with a policy that holds everything.
pub(super) fn strict() -> Fixture {
    let mut place = Fixture::with_skill();
    place.policy = Preset::Strict;
    place
}

pub(super) fn ann() -> Reviewer {
    Reviewer::for_test("ann")
}

impl Fixture {
    pub(super) fn accept(&mut self, target: &str) -> Result<Report, ManageError> {
        self.accept_at(target, time())
    }

    pub(super) fn accept_at(&mut self, target: &str, time: Timestamp) -> Result<Report, ManageError> {
        let elsewhere = self.elsewhere.clone();
        let context = Context {
            actor: self.actor.clone(),
            time,
            policy: self.policy.into(),
            surroundings: &|| elsewhere.clone(),
        };
        let mut target: ProposalRef = target.parse().unwrap();
        // Reviewed at the current head, unless the test names one.
        let entry = get(&self.library, &target.id).ok();
        if let (None, Some(proposal)) = (&target.head, entry.and_then(ProposalEntry::into_whole)) {
            let head = self.library.head(&proposal.skill).unwrap();
            target.head = Some(ReviewedHead::of(head.as_ref().map(|head| &head.id)));
        }
        let accept_this = Accept { target, reason: Some("fine".to_owned()), trial: None };
        accept(&mut self.library, &accept_this, &ann(), &context)
    }

    pub(super) fn reject(&mut self, target: &str) -> Result<Rejected, ManageError> {
        let this = Reject { target: target.parse().unwrap(), reason: Some("no".to_owned()) };
        reject(&mut self.library, &this, Decider::Person(&ann()), time())
    }

    fn withdraw(&mut self, target: &str) -> Result<Rejected, ManageError> {
        let this = Reject { target: target.parse().unwrap(), reason: None };
        reject(&mut self.library, &this, Decider::Actor(&self.actor.clone()), time())
    }

    pub(super) fn edit_proposal(
        &mut self,
        target: &str,
        files: &[(&str, Option<&str>)],
    ) -> Result<Report, ManageError> {
        let replacements =
            files.iter().map(|(at, text)| Replacement { path: path(at), bytes: text.map(|t| t.as_bytes().to_vec()) });
        let request = EditProposal {
            target: target.parse().unwrap(),
            replacements: replacements.collect(),
            not_executable: Vec::new(),
            shown: None,
            reason: None,
        };
        let context =
            Context { actor: self.actor.clone(), time: time(), policy: self.policy.into(), surroundings: &Vec::new };
        edit(&mut self.library, &request, &ann(), &context)
    }

    /// Sends a request that is held, and returns the id of its proposal.
    pub(super) fn proposed(&mut self, request: Value) -> String {
        self.held(request).proposal.unwrap()
    }

    pub(super) fn proposal(&self, id: &str) -> Proposal {
        get(&self.library, &ProposalId::parse(id).unwrap()).unwrap().into_whole().unwrap()
    }

    /// Returns the status of the last two events, newest first.
    pub(super) fn last_statuses(&self) -> [EventStatus; 2] {
        let events = self.library.events().unwrap().0;
        [1, 2].map(|back| events[events.len() - back].status)
    }

    /// Makes a change as a person, which is applied.
    pub(super) fn by_person(&mut self, request: Value) {
        let actor = std::mem::replace(&mut self.actor, Actor::new(ActorKind::Person, "ben"));
        self.applied(request);
        self.actor = actor;
    }

    pub(super) fn skill_text(&self) -> String {
        self.read("SKILL.md")
    }
}

pub(super) fn write(path: &str, content: &str) -> Value {
    json!({"action": "write_file", "name": "s", "path": path, "content": content})
}

#[test]
fn accepted_revision_names_author_and_reviewer() {
    let mut place = strict();
    let mut request = patch("First.", "1.");
    request["reason"] = json!("shorter");
    let report = place.held(request);
    assert!(report.diff.contains("+1.") && report.revision.is_none(), "{report:?}");
    let id = report.proposal.unwrap();
    assert_eq!(place.last_event().status, EventStatus::Proposed);
    let report = place.accept(&id).unwrap();
    assert_eq!((report.status, report.number, report.proposal.as_deref()), (Status::Applied, Some(2), Some(&*id)));
    let head = place.head();
    assert_eq!((head.action, head.stamp.actor.to_string().as_str()), (Action::Patch, "agent:tester"));
    assert_eq!(head.stamp.reason.as_deref(), Some("shorter"));
    let acceptance = head.acceptance.clone().unwrap();
    assert_eq!((acceptance.proposal, acceptance.reviewer.to_string()), (id.clone(), "person:ann".to_owned()));
    let proposal = place.proposal(&id);
    assert_eq!((proposal.state, proposal.decided.unwrap().revision), (ProposalState::Accepted, Some(head.id)));
    assert_eq!(place.last_statuses(), [EventStatus::Accepted, EventStatus::Applied]);
    assert!(place.skill_text().contains("1."));
}

#[test]
fn acceptance_needs_the_reviewed_head() {
    let mut place = strict();
    let id = place.proposed(patch("First.", "1."));
    let seen = difference(&place.library, &id.parse().unwrap(), false).unwrap().reviewed;
    place.by_person(write("references/more.md", "more\n"));
    let base = place.proposal(&id).base;
    let of_base = format!("{id}@1@{}", ReviewedHead::of(base.as_ref())).parse().unwrap();
    for target in [seen.clone(), of_base] {
        let error = place.undisturbed(|place| place.accept(&target.to_string()).unwrap_err());
        assert_eq!(error.code(), "stale_revision");
        assert!(error.details()["diff"].as_str().unwrap().contains("+1."), "{error}");
    }
    let now = difference(&place.library, &id.parse().unwrap(), true).unwrap().reviewed;
    assert_ne!(now, seen);
    assert_eq!(place.accept(&now.to_string()).unwrap().status, Status::Applied);
}

#[test]
fn proposed_skill_can_be_edited() {
    let mut place = Fixture::new();
    place.policy = Preset::Strict;
    let id = place.proposed(json!({"action": "create", "name": "s", "content": skill_md("s", "# S\n\nFirst.\n")}));
    place.held(patch("First.", "1."));
    place.held(write("references/a.md", "a\n"));
    assert_eq!((place.proposal(&id).revision, place.proposal(&id).action), (3, Action::Create));
    assert!(place.tree().is_empty(), "nothing of a proposal is served");
    assert_eq!(place.accept(&format!("{id}@3")).unwrap().number, Some(1));
    assert_eq!((place.read("references/a.md").as_str(), place.head().action), ("a\n", Action::Create));
    assert!(place.skill_text().ends_with("1.\n"));
}

#[test]
fn cancelling_edits_leave_no_proposal() {
    let mut place = strict();
    let id = place.proposed(write("scripts/new.sh", "#!/bin/sh\necho one\n"));
    let report = place.manage(json!({"action": "remove_file", "name": "s", "path": "scripts/new.sh"})).unwrap();
    assert_eq!((report.status, place.proposal(&id).state), (Status::Unchanged, ProposalState::Rejected));
}

#[test]
fn each_actor_has_own_proposal() {
    let mut place = Fixture::with_skill();
    let warned = script_with(Verdict::Warn);
    let id = place.proposed(write("scripts/run.sh", &warned));
    place.applied(patch("First.", "1."));
    place.actor.id = "other".to_owned();
    let other = place.proposed(write("scripts/other.sh", &warned));
    assert_ne!(id, other);
    place.accept(&id).unwrap();
    place.accept(&other).unwrap();
    assert!(place.skill_text().contains("1."));
    assert_eq!((place.read("scripts/run.sh"), place.read("scripts/other.sh")), (warned.clone(), warned));
}

#[test]
fn moved_base_is_merged_or_stale() {
    let mut place = strict();
    let id = place.proposed(patch("First.", "1."));
    place.by_person(patch("Second.", "2."));
    assert!(difference(&place.library, &id.parse().unwrap(), true).unwrap().conflicts.is_empty());
    place.accept(&id).unwrap();
    assert!(place.skill_text().contains("1.\n\n2."), "{}", place.skill_text());

    let id = place.proposed(patch("1.", "one"));
    place.by_person(patch("1.", "eins"));
    let error = place.undisturbed(|place| place.accept(&id).unwrap_err());
    assert_eq!(error.code(), "merge_conflict");
    assert_eq!(error.details()["conflicts"].as_array().unwrap().len(), 1, "{error}");
    assert_eq!(place.proposal(&id).state, ProposalState::Stale);
    assert_eq!(place.accept(&id).unwrap_err().code(), "merge_conflict");
    let events = place.library.events().unwrap().0;
    assert_eq!(events.iter().filter(|event| event.status == EventStatus::Stale).count(), 1, "it is noted once");
}

#[test]
fn editing_conflicting_files_refreshes_stale_proposal() {
    let mut place = strict();
    let id = place.proposed(json!({"name": "s", "operations": [
        {"action": "patch", "find": "First.", "replace": "1."},
        {"action": "patch", "path": "references/notes.md", "find": "beta", "replace": "BETA"},
    ]}));
    place.by_person(patch("First.", "eins"));
    assert_eq!(place.accept(&id).unwrap_err().code(), "merge_conflict");
    let other = place.edit_proposal(&id, &[("references/notes.md", Some("x\n"))]).unwrap_err();
    assert_eq!(other.code(), "merge_conflict", "it does not settle SKILL.md");
    let settled = skill_md("s", "# S\n\neins, 1.\n\nSecond.\n");
    let report = place.edit_proposal(&id, &[("SKILL.md", Some(&settled))]).unwrap();
    assert_eq!((report.status, report.proposal_revision), (Status::Proposed, Some(2)));
    assert_eq!(place.proposal(&id).edited_by, Some(Actor::new(ActorKind::Person, "ann")));
    place.accept(&format!("{id}@2")).unwrap();
    assert_eq!(place.head().acceptance.unwrap().edited_by, Some(Actor::new(ActorKind::Person, "ann")));
    assert_eq!(place.skill_text(), settled);
    assert_eq!(place.read("references/notes.md"), "alpha\nBETA\nalpha\n");
}

#[test]
fn outdated_edit_keeps_newer_changes() {
    for conflict in [false, true] {
        let mut place = strict();
        let id = place.proposed(patch("First.", "1."));
        place.by_person(patch("Does a thing.", "Does one thing."));
        if conflict {
            place.by_person(patch("First.", "eins"));
        }
        place.edit_proposal(&id, &[("SKILL.md", Some(&skill_md("s", "# S\n\nuno\n\nSecond.\n")))]).unwrap();
        assert_eq!(place.proposal(&id).base, Some(place.head().id));
        place.accept(&format!("{id}@2")).unwrap();
        let text = place.skill_text();
        assert!(text.contains("Does one thing.") && text.ends_with("uno\n\nSecond.\n"), "{text}");
    }
}

#[test]
fn editor_shows_head_with_merged_proposal() {
    let mut place = strict();
    let id = place.proposed(json!({"name": "s", "operations": [
        {"action": "patch", "find": "First.", "replace": "1."},
        {"action": "patch", "path": "references/notes.md", "find": "beta", "replace": "BETA"},
    ]}));
    place.by_person(patch("First.", "eins"));
    let Editable { shown, files, conflicts } = editable(&place.library, &place.proposal(&id)).unwrap();
    assert_eq!((files.len(), conflicts.len()), (2, 1));
    let text = |at: &str| shown.get(&path(at)).unwrap().text().unwrap().to_owned();
    assert_eq!(
        (text("SKILL.md"), text("references/notes.md")),
        (place.skill_text(), "alpha\nBETA\nalpha\n".to_owned())
    );
    place.by_person(patch("Second.", "2."));
    let bytes = Some(text("SKILL.md").replace("eins", "eins, 1.").into_bytes());
    let replacements = vec![Replacement { path: path("SKILL.md"), bytes }];
    let (target, not_executable) = (id.parse().unwrap(), Vec::new());
    let request = EditProposal { target, replacements, not_executable, shown: Some(shown), reason: None };
    let context =
        Context { actor: place.actor.clone(), time: time(), policy: place.policy.into(), surroundings: &Vec::new };
    edit(&mut place.library, &request, &ann(), &context).unwrap();
    place.accept(&format!("{id}@2")).unwrap();
    assert!(place.skill_text().ends_with("eins, 1.\n\n2.\n"), "{}", place.skill_text());
}

#[test]
fn emptying_edit_is_not_deletion() {
    let mut place = Fixture::new();
    place.policy = Preset::Strict;
    let id = place.proposed(json!({"action": "create", "name": "s", "content": skill_md("s", "# S\n")}));
    assert_eq!(place.edit_proposal(&id, &[("SKILL.md", None)]).unwrap_err().code(), "invalid_request");
    assert_eq!(place.proposal(&id).revision, 1);
}

#[test]
fn amended_proposal_needs_its_revision() {
    let mut place = strict();
    let id = place.proposed(patch("First.", "1."));
    place.held(patch("Second.", "2."));
    let error = place.undisturbed(|place| place.accept(&id).unwrap_err());
    assert_eq!((error.code(), &error.details()["revision"]), ("stale_revision", &json!(2)));
    assert!(error.hint().unwrap().to_string().contains(&format!("{id}@2")));
    place.accept(&format!("{id}@2")).unwrap();
}

#[test]
fn edited_proposal_is_validated_and_scanned() {
    let mut place = strict();
    let id = place.proposed(patch("First.", "1."));
    assert_eq!(place.edit_proposal(&id, &[("SKILL.md", Some("no frontmatter"))]).unwrap_err().code(), "invalid_skill");
    let hostile = script_with(Verdict::Block);
    assert_eq!(place.edit_proposal(&id, &[("scripts/run.sh", Some(&hostile))]).unwrap_err().code(), "scan_blocked");
    assert_eq!(place.edit_proposal(&id, &[("assets/none", None)]).unwrap_err().code(), "invalid_request");
    assert_eq!(place.proposal(&id).revision, 1);
    place.edit_proposal(&id, &[("references/notes.md", None)]).unwrap();
    place.accept(&format!("{id}@2")).unwrap();
    assert!(!place.path("references/notes.md").exists());
}

#[test]
fn stale_proposal_allows_another() {
    let mut place = strict();
    let id = place.proposed(patch("First.", "1."));
    place.by_person(patch("First.", "eins"));
    let file = json!({"action": "write_file", "name": "s", "path": "references/new.md", "content": "text\n"});
    let other = place.proposed(file);
    assert_ne!(id, other);
    assert_eq!(place.proposal(&id).state, ProposalState::Stale, "what it holds is nowhere else");
    place.accept(&other).unwrap();
    place.reject(&id).unwrap();
}

#[test]
fn newer_proposal_supersedes_stale_one() {
    let mut place = strict();
    let id = place.proposed(patch("First.", "1."));
    place.by_person(patch("First.", "eins"));
    let other = place.proposed(patch("eins", "one"));
    let old = place.proposal(&id);
    assert_eq!((old.state, old.superseded_by.as_ref()), (ProposalState::Superseded, Some(&place.proposal(&other).id)));
    place.accept(&other).unwrap();
    assert!(place.skill_text().contains("one"));
    assert_eq!(place.reject(&id).unwrap_err().code(), "already_decided");
}

#[test]
fn already_present_change_is_superseded() {
    let mut place = strict();
    let id = place.proposed(patch("First.", "1."));
    place.by_person(patch("First.", "1."));
    let report = place.undisturbed(|place| place.accept(&id).unwrap());
    assert_eq!((report.status, place.proposal(&id).state), (Status::Unchanged, ProposalState::Superseded));
}

#[test]
fn deleted_or_created_skill_conflicts() {
    let mut place = strict();
    let id = place.proposed(patch("First.", "1."));
    place.by_person(json!({"action": "delete", "name": "s"}));
    let error = place.accept(&id).unwrap_err();
    assert!(error.code() == "merge_conflict" && error.to_string().contains("deleted"), "{error}");
    let create = |text: &str| json!({"action": "create", "name": "n", "content": skill_md("n", text)});
    let id = place.proposed(create("# N\n"));
    place.by_person(create("# other\n"));
    let error = place.accept(&id).unwrap_err();
    assert!(error.code() == "merge_conflict" && error.to_string().contains("a skill named n exists"), "{error}");
}

#[test]
fn pinned_skill_refuses_acceptance() {
    let mut place = strict();
    let id = place.proposed(patch("First.", "1."));
    let pin = |place: &Fixture, pinned| {
        place.library.set_state(&name("s"), &place.stamp(), "pin", |state| state.pinned = pinned).unwrap();
    };
    pin(&place, true);
    assert_eq!(place.undisturbed(|place| place.accept(&id).unwrap_err()).code(), "policy_denied");
    assert_eq!(place.proposal(&id).state, ProposalState::Pending);
    pin(&place, false);
    place.accept(&id).unwrap();
}

#[test]
fn hand_edit_is_recorded_before_acceptance() {
    let mut place = strict();
    let id = place.proposed(patch("First.", "1."));
    place.write("references/notes.md", "by hand\n");
    assert_eq!(place.accept(&id).unwrap_err().code(), "stale_revision", "nobody reviewed it with the edit");
    place.accept(&id).unwrap();
    assert_eq!(place.actions()[..2], ["patch", "external"]);
    assert_eq!(place.read("references/notes.md"), "by hand\n");
    let id = place.proposed(patch("1.", "one"));
    place.write("scripts/run.sh", &script_with(Verdict::Block));
    assert_eq!(place.undisturbed(|place| place.accept(&id).unwrap_err()).code(), "external_blocked");
    assert_eq!(place.proposal(&id).state, ProposalState::Pending);
}

#[test]
fn acceptance_scans_by_current_rules() {
    let mut place = strict();
    let id = place.proposed(write("scripts/new.sh", "#!/bin/sh\necho\n"));
    // Simulate a proposal that was made when the rules let its content pass.
    let mut proposal = place.proposal(&id);
    let base = place.library.bundle(&place.head().id).unwrap();
    let hostile = File { bytes: script_with(Verdict::Block).into_bytes().into(), executable: false };
    let candidate = base.clone().with_file(path("scripts/new.sh"), hostile, &Limits::default()).unwrap();
    proposal.set_candidate(Some(place.head().id), &base, &candidate);
    let event = Event::proposal(&place.stamp(), "s", "patch", EventStatus::Amended, &proposal.id);
    let entry = ProposalEntry::Whole(Box::new(proposal));
    place.library.commit(library::ProposalChange { entry, event }).unwrap();
    let error = place.undisturbed(|place| place.accept(&id).unwrap_err());
    assert_eq!(error.code(), "scan_blocked");
    assert!(!error.details()["findings"].as_array().unwrap().is_empty());
    assert_eq!(place.proposal(&id).state, ProposalState::Quarantined);
    assert_eq!(place.last_statuses(), [EventStatus::Refused, EventStatus::Quarantined]);
    place.edit_proposal(&id, &[("scripts/new.sh", Some("#!/bin/sh\nls\n"))]).unwrap();
    place.accept(&format!("{id}@2")).unwrap();
}

#[test]
fn agents_reject_only_own_proposals() {
    let mut place = strict();
    let id = place.proposed(patch("First.", "1."));
    place.actor.id = "other".to_owned();
    assert_eq!(place.withdraw(&id).unwrap_err().code(), "policy_denied");
    place.actor.id = "tester".to_owned();
    place.withdraw(&id).unwrap();
    assert_eq!(place.withdraw(&id).unwrap_err().code(), "already_decided");
    assert_eq!(place.accept(&id).unwrap_err().code(), "already_decided");
    let id = place.proposed(patch("First.", "1."));
    assert_eq!(place.reject(&format!("{id}@2")).unwrap_err().code(), "stale_revision");
    place.reject(&id).unwrap();
    let decided = place.proposal(&id).decided.unwrap();
    assert_eq!((decided.by.to_string().as_str(), decided.reason.as_deref()), ("person:ann", Some("no")));
}

#[test]
fn expired_proposal_is_refused() {
    let mut place = strict();
    let id = place.proposed(patch("First.", "1."));
    let late = time() + jiff::SignedDuration::from_hours(24 * 30);
    assert_eq!(place.undisturbed(|place| place.accept_at(&id, late).unwrap_err()).code(), "proposal_expired");
    assert_eq!(place.proposal(&id).state, ProposalState::Expired);
    assert_eq!(place.last_statuses(), [EventStatus::Refused, EventStatus::Expired]);
    assert_eq!(place.accept(&id).unwrap_err().code(), "proposal_expired");
    place.reject(&id).unwrap();
    assert_ne!(place.proposed(patch("First.", "1.")), id);
}

#[test]
fn proposal_references_are_validated() {
    let mut place = strict();
    let id = place.proposed(patch("First.", "1."));
    place.policy = Preset::Open;
    place.applied(json!({"action": "delete", "name": "s"}));
    assert_eq!(place.accept(&id).unwrap_err().code(), "merge_conflict");
    for bad in ["", "@1", "a@", "a@x", "../a", "a b"] {
        assert!(bad.parse::<ProposalRef>().is_err(), "{bad}");
    }
    assert_eq!("k7m3qx@2".parse::<ProposalRef>().unwrap().to_string(), "k7m3qx@2");
}
