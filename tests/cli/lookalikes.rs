//! Names that resemble others cause a warning, not a refusal.

use std::{thread, time::Duration};

use serde_json::{Value, json};

use crate::support::Sandbox;

fn publish(sandbox: &Sandbox, owner: &str, name: &str) -> Vec<String> {
    sandbox.skill(name, &format!("Fills forms for {owner}. Use in tests."), &[]);
    warnings(&sandbox.done(&["publish", name, "--owner", owner]))
}

fn install(sandbox: &Sandbox, spec: &str) -> Vec<String> {
    let document = sandbox.done(&["install", spec, "--dry-run"]);
    warnings(&document["skills"][0])
}

fn warnings(document: &Value) -> Vec<String> {
    document["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[test]
fn published_lookalike_names_the_original() {
    let sandbox = Sandbox::new();
    assert!(publish(&sandbox, "acme", "pdf-forms").is_empty());
    // Release times have a resolution of a second.
    thread::sleep(Duration::from_millis(1100));
    for (owner, name) in [("zoe", "pdf-form"), ("bob", "pdfforms"), ("acne", "pdf-forms"), ("eve", "dpf-forms")] {
        let told = publish(&sandbox, owner, name);
        let both = |text: &String| text.contains(&format!("{owner}/{name}")) && text.contains("acme/pdf-forms");
        assert!(told.iter().any(both), "{owner}/{name}: {told:?}");
        let told = install(&sandbox, &format!("{owner}/{name}"));
        assert!(told.iter().any(both), "{owner}/{name}: {told:?}");
        assert!(told.iter().any(|text| text.contains("before it (1 release)")), "{told:?}");
    }
    assert!(install(&sandbox, "acme/pdf-forms").is_empty(), "it was there first");
    assert!(
        publish(&sandbox, "acme", "pdf-formz").iter().all(|text| !text.contains("acme/pdf-forms")),
        "its own owner"
    );
    assert!(publish(&sandbox, "zoe", "meeting-notes").is_empty());
}

#[test]
fn lookalike_of_installed_skill_warns() {
    let sandbox = Sandbox::new();
    publish(&sandbox, "acme", "pdf-forms");
    sandbox.done(&["install", "acme/pdf-forms"]);
    sandbox.skill("pdf-fomrs", "Fills forms. Use in tests.", &[]);
    let told = install(&sandbox, "./pdf-fomrs");
    assert!(told[0].contains("pdf-fomrs is not acme/pdf-forms, which is already installed"), "{told:?}");
    sandbox.skill("lesson-1", "Teaches. Use in tests.", &[]);
    sandbox.done(&["install", "./lesson-1"]);
    sandbox.skill("lesson-2", "Teaches. Use in tests.", &[]);
    assert!(install(&sandbox, "./lesson-2").is_empty());
    let text = sandbox.run(&["install", "./pdf-fomrs"]).exits(0).text();
    assert!(text.contains("note") && text.contains("acme/pdf-forms"), "{text}");
    assert_eq!(sandbox.done(&["install", "--frozen"])["skills"][2]["warnings"], json!([]), "told once");
}
