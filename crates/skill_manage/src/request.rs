//! [`ChangeRequest`]: the parsed input of `skill_manage`.

use base64::{Engine, engine::general_purpose::STANDARD};
use library::{Action, Evidence, EvidenceError, RevisionSpecError};
use serde::Deserialize;
use skill::{Edit, Limits, NameError, PathError, SkillName, SkillPath, edit::Patch, objects_and_commas, parse_json};
use thiserror::Error;

/// Request to change one skill by one or several edits, which become one revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRequest {
    /// Name of the skill.
    pub skill: SkillName,
    /// Action recorded for the revision.
    pub action: Action,
    /// Edits in order, at least one.
    pub edits: Vec<Edit>,
    /// Head that the caller saw. The request is refused at any other head.
    pub expected_revision: Option<String>,
    /// Reason, run and conversation.
    pub notes: Notes,
    /// True to stop before the commit.
    pub dry_run: bool,
    /// Skill that took over this one's content, in a deletion.
    pub absorbed_into: Option<String>,
    /// Sentences for the report, such as a field that was ignored.
    pub remarks: Vec<String>,
}

/// Notes of a caller on a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    /// Reason for the change.
    pub reason: Option<String>,
    /// Id of the run.
    pub run: Option<String>,
    /// Id of the conversation.
    pub thread: Option<String>,
    /// Evidence in support of the change, for the reviewer if it is held.
    pub evidence: Vec<Evidence>,
}

impl Notes {
    /// Removes blank notes and checks the length of the others.
    ///
    /// # Errors
    /// [`RequestError::TooLarge`] if a note is longer than `limits.note_chars`.
    pub fn checked(self, limits: &Limits) -> Result<Self, RequestError> {
        Ok(Self {
            reason: note("reason", self.reason, limits)?,
            run: note("run", self.run, limits)?,
            thread: note("thread", self.thread, limits)?,
            evidence: self.evidence,
        })
    }
}

/// Reason why a text is not a [`ChangeRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    /// The JSON does not have the documented form.
    #[error("{0}")]
    Malformed(String),
    /// The name is not valid for a skill.
    #[error("{:?} is not a valid skill name: {fault}", skill::shortened(name, skill::ECHO_CHARS))]
    Name {
        /// Name as given by the caller.
        name: String,
        /// Rule that the name breaks.
        fault: NameError,
    },
    /// The text does not refer to a revision.
    #[error("{error}")]
    Revision {
        /// Name of the skill.
        skill: SkillName,
        /// Error with the text as given by the caller.
        error: RevisionSpecError,
    },
    /// The revision to restore has no files, since it is the skill's deletion.
    #[error("revision {number} of {skill} is its deletion")]
    Deletion {
        /// Name of the skill.
        skill: SkillName,
        /// Number of the revision.
        number: u64,
    },
    /// A path is not valid inside a skill.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The evidence does not have a supported form.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The request exceeds a limit on bytes, characters or edits.
    #[error("{0}")]
    TooLarge(String),
}

/// Largest number of JSON values in a request. An edit has a dozen, and evidence needs a few.
const VALUES: usize = 10_000;

/// JSON form of a request. An operation inside `operations` uses only the fields of an edit.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    action: Option<String>,
    name: Option<String>,
    content: Option<String>,
    content_base64: Option<String>,
    #[serde(alias = "file_path")]
    path: Option<String>,
    #[serde(alias = "old_string")]
    find: Option<String>,
    #[serde(alias = "new_string")]
    replace: Option<String>,
    file_content: Option<String>,
    expected_count: Option<usize>,
    replace_all: Option<bool>,
    executable: Option<bool>,
    expected_revision: Option<String>,
    reason: Option<String>,
    run: Option<String>,
    #[serde(alias = "thread_id")]
    thread: Option<String>,
    evidence: Option<Vec<String>>,
    dry_run: Option<bool>,
    operations: Option<Vec<Fields>>,
    category: Option<String>,
    absorbed_into: Option<String>,
}

