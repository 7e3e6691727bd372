//! A catalogue that is kept follows what skillhub commits at once, and what others write soon.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests write as other programs do")]

use std::{fs, path::Path, thread, time::Duration};

use agent::{Live, Places, RECHECK_MILLIS};
use jiff::Timestamp;
use library::{Action, Actor, ActorKind, Commit, Content, Home, Library, NewRevision, Scope, Stamp};
use scan::Baseline;
use skill::{Bundle, Limits, SkillName};

fn text(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\nDo it.\n")
}

fn put(library: &Path, name: &str, description: &str) {
    fs::create_dir_all(library.join(name)).unwrap();
    fs::write(library.join(name).join("SKILL.md"), text(name, description)).unwrap();
}

fn descriptions(live: &Live) -> Vec<String> {
    live.with(|catalogue| catalogue.visible().map(|listed| listed.description.clone()).collect()).unwrap()
}

fn stamp() -> Stamp {
    Stamp::new(Actor::new(ActorKind::Agent, "test"), Timestamp::now())
}

/// Commits a change as another process would: by a library that was opened for itself.
fn commit(places: &Places, name: &str, description: &str) {
    let mut library = Library::open(&places.libraries[0].0, Scope::User, &places.home, &places.storage).unwrap();
    let skill = SkillName::parse(name).unwrap();
    let base = library.head(&skill).unwrap().map(|head| head.id);
    let mut bundle = Bundle::default();
    bundle.insert("SKILL.md".parse().unwrap(), text(name, description).into_bytes().into(), &Limits::default()).unwrap();
    let cleared = scan::clear(bundle, Baseline::None).unwrap();
    let action = if base.is_some() { Action::Edit } else { Action::Create };
    let new = NewRevision { content: Content::Cleared(cleared), action, stamp: stamp(), origin: None };
    library.commit(vec![Commit { skill, base, new: vec![new] }]).unwrap();
}
