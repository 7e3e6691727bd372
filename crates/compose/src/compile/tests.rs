//! Tests of the compiler: valid declarations compile, and problems are reported with their position.

use serde_json::json;

use super::*;

fn tool(name: &str, input: Value, output: Value, approval: Approval) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: String::new(), input, output: Some(output), approval }
}

fn host() -> Vec<ToolSpec> {
    let text = json!({"type": "string"});
    vec![
        tool(
            "web_search",
            json!({"type": "object", "properties": {"query": text, "count": {"type": "integer", "minimum": 1, "maximum": 50}}, "required": ["query"], "additionalProperties": false}),
            json!({"type": "object", "properties": {"results": {"type": "array", "items": {"type": "object", "properties": {"url": text, "title": text}}}}}),
            Approval::None,
        ),
        tool(
            "web_fetch",
            json!({"type": "object", "properties": {"url": text, "format": {"enum": ["raw", "text"]}}, "required": ["url"], "additionalProperties": false}),
            json!({"type": "object", "properties": {"text": text, "status": {"type": "integer"}}}),
            Approval::None,
        ),
        tool(
            "write_file",
            json!({"type": "object", "properties": {"path": text, "content": text}, "required": ["path", "content"], "additionalProperties": false}),
            json!({"type": "object", "properties": {"path": text, "bytes": {"type": "integer"}}}),
            Approval::PlanConfirm,
        ),
    ]
}

fn source(skill: &str, tool_schema: &str) -> Source {
    let indented: String = tool_schema.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!("---\nname: {skill}\ndescription: Does it.\ntool_schema:\n{indented}---\nBody.\n");
    Source { skill: skill.to_owned(), description: "Does it.".to_owned(), digest: text }
}

/// Returns the digest as the text, since these tests store the text there.
fn text(source: &Source) -> Result<String, String> {
    Ok(source.digest.clone())
}

fn names(sources: &[Source]) -> BTreeSet<&str> {
    sources.iter().map(|source| source.skill.as_str()).collect()
}

fn all(compiler: &Compiler<'_>, sources: &[Source], known: &[ComposedTool]) -> BTreeMap<String, Outcome> {
    compiler.compile(sources, &names(sources), &known.iter().collect::<Vec<_>>(), &text)
}

fn compile(sources: &[Source]) -> BTreeMap<String, Outcome> {
    Compiler::new(&host(), &["skill_manage"], &Limits::default()).compile(sources, &names(sources), &[], &text)
}

fn problems(tool_schema: &str) -> Vec<Problem> {
    match compile(&[source("a", tool_schema)]).remove("a") {
        Some(Outcome::Broken(problems)) => problems,
        other => panic!("{tool_schema}\n{other:?}"),
    }
}

/// Example of an original declaration: three steps, a list as input, an enum with a default.
const MONITOR: &str = "\
input:
  type: object
  properties:
    sites: {type: array, items: {type: string}}
    interval: {type: string, enum: [hourly, daily], default: daily}
  required: [sites]
