//! Real public skills, including security tutorials, must not be blocked.

#![expect(clippy::disallowed_methods, reason = "tests read the folder of real skills")]

use std::{fs, path::Path, process::Command};

use scan::{Finding, Report, Severity, scan};

/// Scans the skill in a folder.
fn report(skill: &Path) -> Report {
    scan(&testkit::bundle(&testkit::files(skill)))
}

#[test]
fn real_skills_are_not_blocked() {
    for skill in testkit::skills() {
        let mut found = report(&skill).findings;
        found.retain(|finding| finding.severity >= Severity::High);
        assert!(found.is_empty(), "{}: {found:#?}", skill.display());
    }
}

/// Parts of the honest public skills, split by repository, that may be read. Each has the maximum number per thousand
/// of skills that are blocked, and that are blocked or warned of.
const PARTS: [(&str, usize, usize); 2] = [("development", 20, 100), ("validation", 30, 100)];

#[test]
#[ignore = "needs SKILLHUB_TEST_DATA"]
fn honest_skills_pass() {
    let data = testkit::collection();
    let (archive, list) = (data.join("honest-dev.tar.gz"), data.join("honest-dev.tsv"));
    let folder = tempfile::tempdir().unwrap();
    let unpacked = Command::new("tar").arg("xzf").arg(&archive).arg("-C").arg(folder.path()).status().unwrap();
    assert!(unpacked.success());
    let list = fs::read_to_string(list).unwrap();
    for (part, blocked, warned) in PARTS {
        let of_part = |line: &&str| line.strip_prefix(part).is_some_and(|rest| rest.starts_with('\t'));
        let parts = include_str!("data/parts.tsv").lines().filter(of_part);
        let repositories: Vec<&str> = parts.map(|line| line.split('\t').nth(1).unwrap()).collect();
        let rows = list.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
        let skills = rows.filter(|row| repositories.contains(&row[0])).map(|row| folder.path().join(row[3]));
        let worst: Vec<Option<Severity>> = skills.map(|skill| report(&skill).worst()).collect();
        let at_least = |severity| worst.iter().filter(|worst| **worst >= Some(severity)).count() * 1000 / worst.len();
        let shares = (at_least(Severity::High), at_least(Severity::Medium));
        println!("{part}: {} skills, {shares:?} of 1,000 blocked, and blocked or warned of", worst.len());
        assert!(worst.len() > 250 && shares.0 <= blocked && shares.1 <= warned, "{part}: {shares:?}");
    }
}

#[test]
fn own_skills_are_not_blocked() {
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../registry-index/seed")).unwrap() {
        let skill = entry.unwrap().path();
        assert!(report(&skill).worst() < Some(Severity::High), "{}", skill.display());
    }
}

#[test]
fn real_code_stays_within_analysis_limits() {
    let cut = |finding: &Finding| matches!(finding.rule.as_ref(), "flow-too-deep" | "flow-too-much");
    for skill in testkit::skills() {
        let found = report(&skill).findings;
        assert!(!found.iter().any(cut), "{}: {found:#?}", skill.display());
    }
}
