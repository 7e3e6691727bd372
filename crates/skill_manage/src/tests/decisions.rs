//! Tests of combined decisions by people: waivers with acceptances, edits of modes, refused attempts.

use library::{ProposalState, StoredWaiver};

use super::{
    review::{ann, strict, write},
    *,
};
use crate::{
    Waive,
    review::{EditProposal, edit},
    unwaive, waive, waivers_for,
};

/// Creates a waiver of the finding that blocks a proposed script.
fn waive_script(place: &Fixture, script: &str) -> StoredWaiver {
    let bundle = bundle(&[("SKILL.md", skill_md("s", "# S\n").as_str()), ("scripts/new.sh", script)]);
    let report = scan::scan(&bundle);
    let content = Some(File { bytes: script.as_bytes().into(), executable: false });
    let at = path("scripts/new.sh");
    let order = Waive {
        skill: &name("s"),
        rule: &report.findings[0].rule,
        path: Some(&at),
        content,
        reason: "our own host",
        until: None,
    };
    waive(&place.library, &order, &ann(), Timestamp::now()).unwrap()
}

#[test]
fn waiver_releases_only_the_reviewed_content() {
    let mut place = strict();
    let script = script_with(Verdict::Block);
    let waiver = waive_script(&place, &script);
    let id = place.proposed(write("scripts/new.sh", &script));
    unwaive(&place.library, &waiver.id, &ann(), Timestamp::now()).unwrap();
    let error = place.undisturbed(|place| place.accept(&id).unwrap_err());
    assert!(error.code() == "scan_blocked" && error.hint().unwrap().to_string().contains("waive s"), "{error}");
    assert_eq!(place.proposal(&id).state, ProposalState::Quarantined);
    waive_script(&place, &format!("{script}echo another\n"));
    assert_eq!(place.accept(&id).unwrap_err().code(), "scan_blocked", "a waiver of another content");
    waive_script(&place, &script);
    let report = place.accept(&id).unwrap();
    assert!(report.status == Status::Applied && report.verdict.level < Verdict::Block, "{:?}", report.verdict);
    assert!(report.verdict.findings.iter().any(|finding| finding.waived), "{:?}", report.verdict);
    assert_eq!(place.read("scripts/new.sh"), script);
}

/// Returns the waivers under which a skill with this script passes.
fn accept(script: &str, reason: &str) -> Result<Vec<StoredWaiver>, crate::WaiveError> {
    let files = bundle(&[("SKILL.md", skill_md("s", "# S\n").as_str()), ("scripts/new.sh", script)]);
    let blocked = scan::clear(files, scan::Baseline::None).unwrap_err();
    let (reviewer, now) = (ann(), Timestamp::now());
    let waivers = waivers_for(&name("s"), &blocked, reason, &reviewer, now, &skill::Limits::default())?;
    let scanned = scan::Waivers::new(waivers.iter().filter_map(|waiver| waiver.at(now)));
    let cleared = scan::waive(Err(blocked), &scanned).unwrap();
    assert!(cleared.report().findings.iter().any(|finding| finding.waived));
    Ok(waivers)
}

#[test]
fn waivers_let_a_blocked_skill_pass() {
    let waivers = accept(&script_with(Verdict::Block), " our own host ").unwrap();
    let first = &waivers[0];
    assert_eq!((first.path.as_str(), first.reason.as_str()), ("scripts/new.sh", "our own host"));
    assert!(waivers.iter().all(|waiver| waiver.by == ann().actor().to_string()), "{waivers:?}");
}

