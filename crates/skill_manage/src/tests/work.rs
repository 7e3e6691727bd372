//! Tests that count the work of a change.

use skill::work::watched;

use super::*;

#[test]
fn each_content_is_parsed_once() {
    let mut place = Fixture::with_skill();
    let mut parses = |request: Value| {
        place.library = open(&place.temp);
        watched(|| place.applied(request)).1.counts("parse")
    };
    assert_eq!(parses(patch("description: ", "description: Today, ")), [1, 1], "the frontmatter before and after");
    assert_eq!(parses(patch("First.", "First of all.")), [1], "the frontmatter stays");
    assert_eq!(parses(patch_in("scripts/run.sh", "echo one", "echo 1")), [1]);
    assert_eq!(parses(json!({"action": "delete", "name": "s"})), [1]);
    let content = skill_md("t", "# T\n");
    assert_eq!(parses(json!({"action": "create", "name": "t", "content": content})), [1]);
}
