//! [`read()`]: parses the cases of a skill, and reports every problem with its line.

use json_schema::Schema;
use serde_json::{Map, Value};
use skill::{Bundle, Problem, Severity, SkillPath};

use super::{
    Assertion, Case, Check, EVALS_FILE, EvalLimits, EvalSet, Target, grade::pattern_of, is_eval, json_path,
    lines::LinePositions,
};

/// Result of reading a skill's evals.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// Cases. `None` if there are none, or if a problem is an error.
    pub set: Option<EvalSet>,
    /// All problems, in the order of the file.
    pub problems: Vec<Problem>,
}

/// Known fields of a case, including those of other tools. Any other field is reported, since it may be a misspelling.
const CASE_FIELDS: [&str; 13] = [
    "id", "name", "eval_name", "prompt", "expected_output", "expected", "files", "assertions", "expectations",
    "checks", "notes", "tags", "description",
];

/// Reads the `evals/evals.json` of a skill.
pub fn read(skill: &Bundle, limits: &EvalLimits) -> Reading {
    let mut reader = Reader::new(skill, limits, EVALS_FILE);
    let set = reader.json("cases").and_then(|document| reader.cases(&document));
    let (is_bad, problems) = reader.finish();
    Reading { set: set.filter(|_| !is_bad), problems }
}

/// Reads one file of the evals, and collects its problems.
pub(super) struct Reader<'s> {
    skill: &'s Bundle,
    /// Limits on the content.
    pub limits: &'s EvalLimits,
    path: &'s str,
    places: LinePositions,
    problems: Vec<Problem>,
}

impl<'s> Reader<'s> {
    pub fn new(skill: &'s Bundle, limits: &'s EvalLimits, path: &'s str) -> Self {
        Self { skill, limits, path, places: LinePositions::default(), problems: Vec::new() }
    }

    /// Returns whether a problem is an error, and all problems in the order of the file.
    pub fn finish(self) -> (bool, Vec<Problem>) {
        let mut problems = self.problems;
        problems.sort_by_key(|problem| problem.line);
        (problems.iter().any(Problem::is_error), problems)
    }
}

