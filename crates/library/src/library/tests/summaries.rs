//! Skill lists with a valid cache, without one, and with a stale one.

use super::*;

fn summaries(library: &Library, closeness: ChangeDetection) -> Vec<SkillSummary> {
    library.summaries(closeness).unwrap()
}

/// Returns the standings by name and asserts that both methods of comparison agree.
fn standings(library: &Library) -> Vec<(String, FolderStatus)> {
    let of = |closeness| -> Vec<_> {
        summaries(library, closeness).into_iter().map(|glance| (glance.name.to_string(), glance.standing)).collect()
    };
    let quick = of(ChangeDetection::Signatures);
    assert_eq!(quick, of(ChangeDetection::Contents));
    quick
}

fn put_named(library: &mut Library, skill: &str, body: &str) -> Revision {
    let base = library.head(&name(skill)).unwrap().map(|head| head.id);
    library
        .commit(vec![change(&name(skill), base, &bundle(skill, body, &[("notes.md", body)]))])
        .unwrap()
        .remove(0)
        .revision
}

/// Sets the modification time of every file in the library to long ago.
fn age(place: &Fixture) {
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(100);
    for skill in place.names() {
        for file in fs::read_dir(place.skills().join(skill)).unwrap() {
            fs::File::open(file.unwrap().path()).unwrap().set_modified(long_ago).unwrap();
        }
    }
}

/// Lists until the cache is written. Waits, because the change time of a file cannot be set.
fn remember(place: &Fixture) {
    age(place);
    std::thread::sleep(Duration::from_millis(3100));
    for closeness in [ChangeDetection::Signatures, ChangeDetection::Contents] {
        summaries(&place.open(), closeness);
    }
    assert!(place.own().join("glances").exists());
}

#[test]
fn every_change_is_seen_despite_cache() {
    let place = Fixture::new();
    let mut library = place.open();
    for skill in ["clean", "edited", "blocked", "missing", "gone", "again"] {
        put_named(&mut library, skill, "one");
    }
    let head = library.head(&name("gone")).unwrap().unwrap();
    library.commit(vec![tombstone(&name("gone"), &head)]).unwrap();
    place.write("new/SKILL.md", &skill_md("new", "found"));
    place.write("odd/SKILL.md", "no frontmatter");
    fs::create_dir(place.skills().join("empty")).unwrap();
    remember(&place);
    place.write("edited/SKILL.md", &skill_md("edited", "two"));
    let (path, bad) = hostile();
    place.write(&format!("blocked/{path}"), bad.text().unwrap());
    fs::remove_dir_all(place.skills().join("missing")).unwrap();
    put_named(&mut library, "again", "two");
    let check = |what: &str| {
        let found = standings(&place.open());
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["again", "blocked", "clean", "edited", "missing", "new", "odd"], "{what}");
        let standing = |name: &str| found.iter().find(|(found, _)| found == name).unwrap().1.clone();
        assert_eq!(standing("again"), FolderStatus::Clean, "{what}");
        assert_eq!(standing("clean"), FolderStatus::Clean, "{what}");
        assert_eq!(standing("edited"), FolderStatus::Modified, "{what}");
        assert_eq!(standing("missing"), FolderStatus::Missing, "{what}");
        assert_eq!(standing("new"), FolderStatus::Modified, "{what}");
        assert!(matches!(standing("blocked"), FolderStatus::Blocked(_)), "{what}");
        let glances = summaries(&place.open(), ChangeDetection::Contents);
        let glance = |name: &str| glances.iter().find(|glance| glance.name.as_str() == name).unwrap();
        assert_eq!(glance("again").head.as_ref().unwrap().number, 2, "{what}");
        assert_eq!(glance("new").front.description, "Reads and writes documents of the kind new.");
        assert_eq!(glance("new").paths, [SkillPath::skill_md()]);
        assert!(glance("odd").front.fault.is_some() && glance("odd").paths.is_empty());
    };
    check("remembered");
    let whole = fs::read(place.own().join("glances")).unwrap();
    for at in [0, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(place.own().join("glances"), damaged).unwrap();
        check("damaged");
    }
    fs::write(place.own().join("glances"), "").unwrap();
    check("empty");
    fs::remove_file(place.own().join("glances")).unwrap();
    fs::create_dir(place.own().join("glances")).unwrap();
    check("not to be written");
}

