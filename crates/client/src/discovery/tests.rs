//! Tests of the search for skills in a source.

use skill::failure::Fails;

use super::{pick_error::names_of, *};

fn contents(folders: &[&str]) -> SourceContents {
    let found = folders.iter().map(|folder| DiscoveredSkill::new((*folder).to_owned(), b""));
    SourceContents::new(found.collect(), "", "src")
}

fn folders(chosen: Result<ChosenSkills, PickError>) -> Vec<String> {
    chosen.unwrap().skills.into_iter().map(|found| found.folder).collect()
}

fn named(name: &str) -> Pick {
    Pick { skills: vec![name.to_owned()], all: false }
}

const ALL: Pick = Pick { skills: Vec::new(), all: true };

#[test]
fn root_skill_precedes_nested_ones() {
    let contents = contents(&["skills/a", "", "skills/b"]);
    assert_eq!(folders(contents.choose(&Pick::default())), [""]);
    assert_eq!(folders(contents.choose(&named("b"))), ["skills/b"]);
}

#[test]
fn usual_folders_precede_others() {
    assert_eq!(folders(contents(&["docs/x/y", "skills/a"]).choose(&Pick::default())), ["skills/a"]);
    assert_eq!(folders(contents(&["docs/x/y"]).choose(&Pick::default())), ["docs/x/y"]);
    let all = contents(&[".agents/skills/a", "skills/b", "x/c"]).choose(&ALL);
    assert_eq!(folders(all), ["skills/b", ".agents/skills/a"]);
}

#[test]
fn several_skills_require_a_choice() {
    let contents = contents(&["skills/b", "skills/a"]);
    let Err(PickError::Several { skills, .. }) = contents.choose(&Pick::default()) else { panic!() };
    assert_eq!(names_of(&skills), "a, b");
    assert!(matches!(contents.choose(&named("c")), Err(PickError::Missing { .. })));
    let none = SourceContents::new(Vec::new(), "", "src").choose(&Pick::default());
    assert!(matches!(none, Err(PickError::None { .. })));
}

#[test]
fn message_names_some_skills() {
    let folders: Vec<String> = (0..400).map(|at| format!("skills/s{at:03}")).collect();
    let contents = contents(&folders.iter().map(String::as_str).collect::<Vec<_>>());
    let message = contents.choose(&Pick::default()).unwrap_err().to_string();
    assert!(message.ends_with("s019, 380 more"), "{message}");
}

#[test]
fn skill_of_repeated_name_is_chosen_by_folder() {
    let contents = contents(&[".claude/skills/a", "skills/a", "a", "skills/b"]);
    assert_eq!(contents.offered().len(), 4);
    let all = contents.choose(&ALL).unwrap();
    assert!(all.warnings()[1].contains(": .claude/skills/a;"), "{:?}", all.warnings());
    assert_eq!(folders(Ok(all)), ["skills/a", "skills/b"]);
    assert_eq!(folders(contents.choose(&named("a"))), ["a"], "the folder of that path");
    let exact = contents.choose(&named(".claude/skills/a")).unwrap();
    assert!(exact.warnings().is_empty());
    assert_eq!(folders(Ok(exact)), [".claude/skills/a"]);
    let both = Pick { skills: vec!["b".to_owned(), "skills/b".to_owned()], all: false };
    assert!(contents.choose(&both).unwrap().warnings().is_empty());
    let Err(error) = contents.choose(&Pick::default()) else { panic!() };
    assert!(error.to_string().contains("3 skills: a in skills/a, b, a in .claude/skills/a"), "{error}");
}

#[test]
fn only_copies_of_one_name_are_chosen_unasked() {
    let contents = |texts: [&str; 2]| {
        let found = ["kits/one/a", "kits/two/a"].into_iter().zip(texts);
        let found = found.map(|(folder, text)| DiscoveredSkill::new(folder.to_owned(), text.as_bytes()));
        SourceContents::new(found.collect(), "", "src")
    };
    let copies = contents(["Same.", "Same."]).choose(&Pick::default()).unwrap();
    assert_eq!(copies.warnings().len(), 1);
    assert_eq!(folders(Ok(copies)), ["kits/one/a"]);
    let differing = contents(["One.", "Two."]);
    let error = differing.choose(&Pick::default()).unwrap_err();
    assert!(error.to_string().contains("2 skills: a in kits/one/a, a in kits/two/a"), "{error}");
    let hint = error.failure().hint.map(|hint| hint.to_string()).unwrap_or_default();
    assert!(hint.contains("`skillhub install src --skill kits/one/a`"), "{hint}");
    assert_eq!(folders(differing.choose(&ALL)), ["kits/one/a"], "with a warning");
    assert_eq!(folders(differing.choose(&named("a"))), ["kits/one/a"], "with a warning");
}