impl Reader<'_> {
    fn tell(&mut self, severity: Severity, code: &'static str, at: &str, message: impl Into<String>) {
        let line = self.places.line(at);
        self.problems.push(Problem { code, severity, message: message.into(), path: self.path.to_owned(), line });
    }

    /// Reports an error at a JSON Pointer.
    pub fn error(&mut self, code: &'static str, at: &str, message: impl Into<String>) {
        self.tell(Severity::Error, code, at, message);
    }

    /// Reports a warning at a JSON Pointer.
    pub fn warn(&mut self, code: &'static str, at: &str, message: impl Into<String>) {
        self.tell(Severity::Warning, code, at, message);
    }

    /// Parses the file as JSON. `contents` names the contents, for the message that it is missing.
    pub fn json(&mut self, contents: &str) -> Option<Value> {
        let path = SkillPath::parse(self.path).ok()?;
        let Some(file) = self.skill.get(&path) else {
            let message = format!("{} does not exist, so the skill has no {contents} to run", self.path);
            self.error("evals_missing", "", message);
            return None;
        };
        let Some(text) = file.text() else {
            self.error("evals_syntax", "", "the file is not valid UTF-8");
            return None;
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document: Value = match serde_json::from_str(text) {
            Ok(document) => document,
            Err(error) => {
                let message = format!("this is not valid JSON: {error}");
                self.error("evals_syntax", "", message);
                let last = self.problems.last_mut()?;
                last.line = Some(error.line().max(1));
                return None;
            }
        };
        self.places = LinePositions::of(text);
        for (line, key) in self.places.doubled.clone() {
            let message = format!("the key {key:?} occurs twice in one object");
            self.error("evals_doubled_key", "", message);
            if let Some(last) = self.problems.last_mut() {
                last.line = Some(line);
            }
        }
        Some(document)
    }

    fn cases(&mut self, document: &Value) -> Option<EvalSet> {
        let (list, at) = match document {
            Value::Array(list) => (list, String::new()),
            Value::Object(map) => {
                let found = ["evals", "cases"].iter().find_map(|key| Some((map.get(*key)?.as_array()?, *key)));
                let Some((list, key)) = found else {
                    self.error("evals_form", "", "the list of cases is missing: {\"skill_name\": …, \"evals\": [ … ]}");
                    return None;
                };
                (list, format!("/{key}"))
            }
            _ => {
                self.error("evals_form", "", "the file must be an object with `evals`, the list of cases");
                return None;
            }
        };
        if list.is_empty() {
            self.error("evals_empty", &at, "the list of cases is empty");
        }
        if list.len() > self.limits.cases {
            self.error(
                "evals_too_many",
                &at,
                format!("there are {} cases; the limit is {}", list.len(), self.limits.cases),
            );
            return None;
        }
        let mut cases: Vec<Case> = Vec::new();
        for (index, written) in list.iter().enumerate() {
            let at = format!("{at}/{index}");
            let Some(case) = self.case(written, index, &at) else { continue };
            if cases.iter().any(|known| known.id == case.id || known.folder() == case.folder()) {
                self.error("eval_id", &format!("{at}/id"), format!("the id {} is used twice", case.id));
            }
            cases.push(case);
        }
        Some(EvalSet { cases })
    }

    fn case(&mut self, written: &Value, index: usize, at: &str) -> Option<Case> {
        let Some(map) = written.as_object() else {
            self.error("eval_form", at, "a case must be an object with `id`, `prompt` and `assertions`");
            return None;
        };
        if map.contains_key("should_trigger") {
            self.error(
                "eval_form",
                at,
                "this is a query about triggering (`should_trigger`), not a task; queries belong in \
                 evals/eval_queries.json and run with --trigger",
            );
            return None;
        }
        for key in map.keys().filter(|key| !CASE_FIELDS.contains(&key.as_str()) && !key.starts_with('_')) {
            self.warn("eval_field", &format!("{at}/{key}"), format!("the unknown field {key:?} is ignored"));
        }
        let (id, written_id) = self.id(map, index, at);
        let prompt = self.text(map, "prompt", at).unwrap_or_default();
        if prompt.trim().is_empty() {
            self.error("eval_prompt", &format!("{at}/prompt"), format!("the case {id} has no `prompt`"));
        }
        let expected_output = self.text(map, "expected_output", at).or_else(|| self.text(map, "expected", at));
        let name = self.text(map, "name", at).or_else(|| self.text(map, "eval_name", at));
        let files = self.files(map, at);
        let mut assertions = Vec::new();
        for key in ["assertions", "expectations", "checks"] {
            self.assertions(map, key, at, &mut assertions);
        }
        if assertions.is_empty() {
            let message = format!("the case {id} has no assertions, so its runs cannot fail");
            self.warn("eval_assertions", at, message);
        }
        if assertions.len() > self.limits.assertions_per_case {
            let message =
                format!("there are {} assertions; the limit is {}", assertions.len(), self.limits.assertions_per_case);
            self.error("evals_too_many", at, message);
        }
        Some(Case { id, written_id, name, prompt, expected_output, files, assertions })
    }

    fn id(&mut self, map: &Map<String, Value>, index: usize, at: &str) -> (String, Value) {
        let at = format!("{at}/id");
        match map.get("id") {
            Some(Value::Number(number)) => (number.to_string(), Value::Number(number.clone())),
            Some(Value::String(id)) if !id.trim().is_empty() && id.chars().count() <= self.limits.id_chars => {
                (id.clone(), Value::String(id.clone()))
            }
            Some(_) => {
                self.error(
                    "eval_id",
                    &at,
                    format!("an id must be a number, or a string of 1 to {} characters", self.limits.id_chars),
                );
                (format!("case-{}", index + 1), Value::Null)
            }
            None => {
                let number = index + 1;
                self.warn("eval_id", &at, format!("the case has no `id`; its position, {number}, is used instead"));
                (number.to_string(), Value::from(number))
            }
        }
    }

    /// Returns a text field.
    pub fn text(&mut self, map: &Map<String, Value>, key: &str, at: &str) -> Option<String> {
        let at = format!("{at}/{key}");
        match map.get(key)? {
            Value::String(text) if text.chars().count() <= self.limits.text_chars => Some(text.clone()),
            Value::String(_) => {
                self.error(
                    "eval_too_long",
                    &at,
                    format!("`{key}` is longer than {} characters", self.limits.text_chars),
                );
                None
            }
            Value::Null => None,
            _ => {
                self.error("eval_form", &at, format!("`{key}` must be a string"));
                None
            }
        }
    }

    fn files(&mut self, map: &Map<String, Value>, at: &str) -> Vec<SkillPath> {
        let Some(written) = map.get("files").filter(|files| !files.is_null()) else { return Vec::new() };
        let at = format!("{at}/files");
        let Some(list) = written.as_array() else {
            self.error("eval_files", &at, "`files` must be a list of paths in the skill");
            return Vec::new();
        };
        let mut files: Vec<SkillPath> = Vec::new();
        for (index, written) in list.iter().enumerate() {
            let at = format!("{at}/{index}");
            let Some(path) = written.as_str().and_then(|text| self.path(text, &at)) else {
                if !written.is_string() {
                    self.error("eval_files", &at, "a path must be a string");
                }
                continue;
            };
            // skill-creator uses paths from the skill's folder, other tools from the evals folder.
            let inner = SkillPath::parse(&format!("evals/{path}")).ok();
            match [Some(path.clone()), inner].into_iter().flatten().find(|path| self.skill.get(path).is_some()) {
                Some(path) if files.iter().any(|known| Case::place_of(known) == Case::place_of(&path)) => {
                    self.error("eval_files", &at, format!("two files would have the path {}", Case::place_of(&path)));
                }
                Some(path) => files.push(path),
                None => self.error("eval_files", &at, format!("the skill has no file {path}")),
            }
        }
        files
    }

    fn path(&mut self, text: &str, at: &str) -> Option<SkillPath> {
        match SkillPath::parse(text.strip_prefix("./").unwrap_or(text)) {
            Ok(path) => Some(path),
            Err(fault) => {
                self.error("eval_path", at, fault.to_string());
                None
            }
        }
    }

    fn assertions(&mut self, map: &Map<String, Value>, key: &str, at: &str, found: &mut Vec<Assertion>) {
        let Some(written) = map.get(key).filter(|written| !written.is_null()) else { return };
        let at = format!("{at}/{key}");
        let Some(list) = written.as_array() else {
            self.error("eval_assertion", &at, format!("`{key}` must be a list"));
            return;
        };
        for (index, written) in list.iter().enumerate() {
            let at = format!("{at}/{index}");
            let assertion = match written {
                Value::String(text) if !text.trim().is_empty() && text.chars().count() <= self.limits.text_chars => {
                    Some(Assertion { text: text.clone(), check: Check::Judged })
                }
                Value::Object(map) => self.check(map, &at),
                _ => {
                    self.error("eval_assertion", &at, "an assertion must be a sentence, or an object with `type`");
                    None
                }
            };
            let Some(assertion) = assertion else { continue };
            match found.contains(&assertion) {
                true => self.warn("eval_assertion", &at, format!("this assertion occurs twice: {}", assertion.text)),
                false => found.push(assertion),
            }
        }
    }

    fn check(&mut self, map: &Map<String, Value>, at: &str) -> Option<Assertion> {
        let words = self.text(map, "text", at).filter(|text| !text.trim().is_empty());
        let check = match map.get("type").and_then(Value::as_str) {
            None if words.is_some() => Check::Judged,
            None => {
                self.error("eval_assertion", at, "an assertion object must have a `type` or a `text`");
                return None;
            }
            Some(word) => match self.typed(word, map, at) {
                Ok(check) => check,
                Err(why) => {
                    self.error("eval_assertion", at, why);
                    return None;
                }
            },
        };
        let known = ["type", "text", "path", "equals", "pattern", "of", "at", "schema", "at_least", "at_most"];
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            self.warn("eval_field", &format!("{at}/{key}"), format!("the unknown field {key:?} is ignored"));
        }
        let text = words.unwrap_or_else(|| check.words());
        Some(Assertion { text, check })
    }

    fn typed(&self, word: &str, map: &Map<String, Value>, at: &str) -> Result<Check, String> {
        let text =
            |key: &str| map.get(key).and_then(Value::as_str).ok_or_else(|| format!("`{word}` needs a string `{key}`"));
        let path = |key: &str| parse(text(key)?);
        let number = |key: &str| {
            map.get(key).map(|n| n.as_u64().ok_or_else(|| format!("`{key}` must be a number of bytes"))).transpose()
        };
        let target = target(map)?;
        Ok(match word {
            "text" => Check::Judged,
            "exit_code" => {
                let code = map.get("equals").map_or(Some(0), Value::as_i64).and_then(|code| i32::try_from(code).ok());
                Check::ExitCode(code.ok_or("`equals` must be an exit code")?)
            }
            "file_exists" => Check::File { path: path("path")?, there: true },
            "file_absent" => Check::File { path: path("path")?, there: false },
            "regex" | "not_regex" => {
                let pattern = text("pattern")?.to_owned();
                if pattern.len() > self.limits.pattern_bytes {
                    return Err(format!("the pattern is longer than {} bytes", self.limits.pattern_bytes));
                }
                pattern_of(&pattern)?;
                Check::Regex { pattern, target, matches: word == "regex" }
            }
            "json_path" => {
                let at = text("at")?.to_owned();
                json_path::check(&at)?;
                Check::JsonPath { target, at, equals: map.get("equals").cloned() }
            }
            "json_schema" => {
                let schema = map.get("schema").cloned().ok_or("`json_schema` needs `schema`")?;
                let invalid = |fault| format!("this is not a valid JSON Schema: {fault}");
                Schema::of_any_dialect(&schema).map_err(invalid)?;
                Check::JsonSchema { target, schema }
            }
            "script" => {
                let path = path("path")?;
                if !is_eval(&path) || self.skill.get(&path).is_none() {
                    return Err(format!("{path} is not a file of the skill below evals/"));
                }
                Check::Script(path)
            }
            "size" => {
                let (at_least, at_most) = (number("at_least")?.unwrap_or(0), number("at_most")?);
                if at_least == 0 && at_most.is_none() {
                    return Err("`size` needs `at_least` or `at_most`".to_owned());
                }
                Check::Size { target, at_least, at_most }
            }
            other => {
                let line = self.places.line(at).unwrap_or_default();
                return Err(format!(
                    "unknown type {other:?} in line {line}; use one of exit_code, file_exists, file_absent, regex, \
                     not_regex, json_path, json_schema, script, size, text"
                ));
            }
        })
    }
}

