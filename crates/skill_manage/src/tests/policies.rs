//! Tests of the rights of each actor.

use super::*;

fn pin(place: &Fixture, pinned: bool) {
    place.library.set_state(&name("s"), &place.stamp(), "pin", |state| state.pinned = pinned).unwrap();
}

#[test]
fn pinned_skill_refuses_agents() {
    let mut place = Fixture::with_skill();
    place.applied(patch("First.", "1."));
    pin(&place, true);
    place.policy = Preset::Open;
    for kind in [ActorKind::Agent, ActorKind::Optimizer, ActorKind::External] {
        place.actor.kind = kind;
        for request in [patch("1.", "2."), patch("not there", "x"), json!({"action": "delete", "name": "s"})] {
            let error = place.refused(request);
            assert_eq!(error.code(), "policy_denied", "{kind:?}");
            assert!(error.hint().unwrap().to_string().contains("a person"));
        }
        assert_eq!(place.undisturbed(|place| place.rollback(None).unwrap_err()).code(), "policy_denied");
    }
    place.actor.kind = ActorKind::Person;
    place.applied(patch("1.", "2."));
    pin(&place, false);
    place.actor.kind = ActorKind::Agent;
    place.applied(patch("2.", "3."));
}

#[test]
fn unreadable_state_refuses_agents() {
    let mut place = Fixture::with_skill();
    pin(&place, true);
    fs::write(place.library.own_path().join("state.toml"), "format = 1\n[skil").unwrap();
    assert_eq!(place.refused(patch("First.", "1.")).code(), "damaged_state");
}

#[test]
fn balanced_preset_holds_warned_scripts() {
    let warned = script_with(Verdict::Warn);
    let script = json!({"action": "write_file", "name": "s", "path": "scripts/run.sh", "content": warned});
    let mut place = Fixture::with_skill();
    let report = place.held(script.clone());
    assert!(report.message.contains("scripts/run.sh"), "{}", report.message);
    assert_eq!(place.last_event().status, EventStatus::Proposed);
    place.applied(json!({"action": "write_file", "name": "s", "path": "scripts/run.sh", "content": "#!/bin/sh\nls\n"}));
    place.applied(patch("First.", "1."));
    place.policy = Preset::Open;
    let report = place.applied(script.clone());
    assert_eq!(report.verdict.level, Verdict::Warn);
    let mut people = Fixture::with_skill();
    people.policy = Preset::Strict;
    people.actor.kind = ActorKind::Person;
    people.applied(script);
}

#[test]
fn evals_change_only_on_their_own() {
    let mut place = Fixture::with_skill();
    let evals = json!({"action": "write_file", "path": "evals/evals.json", "content": "{}\n"});
    place.held(json!({"name": "s", "operations": [{"action": "patch", "find": "First.", "replace": "1."}, evals]}));
    place.applied(json!({"name": "s", "operations": [evals]}));
}

#[test]
fn strict_preset_holds_deletion_and_rollback() {
    let mut place = Fixture::with_skill();
    place.applied(patch("First.", "1."));
    place.policy = Preset::Strict;
    let create = json!({"action": "create", "name": "new", "content": skill_md("new", "# N\n")});
    place.held(create);
    let report = place.undisturbed(|place| place.rollback(None).unwrap());
    assert_eq!((report.status, report.action), (Status::Proposed, library::Action::Rollback), "{}", report.message);
    place.held(json!({"action": "delete", "name": "s"}));
}

#[test]
fn content_rejected_by_rollback_is_refused() {
    let mut place = Fixture::with_skill();
    place.applied(patch("First.", "1."));
    let agent = std::mem::replace(&mut place.actor, Actor::new(ActorKind::Person, "ben"));
    place.rollback(None).unwrap();
    place.actor = agent;
    for preset in [Preset::Open, Preset::Balanced, Preset::Strict] {
        place.policy = preset;
        assert_eq!(place.refused(patch("First.", "1.")).code(), "policy_denied", "{preset}");
        assert_eq!(place.undisturbed(|place| place.rollback(Some("2")).unwrap_err()).code(), "policy_denied");
    }
    place.policy = Preset::Balanced;
    place.applied(patch("First.", "One."));
}