#[test]
fn change_of_equal_size_is_seen() {
    let place = Fixture::new();
    let mut library = place.open();
    put_named(&mut library, "pdf", "one");
    remember(&place);
    let path = place.skills().join("pdf/notes.md");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "two").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert_eq!(standings(&library), [("pdf".to_owned(), FolderStatus::Modified)]);
    fs::write(&path, "one").unwrap();
    assert_eq!(standings(&library), [("pdf".to_owned(), FolderStatus::Clean)]);
}

#[test]
fn fresh_folder_signature_is_not_trusted() {
    let place = Fixture::new();
    let mut library = place.open();
    put_named(&mut library, "pdf", "one");
    summaries(&library, ChangeDetection::Signatures);
    let text = fs::read(place.own().join("glances")).unwrap_or_default();
    assert!(!String::from_utf8_lossy(&text).contains("\"folder\""), "{text:?}");
}

#[test]
fn unmanaged_blocked_folder_is_always_rescanned() {
    let place = Fixture::new();
    let (path, bad) = hostile();
    place.write("pdf/SKILL.md", &skill_md("pdf", "x"));
    let library = place.open();
    assert_eq!(standings(&library), [("pdf".to_owned(), FolderStatus::Modified)]);
    age(&place);
    std::thread::sleep(Duration::from_millis(3100));
    standings(&library);
    let remembered = fs::read(place.own().join("glances")).unwrap();
    assert!(String::from_utf8_lossy(&remembered).contains("\"folder\""));
    place.write(&format!("pdf/{path}"), bad.text().unwrap());
    assert!(matches!(standings(&library).as_slice(), [(_, FolderStatus::Blocked(_))]));
    fs::write(place.own().join("glances"), remembered).unwrap();
    assert!(matches!(standings(&library).as_slice(), [(_, FolderStatus::Blocked(_))]));
}

#[test]
fn prescan_agrees_with_single_scans() {
    let place = Fixture::new();
    let (script, attack) = hostile();
    let attack = std::str::from_utf8(&attack.bytes).unwrap().to_owned();
    let good = |at: usize| skill_md(&format!("skill-{at:03}"), "Do it.");
    for at in 0..600 {
        let folder = format!("skill-{at:03}");
        match at % 5 {
            0..=2 => place.write(&format!("{folder}/SKILL.md"), &good(at)),
            3 => place.write(&format!("{folder}/SKILL.md"), &good(at).replace("description", "describes")),
            _ => {
                place.write(&format!("{folder}/SKILL.md"), &good(at));
                place.write(&format!("{folder}/{script}"), &attack);
            }
        }
    }
    let library = place.open();
    let glances = library.summaries(ChangeDetection::Signatures).unwrap();
    assert_eq!(glances.len(), 600);
    for (at, glance) in glances.iter().enumerate() {
        let alone = library.folder_state(&glance.name).unwrap();
        let (standing, fault) = match (&alone, at % 5) {
            (FolderState::Modified(_), 0..=2) => (FolderStatus::Modified, false),
            // Read leniently, as other clients do. Without a description the skill cannot be loaded.
            (FolderState::Blocked(HandEditFault::Invalid { .. }), 3) => (FolderStatus::Modified, true),
            (FolderState::Blocked(fault @ HandEditFault::Hostile(_)), 4) => {
                (FolderStatus::Blocked(fault.to_string()), false)
            }
            (other, kind) => panic!("{} is of kind {kind}: {other:?}", glance.name),
        };
        assert_eq!((&glance.standing, glance.front.fault.is_some()), (&standing, fault), "{}", glance.name);
        assert_eq!(glance.front.description.is_empty(), fault, "{}", glance.name);
    }
    let known = library.summaries(ChangeDetection::Signatures).unwrap();
    let told = |glance: &SkillSummary| (glance.name.clone(), glance.standing.clone(), glance.front.clone());
    assert!(known.iter().map(told).eq(glances.iter().map(told)), "and the same when it is known");
}