output: {type: object, properties: {path: {type: string}}}
steps:
  - tool: web_search
    input: {query: \"{{item}} status {{input.interval}}\"}
    for_each: \"{{input.sites}}\"
  - id: pages
    tool: web_fetch
    input: {url: \"{{item}}\"}
    for_each: \"{{steps.0.output.*.results.*.url}}\"
    on_error: skip
    when: \"{{item}} != \\\"\\\" && {{index}} < 20\"
  - tool: write_file
    input:
      path: report.md
      content: \"{{steps.pages.output.*.text}}\"
";

#[test]
fn example_compiles_with_strictest_level() {
    // `content` takes a text and not a list of texts. Words around the reference turn the list into a text.
    let monitor = MONITOR.replace("\"{{steps.pages.output.*.text}}\"", "\"Pages: {{steps.pages.output.*.text}}\"");
    let outcomes = compile(&[source("监控", &monitor)]);
    let tool = outcomes["监控"].tool().unwrap_or_else(|| panic!("{outcomes:#?}"));
    assert_eq!((tool.name.as_str(), tool.approval), ("skill_监控", Approval::PlanConfirm));
    assert!(tool.alias.is_ascii());
    let declared = tool.declaration().unwrap();
    assert_eq!(declared.steps.len(), 3);
    let tools: Vec<_> = tool.uses.keys().map(String::as_str).collect();
    assert_eq!(tools, ["web_fetch", "web_search", "write_file"]);
    assert_eq!(problems(MONITOR)[0].code, "type_clash");
}

/// Declarations with one problem each: declaration, code, position, and part of the message.
const BROKEN: &[(&str, &str, (usize, usize), &str)] = &[
    ("[]", "not_an_object", (5, 3), "`input` and `steps`"),
    ("stpes: []\nsteps: [{tool: web_fetch, input: {url: a}}]", "unknown_key", (5, 3), "did you mean `steps`?"),
    ("input: {type: object}", "no_steps", (4, 1), "no `steps`"),
    ("steps: []", "no_steps", (5, 10), "empty"),
    ("steps: {tool: a}", "not_a_list", (5, 10), "must be a list"),
    ("steps: [web_fetch]", "not_an_object", (5, 11), "a step must be a map"),
    ("steps: [{input: {}}]", "no_tool", (5, 11), "has no `tool`"),
    ("steps: [{tool: 3}]", "not_a_text", (5, 18), "`tool` must be a string"),
    ("steps: [{tool: web_fecth, input: {url: a}}]", "unknown_tool", (5, 18), "did you mean `web_fetch`?"),
    ("steps: [{tool: web_fetch, input: {}}]", "missing_input", (5, 29), "needs `url`"),
    ("steps: [{tool: web_fetch, input: {ur: a}}]", "unknown_input", (5, 37), "did you mean `url`?"),
    ("steps: [{tool: web_fetch, input: {url: a, fromat: raw}}]", "unknown_input", (5, 45), "did you mean `format`?"),
    ("steps: [{tool: web_fetch, input: {url: a, format: html}}]", "type_clash", (5, 53), "html"),
    ("steps: [{tool: web_search, input: {query: 7}}]", "type_clash", (5, 45), "string"),
    ("steps: [{tool: web_search, input: {query: a, count: 99}}]", "type_clash", (5, 55), "50"),
    ("steps: [{tool: web_fetch, input: [a]}]", "not_an_object", (5, 36), "map of the tool's fields"),
    ("steps: [{tool: web_fetch, input: {url: \"{{input.u}}\"}}]", "unknown_reference", (5, 45), "no field `u`"),
    (
        "input: {type: object, properties: {address: {type: string}}}\nsteps: [{tool: web_fetch, input: {url: \"{{input.adress}}\"}}]",
        "unknown_reference",
        (6, 45),
        "did you mean `address`?",
    ),
    (
        "input: {type: object, properties: {u: {type: integer}}}\nsteps: [{tool: web_fetch, input: {url: \"{{input.u}}\"}}]",
        "type_clash",
        (6, 42),
        "integer",
    ),
    (
        "steps: [{tool: web_search, input: {query: a, count: 2}, for_each: \"{{inptu.a}}\"}]",
        "unknown_reference",
        (5, 72),
        "did you mean `input`?",
    ),
    (
        "steps: [{tool: web_fetch, input: {url: \"{{steps.1.output.text}}\"}}, {tool: web_fetch, input: {url: a}}]",
        "forward_reference",
        (5, 45),
        "has not run yet",
    ),
    (
        "steps: [{id: me, tool: web_fetch, input: {url: \"{{steps.me.output.text}}\"}}]",
        "forward_reference",
        (5, 53),
        "its own output",
    ),
    (
        "steps: [{id: page, tool: web_fetch, input: {url: a}}, {tool: web_fetch, input: {url: \"{{steps.pgae.output.text}}\"}}]",
        "unknown_reference",
        (5, 91),
        "did you mean `page`?",
    ),
    (
        "steps: [{tool: web_fetch, input: {url: a}}, {tool: web_fetch, input: {url: \"{{steps.0.output.txt}}\"}}]",
        "unknown_reference",
        (5, 81),
        "did you mean `text`?",
    ),
    (
        "steps: [{tool: web_fetch, input: {url: a}}, {tool: web_fetch, input: {url: \"{{steps.0.ouput}}\"}}]",
        "unknown_reference",
        (5, 81),
        "did you mean `output`?",
    ),
    ("steps: [{tool: web_fetch, input: {url: \"{{item}}\"}}]", "item_outside_loop", (5, 45), "with `for_each`"),
    (
        "input: {type: object, properties: {u: {type: string}}}\nsteps: [{tool: web_fetch, input: {url: a}, for_each: \"{{input.u}}\"}]",
        "loop_without_list",
        (6, 59),
        "needs a list",
    ),
    (
        "steps: [{tool: web_fetch, input: {url: a}, for_each: \"all {{input}}\"}]",
        "bad_for_each",
        (5, 56),
        "without other text",
    ),
    ("steps: [{tool: web_fetch, input: {url: \"{{input.u\"}}]", "template_unclosed", (5, 43), "unclosed"),
    ("steps: [{tool: web_fetch, input: {url: \"{{ }}\"}}]", "template_empty", (5, 43), "has no reference"),
    ("steps: [{tool: web_fetch, input: {url: \"{{input..u}}\"}}]", "template_syntax", (5, 45), "unexpected"),
    ("steps: [{tool: web_fetch, input: {\"{{input.u}}\": a, url: b}}]", "template_in_key", (5, 37), "be a template"),
    ("steps: [{tool: web_fetch, input: {url: a}, when: \"{{input}} = 3\"}]", "condition_syntax", (5, 63), "`= 3`"),
    ("steps: [{tool: web_fetch, input: {url: a}, on_error: ignore}]", "bad_on_error", (5, 56), "`abort` or `skip`"),
    ("steps: [{tool: web_fetch, input: {url: a}, retries: 3}]", "bad_retries", (5, 55), "0 to 2"),
    ("steps: [{tool: web_fetch, input: {url: a}, timeout: 2h}]", "bad_timeout", (5, 55), "`30s`"),
    ("steps: [{id: 1a, tool: web_fetch, input: {url: a}}]", "bad_id", (5, 16), "not a valid id"),
    (
        "steps: [{id: a, tool: web_fetch, input: {url: a}}, {id: a, tool: web_fetch, input: {url: a}}]",
        "duplicate_id",
        (5, 59),
        "step 0 already has this id",
    ),
    ("steps: [{tool: web_fetch, inputs: {url: a}, input: {url: a}}]", "unknown_key", (5, 29), "did you mean `input`?"),
    (
        "input: {type: object, properties: {u: {type: strnig}}}\nsteps: [{tool: web_fetch, input: {url: a}}]",
        "invalid_schema",
        (5, 48),
        "strnig",
    ),
    (
        "input: {type: object, propertis: {u: {type: string}}}\nsteps: [{tool: web_fetch, input: {url: a}}]",
        "unknown_keyword",
        (5, 25),
        "did you mean `properties`?",
    ),
    (
        "input: {type: object, properties: {u: {type: string, description: first, later}}}\nsteps: [{tool: web_fetch, input: {url: a}}]",
        "unknown_keyword",
        (5, 76),
        "put the text in quotes",
    ),
    ("steps: [{tool: shell, input: {command: ls}}]", "tool_switched_off", (5, 18), "`shell = true` under [tools]"),
    (
        "input: {type: object, properties: {u: {enum: [a, b], default: c}}}\nsteps: [{tool: web_fetch, input: {url: a}}]",
        "bad_default",
        (5, 65),
        "default",
    ),
    (
        "input: {type: object, properties: {u: {$ref: \"https://example.org/s.json\"}}}\nsteps: [{tool: web_fetch, input: {url: a}}]",
        "remote_reference",
        (5, 48),
        "not fetched",
    ),
    (
        "input: {type: object, properties: {u: {$ref: \"#/$defs/b\"}}, $defs: {a: {type: string}}}\nsteps: [{tool: web_fetch, input: {url: a}}]",
        "unknown_schema",
        (5, 48),
        "does not exist",
    ),
    (
        "input: {type: object, properties: {u: {$ref: \"#\"}}}\nsteps: [{tool: web_fetch, input: {url: a}}]",
        "recursive_schema",
        (5, 48),
        "contains itself",
    ),
    (
        "input: {type: array}\nsteps: [{tool: web_fetch, input: {url: a}}]",
        "input_not_an_object",
        (5, 17),
        "must be an object",
    ),
    (
        "input: {sites: {type: array}}\nsteps: [{tool: web_fetch, input: {url: a}}]",
        "input_not_an_object",
        (5, 10),
        "properties",
    ),
    (
        "input: {type: object, properties: {u: {type: string, pattern: \"(\"}}}\nsteps: [{tool: web_fetch, input: {url: a}}]",
        "invalid_schema",
        (5, 65),
        "",
    ),
    (
        "output: {u: \"{{steps.0.output}}\"}\nreturns: {}\nsteps: [{tool: web_fetch, input: {url: a}}]",
        "two_mappings",
        (6, 3),
        "both define",
    ),
    (
        "output: {u: \"{{steps.3.output}}\"}\nsteps: [{tool: web_fetch, input: {url: a}}]",
        "unknown_reference",
        (5, 18),
        "unknown step `3`",
    ),
    (
        "output: {type: object, properties: {u: {type: strin}}}\nsteps: [{tool: web_fetch, input: {url: a}}]",
        "invalid_schema",
        (5, 49),
        "strin",
    ),
    ("steps: [{tool: skill_a, input: {}}]", "cycle", (5, 18), "which is a cycle"),
];

#[test]
fn each_fault_has_message_and_position() {
    assert!(BROKEN.len() >= 40);
    let mut wrong = Vec::new();
    for (declared, code, (line, column), part) in BROKEN {
        let found = problems(declared);
        let [problem] = found.as_slice() else {
            wrong.push(format!("{declared}\n    one {code} was meant, and there are {found:#?}"));
            continue;
        };
        let told = problem.to_string();
        if problem.code != *code || (problem.line, problem.column) != (*line, *column) || !told.contains(part) {
            wrong.push(format!(
                "{declared}\n    {code} at {line}:{column} with {part:?} was meant\n    {} {told}",
                problem.code
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut messages: Vec<_> = BROKEN.iter().map(|(declared, ..)| problems(declared)[0].message.clone()).collect();
    messages.sort();
    messages.dedup();
    assert!(messages.len() >= 45, "messages that are each their own: {}", messages.len());
}

#[test]
fn faults_are_reported_in_file_order() {
    let declared =
        "steps:\n  - tool: web_fecth\n  - tool: web_fetch\n    retries: 9\n    input: {url: \"{{steps.7.output}}\"}\n";
    let codes: Vec<_> = problems(declared).iter().map(|problem| problem.code.clone()).collect();
    assert_eq!(codes, ["unknown_tool", "bad_retries", "unknown_reference"]);
}

#[test]
fn unreadable_step_keeps_its_index() {
    let declared = "steps:\n  - input: {url: a}\n  - id: two\n    tool: web_fetch\n    input: {url: \"a\"}\n  - tool: web_fecth\n    input: {url: \"{{steps.1.output.text}}{{steps.two.output.text}}\"}\n";
    let found: Vec<_> =
        problems(declared).iter().map(|problem| (problem.code.clone().into_owned(), problem.line)).collect();
    assert_eq!(found, [("no_tool".to_owned(), 6), ("unknown_tool".to_owned(), 10)]);
}

#[test]
fn tool_cycles_are_reported() {
    let fetch = "steps: [{tool: web_fetch, input: {url: a}}]";
    let sources = [
        source("outer", "steps: [{tool: skill_inner, input: {}}, {tool: skill_writer, input: {}}]"),
        source("inner", fetch),
        source("writer", "steps: [{tool: write_file, input: {path: a, content: b}}]"),
        source("x", "steps: [{tool: skill_y, input: {}}]"),
        source("y", "steps: [{tool: skill_x, input: {}}]"),
    ];
    let outcomes = compile(&sources);
    let outer = outcomes["outer"].tool().unwrap();
    assert_eq!((outer.approval, outer.depth), (Approval::PlanConfirm, 1));
    for name in ["x", "y"] {
        let Outcome::Broken(found) = &outcomes[name] else { panic!("{name}") };
        assert!(found.iter().any(|problem| ["cycle", "broken_tool"].contains(&problem.code.as_ref())), "{found:#?}");
    }
}

#[test]
fn nesting_depth_is_limited() {
    let chain = |length: usize| -> Vec<Source> {
        let last = source("s0", "steps: [{tool: web_fetch, input: {url: a}}]");
        let inner = (1..=length)
            .map(|n| source(&format!("s{n}"), &format!("steps: [{{tool: skill_s{}, input: {{}}}}]", n - 1)));
        [last].into_iter().chain(inner).collect()
    };
    let (inside, mut beyond) = (chain(DEPTH), chain(DEPTH + 1));
    assert!(compile(&inside).values().all(|outcome| outcome.tool().is_some()));
    for _ in 0..2 {
        let outcomes = compile(&beyond);
        let whole: Vec<_> = outcomes.iter().filter(|(_, outcome)| outcome.tool().is_some()).collect();
        assert_eq!(whole.len(), DEPTH + 1, "what stands below is a tool, in whatever order");
        let Outcome::Broken(found) = &outcomes[&format!("s{}", DEPTH + 1)] else { panic!() };
        assert_eq!(found[0].code, "too_nested");
        beyond.reverse();
    }
    let mut long = chain(2_000);
    long.reverse();
    let outcomes = compile(&long);
    assert_eq!(outcomes.values().filter(|outcome| outcome.tool().is_some()).count(), DEPTH + 1);
    let Outcome::Broken(found) = &outcomes["s2000"] else { panic!() };
    assert!(found[0].message.starts_with("`skill_s9` does not compile: SKILL.md:"), "{}", found[0].message);
}

#[test]
fn only_changed_tools_are_recompiled() {
    let limits = Limits::default();
    let host = host();
    let compiler = Compiler::new(&host, &[], &limits);
    let outer = source("outer", "steps: [{tool: skill_inner, input: {}}]");
    let inner = source("inner", "steps: [{tool: web_fetch, input: {url: a}}]");
    let first = all(&compiler, &[outer.clone(), inner.clone()], &[]);
    let known: Vec<ComposedTool> = first.values().filter_map(|outcome| outcome.tool().cloned()).collect();
    let again = all(&compiler, &[outer.clone(), inner.clone()], &known);
    assert!(again.values().all(|outcome| matches!(outcome, Outcome::Unchanged(_))));
    let stricter = source("inner", "steps: [{tool: write_file, input: {path: a, content: b}}]");
    let changed = all(&compiler, &[outer.clone(), stricter], &known);
    assert_eq!(changed["outer"].tool().unwrap().approval, Approval::PlanConfirm);
    let mut raised = host.clone();
    raised[1].approval = Approval::ExecEscalation;
    let raised = all(&Compiler::new(&raised, &[], &limits), &[outer.clone(), inner], &known);
    assert_eq!(raised["outer"].tool().unwrap().approval, Approval::ExecEscalation, "a tool's level went up");
    let gone = all(&compiler, &[outer], &known);
    assert!(gone["outer"].tool().is_none(), "what it calls is not there");
}

#[test]
fn reserved_tool_names_are_refused() {
    for name in ["manage", "history", "diff", "rollback", "status"] {
        let outcome = compile(&[source(name, "steps: [{tool: web_fetch, input: {url: a}}]")]).remove(name);
        let Some(Outcome::Broken(found)) = outcome else { panic!("{name}") };
        assert_eq!((found[0].code.as_ref(), found[0].line), ("reserved_name", 2));
    }
    let plain = Source {
        skill: "a".to_owned(),
        description: String::new(),
        digest: "---\nname: a\ndescription: d\n---\ntool_schema\n".to_owned(),
    };
    assert_eq!(compile(&[plain])["a"], Outcome::Plain);
}

#[test]
fn exploding_schemas_are_refused() {
    let mut defs = String::from("\"d0\": {type: string}");
    for n in 1..30 {
        defs.push_str(&format!(
            ", \"d{n}\": {{allOf: [{{$ref: \"#/$defs/d{0}\"}}, {{$ref: \"#/$defs/d{0}\"}}]}}",
            n - 1
        ));
    }
    let declared = format!(
        "input: {{type: object, properties: {{u: {{$ref: \"#/$defs/d29\"}}}}, $defs: {{{defs}}}}}\nsteps: [{{tool: web_fetch, input: {{url: a}}}}]"
    );
    assert_eq!(problems(&declared)[0].code, "schema_too_large");
}

// CC2
#[test]
fn required_may_name_an_unlisted_property() {
    let declared = "input: {type: object, properties: {u: {type: string}}, required: [v]}\n\
                    steps: [{tool: web_fetch, input: {url: \"{{input.v}}\"}}]";
    let outcomes = compile(&[source("a", declared)]);
    assert!(outcomes["a"].tool().is_some(), "{outcomes:#?}");
    assert_eq!(problems(&declared.replace("required: [v]", "required: [w]"))[0].code, "unknown_reference");
}

/// Checks of a declaration with thousands of faults end in time, with a bounded number of problems.
#[test]
fn flood_of_faults_is_reported_quickly() {
    let listed =
        |count: usize, item: &dyn Fn(usize) -> String| (0..count).map(|n| format!("{}, ", item(n))).collect::<String>();
    let fields = listed(1500, &|n| format!("a{n}: {{default: 1}}"));
    let others = listed(1500, &|n| format!("b{n}"));
    let references = listed(1000, &|n| format!("a{n}: {{$ref: \"#/$defs/x{n}\"}}"));
    let defined = listed(2000, &|n| format!("d{n}: {{}}"));
    let keys = listed(4000, &|n| format!("quer{n}: x"));
    let begun = std::time::Instant::now();
    for (tool_schema, told) in [
        (format!("input: {{type: object, properties: {{{fields}}}, required: [{others}]}}\nsteps: []"), 1),
        (format!("input: {{type: object, $defs: {{{defined}}}, properties: {{{fields}}}}}\nsteps: []"), 1),
        (format!("input: {{type: object, $defs: {{{defined}}}, properties: {{{references}}}}}\nsteps: []"), 100),
        (format!("steps:\n- {{tool: web_search, input: {{{keys}}}}}"), 100),
    ] {
        assert_eq!(problems(&tool_schema).len(), told, "{tool_schema:.60}");
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
}

fn is_in_form(tool_schema: &str) -> bool {
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/schemas/tool_schema.json")).unwrap();
    let text = source("a", tool_schema).digest;
    let declared = frontmatter::as_json(&text, &Limits::default()).unwrap()["tool_schema"].clone();
    json_schema::Schema::of_2020_12(&schema).unwrap().faults(&declared, 1).is_empty()
}

#[test]
fn editor_schema_checks_the_form() {
    assert!(is_in_form(MONITOR));
    let of_form = [
        "unknown_key", "no_steps", "not_a_list", "not_an_object", "no_tool", "not_a_text", "bad_on_error",
        "bad_retries", "bad_timeout", "bad_for_each", "bad_id",
    ];
    for (declared, code, ..) in BROKEN {
        // The compiler checks more than the form: references, types, other schemas.
        assert_eq!(is_in_form(declared), !of_form.contains(code), "{code}: {declared}");
    }
}