impl ChangeRequest {
    /// Returns whether the request creates the skill.
    pub fn creates(&self) -> bool {
        matches!(self.edits.first(), Some(Edit::Create { .. }))
    }

    /// Parses the JSON form, up to `limits.request_bytes`.
    ///
    /// # Errors
    /// [`RequestError`] for any violation of the documented form.
    pub fn from_json(json: &[u8], limits: &Limits) -> Result<Self, RequestError> {
        if json.len() as u64 > limits.request_bytes {
            let message = format!("the request has {} bytes, but the limit is {}", json.len(), limits.request_bytes);
            return Err(RequestError::TooLarge(message));
        }
        if json.trim_ascii_start().first() != Some(&b'{') {
            return Err(malformed("the request is not a JSON object"));
        }
        check_values(json, limits)?;
        let fields: Fields =
            parse_json(json).map_err(|fault| malformed(format!("cannot read the request: {fault}")))?;
        Self::from_fields(fields, limits)
    }

    /// Returns a request with a single edit.
    ///
    /// # Errors
    /// [`RequestError::Name`] if the name is not valid.
    pub fn of_edit(name: &str, edit: Edit) -> Result<Self, RequestError> {
        let edits = vec![edit];
        Ok(Self {
            skill: parse_name(name, &edits)?,
            action: action_of_all(&edits),
            edits,
            expected_revision: None,
            notes: Notes::default(),
            dry_run: false,
            absorbed_into: None,
            remarks: Vec::new(),
        })
    }

    fn from_fields(mut fields: Fields, limits: &Limits) -> Result<Self, RequestError> {
        let name = fields.name.take().ok_or_else(|| malformed("`name` is missing"))?;
        let mut remarks = Vec::new();
        if fields.has_category() {
            remarks.push("ignored `category`: a library has no categories".to_owned());
        }
        let evidence = Evidence::all(&fields.evidence.take().unwrap_or_default())?;
        let (reason, run, thread) = (fields.reason.take(), fields.run.take(), fields.thread.take());
        let notes = Notes { reason, run, thread, evidence };
        let notes = notes.checked(limits)?;
        let expected_revision = fields.expected_revision.take();
        let dry_run = fields.dry_run.take().unwrap_or(false);
        // Agents with this field send an empty text if no skill took over the content.
        let absorbed_into = fields.absorbed_into.take().filter(|name| !name.is_empty());
        let absorbed_into = absorbed_into.map(|name| parse_name(&name, &[])).transpose()?;
        let edits = match fields.operations.take() {
            Some(operations) => operations_of(&fields, operations)?,
            None => vec![fields.into_edit()?],
        };
        let (skill, action) = (parse_name(&name, &edits)?, action_of_all(&edits));
        let absorbed_into = absorbed_into.map(|name| name.to_string());
        Ok(Self { skill, action, edits, expected_revision, notes, dry_run, absorbed_into, remarks })
    }
}

/// Refuses more objects and values than a valid request can have, before they are parsed into many times their size in
/// memory.
fn check_values(json: &[u8], limits: &Limits) -> Result<(), RequestError> {
    let (objects, values) = objects_and_commas(json);
    let limits = [(objects.saturating_sub(1), limits.operations_per_request, "operations"), (values, VALUES, "values")];
    match limits.into_iter().find(|(found, limit, _)| found > limit) {
        Some((found, limit, what)) => {
            Err(RequestError::TooLarge(format!("the request has {found} {what}, but the limit is {limit}")))
        }
        None => Ok(()),
    }
}

fn operations_of(outer: &Fields, operations: Vec<Fields>) -> Result<Vec<Edit>, RequestError> {
    if let Some(field) = outer.edit_fields().next() {
        return Err(malformed(format!("`{field}` is not allowed beside `operations`; move it into an operation")));
    }
    if operations.is_empty() {
        return Err(malformed("`operations` is empty"));
    }
    let mut edits = Vec::with_capacity(operations.len());
    for (index, operation) in operations.into_iter().enumerate() {
        if let Some(field) = operation.request_fields().next() {
            return Err(malformed(format!(
                "operation {index}: `{field}` is not allowed in an operation; move it beside `operations`"
            )));
        }
        let edit = operation.into_edit().map_err(|error| match error {
            RequestError::Malformed(message) => malformed(format!("operation {index}: {message}")),
            other => other,
        })?;
        edits.push(edit);
    }
    if edits.len() > 1 && edits.contains(&Edit::Delete) {
        return Err(malformed("`delete` cannot be combined with other operations"));
    }
    Ok(edits)
}