fn parse(text: &str) -> Result<SkillPath, String> {
    SkillPath::parse(text.strip_prefix("./").unwrap_or(text)).map_err(|fault| fault.to_string())
}

/// Returns the target of a check: the file in `path`, or `stdout` or `stderr` from `of`, or `stdout` by default.
fn target(map: &Map<String, Value>) -> Result<Target, String> {
    match (map.get("path").and_then(Value::as_str), map.get("of").and_then(Value::as_str)) {
        (Some(path), None) => Ok(Target::File(parse(path)?)),
        (None, None | Some("stdout")) => Ok(Target::Stdout),
        (None, Some("stderr")) => Ok(Target::Stderr),
        (Some(_), Some(_)) => Err("a check must not have both `path` and `of`".to_owned()),
        (None, Some(other)) => Err(format!("`of` must be stdout or stderr, not {other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(evals: &str) -> Reading {
        let skill_md = ("SKILL.md", "---\nname: a\n---\n");
        let files = [skill_md, (EVALS_FILE, evals), ("evals/files/in.txt", "x"), ("evals/check.sh", "true")];
        read(&testkit::bundle(&files), &EvalLimits::default())
    }

    #[test]
    fn assertions_expectations_and_checks_are_read() {
        let of = |key: &str| {
            format!(
                r#"{{"skill_name":"a","evals":[{{"id":1,"prompt":"p","files":["evals/files/in.txt"],"{key}":["one","two"]}}]}}"#
            )
        };
        let standard = reading(&of("assertions"));
        assert_eq!(standard, reading(&of("expectations")));
        let case = &standard.set.unwrap().cases[0];
        assert_eq!((case.assertions.len(), Case::place_of(&case.files[0])), (2, "in.txt"));
        let checks = r#"{"evals":[{"id":"x y","prompt":"p","checks":[{"type":"exit_code"},{"type":"regex","pattern":"a+"},
            {"type":"json_path","at":"$.a","path":"out.json"},{"type":"json_schema","schema":{"type":"object"}},
            {"type":"script","path":"evals/check.sh"},{"type":"size","at_most":3},{"text":"judged"},
            {"type":"file_absent","path":"x"},{"type":"not_regex","of":"stderr","pattern":"b"}]}]}"#;
        let read = reading(checks);
        assert_eq!(read.problems, []);
        let case = &read.set.unwrap().cases[0];
        assert_eq!(case.assertions.len(), 9);
        assert!(case.folder().starts_with("eval-xy-"), "{}", case.folder());
    }

    #[test]
    fn all_problems_are_reported_with_lines() {
        let evals = "{\n \"evals\": [\n  {\"id\": 1, \"prompt\": \"\", \"assertions\": [\"a\"]},\n  {\"id\": 1, \"prompt\": \"p\",\n   \"files\": [\"../x\", \"none.txt\"],\n   \"assertions\": [{\"type\": \"regex\",\n     \"pattern\": \"(\"},\n    {\"type\": \"script\", \"path\": \"SKILL.md\"}, {\"type\": \"nope\"}]},\n  7\n ]\n}";
        let read = reading(evals);
        assert!(read.set.is_none());
        let told: Vec<_> = read.problems.iter().map(|problem| (problem.code, problem.line.unwrap())).collect();
        assert_eq!(
            told,
            [
                ("eval_prompt", 3),
                ("eval_assertions", 4),
                ("eval_id", 4),
                ("eval_path", 5),
                ("eval_files", 5),
                ("eval_assertion", 6),
                ("eval_assertion", 8),
                ("eval_assertion", 8),
                ("eval_form", 9)
            ]
        );
    }

    #[test]
    fn malformed_evals_are_refused() {
        for (text, code) in [
            ("{", "evals_syntax"),
            ("7", "evals_form"),
            ("{}", "evals_form"),
            ("[]", "evals_empty"),
            ("{\"evals\":[{\"query\":\"q\",\"should_trigger\":true}]}", "eval_form"),
            ("{\"evals\":[],\"evals\":[]}", "evals_doubled_key"),
        ] {
            let read = reading(text);
            assert!(read.set.is_none() && read.problems.iter().any(|p| p.code == code), "{text}: {:?}", read.problems);
        }
    }
}
