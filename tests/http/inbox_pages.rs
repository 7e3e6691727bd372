//! The inbox on the library's pages: changes since the review checkpoint, and the form that keeps them.

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