impl Fields {
    fn has_category(&self) -> bool {
        self.category.is_some() || self.operations.iter().flatten().any(|operation| operation.category.is_some())
    }

    /// Yields the names of the fields of an edit that are set. A false `replace_all` counts as unset.
    fn edit_fields(&self) -> impl Iterator<Item = &'static str> {
        [
            ("action", self.action.is_some()),
            ("content", self.content.is_some()),
            ("content_base64", self.content_base64.is_some()),
            ("file_content", self.file_content.is_some()),
            ("path", self.path.is_some()),
            ("find", self.find.is_some()),
            ("replace", self.replace.is_some()),
            ("expected_count", self.expected_count.is_some()),
            ("replace_all", self.replace_all == Some(true)),
            ("executable", self.executable.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, set)| set.then_some(name))
    }

    /// Yields the names of the fields of a whole request that are set.
    fn request_fields(&self) -> impl Iterator<Item = &'static str> {
        [
            ("name", self.name.is_some()),
            ("expected_revision", self.expected_revision.is_some()),
            ("reason", self.reason.is_some()),
            ("run", self.run.is_some()),
            ("thread", self.thread.is_some()),
            ("evidence", self.evidence.is_some()),
            ("dry_run", self.dry_run.is_some()),
            ("operations", self.operations.is_some()),
            ("absorbed_into", self.absorbed_into.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, set)| set.then_some(name))
    }

    fn into_edit(self) -> Result<Edit, RequestError> {
        let missing = || malformed(format!("`action` is missing; it must be {}", action_names()));
        let action = self.action.clone().ok_or_else(missing)?;
        let takes = fields_of(&action)
            .ok_or_else(|| malformed(format!("unknown action {action:?}; it must be {}", action_names())))?;
        if let Some(field) = self.edit_fields().find(|field| *field != "action" && !takes.contains(field)) {
            return Err(malformed(format!("`{action}` does not take `{field}`")));
        }
        match action.as_str() {
            "create" => Ok(Edit::Create { content: required(self.content, &action, "content")? }),
            "edit" => Ok(Edit::Edit { content: required(self.content, &action, "content")? }),
            "patch" => self.into_patch(),
            "write_file" => self.into_write_file(),
            "remove_file" => Ok(Edit::RemoveFile { path: path(&required(self.path, &action, "path")?)? }),
            _ => Ok(Edit::Delete),
        }
    }

    fn into_patch(self) -> Result<Edit, RequestError> {
        Ok(Edit::Patch(Patch {
            path: path(self.path.as_deref().unwrap_or(SkillPath::SKILL_MD))?,
            find: required(self.find, "patch", "find")?,
            replace: required(self.replace, "patch", "replace")?,
            expected_count: self.expected_count,
            replace_all: self.replace_all.unwrap_or(false),
        }))
    }

    fn into_write_file(self) -> Result<Edit, RequestError> {
        let bytes = match (self.content, self.file_content, self.content_base64) {
            (Some(text), None, None) | (None, Some(text), None) => text.into_bytes(),
            (None, None, Some(base64)) => STANDARD
                .decode(base64.as_bytes())
                .map_err(|error| malformed(format!("`content_base64` is not base64: {error}")))?,
            (None, None, None) => return Err(malformed("`write_file` needs `content` or `content_base64`")),
            _ => return Err(malformed("`write_file` takes one of `content` and `content_base64`, not both")),
        };
        let path = path(&required(self.path, "write_file", "path")?)?;
        Ok(Edit::WriteFile { path, bytes, executable: self.executable })
    }
}

