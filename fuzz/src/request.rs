//! [`run`]: any bytes as a request of `skill_manage`, and its edits on a skill that is always the same.

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value, json};
use skill::{
    Bundle, Edit, File, Limits, SkillPath, diff,
    edit::{self, Patch, Step, lead_to, looks_applied, shows_applied},
};
use skill_manage::ChangeRequest;

const NOTES: &str = "alpha\n  beta\nalpha\r\n\tgamma “quoted” – dash…\n\n\nalpha beta\u{a0}delta\r\nend";
const SKILL_MD: &str = "---\nname: s\ndescription: Does a thing. Use when a thing is to be done.\n---\n\n# S\n\nFirst.\n\nSecond.\n\n```sh\n  echo one\n    echo two\n```\n";
const FILES: [(&str, &[u8]); 5] = [
    ("SKILL.md", SKILL_MD.as_bytes()),
    ("scripts/run.sh", b"#!/bin/sh\necho one\necho two\necho one\n"),
    ("references/notes.md", NOTES.as_bytes()),
    ("assets/image.bin", &[0, 1, 2, 255]),
    ("notes.txt", b""),
];
/// Words for the fields of a planned request, beside pieces of the files above.
const WORDS: [&str; 28] = [
    "create", "edit", "patch", "delete", "write_file", "remove_file", "s", "../s", "SKILL.md", "scripts/run.sh",
    "references/notes.md", "assets/image.bin", "notes.txt", "./scripts/run.sh", "scripts/../run.sh", "Scripts/run.sh",
    "scripts/con", "assets/e\u{301}", "", "alpha", "alpha\n", "echo one\necho two", "    beta",
    "gamma \"quoted\" - dash...", "AP8=", "\u{202e}", "First.", "\r\n",
];
const FIELDS: [&str; 18] = [
    "action", "name", "content", "content_base64", "path", "find", "replace", "file_path", "old_string", "new_string",
    "file_content", "expected_revision", "reason", "run", "thread", "category", "absorbed_into", "surprise",
];

/// Takes the bytes as JSON, or, when they begin so, as the plan of a request that is JSON.
pub fn run(bytes: &[u8]) {
    match bytes.strip_prefix(b"plan") {
        Some(plan) => {
            let mut plan = Unstructured::new(plan);
            check(planned(&mut plan).unwrap_or_default().to_string().as_bytes());
            if let Ok(patch) = planned_patch(&mut plan) {
                check_edit(&Edit::Patch(patch), &skill(), &Limits::default());
            }
        }
        None => check(bytes),
    }
}

fn check(json: &[u8]) {
    let limits = Limits::default();
    let Ok(request) = ChangeRequest::from_json(json, &limits) else { return };
    assert!(!request.edits.is_empty() && request.edits.len() <= limits.operations_per_request);
    assert_eq!(ChangeRequest::from_json(json, &limits).as_ref(), Ok(&request));
    let mut now = skill();
    for edit in &request.edits {
        now = check_edit(edit, &now, &limits);
    }
}

/// Applies an edit, or passes over it; the skill stays one either way.
fn check_edit(edit: &Edit, before: &Bundle, limits: &Limits) -> Bundle {
    let applied = match edit::apply(edit, before, limits) {
        Ok(applied) => applied,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return before.clone();
        }
    };
    let after = applied.bundle;
    let files: Vec<_> = after.files().map(|(path, file)| (path.clone(), file.clone())).collect();
    assert_eq!(Bundle::from_files(files, limits).as_ref(), Ok(&after), "what an edit makes keeps the limits");
    assert_eq!(applied.changed, after != *before);
    let changes = diff::diff(before, &after).files;
    assert_eq!(changes.is_empty(), after == *before);
    match edit {
        Edit::Delete => assert!(after.is_empty()),
        Edit::Patch(patch) => check_patch(patch, before, &after, limits),
        Edit::Create { content } | Edit::Edit { content } => assert_eq!(after.skill_md(), text_of(content.as_bytes())),
        Edit::WriteFile { path, bytes, .. } => assert_eq!(after.get(path).map(|file| &*file.bytes), Some(&**bytes)),
        Edit::RemoveFile { path } => assert!(after.get(path).is_none()),
    }
    after
}

