//! Tests of [`Follower`] on histories with known sources.

use super::lines::{Follower, Source, Version, mark_of};

fn version(text: &str) -> Version<'_> {
    Version { text: Some(text), is_rollback: false, release: None }
}

fn follow(versions: &[Version<'_>]) -> Follower {
    let returning = versions.iter().filter(|version| version.is_rollback).filter_map(|version| version.text);
    let mut follower = Follower::with_returning(returning.map(|text| mark_of(text.as_bytes())));
    versions.iter().for_each(|version| follower.follow(version));
    follower
}

/// Returns the version of each line, and whether its release has it.
fn sources(versions: &[Version<'_>]) -> Vec<(usize, bool)> {
    let (_, found) = follow(versions).into_lines();
    found.into_iter().map(|Source { version, is_released }| (version, is_released)).collect()
}

#[test]
fn unchanged_line_keeps_its_source() {
    let versions = [version("a\nb\nc\n"), version("a\nB\nc\n"), version("a\nB\nc\nd\n"), version("a\nB\nc\nd\n")];
    assert_eq!(sources(&versions), [(0, false), (1, false), (0, false), (2, false)]);
    let moved = [version("a\nb\n"), version("new\na\nb\n")];
    assert_eq!(sources(&moved), [(1, false), (0, false), (0, false)]);
}

#[test]
fn rollback_restores_the_source_of_lines() {
    let back = Version { is_rollback: true, ..version("a\nb\n") };
    assert_eq!(sources(&[version("a\nb\n"), version("a\nx\n"), back]), [(0, false), (0, false)]);
    assert_eq!(sources(&[version("a\nb\n"), version("a\nx\n"), version("a\nb\n")]), [(0, false), (2, false)]);
    let gone = Version { text: None, ..version("") };
    assert_eq!(sources(&[version("a\nb\n"), gone, back]), [(0, false), (0, false)], "after a deletion as well");
}

#[test]
fn merged_release_lines_are_marked() {
    let install = Version { release: Some(Some("a\nb\n")), ..version("a\nb\n") };
    let own = version("a\nb\nmine\n");
    let merge = Version { release: Some(Some("a\nB\n")), ..version("a\nB\nmine\nsettled\n") };
    assert_eq!(sources(&[install, own, merge]), [(0, true), (2, true), (1, false), (2, false)]);
}

#[test]
fn equal_lines_are_followed_separately() {
    let versions = [version("x\n"), version("x\nx\n"), version("x\n\nx\n")];
    let found = sources(&versions);
    assert_eq!(found.iter().map(|(version, _)| *version).collect::<Vec<_>>().len(), 3);
    assert_eq!(found[1], (2, false));
    assert!(sources(&[]).is_empty());
}

#[test]
fn search_of_shuffled_versions_is_bounded() {
    let lines: Vec<String> = (0..4_000).map(|number| format!("{number}\n")).collect();
    // 7 is coprime to the number of lines.
    let shuffled = |by: usize| -> String { (0..lines.len()).map(|at| &*lines[at * by % lines.len()]).collect() };
    let texts: Vec<String> = (0..20).map(|power| shuffled(7_usize.pow(power % 5))).collect();
    let mut follower = Follower::with_returning([]);
    follower.left = 100_000;
    let left: Vec<usize> = texts
        .iter()
        .map(|text| {
            follower.follow(&version(text));
            follower.left
        })
        .collect();
    assert!(left[1] < 100_000, "the first are searched");
    assert_eq!(left[19], left[14], "nothing is searched once the bound is reached");
    let moved = [&texts[19], "first\n", &texts[19]].concat();
    follower.follow(&version(&moved[texts[19].len()..]));
    let (text, found) = follower.into_lines();
    assert_eq!((text.lines().next(), found[0].version), (Some("first"), 20));
    assert!(found.iter().skip(1).all(|source| source.version < 20), "lines are still told apart");
}

#[test]
fn rollback_past_known_lines_is_followed() {
    let back = Version { is_rollback: true, ..version("a\nb\n") };
    let mut follower = Follower::with_returning([mark_of(b"a\nb\n")]);
    follower.left_known = 1;
    [version("a\nb\n"), version("a\nx\n"), back].iter().for_each(|version| follower.follow(version));
    let versions: Vec<usize> = follower.into_lines().1.iter().map(|source| source.version).collect();
    assert_eq!(versions, [0, 2], "as if it had been typed again");
}
