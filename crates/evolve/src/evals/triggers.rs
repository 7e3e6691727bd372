//! [`TriggerSet`]: queries of users, with whether the description of a skill should make an agent choose it.
//!
//! The format is that of the standard's guide and of skill-creator: a list of `{"query": …, "should_trigger": true}`.
//! [`read_queries`] reports every problem with its line. Runs are evaluated by [`TriggerReport`](super::TriggerReport).

use serde_json::{Value, json};
use skill::{Bundle, Problem, SkillPath};

use super::{EvalLimits, read::Reader};

/// Path of the file with a skill's queries, as in the standard's guide.
pub const QUERIES_FILE: &str = "evals/eval_queries.json";

/// A query, with the expected choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerQuery {
    /// Words of the user.
    pub text: String,
    /// True if the agent should choose the skill, false if it should not.
    pub should_trigger: bool,
}

/// Queries of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerSet {
    /// Path of the file inside the skill.
    pub path: String,
    /// Queries, at least one, all different.
    pub queries: Vec<TriggerQuery>,
}

/// Result of reading a skill's queries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TriggerReading {
    /// Queries. `None` if there are none, or if a problem is an error.
    pub set: Option<TriggerSet>,
    /// All problems, in the order of the file.
    pub problems: Vec<Problem>,
}

/// Reads the queries of a skill from [`QUERIES_FILE`], or else from the first other JSON file in `evals/` whose entries
/// have `should_trigger`.
pub fn read_queries(skill: &Bundle, limits: &EvalLimits) -> TriggerReading {
    let path = file_of(skill).unwrap_or_else(|| QUERIES_FILE.to_owned());
    let mut reader = Reader::new(skill, limits, &path);
    let queries = reader.json("queries").and_then(|document| reader.queries(&document));
    let (is_bad, problems) = reader.finish();
    let set = queries.filter(|_| !is_bad).map(|queries| TriggerSet { path: path.clone(), queries });
    TriggerReading { set, problems }
}

/// Returns the path and the text of a skill's file of queries with further ones at its end. The text of a list is kept as
/// it is; a file that has the list in an object is written anew. `None` if the file has an error or too many queries.
pub fn with_queries(skill: &Bundle, more: &[TriggerQuery], limits: &EvalLimits) -> Option<(SkillPath, String)> {
    let reading = read_queries(skill, limits);
    let is_missing = reading.problems.iter().any(|problem| problem.code == "evals_missing");
    let path = reading.set.as_ref().map_or(QUERIES_FILE, |set| set.path.as_str());
    let known = reading.set.as_ref().map_or(0, |set| set.queries.len());
    if more.is_empty() || known + more.len() > limits.queries || !(is_missing || reading.set.is_some()) {
        return None;
    }
    let path = SkillPath::parse(path).ok()?;
    let text = skill.get(&path).and_then(|file| file.text()).unwrap_or("[]");
    Some((path, appended(text, more)?))
}

fn appended(text: &str, more: &[TriggerQuery]) -> Option<String> {
    let mut document: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    if let Value::Array(list) = &document {
        let lines: Vec<String> = more.iter().map(line).collect();
        let before = text.trim_end().strip_suffix(']')?.trim_end();
        let comma = if list.is_empty() { "" } else { "," };
        return Some(format!("{before}{comma}\n{}\n]\n", lines.join(",\n")));
    }
    let (_, at) = list_of(&document)?;
    let list = document.pointer_mut(&at)?.as_array_mut()?;
    list.extend(more.iter().map(|query| json!({"query": query.text, "should_trigger": query.should_trigger})));
    Some(format!("{}\n", serde_json::to_string_pretty(&document).ok()?))
}

/// Returns an entry in the form of the standard's guide, one on each line.
fn line(query: &TriggerQuery) -> String {
    format!("  {{\"query\": {}, \"should_trigger\": {}}}", Value::from(query.text.as_str()), query.should_trigger)
}

