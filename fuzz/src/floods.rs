//! [`run`]: texts as large as each reader takes, made of what the bytes say over and over, held to a time.

mod documents;
mod history;
mod looked_at;

use std::{collections::BTreeSet, fs};

use compose::{Compiler, Condition, Positions, Source, template::Template};
use skill::{
    Bundle, Edit, File, Limits, SkillPath, Strictness,
    diff::diff,
    edit::{self, Patch},
    frontmatter,
    merge::{Rules, merge_by},
    validate::validate_bundle,
};

/// What reads a text: the bytes that it may have, the seconds of a processor that it may take, and how.
type Reader = (usize, u64, fn(&str));

/// A kept input chooses by its place, so new ones stand last.
const READERS: [Reader; 26] = [
    (64 << 10, 1, read_frontmatter),
    (64 << 10, 1, read_template),
    (60 << 10, 1, compile),
    (90 << 10, 1, validate),
    (1 << 20, 1, compare),
    (1 << 20, 1, patch),
    // Its budget of steps ends after about two seconds, however long a text is.
    (1 << 20, 3, scan_file),
    (2 << 20, 1, read_page),
    (1 << 20, 1, looked_at::show),
    (1 << 20, 3, looked_at::scan_drawing),
    (1 << 20, 1, looked_at::search),
    (1 << 20, 1, looked_at::query),
    (1 << 20, 1, documents::unpack),
    (1 << 20, 1, documents::read_evals),
    (4 << 20, 1, documents::read_lock_file),
    (1 << 20, 1, documents::read_index),
    // Two edits, a second each.
    (16 << 20, 2, documents::edit_json_settings),
    // Each line may be an outcome, which takes some times its bytes.
    (16 << 20, 1, documents::read_transcript),
    (16 << 20, 1, documents::read_request),
    // What only this user writes, of sizes far above those that there are.
    (8 << 20, 1, history::read_state),
    (4 << 20, 1, history::read_events),
    (2 << 20, 1, history::read_uses),
    (64 << 20, 1, history::read_proposal),
    (8 << 20, 1, history::read_lock_lines),
    (16 << 20, 1, history::read_journal),
    (1 << 20, 1, documents::edit_toml_settings),
];

/// How many times as long a build takes that is not optimised.
const SLOWER: u64 = if cfg!(debug_assertions) { 20 } else { 1 };

/// Takes the first byte as the choice of a reader, and the others as a beginning, what is repeated behind it and an
/// end, with a byte that stands in no text between them.
pub fn run(bytes: &[u8]) {
    let Some(Flood { text, read, seconds }) = Flood::of(bytes, 1) else { return };
    let spent = time(read, &text);
    assert!(
        spent <= seconds * SLOWER * 1_000_000_000,
        "{} ms of processor time for {} bytes",
        spent / 1_000_000,
        text.len()
    );
}

/// Bytes of the text that the input becomes.
pub fn text_bytes(bytes: &[u8]) -> usize {
    Flood::of(bytes, 1).map_or(0, |flood| flood.text.len())
}

/// Kilobytes of memory that something takes at most; 0 where the system does not say.
pub fn kilobytes_of(run: impl FnOnce()) -> u64 {
    // Lets the highest use so far be that of now.
    let _where_there_is_no_such_file = fs::write("/proc/self/clear_refs", "5");
    let before = said("VmRSS:");
    run();
    said("VmHWM:").saturating_sub(before)
}