/// The actions, each with the fields of a request that it takes.
pub const ACTIONS: [(&str, &[&str]); 6] = [
    ("create", &["content"]),
    ("edit", &["content"]),
    ("patch", &["path", "find", "replace", "expected_count", "replace_all"]),
    ("delete", &[]),
    ("write_file", &["path", "content", "content_base64", "file_content", "executable"]),
    ("remove_file", &["path"]),
];

/// Returns the fields that an action takes; `None` if there is no such action.
pub fn fields_of(action: &str) -> Option<&'static [&'static str]> {
    ACTIONS.iter().find(|(name, _)| *name == action).map(|(_, fields)| *fields)
}

fn action_names() -> String {
    format!("one of {}", ACTIONS.map(|(name, _)| name).join(", "))
}

fn malformed(message: impl Into<String>) -> RequestError {
    RequestError::Malformed(message.into())
}

fn required(value: Option<String>, action: &str, field: &str) -> Result<String, RequestError> {
    value.ok_or_else(|| malformed(format!("`{action}` needs `{field}`")))
}

fn path(text: &str) -> Result<SkillPath, RequestError> {
    Ok(SkillPath::parse(text.strip_prefix("./").unwrap_or(text))?)
}

/// Parses the skill's name. The name of a new skill must conform to the standard.
fn parse_name(text: &str, edits: &[Edit]) -> Result<SkillName, RequestError> {
    let is_new = edits.iter().any(|edit| matches!(edit, Edit::Create { .. }));
    let parsed = if is_new { SkillName::parse_standard(text) } else { SkillName::parse(text) };
    parsed.map_err(|fault| RequestError::Name { name: text.to_owned(), fault })
}

/// Checks the length of a note. Returns `None` for a blank one.
pub(crate) fn note(field: &str, value: Option<String>, limits: &Limits) -> Result<Option<String>, RequestError> {
    match value {
        Some(text) if text.chars().count() > limits.note_chars => {
            Err(RequestError::TooLarge(format!("`{field}` is longer than {} characters", limits.note_chars)))
        }
        other => Ok(other.filter(|text| !text.trim().is_empty())),
    }
}

fn action_of_all(edits: &[Edit]) -> Action {
    match edits {
        [edit] => action_of(edit),
        _ => Action::Operations,
    }
}