fn file_of(skill: &Bundle) -> Option<String> {
    let in_evals = |path: &&SkillPath| {
        let name = path.as_str().strip_prefix("evals/");
        name.is_some_and(|name| name.ends_with(".json") && !name.contains('/'))
    };
    let has_queries = |path: &&SkillPath| {
        let text = skill.get(path).and_then(|file| file.text());
        let document = text.and_then(|text| serde_json::from_str::<Value>(text).ok()).unwrap_or_default();
        list_of(&document).is_some_and(|(list, _)| list.iter().any(|entry| entry.get("should_trigger").is_some()))
    };
    let mut paths = skill.paths().filter(in_evals);
    let is_there = skill.paths().any(|path| path.as_str() == QUERIES_FILE);
    let found = if is_there { None } else { paths.find(has_queries) };
    found.map(ToString::to_string)
}

/// Returns the list of entries, with the JSON Pointer of the list.
fn list_of(document: &Value) -> Option<(&Vec<Value>, String)> {
    if let Value::Array(list) = document {
        return Some((list, String::new()));
    }
    ["queries", "evals", "cases"].iter().find_map(|key| Some((document.get(key)?.as_array()?, format!("/{key}"))))
}

impl Reader<'_> {
    fn queries(&mut self, document: &Value) -> Option<Vec<TriggerQuery>> {
        let Some((list, at)) = list_of(document) else {
            self.error("evals_form", "", "the file must be a list: [{\"query\": …, \"should_trigger\": true}, …]");
            return None;
        };
        if list.is_empty() {
            self.error("evals_empty", &at, "the list of queries is empty");
        }
        let most = self.limits.queries;
        if list.len() > most {
            self.error("evals_too_many", &at, format!("there are {} queries; the limit is {most}", list.len()));
            return None;
        }
        let mut queries: Vec<TriggerQuery> = Vec::new();
        for (index, written) in list.iter().enumerate() {
            let at = format!("{at}/{index}");
            let Some(query) = self.query(written, &at) else { continue };
            match queries.iter().any(|known| known.text == query.text) {
                true => self.error("eval_query", &at, format!("the query occurs twice: {}", query.text)),
                false => queries.push(query),
            }
        }
        if !queries.is_empty() && queries.iter().all(|query| query.should_trigger) {
            self.warn("eval_queries", &at, "every query should trigger, so a description that is too broad passes");
        }
        Some(queries)
    }

    fn query(&mut self, written: &Value, at: &str) -> Option<TriggerQuery> {
        let Some(map) = written.as_object() else {
            self.error("eval_form", at, "an entry must be an object with `query` and `should_trigger`");
            return None;
        };
        let key = if map.contains_key("query") { "query" } else { "prompt" };
        let Some(text) = self.text(map, key, at) else {
            if map.get(key).is_none_or(Value::is_null) {
                self.error("eval_query", at, "the entry has no `query`");
            }
            return None;
        };
        let most = self.limits.query_chars;
        if text.trim().is_empty() || text.chars().count() > most {
            self.error("eval_query", at, format!("a query must have 1 to {most} characters"));
        }
        let Some(should_trigger) = map.get("should_trigger").and_then(Value::as_bool) else {
            self.error("eval_query", at, "`should_trigger` must be true or false");
            return None;
        };
        Some(TriggerQuery { text, should_trigger })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(path: &str, text: &str) -> TriggerReading {
        read_queries(&skill_with(path, text), &EvalLimits::default())
    }

    fn skill_with(path: &str, text: &str) -> Bundle {
        testkit::bundle(&[("SKILL.md", "---\nname: a\n---\n"), ("evals/a.json", "[1]"), (path, text)])
    }

    const TWO: &str =
        "[{\"query\": \"fill it\", \"should_trigger\": true}, {\"query\": \"no\", \"should_trigger\": false}]";

    #[test]
    fn queries_are_found_under_other_names() {
        let cases = TWO.replace("query\"", "prompt\"");
        let object = format!("{{\"skill_name\": \"a\", \"evals\": {cases}}}");
        for (path, text) in [(QUERIES_FILE, TWO), ("evals/triggers.json", TWO), ("evals/evals.json", object.as_str())] {
            let read = reading(path, text);
            let set = read.set.unwrap_or_else(|| panic!("{path}: {:?}", read.problems));
            assert_eq!((set.path.as_str(), set.queries.len()), (path, 2));
            assert_eq!(set.queries[0], TriggerQuery { text: "fill it".to_owned(), should_trigger: true });
        }
    }

    #[test]
    fn queries_are_added_at_the_end() {
        let limits = EvalLimits::default();
        let query = |text: &str| TriggerQuery { text: text.to_owned(), should_trigger: true };
        let more = [query("say \"hi\"]\n---\n"), query("\u{1f600} [x](y)")];
        let object = format!("{{\"skill_name\": \"a\", \"evals\": {TWO}}}");
        for (path, text, known) in [(QUERIES_FILE, TWO, 2), ("evals/evals.json", object.as_str(), 2), ("b.md", "", 0)] {
            let before = skill_with(path, text);
            let (written, text) = with_queries(&before, &more, &limits).unwrap();
            assert_eq!(written.as_str(), if known == 0 { QUERIES_FILE } else { path });
            let set = reading(written.as_str(), &text).set.unwrap_or_else(|| panic!("{text}"));
            assert_eq!((set.queries.len(), &set.queries[known..]), (known + 2, &more[..]), "{text}");
            assert!(path != QUERIES_FILE || text.starts_with(TWO.strip_suffix(']').unwrap()), "{text}");
        }
        for bad in ["[{", "[]", "7"] {
            assert_eq!(with_queries(&skill_with(QUERIES_FILE, bad), &more, &limits), None, "{bad}");
        }
        assert_eq!(with_queries(&skill_with("b.md", ""), &vec![query("q"); 501], &limits), None);
    }

    #[test]
    fn malformed_queries_are_refused() {
        let many = |count: usize| {
            let entry = |at| format!("{{\"query\": \"q{at}\", \"should_trigger\": {}}}", at % 2 == 0);
            format!("[{}]", (0..count).map(entry).collect::<Vec<_>>().join(","))
        };
        let long = format!("[{{\"query\": \"{}\", \"should_trigger\": false}}]", "x".repeat(10_001));
        for (text, code) in [
            ("[{", "evals_syntax"),
            ("{\"queries\": 7}", "evals_form"),
            ("[]", "evals_empty"),
            ("[7]", "eval_form"),
            ("[{\"should_trigger\": true}]", "eval_query"),
            ("[{\"query\": 7, \"should_trigger\": true}]", "eval_form"),
            ("[{\"query\": \" \", \"should_trigger\": true}]", "eval_query"),
            ("[{\"query\": \"q\"}]", "eval_query"),
            ("[{\"query\": \"q\", \"should_trigger\": \"yes\"}]", "eval_query"),
            (
                "[{\"query\": \"q\", \"should_trigger\": true}, {\"query\": \"q\", \"should_trigger\": false}]",
                "eval_query",
            ),
            (long.as_str(), "eval_query"),
            (many(10_000).as_str(), "evals_too_many"),
        ] {
            let read = reading(QUERIES_FILE, text);
            let is_told = read.problems.iter().any(|problem| problem.code == code && problem.is_error());
            assert!(read.set.is_none() && is_told, "{code}: {:?}", read.problems);
        }
        assert_eq!(reading(QUERIES_FILE, &many(500)).set.unwrap().queries.len(), 500);
        let broad = reading(QUERIES_FILE, "[{\"query\": \"q\", \"should_trigger\": true}]");
        assert_eq!((broad.set.is_some(), broad.problems[0].code), (true, "eval_queries"));
    }
}