/// What the system says of this process under a name, in kilobytes.
fn said(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

/// Nanoseconds of a processor for a quarter of the text, for half of it, and for all.
pub fn growth(bytes: &[u8]) -> Option<[u64; 3]> {
    let of_part = |part| Flood::of(bytes, part).map(|flood| time(flood.read, &flood.text));
    Some([of_part(4)?, of_part(2)?, of_part(1)?])
}

/// A text, what reads it, and the seconds that it may take.
struct Flood {
    text: String,
    read: fn(&str),
    seconds: u64,
}

impl Flood {
    /// The input as a text of the given part of what its reader takes.
    fn of(bytes: &[u8], part: usize) -> Option<Self> {
        let (choice, rest) = bytes.split_first()?;
        let (most, seconds, read) = READERS[usize::from(*choice) % READERS.len()];
        let mut parts = rest.splitn(3, |byte| *byte == 0xFF).map(String::from_utf8_lossy);
        let (begin, unit, end) = (parts.next()?, parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let left = (most / part).saturating_sub(begin.len() + end.len());
        let text = [&*begin, &unit.repeat(left / unit.len().max(1)), &end].concat();
        Some(Self { text, read, seconds })
    }
}

fn time(read: fn(&str), text: &str) -> u64 {
    let before = nanoseconds_of_this_thread();
    read(text);
    nanoseconds_of_this_thread() - before
}

/// What this thread had of a processor, whatever else ran; 0 where the system does not say.
fn nanoseconds_of_this_thread() -> u64 {
    let said = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    said.split(' ').next().and_then(|time| time.parse().ok()).unwrap_or(0)
}

fn read_frontmatter(text: &str) {
    let whole = format!("---\n{text}\n---\n");
    let _either_way = frontmatter::read(&whole, &Limits::default());
    let _either_way = frontmatter::as_json(&whole, &Limits::default());
    let _any = Positions::of(text).value("/a/b/0");
}

fn read_template(text: &str) {
    let _either_way = (Template::parse(text), Condition::parse(text));
}

fn compile(text: &str) {
    let indented: String = text.lines().map(|line| format!("  {line}\n")).collect();
    let whole = format!("---\nname: a\ndescription: d\ntool_schema:\n{indented}---\nBody.\n");
    let source = Source { skill: "a".to_owned(), description: "d".to_owned(), digest: "1".to_owned() };
    let read = |_: &Source| Ok(whole.clone());
    let _catalogue = Compiler::new(&[], &[], &Limits::default()).compile(&[source], &BTreeSet::from(["a"]), &[], &read);
}

fn validate(text: &str) {
    if let Some(skill) = skill(&[("SKILL.md", &format!("---\nname: a\ndescription: d\n---\n{text}"))]) {
        let _problems = validate_bundle(&skill, Some("a"), Strictness::Strict, &Limits::default());
    }
}

/// A text, what it becomes with its halves exchanged, and what every other line of it makes.
fn compare(text: &str) {
    let half = text.floor_char_boundary(text.len() / 2);
    let exchanged = [&text[half..], &text[..half]].concat();
    let thinned: String = text.split_inclusive('\n').step_by(2).collect();
    let bundles = [text, &exchanged, &thinned].map(|text| skill(&[("a.md", text)]));
    let [Some(base), Some(ours), Some(theirs)] = &bundles else { return };
    assert!(base == ours || !diff(base, ours).text.is_empty());
    merge_by(&Rules { follows_renames: true, ..Rules::CAREFUL }, [base, ours, theirs], &Limits::default()).ok();
}

fn patch(text: &str) {
    let Some(skill) = skill(&[("a.md", text)]) else { return };
    let start: String = text.chars().take(2000).collect();
    for find in [format!("{start}?"), start.trim().to_owned()] {
        let path = SkillPath::parse("a.md").expect("a path");
        let patch = Patch { path, find, replace: "x\ny".to_owned(), expected_count: None, replace_all: true };
        let _either_way = edit::apply(&Edit::Patch(patch), &skill, &Limits::default());
    }
}

fn scan_file(text: &str) {
    let paths = ["SKILL.md", "scripts/a.py", "scripts/a.js", "scripts/a.sh"];
    if let Some(skill) = skill(&[(paths[text.len() % paths.len()], text)]) {
        let _report = scan::scan(&skill);
    }
}

fn read_page(text: &str) {
    assert!(compose::page_text(text).len() <= 3 * text.len());
}

fn skill(files: &[(&str, &str)]) -> Option<Bundle> {
    let file = |text: &str| File { bytes: text.as_bytes().into(), executable: false };
    let files = files.iter().map(|(path, text)| (SkillPath::parse(path).expect("a path"), file(text)));
    Bundle::from_files(files, &Limits::default()).ok()
}