/// Returns the action that corresponds to an edit.
pub(crate) fn action_of(edit: &Edit) -> Action {
    match edit {
        Edit::Create { .. } => Action::Create,
        Edit::Edit { .. } => Action::Edit,
        Edit::Patch(_) => Action::Patch,
        Edit::WriteFile { .. } => Action::WriteFile,
        Edit::RemoveFile { .. } => Action::RemoveFile,
        Edit::Delete => Action::Delete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<ChangeRequest, RequestError> {
        ChangeRequest::from_json(json.as_bytes(), &Limits::default())
    }

    fn message(json: &str) -> String {
        parse(json).unwrap_err().to_string()
    }

    #[test]
    fn each_action_is_read() {
        let patch = parse(r#"{"action":"patch","name":"a","find":"x","replace":"","reason":" "}"#).unwrap();
        let Edit::Patch(inner) = &patch.edits[0] else { panic!("{patch:?}") };
        assert!(inner.path.is_skill_md() && !inner.replace_all && patch.notes.reason.is_none());
        assert_eq!(parse(r#"{"action":"delete","name":"a","absorbed_into":"b"}"#).unwrap().absorbed_into.unwrap(), "b");
        let write =
            parse(r#"{"action":"write_file","name":"a","path":"assets/x","content_base64":"AP8=","executable":true}"#);
        assert_eq!(
            write.unwrap().edits,
            [Edit::WriteFile {
                path: SkillPath::parse("assets/x").unwrap(),
                bytes: vec![0, 255],
                executable: Some(true)
            }]
        );
    }

    #[test]
    fn spellings_of_other_agents_are_read() {
        let other = r#"{"action":"patch","name":"a","file_path":"scripts/x.sh","old_string":"x","new_string":"y","category":"dev"}"#;
        let ours = r#"{"action":"patch","name":"a","path":"scripts/x.sh","find":"x","replace":"y"}"#;
        let other = parse(other).unwrap();
        assert_eq!(other.edits, parse(ours).unwrap().edits);
        assert_eq!(other.remarks.len(), 1);
        let inside = r#"{"name":"a","operations":[{"action":"edit","content":"x","category":"dev"}]}"#;
        assert_eq!(parse(inside).unwrap().remarks.len(), 1);
        let pruned = parse(r#"{"action":"delete","name":"a","absorbed_into":"","replace_all":false}"#).unwrap();
        assert_eq!(pruned.absorbed_into, None);
        let write = r#"{"action":"write_file","name":"a","file_path":"scripts/x.sh","file_content":"y"}"#;
        assert!(matches!(&parse(write).unwrap().edits[0], Edit::WriteFile { bytes, .. } if bytes == b"y"));
    }

    #[test]
    fn operations_form_one_request() {
        let both = r#"{"name":"a","operations":[{"action":"patch","find":"x","replace":"y"},{"action":"remove_file","path":"scripts/x"}]}"#;
        assert_eq!(parse(both).unwrap().edits.len(), 2);
        assert!(message(r#"{"name":"a","operations":[]}"#).contains("empty"));
        assert!(message(r#"{"name":"a","action":"edit","operations":[{"action":"delete"}]}"#).contains("`action`"));
        assert!(message(r#"{"name":"a","operations":[{"action":"delete","name":"b"}]}"#).contains("operation 0"));
        assert!(message(r#"{"name":"a","operations":[{"action":"delete"},{"action":"delete"}]}"#).contains("combined"));
        assert!(
            message(r#"{"name":"a","operations":[{"action":"patch","find":"x"}]}"#)
                .contains("operation 0: `patch` needs `replace`")
        );
    }

    #[test]
    fn unknown_and_misplaced_fields_are_refused() {
        assert!(message(r#"{"action":"patch","name":"a","find":"x","replace":"y","fnd":"z"}"#).contains("fnd"));
        assert!(
            message(r#"{"action":"patch","name":"a","find":"x","replace":"y","content":"z"}"#)
                .contains("does not take `content`")
        );
        assert!(message(r#"{"action":"drop","name":"a"}"#).contains("one of create"));
        assert!(message(r#"{"name":"a"}"#).contains("`action` is missing"));
        assert!(message(r#"{"action":"delete"}"#).contains("`name` is missing"));
        assert!(message("[".repeat(200_000).as_str()).contains("not a JSON object"));
        let deep = format!("{{\"name\":{}", "[".repeat(200_000));
        assert!(message(&deep).contains("cannot read"));
        assert!(matches!(parse(r#"{"action":"delete","name":"../a"}"#), Err(RequestError::Name { .. })));
        assert!(matches!(parse(r#"{"action":"remove_file","name":"a","path":"../a"}"#), Err(RequestError::Path(_))));
        assert!(parse("{\"action\":\"delete\",\"name\":\"a\",\"action\":\"edit\"}").is_err(), "doubled keys");
    }

    #[test]
    fn size_is_bounded_before_parsing() {
        let limits = Limits { request_bytes: 10, ..Limits::default() };
        assert!(matches!(ChangeRequest::from_json(b"[[[[[[[[[[[", &limits), Err(RequestError::TooLarge(_))));
        let flood = |field: &str, value: &str| {
            format!(r#"{{"name":"a","{field}":[{}{value}]}}"#, format!("{value},").repeat(20_000))
        };
        assert!(message(&flood("operations", "{}")).contains("20001 operations"));
        assert!(message(&flood("evidence", r#""""#)).contains("values"));
        assert!(parse(&format!(r#"{{"action":"create","name":"a","content":"{}"}}"#, "{,\\\"".repeat(20_000))).is_ok());
        let reason = "x".repeat(2001);
        assert!(matches!(
            parse(&format!(r#"{{"action":"delete","name":"a","reason":"{reason}"}}"#)),
            Err(RequestError::TooLarge(_))
        ));
    }
}