#[test]
fn unfinished_scan_cannot_be_accepted() {
    let (md, flood) = (skill_md("s", "# S\n"), "iex curl base64 -d ".repeat(40_000));
    let paths: Vec<String> = (0..8).map(|number| format!("scripts/{number}.sh")).collect();
    let floods = paths.iter().map(|path| (path.as_str(), flood.as_str()));
    let files: Vec<(&str, &str)> = floods.chain([("SKILL.md", md.as_str())]).collect();
    let files = bundle(&files);
    let blocked = scan::clear(files, scan::Baseline::None).unwrap_err();
    let (ann, limits) = (ann(), skill::Limits::default());
    let error = waivers_for(&name("s"), &blocked, "why", &ann, Timestamp::now(), &limits).unwrap_err();
    assert!(matches!(error, crate::WaiveError::NotWaivable(_)), "{error}");
    assert!(matches!(accept(&script_with(Verdict::Block), " ").unwrap_err(), crate::WaiveError::Reason(_)));
}

/// Edits a proposal to clear executable bits.
fn take_bits(place: &mut Fixture, target: &str, files: &[&str]) -> Result<Report, ManageError> {
    let not_executable = files.iter().map(|file| path(file)).collect();
    let (target, replacements) = (target.parse().unwrap(), Vec::new());
    let request = EditProposal { target, replacements, not_executable, shown: None, reason: None };
    let context =
        Context { actor: place.actor.clone(), time: time(), policy: place.policy.into(), surroundings: &Vec::new };
    edit(&mut place.library, &request, &ann(), &context)
}

#[test]
fn person_can_clear_proposed_executable_bit() {
    let mut place = strict();
    let mut request = write("scripts/new.sh", SCRIPT);
    request["executable"] = json!(true);
    let id = place.proposed(request);
    assert_eq!(take_bits(&mut place, &id, &["scripts/none.sh"]).unwrap_err().code(), "not_found");
    assert_eq!(take_bits(&mut place, &id, &["references/notes.md"]).unwrap_err().code(), "invalid_request");
    place.edit_proposal(&id, &[("scripts/new.sh", Some("#!/bin/sh\nls\n"))]).unwrap();
    let executable = |place: &Fixture| {
        let files = place.proposal(&id).files;
        files.into_iter().find(|file| file.path == path("scripts/new.sh")).unwrap().file.unwrap().executable
    };
    assert!(executable(&place), "an edit of its text alone keeps it");
    take_bits(&mut place, &id, &["scripts/new.sh", "scripts/run.sh"]).unwrap();
    assert!(!executable(&place));
    place.accept(&format!("{id}@3")).unwrap();
    for (at, text) in [("scripts/new.sh", "#!/bin/sh\nls\n"), ("scripts/run.sh", SCRIPT)] {
        assert_eq!((place.read(at).as_str(), place.tree()[&format!("s/{at}")].1), (text, false), "{at}");
    }
}

#[test]
fn refused_acceptance_is_logged() {
    let mut place = strict();
    let id = place.proposed(patch("First.", "1."));
    place.held(patch("Second.", "2."));
    let refused = |place: &mut Fixture, target: &str| {
        let code = place.accept(target).unwrap_err().code();
        let event = place.last_event();
        assert_eq!((event.status, event.action.as_str()), (EventStatus::Refused, "accept"));
        assert_eq!((event.actor.as_str(), event.skill.as_str()), ("person:ann", "s"));
        assert_eq!(
            (event.code.as_deref(), event.proposal.as_ref(), event.reason.as_deref()),
            (Some(code), Some(&id), Some("fine"))
        );
        code
    };
    assert_eq!(refused(&mut place, &id), "stale_revision");
    assert_eq!(refused(&mut place, &format!("{id}@1")), "stale_revision");
    place.by_person(patch("First.", "eins"));
    assert_eq!(refused(&mut place, &format!("{id}@2")), "merge_conflict");
    place.reject(&id).unwrap();
    assert_eq!(refused(&mut place, &id), "already_decided");
    let events = place.library.events().unwrap().0.len();
    assert_eq!(place.accept("nothere").unwrap_err().code(), "not_found");
    assert_eq!(place.library.events().unwrap().0.len(), events, "what never was has no line");
}