fn check_patch(patch: &Patch, before: &Bundle, after: &Bundle, limits: &Limits) {
    let others = |bundle: &Bundle| bundle.clone().without_file(&patch.path);
    assert_eq!(others(before), others(after), "a patch is about one file");
    let text = |bundle: &Bundle| bundle.get(&patch.path).and_then(File::text).map(str::to_owned);
    let (Some(old), Some(new)) = (text(before), text(after)) else { return };
    let plain = |text: &str| text.replace("\r\n", "\n");
    if old.matches(&patch.find).count() == 1 && patch.expected_count.is_none_or(|count| count == 1) {
        // The replacement takes the line ends of the place.
        let expected = old.replacen(&patch.find, &patch.replace, 1);
        assert_eq!(plain(&new), plain(&expected), "one exact match is replaced as it is");
    }
    let _told = looks_applied(patch, after);
    let step = Step { before: &old, after: &new };
    assert!(shows_applied(patch, step, &new, limits) || plain(&old) == plain(&new), "the step shows what it did");
    assert!(lead_to(&[patch], step, limits));
}

fn text_of(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

fn skill() -> Bundle {
    let file = |(path, bytes): (&str, &[u8])| {
        let executable = path.starts_with("scripts/");
        (SkillPath::parse(path).expect("a path"), File { bytes: bytes.into(), executable })
    };
    Bundle::from_files(FILES.map(file), &Limits::default()).expect("a skill")
}

fn planned(plan: &mut Unstructured<'_>) -> Result<Value> {
    let mut request = fields(plan)?;
    request.insert("name".to_owned(), json!("s"));
    if plan.ratio(1, 2)? {
        let operations = (0..plan.int_in_range(0..=4)?).map(|_| fields(plan).map(Value::Object));
        request.retain(|key, _| !matches!(key.as_str(), "action" | "path" | "find" | "replace" | "content"));
        request.insert("operations".to_owned(), Value::Array(operations.collect::<Result<_>>()?));
    }
    Ok(Value::Object(request))
}

/// The fields that an action needs, and perhaps more.
fn fields(plan: &mut Unstructured<'_>) -> Result<Map<String, Value>> {
    const ACTIONS: [(&str, &[&str]); 8] = [
        ("patch", &["find", "replace", "path"]),
        ("patch", &["find", "replace"]),
        ("write_file", &["path", "content"]),
        ("write_file", &["path", "content_base64"]),
        ("edit", &["content"]),
        ("remove_file", &["path"]),
        ("create", &["content"]),
        ("delete", &[]),
    ];
    let (action, needed) = *plan.choose(&ACTIONS)?;
    let mut fields = Map::new();
    fields.insert("action".to_owned(), json!(action));
    for field in needed {
        let value = if *field == "path" { (*plan.choose(&WORDS)?).to_owned() } else { text(plan)? };
        fields.insert((*field).to_owned(), json!(value));
    }
    for _ in 0..plan.int_in_range(0..=2)? {
        let value = match plan.int_in_range(0..=4)? {
            0 => json!(plan.arbitrary::<u8>()?),
            1 => json!(plan.arbitrary::<bool>()?),
            2 => Value::Null,
            _ => json!(text(plan)?),
        };
        let extra = ["expected_count", "replace_all", "executable", "dry_run"];
        let field = if plan.arbitrary()? { *plan.choose(&extra)? } else { *plan.choose(&FIELDS)? };
        fields.insert(field.to_owned(), value);
    }
    Ok(fields)
}

fn planned_patch(plan: &mut Unstructured<'_>) -> Result<Patch> {
    let (path, _) = *plan.choose(&FILES)?;
    Ok(Patch {
        path: SkillPath::parse(path).expect("a path"),
        find: text(plan)?,
        replace: text(plan)?,
        expected_count: plan.arbitrary::<Option<u8>>()?.map(usize::from),
        replace_all: plan.arbitrary()?,
    })
}

/// A word, a piece of a file, any text, or several of these.
fn text(plan: &mut Unstructured<'_>) -> Result<String> {
    let mut text = match plan.int_in_range(0..=3)? {
        0 => (*plan.choose(&WORDS)?).to_owned(),
        1 => piece(plan)?,
        2 => piece(plan)?.replace("  ", plan.choose(&["\t", " ", "    ", "\u{a0}"])?),
        _ => plan.arbitrary::<String>()?,
    };
    if plan.ratio(1, 4)? {
        text.push_str(plan.choose(&WORDS)?);
    }
    if plan.ratio(1, 8)? {
        text = text.replace('\n', "\r\n");
    }
    Ok(text)
}

fn piece(plan: &mut Unstructured<'_>) -> Result<String> {
    let text = *plan.choose(&[NOTES, SKILL_MD])?;
    let chars: Vec<char> = text.chars().collect();
    let start = plan.choose_index(chars.len())?;
    let len = plan.int_in_range(1..=60.min(chars.len() - start))?;
    Ok(chars[start..start + len].iter().collect())
}