#[test]
fn namesake_outside_is_listed_by_folder() {
    let contents = contents(&["skills/a", "docs/a"]);
    let chosen = contents.choose(&Pick::default()).unwrap();
    assert_eq!(chosen.warnings(), ["1 more outside the usual folders: docs/a (--skill docs/a)"]);
}

#[test]
fn copy_outside_of_the_plugin_hides_no_skill() {
    let contents = contents(&["docs/a", "kits/one/skills/a"]).with_manifest(Some(MANIFEST), None);
    assert_eq!(folders(contents.choose(&Pick::default())), ["kits/one/skills/a"]);
}

#[test]
fn nested_skill_is_chosen_by_name_only() {
    let contents = contents(&["skills/a", "skills/a/examples/b"]);
    assert_eq!(folders(contents.choose(&ALL)), ["skills/a"]);
    assert_eq!(folders(contents.choose(&named("b"))), ["skills/a/examples/b"]);
    assert_eq!(contents.offered().len(), 2);
}

const MANIFEST: &[u8] = br#"{"plugins": [
    {"name": "kit", "source": "./kits/one"},
    {"name": "own", "source": {"source": "github", "repo": "o/r"}, "skills": []},
    {"name": "far", "source": {"source": "github", "repo": "x/y"}, "description": "Far away."}]}"#;

#[test]
fn manifest_adds_plugins() {
    let contents = contents(&["kits/one/skills/a", "kits/one/skills/b", "docs/c"]);
    let contents = contents.with_manifest(Some(MANIFEST), Some("https://github.com/o/r.git"));
    assert_eq!(folders(contents.choose(&ALL)), ["kits/one/skills/a", "kits/one/skills/b"]);
    assert_eq!(folders(contents.choose(&named("kit"))), ["kits/one/skills/a", "kits/one/skills/b"]);
    let far = contents.choose(&named("far")).unwrap();
    assert_eq!((far.skills.len(), far.foreign[0].git.to_string()), (0, "github:x/y".to_owned()));
    let offered: Vec<String> = contents.offered().into_iter().map(|skill| skill.name).collect();
    assert_eq!(offered, ["c", "a", "b", "far"]);
}

#[test]
fn plugin_is_distinguished_from_skill() {
    let contents = contents(&["kits/one/skills/kit", "kits/one/skills/b", "docs/own", "x/far"]);
    let contents = contents.with_manifest(Some(MANIFEST), None);
    let skill = contents.choose(&named("kit")).unwrap();
    assert!(skill.warnings()[0].contains("--skill kit:"), "{:?}", skill.warnings());
    assert_eq!(folders(Ok(skill)), ["kits/one/skills/kit"]);
    let plugin = contents.choose(&named("kit:")).unwrap();
    assert!(plugin.warnings().is_empty());
    assert_eq!(folders(Ok(plugin)), ["kits/one/skills/b", "kits/one/skills/kit"]);
    assert_eq!(folders(contents.choose(&named("kit:b"))), ["kits/one/skills/b"]);
    assert_eq!(contents.choose(&named("far:")).unwrap().foreign.len(), 1);
    let overlapping = br#"{"plugins": [{"name": "all", "source": "./"}, {"name": "a", "source": "./skills/a"}]}"#;
    let contents = SourceContents::new(
        ["skills/a", "skills/b"].map(|folder| DiscoveredSkill::new(folder.to_owned(), b"")).into(),
        "",
        "src",
    );
    let contents = contents.with_manifest(Some(overlapping), None);
    assert_eq!(folders(contents.choose(&named("all"))), ["skills/a", "skills/b"]);
    assert_eq!(folders(contents.choose(&named("a:"))), ["skills/a"], "in two plugins");
    for wanted in ["kit:none", "none:", ":", "far:b"] {
        assert!(matches!(contents.choose(&named(wanted)), Err(PickError::Missing { .. })), "{wanted}");
    }
}

#[test]
fn malformed_manifest_is_a_warning() {
    let contents = contents(&["skills/a"]).with_manifest(Some(b"{"), None);
    assert_eq!(contents.warnings.len(), 1);
    assert_eq!(folders(contents.choose(&Pick::default())), ["skills/a"]);
}
