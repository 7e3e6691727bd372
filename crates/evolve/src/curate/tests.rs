//! Tests of the curator's decisions, as functions of the facts and the time.

use jiff::{SignedDuration, Timestamp};
use library::RevisionId;
use skill::SkillName;

use super::{
    Base, Facts, Fault, Judgement, KeepReason, Record, SkillFacts, Terms, TextFacts, judge, plan, report::DriftKind,
};

fn now() -> Timestamp {
    "2026-06-01T00:00:00Z".parse().unwrap()
}

fn days_ago(days: i64) -> Timestamp {
    now().checked_sub(SignedDuration::from_hours(24 * days)).unwrap()
}

/// Returns a skill created 200 days ago and never used.
fn unused(name: &str) -> SkillFacts {
    SkillFacts {
        name: SkillName::parse(name).unwrap(),
        revision: RevisionId::new("0".repeat(40)),
        number: 1,
        description: format!("Does {name}."),
        tools: None,
        enabled: true,
        pinned: false,
        placed: 0,
        fault: None,
        needed_by: Vec::new(),
        changed: days_ago(200),
        used: None,
        failed_queries: Vec::new(),
        undecided_until: None,
        base: None,
        spoken: TextFacts::default(),
    }
}

fn record() -> Record {
    Record { uses: 50, since: Some(days_ago(150)), until: Some(days_ago(1)) }
}

fn decided(skill: &SkillFacts) -> Judgement {
    judge(skill, &record(), Terms::default(), now())
}

#[test]
fn only_unused_unchanged_skills_are_stale() {
    let Judgement::Stale(step) = decided(&unused("a")) else { panic!("it is stale") };
    assert!(step.reason.starts_with("never used since"), "{}", step.reason);
    let once = SkillFacts { used: Some(days_ago(120)), ..unused("a") };
    assert!(matches!(decided(&once), Judgement::Stale(step) if step.last_used == Some(days_ago(120))));
    let in_use = [
        SkillFacts { used: Some(days_ago(89)), ..unused("a") },
        SkillFacts { changed: days_ago(89), ..unused("a") },
        SkillFacts { changed: Timestamp::MAX, ..unused("a") },
    ];
    for skill in in_use {
        assert_eq!(decided(&skill), Judgement::Kept(KeepReason::InUse));
    }
    let hidden = SkillFacts { enabled: false, ..unused("a") };
    assert_eq!(decided(&hidden), Judgement::Kept(KeepReason::OutOfSight));
}

#[test]
fn pinned_or_needed_skills_are_exempt() {
    let exempt = [
        SkillFacts { pinned: true, ..unused("a") },
        SkillFacts { needed_by: vec!["b".to_owned()], ..unused("a") },
        SkillFacts { fault: Some(Fault::Unrecorded), ..unused("a") },
        SkillFacts { fault: Some(Fault::Blocked("why".to_owned())), ..unused("a") },
        SkillFacts { placed: 1, ..unused("a") },
    ];
    for skill in exempt {
        assert!(matches!(decided(&skill), Judgement::Kept(KeepReason::Exempt(_))), "{skill:?}");
    }
    let counted = SkillFacts { placed: 1, used: Some(days_ago(120)), ..unused("a") };
    assert!(matches!(decided(&counted), Judgement::Stale(_)), "of one that was counted once, silence says something");
}

#[test]
fn insufficient_records_archive_nothing() {
    let records = [
        Record::default(),
        Record { since: Some(days_ago(89)), ..record() },
        Record { until: Some(days_ago(31)), ..record() },
    ];
    for record in records {
        let facts = Facts { skills: vec![unused("a"), unused("b")], record };
        let plan = plan(&facts, Terms::default(), now());
        assert!(plan.archive.is_empty() && plan.silence.is_some(), "{plan:?}");
    }
}

#[test]
fn plan_depends_only_on_facts() {
    let facts = Facts { skills: vec![unused("a"), unused("b")], record: record() };
    let one = plan(&facts, Terms::default(), now());
    assert_eq!(one, plan(&facts, Terms::default(), now()));
    assert_eq!(one.archive.iter().map(|step| step.skill.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let other = Facts { skills: vec![unused("a")], ..facts };
    assert_ne!(one.id, plan(&other, Terms::default(), now()).id);
    let read: super::Plan = serde_json::from_slice(&serde_json::to_vec(&one).unwrap()).unwrap();
    assert_eq!(read, one);
}

#[test]
fn growth_is_measured_from_base() {
    let tools = |text: &str| Some(text.split(' ').map(str::to_owned).collect::<Vec<_>>());
    let base =
        Base { time: days_ago(60), edits: 4, bytes: 4000, tools: tools("Read"), release: Some("acme/a 1.0.0".into()) };
    let skill = SkillFacts {
        tools: tools("Read Bash"),
        base: Some(base.clone()),
        spoken: TextFacts { bytes: 12_000, ..TextFacts::default() },
        fault: Some(Fault::Missing),
        ..unused("a")
    };
    let open = SkillFacts { tools: None, base: Some(base), ..unused("b") };
    let report = plan(&Facts { skills: vec![skill, open], record: record() }, Terms::default(), now()).report;
    let [grown] = report.growth.as_slice() else { panic!("{:?}", report.growth) };
    assert_eq!((grown.from_tokens, grown.tokens, grown.per_edit, grown.per_month), (1000, 3000, 500, 1000));
    let kinds: Vec<_> = report.drift.iter().map(|drift| (drift.skill.as_str(), drift.kind)).collect();
    let expected = [("a", DriftKind::WidenedTools), ("a", DriftKind::MissingFolder), ("b", DriftKind::WidenedTools)];
    assert_eq!(kinds, expected);
    assert!(report.drift[0].message.contains("Bash") && report.drift[0].message.contains("acme/a 1.0.0"));
}
