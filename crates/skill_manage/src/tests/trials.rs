//! Tests of changes on trial: in the history, served to a share of the runs, and nowhere else.

use library::{StoredSetBack, TrialEnd, TrialTerms};

use super::{review::ann, *};
use crate::{
    gate_actor,
    review::{Accept, accept},
    start_trial,
};

fn terms(share: u32) -> TrialTerms {
    TrialTerms {
        rules: 1,
        share,
        rollback_alpha: 300,
        promote_alpha: 500,
        margin: 1_000,
        min_runs: 50,
        max_runs: 400,
        max_days: 30,
        cooldown_days: 14,
        known_rate: None,
    }
}

/// Returns a skill with a held change of its script, accepted on trial.
fn on_trial() -> (Fixture, Report) {
    let mut place = super::review::strict();
    let report = place.held(json!({"action": "patch", "name": "s", "find": "First.", "replace": "Changed."}));
    let target = report.proposal.unwrap().parse().unwrap();
    let actor = place.actor.clone();
    let context = Context { actor, time: time(), policy: place.policy.into(), surroundings: &Vec::new };
    let wish = Accept { target, reason: None, trial: Some(terms(5_000)) };
    let report = accept(&mut place.library, &wish, &ann(), &context).unwrap();
    (place, report)
}

#[test]
fn trial_serves_a_share_of_runs() {
    let (place, report) = on_trial();
    assert!(report.message.contains("on trial with 50 % of the runs"), "{}", report.message);
    let head = place.head();
    assert_eq!((report.number, head.number), (Some(2), 3));
    assert_eq!(head.stamp.actor, gate_actor());
    let skill = name("s");
    let revisions = place.library.revisions(&skill, 9).unwrap();
    assert_eq!(head.digest, revisions[2].digest, "the files before are the head again");
    assert_eq!(revisions[1].acceptance.as_ref().unwrap().reviewer.to_string(), "person:ann");
    let served = |run: usize| place.library.served(&skill, &format!("run-{run}")).unwrap();
    let given: Vec<_> = (0..200).map(served).collect();
    let tried = given.iter().flatten().count();
    assert!((70..130).contains(&tried), "{tried}");
    let one = given.iter().flatten().next().unwrap();
    assert_eq!(Some(&one.head.id), report.revision.as_ref());
    let text = std::fs::read_to_string(one.path.as_ref().unwrap().join("SKILL.md")).unwrap();
    assert!(text.contains("Changed."));
    let live = std::fs::read_to_string(place.library.path().join("s/SKILL.md")).unwrap();
    assert!(!live.contains("Changed."));
    assert_eq!(given, (0..200).map(served).collect::<Vec<_>>(), "a run sees one revision");
    let proposal = place.library.proposals().unwrap().remove(0).into_whole().unwrap();
    assert_eq!(proposal.decided.unwrap().revision, report.revision);
}

#[test]
fn run_keeps_its_revision_during_trial() {
    let (place, report) = on_trial();
    let skill = name("s");
    let run =
        (0..).map(|run| run.to_string()).find(|run| place.library.served(&skill, run).unwrap().is_some()).unwrap();
    let outcome = |revision: &library::RevisionId| library::Outcome {
        v: 1,
        ts: "2026-01-01T00:00:00Z".to_owned(),
        skill: "s".to_owned(),
        revision: revision.clone(),
        event: library::OutcomeKind::Activated,
        run: run.clone(),
        latency_ms: None,
        tokens_in: None,
        tokens_out: None,
        task: None,
        source: None,
        actor: None,
        basis: None,
        thread: None,
        by_author: false,
        query: None,
    };
    assert_eq!(place.library.served(&skill, &run).unwrap().unwrap().head.id, report.revision.unwrap());
    place.library.record_outcomes(&skill, &[outcome(&place.head().id)]).unwrap();
    assert!(place.library.served(&skill, &run).unwrap().is_none());
}

#[test]
fn rolled_back_trial_cannot_restart_soon() {
    let (mut place, report) = on_trial();
    let skill = name("s");
    let trial = place.library.state().unwrap().of(&skill).trial.unwrap();
    let refused = start_trial(&place.library, &skill, "2", terms(100), &ann(), time()).unwrap_err();
    assert!(refused.to_string().contains("already on trial"), "{refused}");
    let set_back = StoredSetBack {
        digest: trial.candidate_digest.clone(),
        until: "2027-01-01T00:00:00Z".to_owned(),
        why: "its runs failed".to_owned(),
    };
    let stamp = Stamp::new(gate_actor(), time());
    let end =
        || TrialEnd { status: EventStatus::RolledBack, decision: json!({"n": 1}), set_back: Some(set_back.clone()) };
    assert!(place.library.end_trial(&skill, &trial.id, &stamp, end()).unwrap());
    assert!(!place.library.end_trial(&skill, &trial.id, &stamp, end()).unwrap(), "once");
    assert_eq!(place.last_event().decision, Some(json!({"n": 1})));
    assert!((0..50).all(|run| place.library.served(&skill, &run.to_string()).unwrap().is_none()));
    place.policy = Preset::Open;
    let again = json!({"action": "patch", "name": "s", "find": "First.", "replace": "Changed."});
    let refused = place.refused(again.clone());
    assert!(refused.to_string().contains("rolled back from exactly these files (its runs failed)"), "{refused}");
    assert!(place.rollback(Some(report.number.unwrap().to_string().as_str())).is_err(), "by no other way");
    place.actor = Actor::new(ActorKind::Person, "ann");
    place.applied(again);
}
