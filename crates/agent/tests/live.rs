//! Tests that a cached catalogue reflects commits by skillhub at once, and changes by other programs soon.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests write as other programs do")]

use std::{fs, path::Path, thread, time::Duration};

use agent::{CatalogueCache, RECHECK_MILLIS, SkillLocations};
use jiff::Timestamp;
use library::{Action, Actor, ActorKind, Commit, Content, Home, Library, NewRevision, Scope, Stamp};
use scan::{Baseline, clear};
use skill::SkillName;

fn text(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\nDo it.\n")
}

fn put(library: &Path, name: &str, description: &str) {
    fs::create_dir_all(library.join(name)).unwrap();
    fs::write(library.join(name).join("SKILL.md"), text(name, description)).unwrap();
}

fn descriptions(live: &CatalogueCache) -> Vec<String> {
    live.with(|catalogue| catalogue.visible().map(|listed| listed.description.clone()).collect()).unwrap()
}

fn stamp() -> Stamp {
    Stamp::new(Actor::new(ActorKind::Agent, "test"), Timestamp::now())
}

/// Commits a change as another process would, through a separately opened library.
fn commit(places: &SkillLocations, name: &str, description: &str) {
    let mut library = Library::open(&places.libraries[0].0, Scope::User, &places.home, &places.storage).unwrap();
    let skill = SkillName::parse(name).unwrap();
    let base = library.head(&skill).unwrap().map(|head| head.id);
    let bundle = testkit::bundle(&[("SKILL.md", text(name, description))]);
    let action = if base.is_some() { Action::Edit } else { Action::Create };
    let new = NewRevision::new(Content::Cleared(clear(bundle, Baseline::None).unwrap()), action, stamp());
    library.commit(vec![Commit { skill, base, revisions: vec![new] }]).unwrap();
}

/// Changes by other processes appear after the recheck interval.
#[test]
fn own_changes_appear_at_once() {
    let temp = tempfile::tempdir().unwrap();
    let home = Home::at(temp.path().join("home")).unwrap();
    let (own, other) = (temp.path().join("skills"), temp.path().join("claude"));
    put(&own, "first", "one");
    put(&other, "strange", "elsewhere");
    let places = SkillLocations {
        home,
        storage: "git".to_owned(),
        libraries: vec![(own.clone(), Scope::User)],
        folders: vec![(other.clone(), Scope::User)],
        project: None,
        inner: false,
    };
    let live = CatalogueCache::new(places.clone(), Vec::new());
    assert_eq!(descriptions(&live), ["one", "elsewhere"]);
    for change in 0..20 {
        commit(&places, "second", &format!("change {change}"));
        assert_eq!(descriptions(&live), ["one", &format!("change {change}"), "elsewhere"]);
    }
    let library = Library::open(&own, Scope::User, &places.home, "git").unwrap();
    let skill = SkillName::parse("second").unwrap();
    library.set_state(&skill, &stamp(), "disable", |state| state.enabled = false).unwrap();
    assert_eq!(descriptions(&live), ["one", "elsewhere"]);
    put(&own, "first", "one more");
    put(&other, "strange", "elsewhere still");
    thread::sleep(Duration::from_millis(RECHECK_MILLIS + 50));
    assert_eq!(descriptions(&live), ["one more", "elsewhere still"]);
    live.reload();
    assert_eq!(descriptions(&live).len(), 2);
    assert!(live.refresh().unwrap(), "other than in the first answer");
    assert!(!live.refresh().unwrap(), "that is known now");
    put(&other, "strange", "another word");
    assert!(live.refresh().unwrap());
    assert_eq!(descriptions(&live), ["one more", "another word"], "without a wait");
}
