//! [`run`]: any bytes as a `SKILL.md`, read, validated and edited.

use skill::{
    Bundle, Edit, File, Frontmatter, Limits, SkillPath, Strictness,
    edit::{self, Patch},
    frontmatter,
    validate::{load, validate_bundle},
};

/// Takes the bytes as a `SKILL.md`, and as a text that becomes a value of one.
pub fn run(bytes: &[u8]) {
    let limits = Limits::default();
    let _either_way = load(bytes, "a", &limits);
    check_problems(bytes, &limits);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    check_split(text);
    check_scalar(text, &limits);
    if let Ok(reading) = frontmatter::read(text, &limits) {
        let fields = reading.frontmatter.clone();
        assert!(text.ends_with(reading.body));
        check_edits(text, reading.body, &fields, &limits);
    }
}

/// Every problem names a line that is there.
fn check_problems(bytes: &[u8], limits: &Limits) {
    let Ok(bundle) = bundle(bytes, limits) else { return };
    let lines = bytes.split(|byte| *byte == b'\n').count();
    let strict = validate_bundle(&bundle, Some("a"), Strictness::Strict, limits);
    let standard = validate_bundle(&bundle, Some("a"), Strictness::Standard, limits);
    for problem in strict.iter().chain(&standard) {
        assert!(problem.line.is_none_or(|line| (1..=lines + 1).contains(&line)), "{problem:?} of {lines} lines");
        assert!(!problem.message.is_empty() && !problem.code.is_empty());
    }
    let errors = |problems: &[skill::Problem]| problems.iter().filter(|problem| problem.is_error()).count();
    assert!(errors(&standard) <= errors(&strict), "strict reading is the stricter one");
    assert_eq!(standard, validate_bundle(&bundle, Some("a"), Strictness::Standard, limits));
}

/// The parts are the text, and the body starts where it is said to.
fn check_split(text: &str) {
    let Ok(split) = frontmatter::split(text) else { return };
    let start = text.len() - split.body.len();
    assert_eq!(&text[start..], split.body);
    assert_eq!(text[..start].matches('\n').count() + usize::from(!text[..start].ends_with('\n')), split.body_line - 1);
    assert!(text[..start].contains(split.yaml));
}

/// A text that is made a value reads back as the same text.
fn check_scalar(text: &str, limits: &Limits) {
    if text.len() > 2000 {
        return;
    }
    let whole = format!("---\nname: {}\n---\n", frontmatter::scalar(text));
    // So many brackets are refused wherever they stand.
    if text.matches(['[', '{']).count() > 150 {
        return;
    }
    let name = frontmatter::read(&whole, limits).map(|reading| reading.frontmatter.name.clone());
    assert_eq!(name, Ok(Some(text.to_owned())), "{whole}");
}

/// What is done to the body leaves the fields alone, and an edit that was taken back never was.
fn check_edits(text: &str, body: &str, fields: &Frontmatter, limits: &Limits) {
    let Ok(before) = bundle(text.as_bytes(), limits) else { return };
    let head = &text[..text.len() - body.len()];
    let longer = format!("{head}{}added\n{body}", if head.ends_with('\n') { "" } else { "\n" });
    let Ok(applied) = edit::apply(&Edit::Edit { content: longer.clone() }, &before, limits) else { return };
    let read = frontmatter::read(&longer, limits).expect("what was read is read with another body");
    assert_eq!((&*read.frontmatter, read.body.strip_prefix("added\n")), (fields, Some(body)));
    let back = edit::apply(&Edit::Edit { content: text.to_owned() }, &applied.bundle, limits).expect("back");
    assert_eq!(back.bundle, before);
    let patch = Patch {
        path: SkillPath::skill_md(),
        find: text.to_owned(),
        replace: longer.clone(),
        expected_count: None,
        replace_all: false,
    };
    if let Ok(patched) = edit::apply(&Edit::Patch(patch), &before, limits) {
        assert_eq!(patched.bundle.skill_md(), Some(longer.as_str()), "the whole text stands there once");
    }
}

fn bundle(bytes: &[u8], limits: &Limits) -> Result<Bundle, skill::BundleError> {
    Bundle::from_files([(SkillPath::skill_md(), File { bytes: bytes.into(), executable: false })], limits)
}
