//! Proposals: stored durably, decided only once, and harmless when damaged.

use super::*;
use crate::{
    ProposalFaultKind,
    events::EventStatus,
    proposal_id::ProposalId,
    proposals::{
        Proposal, ProposalChange, ProposalDecision, ProposalEntry, ProposalState, StoredProposal, changed_files,
    },
    revision::Acceptance,
};

fn id(text: &str) -> ProposalId {
    ProposalId::parse(text).unwrap()
}

fn pdf(body: &str) -> Bundle {
    bundle("pdf", body, &[("notes.md", body)])
}

/// Creates a proposal of `candidate` on top of the skill's head.
fn proposal(library: &Library, name_of: &str, candidate: &Bundle) -> Proposal {
    let head = library.head(&name("pdf")).unwrap();
    let before = head.as_ref().map_or_else(Bundle::default, |head| library.bundle(&head.id).unwrap());
    let time = stamp().time;
    Proposal {
        id: id(name_of),
        skill: name("pdf"),
        state: ProposalState::Pending,
        revision: 1,
        action: Action::Patch,
        base: head.map(|head| head.id),
        files: changed_files(&before, candidate),
        digest: candidate.digest(),
        actor: Actor::new(ActorKind::Agent, name_of),
        reason: Some("better\nlines".to_owned()),
        run: None,
        thread: Some("t".to_owned()),
        absorbed_into: None,
        evidence: vec!["eval:7".parse().unwrap(), "https://example.invalid/x".parse().unwrap()],
        why: "the policy says so".to_owned(),
        release: None,
        scan: scan::scan(candidate),
        created: time,
        updated: time,
        expires: time + jiff::SignedDuration::from_hours(24),
        edited_by: None,
        note: None,
        superseded_by: None,
        decided: None,
        kept: StoredProposal::default(),
    }
}

fn change_of(proposal: Proposal, status: EventStatus) -> ProposalChange {
    let event = Event::proposal(&stamp(), proposal.skill.as_str(), proposal.action.as_str(), status, &proposal.id);
    ProposalChange { entry: ProposalEntry::Whole(Box::new(proposal)), event }
}

fn propose(library: &mut Library, proposal: Proposal) -> Result<(), CommitError> {
    library.commit(change_of(proposal, EventStatus::Proposed)).map(drop)
}

fn read(library: &Library, name: &str) -> Proposal {
    library.proposal(&id(name)).unwrap().unwrap().into_whole().unwrap()
}

fn decide(proposal: Proposal, state: ProposalState) -> Proposal {
    let by = Actor::new(ActorKind::Person, "ann");
    let decided = Some(ProposalDecision { by, time: stamp().time, reason: None, revision: None });
    Proposal { state, decided, ..proposal }
}

/// Commits the skill's new revision and the proposal's new state together, as accepting does.
fn accept(library: &mut Library, proposal: Proposal) -> Result<Vec<Committed>, CommitError> {
    let base = library.bundle(proposal.base.as_ref().unwrap()).unwrap();
    let candidate = proposal.candidate(&base, library.limits()).unwrap();
    let mut commit = change(&proposal.skill, proposal.base.clone(), &candidate);
    let reviewer = Actor::new(ActorKind::Person, "ann");
    commit.revisions[0].acceptance = Some(Acceptance { proposal: proposal.id.to_string(), reviewer, edited_by: None });
    let accepted = decide(proposal, ProposalState::Accepted);
    let proposals = vec![change_of(accepted, EventStatus::Accepted)];
    library.commit(CommitBatch { commits: vec![commit], proposals, ..CommitBatch::default() })
}

fn with_proposal() -> Fixture {
    let place = Fixture::new();
    let mut library = place.open();
    put(&mut library, &pdf("one"));
    let proposal = proposal(&library, "aaaaaa", &pdf("two"));
    propose(&mut library, proposal).unwrap();
    place
}

fn journal(place: &Fixture) -> PathBuf {
    place.own().join("journal")
}

fn reboot(place: &Fixture) {
    let _absent = fs::remove_file(place.own().join("journal.applied"));
}

