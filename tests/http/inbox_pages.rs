//! The inbox on the library's pages: changes since the review checkpoint, the form that keeps them, and histories.

use serde_json::json;

use super::{
    gateway::{Gateway, TOKEN},
    library_pages::Browser,
};
use crate::support::Sandbox;

#[test]
fn changes_since_the_last_look_can_be_kept() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("new.md");
    std::fs::write(&file, "---\nname: seen\ndescription: A skill that a person made.\n---\n\nline one\n").unwrap();
    sandbox.at_terminal(&["manage", "create", "seen", "--content", file.to_str().unwrap()]).exits(0);
    for (find, replace, reason) in
        [("line one", "line two", "first"), ("line two", "<b>three</b>", "second <i>why</i>")]
    {
        sandbox.done(&["manage", "patch", "seen", "--find", find, "--replace", replace, "--reason", reason]);
    }
    let gateway = Gateway::start(&sandbox, TOKEN, &[]);
    let guest = Browser::signed_in(&gateway, "");
    let page = guest.page("/skills/seen/changes");
    assert!(!page.contains("/skills/seen/keep") && page.contains("Only a person can decide"), "{page}");
    let browser = Browser::signed_in(&gateway, &sandbox.token());
    let inbox = browser.page("/review");
    assert!(inbox.contains("/skills/seen/changes") && inbox.contains("2 revisions since revision 1"), "{inbox}");
    assert!(inbox.contains("second &lt;i&gt;why&lt;/i&gt;"), "{inbox}");
    let page = browser.page("/skills/seen/changes");
    let (change, form) = (page.find("line one").unwrap(), page.find("/skills/seen/keep").unwrap());
    assert!(change < form, "the change comes before the decision");
    assert!(page.contains("&lt;b&gt;three&lt;/b&gt;") && !page.contains("line two"), "one difference: {page}");
    assert_eq!(browser.send("/skills/seen/keep", &[("revision", "9")]).status, 404);
    let head = sandbox.done(&["history", "seen"])["revisions"][0]["revision"].as_str().unwrap().to_owned();
    sandbox.done(&["manage", "patch", "seen", "--find", "three", "--replace", "four"]);
    assert_eq!(browser.send("/skills/seen/keep", &[("revision", &head)]).status, 303);
    assert!(browser.page("/review").contains("1 revision since revision 3"), "what came later still waits");
}

/// A pinned skill is left to people, so the gate raises an alarm in place of a rollback.
#[test]
fn alarm_and_results_are_shown_first() {
    let sandbox = Sandbox::new();
    for name in ["a-calm", "failing", "hooked"] {
        sandbox.create(name, "line one");
        sandbox.run_as(&sandbox.token(), &["review", "keep", name]).done();
    }
    let report = |name: &str, event: &str, runs: std::ops::Range<usize>| {
        let line = |run| format!("{}\n", json!({"skill": name, "event": event, "run": format!("r{run}")}));
        let lines: String = runs.map(line).collect();
        sandbox.run_with_proof(&["record", "--request", "-"], lines.as_bytes()).exits(0);
    };
    report("failing", "completed", 0..60);
    report("hooked", "corrected", 0..3);
    for name in ["a-calm", "failing"] {
        sandbox.done(&["manage", "patch", name, "--find", "line one", "--replace", "line two"]);
    }
    sandbox.run_as(&sandbox.token(), &["pin", "failing"]).done();
    report("failing", "failed", 60..100);
    let gateway = Gateway::start(&sandbox, TOKEN, &[]);
    let browser = Browser::signed_in(&gateway, &sandbox.token());
    let inbox = browser.page("/review");
    assert!(inbox.contains("its runs fail more often than before"), "{inbox}");
    assert!(inbox.find("s-failing").unwrap() < inbox.find("s-a-calm").unwrap(), "{inbox}");
    let page = browser.page("/skills/failing/changes");
    assert!(page.contains("Alarm:") && page.contains("60 of 60 runs before, 0 of 40 since"), "{page}");
    let page = browser.page("/skills/hooked");
    assert!(page.contains("No success was reported") && !page.contains("0 % ("), "{page}");
    assert!(page.find("Results of runs").unwrap() < page.find("line one").unwrap(), "{page}");
}

#[test]
fn skills_without_history_have_no_link_to_it() {
    let sandbox = Sandbox::new();
    sandbox.create("own", "line one");
    let gateway = Gateway::start(&sandbox, TOKEN, &[]);
    let browser = Browser::signed_in(&gateway, "");
    assert!(browser.page("/skills/own").contains("/skills/own/history"));
    let builtin = browser.page("/skills/skillhub-writing-skills");
    assert!(!builtin.contains("/skills/skillhub-writing-skills/history"), "{builtin}");
}
