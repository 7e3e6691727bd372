//! Tests for uninstalling skills.
#![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

use std::fs;

use client::InstallRequest;
use library::Action;
use skill::failure::{Fails, FailureKind};

use crate::support::{World, name, permit_all, request, skill_md, write};

#[test]
fn uninstall_keeps_the_history() {
    let world = World::new();
    fs::create_dir(world.project().join(".claude")).unwrap();
    world.release("pdf", "1.0.0", "One.");
    world.install_one("acme/pdf");
    let gone = world.uninstall("pdf").unwrap();
    assert_eq!((gone.name.as_str(), gone.warnings.len()), ("acme/pdf", 0));
    assert_eq!(gone.removed, [world.project().join(".claude/skills/pdf")]);
    assert!(!world.library_path().join("pdf").exists());
    assert!(fs::symlink_metadata(world.project().join(".claude/skills/pdf")).is_err());
    assert!(!world.lock_text().contains("acme/pdf") && world.lock_text().contains("format = 1"));
    let head = world.library().head(&name("pdf")).unwrap().unwrap();
    assert!(head.tombstone && head.action == Action::Uninstall);
}

#[test]
fn uninstall_records_hand_edits_first() {
    let world = World::new();
    world.release("pdf", "1.0.0", "One.");
    world.install_one("acme/pdf");
    write(&world.library_path().join("pdf/SKILL.md"), &skill_md("pdf", "Mine."));
    let gone = world.uninstall("pdf").unwrap();
    let kept = world.library().bundle(&gone.previous.unwrap()).unwrap();
    assert!(kept.skill_md().unwrap().contains("Mine."));
}

#[test]
fn edited_copies_stay() {
    let world = World::new();
    world.release("pdf", "1.0.0", "One.");
    let agents = vec!["claude-code".into(), "bob".into()];
    world.install_with(&InstallRequest { copy: true, agents, ..request(&["acme/pdf"]) }).unwrap();
    let edited = world.project().join(".claude/skills/pdf");
    write(&edited.join("SKILL.md"), "mine");
    let gone = world.uninstall("pdf").unwrap();
    assert_eq!(gone.kept, std::slice::from_ref(&edited));
    assert_eq!(gone.removed, [world.project().join(".bob/skills/pdf")]);
    assert!(edited.exists());
}

#[test]
fn only_installed_skills_are_uninstalled() {
    let world = World::new();
    let refused = |skill: &str| {
        let error = world.uninstall(skill).unwrap_err();
        (error.failure().kind, error.failure().hint.unwrap().to_string())
    };
    assert_eq!(refused("pdf").0, FailureKind::NotFound);
    let folder = world.library_path().join("pdf");
    write(&folder.join("SKILL.md"), &skill_md("pdf", "Mine."));
    let (kind, hint) = refused("pdf");
    assert!(kind == FailureKind::NotFound && hint.contains("adopt"), "{hint}");
    let (mut library, known) = (world.library(), [world.agents()]);
    let paths = std::slice::from_ref(&folder);
    let request = client::AdoptRequest {
        paths,
        in_use: &[],
        known: &known,
        follows_links: &[],
        locked: None,
        replaces_tracked: false,
        dry_run: false,
    };
    client::adopt(&mut library, &request, &World::stamp(), &permit_all, &client::accept_nothing).unwrap();
    let (kind, hint) = refused("pdf");
    assert!(kind == FailureKind::Refused && hint.contains("skillhub manage delete pdf"), "{hint}");
    assert!(folder.exists());
}
