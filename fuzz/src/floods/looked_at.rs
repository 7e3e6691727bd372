//! [`show`], [`scan_drawing`], [`search`] and [`query`]: what makes something of a text for those who look at it.

use std::{
    path::Path,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use agent::{Builtin, Catalogue, SkillLocations};
use compose::{Approval, Bounds, Native, NativeSettings, ToolHost};
use library::Home;
use registry_index::Entry;
use serde_json::json;
use skill::{SkillName, SkillPath};

use super::{SLOWER, skill};

/// Skills that are searched.
const SKILLS: usize = 200;

/// The pages of a file, and of what it becomes when every other line is another one.
pub(super) fn show(text: &str) {
    let names = ["SKILL.md", "a.py", "a.js", "a.json"];
    let name = names[text.len() % names.len()];
    let changed: String = text.split_inclusive('\n').rev().step_by(2).collect();
    let (Some(old), Some(new)) = (skill(&[(name, text)]), skill(&[(name, &changed)])) else { return };
    let made = web::shown_bytes(&SkillPath::parse(name).expect("a path"), &old, &new);
    assert!(made.iter().all(|bytes| *bytes <= 25 << 20), "bytes of HTML: {made:?}");
}

pub(super) fn scan_drawing(text: &str) {
    let paths = ["assets/a.svg", "assets/a.html", "a.json", "a.yaml"];
    if let Some(skill) = skill(&[(paths[text.len() % paths.len()], text)]) {
        let _report = scan::scan(&skill);
        let _touched = scan::capabilities(&skill);
    }
}

/// The text as a query, and, as far as descriptions go, as what is searched.
pub(super) fn search(text: &str) {
    let described = &text[..text.floor_char_boundary(1024)];
    let names: Vec<SkillName> = (0..SKILLS).filter_map(|at| SkillName::parse(&format!("a-{at}")).ok()).collect();
    let entries = names.iter().map(|name| ("r".to_owned(), entry(name, described)));
    let _hits = client::search::rank(entries.collect(), text, 10);
    let written = json!(described);
    let md = |name: &SkillName| format!("---\nname: {name}\ndescription: {written}\n---\n");
    let files = |name: &SkillName| skill(&[("SKILL.md", &md(name))]).unwrap_or_default();
    let builtins = names.iter().map(|name| Builtin { name: name.clone(), files: files(name), qualified: None });
    let places = SkillLocations {
        home: Home::unchecked("/nowhere"),
        storage: "git".to_owned(),
        libraries: Vec::new(),
        folders: Vec::new(),
        project: None,
        inner: false,
    };
    let catalogue = Catalogue::collect(&places, builtins.collect()).expect("built-in skills alone");
    let _hits = agent::search(&catalogue.visible().collect::<Vec<_>>(), text, 10);
}

fn entry(name: &SkillName, description: &str) -> Entry {
    let hash = format!("sha256:{}", "1".repeat(64));
    let line = json!({
        "v": 1, "name": format!("acme/{name}"), "version": "1.0.0", "digest": hash, "archive": hash, "size": 1,
        "files": 1, "description": description, "keywords": [], "requires": [], "verdict": "allow", "publisher": "acme",
        "published_at": "2026-01-01T00:00:00Z",
    });
    Entry::parse(&line.to_string()).expect("a line")
}

/// The first line as a JSONPath into the others.
pub(super) fn query(text: &str) {
    let (query, data) = text.split_once('\n').unwrap_or(("$..*", text));
    let cancelled = AtomicBool::new(false);
    // It works in a thread of its own, so that its time is that of a clock.
    let deadline = Instant::now() + Duration::from_secs(2 * SLOWER);
    let bounds = Bounds { deadline, cancelled: &cancelled, answer_bytes: 1 << 20, level: Approval::None };
    let tools = Native::new(NativeSettings::default(), Path::new("/"));
    if let Err(fault) = tools.call("json_query", &json!({"query": query, "data": data}), &bounds) {
        assert_ne!(fault.code, "timeout");
    }
}