#[test]
fn proposal_reads_back_with_any_files() {
    let place = Fixture::new();
    let mut library = place.open();
    put(&mut library, &pdf("one"));
    let more = [("a.bin", File { bytes: vec![0, 255].into(), executable: false }), ("run.sh", file("é\r\n", true))];
    let candidate =
        more.into_iter().fold(pdf("two").without_file(&SkillPath::parse("notes.md").unwrap()), |b, (p, f)| {
            b.with_file(SkillPath::parse(p).unwrap(), f, &Limits::default()).unwrap()
        });
    let written = proposal(&library, "aaaaaa", &candidate);
    propose(&mut library, written.clone()).unwrap();
    let found = read(&library, "aaaaaa");
    assert_eq!(Proposal { kept: StoredProposal::default(), ..found.clone() }, written);
    let base = library.bundle(found.base.as_ref().unwrap()).unwrap();
    assert_eq!(found.candidate(&base, library.limits()), Ok(candidate));
    let text = fs::read_to_string(place.own().join("proposals/aaaaaa.json")).unwrap();
    assert!(text.contains(r#""text": "é\r\n""#) && text.contains(r#""base64": "AP8=""#), "{text}");
    assert!(found.candidate(&pdf("other").without_file(&SkillPath::skill_md()), library.limits()).is_ok());
    assert!(found.candidate(&bundle("pdf", "x", &[("more.md", "x")]), library.limits()).is_err(), "another base");
}

#[test]
fn reported_proposal_survives_power_loss() {
    let place = Fixture::new();
    put(&mut place.open(), &pdf("one"));
    let before = place.save();
    let mut library = place.open();
    let proposal = proposal(&library, "aaaaaa", &pdf("two"));
    propose(&mut library, proposal).unwrap();
    let journaled = fs::read(journal(&place)).unwrap();
    for reboots in [false, true] {
        place.restore(&before);
        fs::write(journal(&place), &journaled).unwrap();
        if reboots {
            reboot(&place);
        }
        assert_eq!(read(&place.open(), "aaaaaa").state, ProposalState::Pending);
        assert_eq!(place.open().events().unwrap().0.len(), 2, "every event once");
    }
    fs::write(place.own().join("proposals/aaaaaa.json"), "").unwrap();
    reboot(&place);
    assert_eq!(read(&place.open(), "aaaaaa").revision, 1, "a file that the power loss emptied is written again");
}

#[test]
fn acceptance_is_one_atomic_record() {
    let place = with_proposal();
    let before = fs::read(journal(&place)).unwrap().len();
    let saved = place.save();
    let mut library = place.open();
    let committed = accept(&mut library, read(&place.open(), "aaaaaa")).unwrap();
    let after = fs::read(journal(&place)).unwrap();
    let cuts = (before..after.len()).filter(|at| at % 211 == 0 || after.len() - at < 2).chain([after.len()]);
    for (number, cut) in cuts.enumerate() {
        place.restore(&saved);
        fs::write(journal(&place), &after[..cut]).unwrap();
        if number % 2 == 0 {
            reboot(&place);
        }
        let library = place.open();
        let (head, found) = (library.head(&name("pdf")).unwrap().unwrap(), read(&library, "aaaaaa"));
        let expected = if cut == after.len() { (2, ProposalState::Accepted) } else { (1, ProposalState::Pending) };
        assert_eq!((head.number, found.state), expected, "{cut}");
        if cut == after.len() {
            assert_eq!(found.decided.unwrap().revision, Some(committed[0].revision.id.clone()));
            assert_eq!(head.acceptance.unwrap().proposal, "aaaaaa");
            assert!(library.open_proposals().unwrap().is_empty() && library.proposals().unwrap().len() == 1);
            let last = library.events().unwrap().0.pop().unwrap();
            assert_eq!((last.status, last.revision), (EventStatus::Accepted, Some(head.id)));
        }
    }
}

/// Combines the folder after a decision with a journal that lacks the decision or was not applied.
#[test]
fn decided_proposal_never_reopens() {
    let place = with_proposal();
    let waiting = fs::read(place.own().join("proposals/aaaaaa.json")).unwrap();
    let proposed = fs::read(journal(&place)).unwrap();
    let mut library = place.open();
    accept(&mut library, read(&place.open(), "aaaaaa")).unwrap();
    let both = fs::read(journal(&place)).unwrap();
    for (kept, reboots, left) in [
        (&proposed, true, false),
        (&proposed, true, true),
        (&both, true, true),
        (&both, false, true),
        (&Vec::new(), false, true),
        (&Vec::new(), true, true),
    ] {
        fs::write(journal(&place), kept).unwrap();
        if reboots {
            reboot(&place);
        }
        if left {
            fs::write(place.own().join("proposals/aaaaaa.json"), &waiting).unwrap();
        }
        let mut library = place.open();
        assert_eq!(read(&library, "aaaaaa").state, ProposalState::Accepted);
        assert!(library.open_proposals().unwrap().is_empty());
        assert_eq!(library.proposals().unwrap().len(), 1);
        let stale = Proposal { kept: StoredProposal::default(), ..read(&library, "aaaaaa") };
        let again = Proposal { state: ProposalState::Pending, decided: None, ..stale };
        assert!(matches!(propose(&mut library, again), Err(CommitError::ProposalMoved { .. })));
    }
}

#[test]
fn checkpoint_keeps_every_proposal() {
    let place = with_proposal();
    let mut library = place.open();
    accept(&mut library, read(&place.open(), "aaaaaa")).unwrap();
    let next = proposal(&library, "bbbbbb", &pdf("three"));
    propose(&mut library, next).unwrap();
    library.checkpoint(&library.locked().unwrap()).unwrap();
    assert_eq!(fs::read(journal(&place)).unwrap().len(), 0);
    let found: Vec<_> = place.open().proposals().unwrap().into_iter().map(|e| e.into_whole().unwrap().state).collect();
    assert_eq!(found, [ProposalState::Accepted, ProposalState::Pending]);
}

#[test]
fn first_of_two_decisions_wins() {
    let place = with_proposal();
    let mut library = place.open();
    let (one, two) = (read(&library, "aaaaaa"), read(&place.open(), "aaaaaa"));
    accept(&mut library, one).unwrap();
    let late = change_of(decide(two.clone(), ProposalState::Rejected), EventStatus::Rejected);
    let error = place.open().commit(late).unwrap_err();
    assert!(matches!(error, CommitError::ProposalMoved { .. }), "{error}");
    assert!(accept(&mut place.open(), two).is_err());
    assert_eq!((read(&library, "aaaaaa").state, actions(&library, "pdf").len()), (ProposalState::Accepted, 2));
}

#[test]
fn decisions_on_proposals_are_final() {
    use ProposalState::{Accepted, Expired, Pending, Quarantined, Rejected, Stale, Superseded};
    let place = Fixture::new();
    let mut library = place.open();
    put(&mut library, &pdf("one"));
    for (name, decision) in [("aaaaaa", Accepted), ("bbbbbb", Rejected), ("cccccc", Superseded), ("dddddd", Expired)] {
        let new = proposal(&library, name, &pdf("two"));
        propose(&mut library, new).unwrap();
        let mut get = |state: ProposalState| {
            let before = read(&library, name);
            let after = match state.is_open() {
                true => Proposal { state, decided: None, ..before },
                false => decide(before, state),
            };
            library.commit(change_of(after, EventStatus::Rejected))
        };
        get(Stale).unwrap();
        get(Pending).unwrap();
        get(decision).unwrap();
        for next in [Pending, Stale, Quarantined, Accepted, Superseded, Expired] {
            assert!(matches!(get(next), Err(CommitError::ProposalMoved { .. })), "{decision:?} {next:?}");
        }
        assert_eq!(get(Rejected).is_ok(), decision == Expired);
    }
}

#[test]
fn open_proposals_are_limited_in_number() {
    let place = with_proposal();
    let mut library = place.open();
    library.limits = Limits { open_proposals: 3, open_proposals_per_skill: 2, ..Limits::default() };
    let same = Proposal { id: id("bbbbbb"), ..proposal(&library, "aaaaaa", &pdf("three")) };
    assert!(matches!(propose(&mut library, same), Err(CommitError::ProposalMoved { .. })));
    let other = |library: &Library, name_of: &str| proposal(library, name_of, &pdf("three"));
    let second = other(&library, "bbbbbb");
    propose(&mut library, second).unwrap();
    let third = other(&library, "cccccc");
    let full = propose(&mut library, third.clone()).unwrap_err();
    assert!(matches!(&full, CommitError::QueueFull { skill: Some(_), open: 2, limit: 2 }), "{full}");
    fs::write(place.own().join("proposals/damaged.json"), "{").unwrap();
    let of_other = Proposal { skill: name("other"), ..third };
    assert!(matches!(propose(&mut library, of_other), Err(CommitError::QueueFull { skill: None, open: 3, .. })));
    let late = stamp().time + jiff::SignedDuration::from_hours(24);
    let late = Proposal { created: late, ..other(&library, "cccccc") };
    propose(&mut library, late).unwrap();
    assert_eq!(library.open_proposals().unwrap().len(), 4, "expired ones do not count, and are all there");
}

#[test]
fn open_proposals_are_limited_in_bytes() {
    let place = with_proposal();
    let mut library = place.open();
    let size = |name: &str| fs::metadata(place.own().join(format!("proposals/{name}.json"))).unwrap().len();
    let limit = 2 * size("aaaaaa") + 100;
    library.limits = Limits { open_proposals_bytes: limit, ..Limits::default() };
    let large = pdf(&"much ".repeat(100));
    let too_large = proposal(&library, "bbbbbb", &large);
    let full = propose(&mut library, too_large).unwrap_err();
    assert!(matches!(full, CommitError::QueueTooLarge { bytes, .. } if bytes > limit), "{full}");
    let second = proposal(&library, "bbbbbb", &pdf("two"));
    propose(&mut library, second).unwrap();
    let base = library.bundle(&library.head(&name("pdf")).unwrap().unwrap().id).unwrap();
    let mut amended = read(&library, "bbbbbb");
    amended.set_candidate(amended.base.clone(), &base, &large);
    let amend =
        |library: &mut Library, proposal: Proposal, status| library.commit(change_of(proposal, status)).map(drop);
    let full = amend(&mut library, amended, EventStatus::Amended).unwrap_err();
    assert!(matches!(full, CommitError::QueueTooLarge { .. }), "an amendment as well: {full}");
    assert_eq!(read(&library, "bbbbbb").candidate(&base, library.limits()), Ok(pdf("two")));
    let note = Some("why ".repeat(50));
    let stale = Proposal { state: ProposalState::Stale, note, ..read(&library, "bbbbbb") };
    amend(&mut library, stale, EventStatus::Stale).unwrap();
}

#[test]
fn expired_proposals_do_not_count() {
    let place = with_proposal();
    let mut library = place.open();
    let size = fs::metadata(place.own().join("proposals/aaaaaa.json")).unwrap().len();
    library.limits = Limits { open_proposals_bytes: size + 100, ..Limits::default() };
    let second = proposal(&library, "bbbbbb", &pdf("two"));
    let full = propose(&mut library, second.clone()).unwrap_err();
    assert!(matches!(full, CommitError::QueueTooLarge { .. }), "{full}");
    let late = read(&library, "aaaaaa").expires;
    propose(&mut library, Proposal { created: late, updated: late, ..second }).unwrap();
    let longer = Proposal { updated: late, reason: Some("why ".repeat(20)), ..read(&library, "bbbbbb") };
    library.commit(change_of(longer, EventStatus::Amended)).unwrap();
    assert_eq!(library.open_proposals().unwrap().len(), 2, "it is all there");
}

#[test]
fn damaged_decision_keeps_proposal_open() {
    for damage in ["", "{\"format\": 1", "\0\0\0"] {
        let place = with_proposal();
        let decided = place.own().join("proposals/decided/aaaaaa.json");
        fs::write(&decided, damage).unwrap();
        for reboots in [false, true] {
            if reboots {
                reboot(&place);
            }
            let mut library = place.open();
            assert!(library.collect_garbage().unwrap().proposals.is_empty());
            assert_eq!(read(&library, "aaaaaa").state, ProposalState::Pending, "{damage:?}");
            assert_eq!((library.open_proposals().unwrap().len(), library.proposals().unwrap().len()), (1, 1));
            assert_eq!(fs::read_to_string(&decided).unwrap(), damage);
            let (count, faults) = library.check_proposals().unwrap();
            let kinds: Vec<_> = faults.iter().map(|fault| &fault.kind).collect();
            assert_eq!((count, &kinds[..]), (2, &[&ProposalFaultKind::InDoubt][..]));
            assert_eq!(library.repair_proposal(&faults[0], stamp().time).unwrap(), None, "both are left");
        }
        let mut library = place.open();
        accept(&mut library, read(&place.open(), "aaaaaa")).unwrap();
        assert!(!place.own().join("proposals/aaaaaa.json").exists() && library.open_proposals().unwrap().is_empty());
        assert_eq!(read(&library, "aaaaaa").state, ProposalState::Accepted);
        assert_eq!(library.check_proposals().unwrap().1, []);
    }
}

#[test]
fn collection_drops_oldest_decided_proposals() {
    let place = with_proposal();
    let mut library = place.open();
    for (at, name_of) in ["dddddd", "cccccc", "bbbbbb", "eeeeee"].into_iter().enumerate() {
        let next = proposal(&library, name_of, &pdf(name_of));
        propose(&mut library, next).unwrap();
        let mut rejected = decide(read(&library, name_of), ProposalState::Rejected);
        let later = jiff::SignedDuration::from_secs(i64::try_from(at).unwrap());
        rejected.decided.as_mut().unwrap().time = stamp().time + later;
        library.commit(change_of(rejected, EventStatus::Rejected)).unwrap();
    }
    fs::write(place.own().join("proposals/decided/broken.json"), "{").unwrap();
    fs::copy(place.own().join("proposals/decided/eeeeee.json"), place.own().join("proposals/eeeeee.json")).unwrap();
    let events = library.events().unwrap();
    assert!(library.collect_garbage().unwrap().proposals.is_empty());
    assert!(!place.own().join("proposals/eeeeee.json").exists(), "what stands beside its decision goes");
    library.limits = Limits { decided_proposals: 2, ..Limits::default() };
    assert_eq!(library.collect_garbage().unwrap().proposals, [id("dddddd"), id("cccccc")]);
    let size = fs::metadata(place.own().join("proposals/decided/eeeeee.json")).unwrap().len();
    library.limits = Limits { decided_proposals_bytes: size + 10, ..Limits::default() };
    assert_eq!(library.collect_garbage().unwrap().proposals, [id("bbbbbb")]);
    reboot(&place);
    let mut library = place.open();
    let left: Vec<_> = library.proposals().unwrap().iter().map(|entry| entry.id().to_string()).collect();
    assert_eq!(left, ["aaaaaa", "broken", "eeeeee"], "what waits or cannot be understood stays");
    assert_eq!(library.events().unwrap(), events, "no event is lost");
    assert!(library.collect_garbage().unwrap().proposals.is_empty());
    accept(&mut library, read(&place.open(), "aaaaaa")).unwrap();
}

#[test]
fn damaged_proposal_can_be_rejected() {
    let place = with_proposal();
    let mut library = place.open();
    let whole = fs::read_to_string(place.own().join("proposals/aaaaaa.json")).unwrap();
    let damaged = [
        ("cut", whole[..whole.len() / 2].to_owned()),
        ("empty", String::new()),
        ("later", whole.replace("\"format\": 1", "\"format\": 9")),
        ("moved", whole.clone()),
        ("path", whole.replace("aaaaaa", "path").replace("notes.md", "../notes.md")),
        ("state", whole.replace("aaaaaa", "state").replace("pending", "accepted")),
    ];
    for (name, text) in &damaged {
        fs::write(place.own().join(format!("proposals/{name}.json")), text).unwrap();
    }
    fs::create_dir(place.own().join("proposals/folder.json")).unwrap();
    let entries = library.open_proposals().unwrap();
    assert_eq!(entries.len(), damaged.len() + 2);
    assert_eq!(entries.iter().filter(|entry| matches!(entry, ProposalEntry::Whole(_))).count(), 1);
    for (name, text) in &damaged {
        let entry = library.proposal(&id(name)).unwrap().unwrap();
        let ProposalEntry::Damaged(mut damaged) = entry else { panic!("{name}") };
        let by = Actor::new(ActorKind::Person, "ann");
        damaged.decided = Some(ProposalDecision { by, time: stamp().time, reason: None, revision: None });
        let event = Event::proposal(&stamp(), "", "reject", EventStatus::Rejected, &damaged.id);
        library.commit(ProposalChange { entry: ProposalEntry::Damaged(damaged), event }).unwrap();
        let found = library.proposal(&id(name)).unwrap().unwrap();
        assert!(!found.is_open() && matches!(&found, ProposalEntry::Damaged(_)));
        let kept: serde_json::Value =
            serde_json::from_slice(&fs::read(place.own().join(format!("proposals/decided/{name}.json"))).unwrap())
                .unwrap();
        assert_eq!(kept["text"], text.as_str());
    }
    assert_eq!(library.open_proposals().unwrap().len(), 2);
}

#[test]
fn decision_keeps_unknown_fields() {
    let place = with_proposal();
    let path = place.own().join("proposals/aaaaaa.json");
    let text = fs::read_to_string(&path).unwrap().replacen('{', "{\"later\": [1, {\"a\": 2}],", 1);
    fs::write(&path, text.replace("\"scan\": {", "\"scan\": {\"later\": 3,")).unwrap();
    let mut library = place.open();
    let rejected = decide(read(&library, "aaaaaa"), ProposalState::Rejected);
    library.commit(change_of(rejected, EventStatus::Rejected)).unwrap();
    let text = fs::read(place.own().join("proposals/decided/aaaaaa.json")).unwrap();
    let written: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!((&written["later"][1]["a"], &written["scan"]["later"]), (&2.into(), &3.into()));
    assert_eq!(written["state"], "rejected");
}

#[test]
fn first_proposal_format_is_read() {
    let place = with_proposal();
    let text = r#"{"format":1,"id":"old","skill":"pdf","state":"pending","revision":2,"action":"write_file","base":null,
        "files":[{"path":"a.sh","change":"added","executable":true,"text":"x"},{"path":"b","change":"removed"}],
        "digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000","actor":"agent:a","reason":null,
        "run":null,"thread":null,"absorbed_into":null,"why":"held","scan":{"ruleset":"1","findings":[]},
        "created":"2026-01-02T03:04:05Z","updated":"2026-01-02T03:04:05Z","expires":"2026-02-01T03:04:05Z"}"#;
    fs::write(place.own().join("proposals/old.json"), text).unwrap();
    let found = read(&place.open(), "old");
    assert_eq!((found.revision, found.files.len(), found.files[0].file.clone().unwrap().executable), (2, 2, true));
}

#[test]
fn proposal_creates_no_skills_folder() {
    let place = Fixture::new();
    let mut library = place.open();
    let proposal = proposal(&library, "aaaaaa", &pdf("one"));
    propose(&mut library, proposal).unwrap();
    assert!(!place.skills().exists() && !place.own().join("history.git").exists());
    reboot(&place);
    assert_eq!(place.open().open_proposals().unwrap().len(), 1);
}

#[test]
fn ids_are_short_and_typeable() {
    let found: std::collections::BTreeSet<_> = (0..2000).map(|n| ProposalId::of_operation(&format!("{n}"))).collect();
    assert_eq!(found.len(), 2000);
    assert!(found.iter().all(|id| id.as_str().len() == 6 && ProposalId::parse(id.as_str()).as_ref() == Ok(id)));
    for bad in ["", "a/b", "..", "a.b", "é", " ", &"a".repeat(65)] {
        assert!(ProposalId::parse(bad).is_err(), "{bad}");
    }
}
