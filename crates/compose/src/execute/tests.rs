//! Tests of the executor: a run performs the declared steps and nothing else.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use serde_json::json;
use skill::Limits;

use super::*;
use crate::{
    compile::{Compiler, Source},
    host::{Bounds, ToolFault},
    template,
};

/// Tools for tests: `join` joins a list to a text, `fail` fails a given number of times, `cut` splits a text into
/// words, `wait` takes some time.
#[derive(Default)]
struct Words {
    failures: AtomicUsize,
    called: Mutex<Vec<String>>,
    level: Mutex<Approval>,
}

impl ToolHost for Words {
    fn tools(&self) -> Vec<ToolSpec> {
        let tool = |name: &str, properties: Value, output: Value, approval| ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            input: json!({"type": "object", "properties": properties, "required": properties.as_object().unwrap().keys().collect::<Vec<_>>(), "additionalProperties": false}),
            output: Some(output),
            approval,
        };
        let text = json!({"type": "string"});
        vec![
            tool(
                "join",
                json!({"words": {"type": "array"}}),
                json!({"type": "object", "properties": {"text": text}}),
                Approval::None,
            ),
            tool("cut", json!({"text": text}), json!({"type": "array", "items": text}), Approval::None),
            tool("fail", json!({"times": {"type": "integer"}}), json!({}), Approval::None),
            tool("wait", json!({"millis": {"type": "integer"}}), json!({}), Approval::None),
            tool("save", json!({"text": text}), json!({}), (*self.level.lock().unwrap()).max(Approval::PlanConfirm)),
        ]
    }

    fn call(&self, tool: &str, input: &Value, bounds: &Bounds<'_>) -> Result<Value, ToolFault> {
        self.called.lock().unwrap().push(tool.to_owned());
        match tool {
            "join" => {
                let words = input["words"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|word| word.as_str().map_or(word.to_string(), str::to_owned));
                Ok(json!({"text": words.collect::<Vec<_>>().join(" ")}))
            }
            "cut" => Ok(input["text"].as_str().unwrap().split_whitespace().collect()),
            "fail" if self.failures.fetch_add(1, Ordering::Relaxed) < input["times"].as_u64().unwrap() as usize => {
                Err(ToolFault::transient("busy", "it is busy"))
            }
            "fail" => Ok(json!("went well")),
            "wait" => {
                let end = Instant::now() + Duration::from_millis(input["millis"].as_u64().unwrap());
                while Instant::now() < end {
                    bounds.remaining()?;
                    std::thread::sleep(Duration::from_millis(2));
                }
                Ok(Value::Null)
            }
            _ => Ok(Value::Null),
        }
    }
}

fn compile(host: &Words, skills: &[(&str, &str)]) -> Vec<ComposedTool> {
    let sources: Vec<Source> = skills
        .iter()
        .map(|(skill, declared)| {
            let indented: String = declared.lines().map(|line| format!("  {line}\n")).collect();
            let text = format!("---\nname: {skill}\ndescription: d\ntool_schema:\n{indented}---\n");
            Source { skill: (*skill).to_owned(), description: "d".to_owned(), digest: text }
        })
        .collect();
    let tools = host.tools();
    let outcomes = Compiler::new(&tools, &[], &Limits::default()).compile(
        &sources,
        &sources.iter().map(|source| source.skill.as_str()).collect(),
        &[],
        &|source| Ok(source.digest.clone()),
    );
    outcomes.values().map(|outcome| outcome.tool().unwrap_or_else(|| panic!("{outcome:#?}")).clone()).collect()
}

fn limits() -> RunLimits {
    RunLimits { back_off_millis: 1, ..RunLimits::default() }
}

static NEVER: AtomicBool = AtomicBool::new(false);

/// Returns an executor without any consent, which denies nothing.
fn executor<'a>(host: &'a Words, composed: &'a [ComposedTool]) -> Executor<'a> {
    let (decision, approved) = (&|_: &str| PermissionDecision::Allow, Approval::None);
    Executor { host, composed, decision, approved, limits: limits(), cancelled: &NEVER }
}

fn run_with(host: &Words, skills: &[(&str, &str)], input: Value, limits: RunLimits, approved: Approval) -> Trace {
    let composed = compile(host, skills);
    let tool = composed.iter().find(|tool| tool.skill == skills[0].0).unwrap();
    Executor { approved, limits, ..executor(host, &composed) }.run(tool, input)
}

fn run(declared: &str, input: Value) -> Trace {
    run_with(&Words::default(), &[("a", declared)], input, limits(), Approval::None)
}

#[test]
fn templates_keep_value_types() {
    let declared = "\
input:
  type: object
  properties: {n: {type: integer}, list: {type: array}, name: {type: string}, mode: {enum: [a, b], default: b}, none: {type: string}}
steps:
  - tool: join
    input: {words: [\"{{input.n}}\", \"{{ input.list }}\", \"n={{input.n}} {{input.list.0}} {{input.none}}{{\\\"{{\\\"}}\", \"{{input.mode}}\"]}
returns: {n: \"{{input.n}}\", list: \"{{input.list}}\", text: \"{{steps.0.output.text}}\", none: \"{{input.none}}\", second: \"{{input.list[1]}}\"}
";
    let trace = run(declared, json!({"n": 3, "list": [1, {"x": null}], "name": "é"}));
    assert_eq!(
        trace.output,
        json!({"n": 3, "list": [1, {"x": null}], "text": "3 [1,{\"x\":null}] n=3 1 {{ b", "second": {"x": null}}),
        "{trace:#?}"
    );
}

// CC3
#[test]
fn texts_join_lists_of_scalars() {
    let declared =
        "input: {type: object, properties: {l: {}}}\nsteps: [{tool: join, input: {words: [\"a: {{input.l}}.\"]}}]";
    for (list, text) in [
        (json!(["x", 2, true, null]), "a: x, 2, true."),
        (json!([]), "a: ."),
        (json!([1, {"x": null}]), "a: [1,{\"x\":null}]."),
        (json!({"x": ["y"]}), "a: {\"x\":[\"y\"]}."),
    ] {
        let trace = run(declared, json!({ "l": list }));
        assert_eq!(trace.output["text"], text, "{trace:#?}");
    }
}

#[test]
fn loops_skip_items_by_condition() {
    let declared = "\
input: {type: object, properties: {lines: {type: array, items: {type: string}}}}
steps:
  - id: cut
    tool: cut
    for_each: \"{{input.lines}}\"
    when: \"{{item}} != \\\"\\\" && !({{index}} > 2)\"
    input: {text: \"{{item}}\"}
  - tool: join
    input: {words: \"{{steps.cut.output.*.*}}\"}
";
    let trace = run(declared, json!({"lines": ["a b", "", "c", "d"]}));
    assert_eq!(trace.output, json!({"text": "a b c"}), "{trace:#?}");
    let states: Vec<_> = trace.steps[0].calls.iter().map(|call| call.status).collect();
    assert_eq!(states, [Status::Done, Status::Skipped, Status::Done, Status::Skipped]);
}

/// After that, `on_error` decides whether the step is skipped or the run fails.
#[test]
fn failed_step_is_retried_twice() {
    let step = |rest: &str, times: usize| {
        let declared = format!(
            "steps:\n  - tool: fail\n    input: {{times: {times}}}\n{rest}  - tool: join\n    input: {{words: [\"{{{{steps.0.output}}}}\", \"{{{{steps.0.error}}}}\"]}}"
        );
        run(&declared, json!({}))
    };
    let well = step("", 2);
    assert_eq!((well.steps[0].calls[0].attempts.len(), &well.output), (3, &json!({"text": "went well null"})));
    let ends = step("", 3);
    assert_eq!(
        (ends.status, ends.steps[0].status, ends.steps[1].status),
        (Status::Failed, Status::Failed, Status::NotRun)
    );
    assert_eq!(ends.error.unwrap().message, "step 0 (fail): it is busy");
    let passed = step("    on_error: skip\n", 3);
    assert_eq!((passed.steps[0].status, &passed.output), (Status::Skipped, &json!({"text": "null it is busy"})));
    let once = step("    retries: 0\n", 1);
    assert_eq!((once.status, once.steps[0].calls[0].attempts.len()), (Status::Failed, 1));
}

#[test]
fn inputs_and_outputs_match_their_schema() {
    let declared = "\
input: {type: object, properties: {n: {type: integer, maximum: 3}}, required: [n]}
output: {type: array}
steps: [{tool: cut, input: {text: \"{{input.n}} {{input.n}}\"}}]
";
    assert_eq!(run(declared, json!({"n": 2})).output, json!(["2", "2"]));
    let wrong = run(declared, json!({"n": 9})).error.unwrap();
    assert_eq!(wrong.code, "invalid_input");
    assert!(wrong.message.contains("/n") && wrong.message.contains('3'), "{}", wrong.message);
    assert_eq!(run(declared, json!({})).error.unwrap().code, "invalid_input");
    let other = declared.replace("output: {type: array}", "output: {type: array, minItems: 3}");
    assert_eq!(run(&other, json!({"n": 2})).error.unwrap().code, "invalid_output");
    let asks_too_much =
        "input: {type: object, properties: {n: {}}}\nsteps: [{tool: cut, input: {text: \"{{input.n}}\"}}]";
    let fault = run(asks_too_much, json!({"n": 4}));
    assert_eq!((fault.error.unwrap().code.as_str(), fault.steps[0].calls[0].attempts.len()), ("invalid_step_input", 1));
}

#[test]
fn trace_contains_nested_runs() {
    let host = Words::default();
    let inner = "input: {type: object, properties: {t: {type: string}}}\nsteps: [{tool: cut, input: {text: \"{{input.t}}\"}}, {tool: fail, input: {times: 1}, retries: 1}]\nreturns: \"{{steps.0.output}}\"";
    let outer =
        "steps: [{tool: skill_inner, input: {t: \"x y\"}}, {tool: join, input: {words: \"{{steps.0.output}}\"}}]";
    let trace = run_with(&host, &[("outer", outer), ("inner", inner)], json!({}), limits(), Approval::None);
    assert_eq!(trace.output, json!({"text": "x y"}), "{trace:#?}");
    let inner = trace.steps[0].calls[0].run.as_ref().unwrap();
    assert_eq!((inner.tool.as_str(), inner.steps[1].calls[0].attempts.len()), ("skill_inner", 2));
    let read: Trace = serde_json::from_value(serde_json::to_value(&trace).unwrap()).unwrap();
    assert_eq!(read, trace, "as JSON and back");
    let closed = serde_json::to_string(&trace.redacted(true)).unwrap();
    assert!(!closed.contains("\"words\""), "{closed}");
}

#[test]
fn strictest_step_decides_the_consent() {
    let host = Words::default();
    let inner = "steps: [{tool: save, input: {text: a}}]";
    let skills = [("outer", "steps: [{tool: skill_inner, input: {}}]"), ("inner", inner)];
    let refused = run_with(&host, &skills, json!({}), limits(), Approval::None);
    assert_eq!((refused.status, refused.error.unwrap().code.as_str()), (Status::Refused, "approval_needed"));
    assert!(host.called.lock().unwrap().is_empty());
    assert_eq!(run_with(&host, &skills, json!({}), limits(), Approval::PlanConfirm).status, Status::Done);
    let composed = compile(&host, &skills);
    *host.level.lock().unwrap() = Approval::ExecEscalation;
    let executor = Executor { approved: Approval::PlanConfirm, ..executor(&host, &composed) };
    let outer = composed.iter().find(|tool| tool.skill == "outer").unwrap();
    assert_eq!(executor.level(outer), Approval::ExecEscalation);
    assert_eq!(executor.run(outer, json!({})).status, Status::Refused);
}

#[test]
fn denied_tool_is_unreachable_through_others() {
    let host = Words::default();
    let composed = compile(
        &host,
        &[("outer", "steps: [{tool: skill_inner, input: {}}]"), ("inner", "steps: [{tool: cut, input: {text: a}}]")],
    );
    let outer = composed.iter().find(|tool| tool.skill == "outer").unwrap();
    for denied in ["cut", "skill_inner", "skill_outer"] {
        let decision = |tool: &str| if tool == denied { PermissionDecision::Deny } else { PermissionDecision::Allow };
        let executor =
            Executor { decision: &decision, approved: Approval::ExecEscalation, ..executor(&host, &composed) };
        let trace = executor.run(outer, json!({}));
        assert_eq!((trace.status, trace.error.unwrap().code.as_str()), (Status::Refused, "policy_denied"), "{denied}");
    }
    assert!(host.called.lock().unwrap().is_empty());
}

#[test]
fn nested_ask_decision_needs_consent() {
    let host = Words::default();
    let skills =
        [("outer", "steps: [{tool: skill_inner, input: {}}]"), ("inner", "steps: [{tool: cut, input: {text: a}}]")];
    let composed = compile(&host, &skills);
    let outer = composed.iter().find(|tool| tool.skill == "outer").unwrap();
    for asked in ["cut", "skill_inner", "skill_outer"] {
        let decision = |tool: &str| if tool == asked { PermissionDecision::Ask } else { PermissionDecision::Allow };
        let executor = |approved| Executor { decision: &decision, approved, ..executor(&host, &composed) };
        assert_eq!(executor(Approval::None).level(outer), Approval::PlanConfirm, "{asked}");
        let refused = executor(Approval::None).run(outer, json!({}));
        assert_eq!((refused.status, refused.error.unwrap().code.as_str()), (Status::Refused, "approval_needed"));
        assert_eq!(executor(Approval::PlanConfirm).run(outer, json!({})).status, Status::Done, "{asked}");
    }
    assert_eq!(host.called.lock().unwrap().len(), 3);
}

#[test]
fn consent_covers_exact_input_and_tools() {
    let host = Words::default();
    let inner = "steps: [{tool: cut, input: {text: a}}]";
    let consent = |inner: &str, input: Value| {
        let composed = compile(&host, &[("outer", "steps: [{tool: skill_inner, input: {}}]"), ("inner", inner)]);
        let plain = executor(&host, &composed);
        plain.consent(composed.iter().find(|tool| tool.skill == "outer").unwrap(), &input)
    };
    let first = consent(inner, json!({}));
    assert_eq!(consent(inner, json!({})), first);
    assert_ne!(consent(inner, json!({"a": 1})), first);
    assert_ne!(consent("steps: [{tool: cut, input: {text: b}}]", json!({})), first);
    *host.level.lock().unwrap() = Approval::ExecEscalation;
    let saves = "steps: [{tool: save, input: {text: b}}]";
    let strict = consent(saves, json!({}));
    *host.level.lock().unwrap() = Approval::None;
    assert_ne!(consent(saves, json!({})), strict);
}

#[test]
fn invalid_input_fails_before_consent() {
    let declared = "input: {type: object, properties: {n: {type: integer}}}\nsteps: [{tool: save, input: {text: a}}]";
    let trace = run(declared, json!({"n": "x"}));
    assert_eq!((trace.status, trace.error.unwrap().code.as_str()), (Status::Failed, "invalid_input"));
}

#[test]
fn shared_tools_are_looked_at_once() {
    let host = Words::default();
    let mut skills: Vec<(String, String)> = Vec::new();
    for layer in 0..8 {
        for place in 0..12 {
            let below = (0..12).map(|below| match layer {
                7 => "{tool: cut, input: {text: a}}".to_owned(),
                _ => format!("{{tool: skill_l{}-{below}, input: {{}}}}", layer + 1),
            });
            let steps: Vec<String> = below.collect();
            skills.push((format!("l{layer}-{place}"), format!("steps: [{}]", steps.join(", "))));
        }
    }
    let skills: Vec<(&str, &str)> = skills.iter().map(|(name, steps)| (name.as_str(), steps.as_str())).collect();
    let begun = Instant::now();
    let trace = run_with(&host, &skills, json!({}), limits(), Approval::None);
    assert_eq!(trace.error.unwrap().code, "too_many_calls");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn deeply_nested_value_is_refused() {
    let mut deep = json!("x");
    (0..70).for_each(|_| deep = json!([deep]));
    let declared = "input: {type: object, properties: {l: {}}}\nsteps: [{tool: join, input: {words: \"{{input.l}}\"}}]";
    let trace = run(declared, json!({"l": deep}));
    assert_eq!(trace.error.unwrap().code, "too_deep");
}

#[test]
fn run_timeout_cannot_be_skipped() {
    let declared = "steps: [{tool: wait, input: {millis: 400}, on_error: skip}, {tool: wait, input: {millis: 400}, on_error: skip}, {tool: join, input: {words: [a]}}]";
    let short = RunLimits { millis: 300, ..limits() };
    let trace = run_with(&Words::default(), &[("a", declared)], json!({}), short, Approval::None);
    assert_eq!((trace.status, trace.error.unwrap().code.as_str()), (Status::Failed, "timeout"));
    let outer = "steps: [{tool: skill_inner, input: {}, timeout: 300ms}]";
    let inner = "steps: [{tool: wait, input: {millis: 400}, on_error: skip, retries: 0}, {tool: join, input: {words: [a]}, on_error: skip}]";
    let skills = [("outer", outer), ("inner", inner)];
    let trace = run_with(&Words::default(), &skills, json!({}), limits(), Approval::None);
    assert_eq!((trace.status, trace.error.unwrap().code.as_str()), (Status::Failed, "timeout"));
}

#[test]
fn trace_is_redacted_and_bounded() {
    let declared = "input: {type: object, properties: {t: {type: string, pattern: ^a}}}\nsteps: [{tool: cut, input: {text: \"{{input.t}}\"}}]";
    let trace = run(declared, json!({"t": "hunter2secret"}));
    assert_eq!(trace.status, Status::Failed);
    let kept = serde_json::to_string(&trace.clone().redacted(true)).unwrap();
    assert!(!kept.contains("hunter2secret") && kept.contains("invalid_input"), "{kept}");
    let loops = "input: {type: object, properties: {l: {type: array}}}\nsteps: [{tool: join, input: {words: [\"{{item}}\"]}, for_each: \"{{input.l}}\"}]";
    let long = run(loops, json!({"l": vec!["\u{1}".repeat(9_000); 600]})).without_calls();
    assert_eq!((long.status, long.steps[0].calls.len()), (Status::Done, 20));
    assert!(serde_json::to_vec(&long).unwrap().len() < 20_000);
}

#[test]
fn condition_reads_are_not_counted() {
    let declared = "input: {type: object, properties: {t: {type: string}, l: {type: array}}}\nsteps: [{tool: cut, input: {text: a}, for_each: \"{{input.l}}\", when: '{{input.t}} == \"x}}y\" || {{index}} < 3'}]";
    let small = RunLimits { bytes: 200_000, ..limits() };
    let input = json!({"t": "x".repeat(20_000), "l": vec![1; 50]});
    let trace = run_with(&Words::default(), &[("a", declared)], input, small, Approval::None);
    assert_eq!(trace.status, Status::Done, "{:?}", trace.error);
    assert_eq!(trace.output.as_array().unwrap().iter().filter(|output| !output.is_null()).count(), 3);
}

#[test]
fn run_growth_is_limited() {
    let small = RunLimits { bytes: 100_000, loop_items: 50, calls: 40, ..limits() };
    let laugh = |text: &str| format!("  - tool: join\n    input: {{words: [\"{}\"]}}\n", text.repeat(10));
    let mut declared = String::from("steps:\n  - tool: join\n    input: {words: [ha]}\n");
    for step in 0..12 {
        declared.push_str(&laugh(&format!("{{{{steps.{step}.output.text}}}}")));
    }
    let grown = run_with(&Words::default(), &[("a", &declared)], json!({}), small, Approval::None);
    assert_eq!(grown.error.unwrap().code, "too_large_run");
    let each = "input: {type: object, properties: {l: {type: array}}}\nsteps: [{tool: join, for_each: \"{{input.l}}\", input: {words: [a]}, on_error: skip}]";
    let many =
        |count: usize| run_with(&Words::default(), &[("a", each)], json!({"l": vec![1; count]}), small, Approval::None);
    assert_eq!(many(51).error.unwrap().code, "too_many_items");
    assert_eq!(many(41).error.unwrap().code, "too_many_calls");
    let inner = "input: {type: object, properties: {l: {type: array}}}\nsteps: [{tool: join, for_each: \"{{input.l}}\", input: {words: [a]}}]";
    let outer = "input: {type: object, properties: {l: {type: array}}}\nsteps: [{tool: skill_in, for_each: \"{{input.l}}\", input: {l: \"{{input.l}}\"}, on_error: skip}]";
    let nested = run_with(
        &Words::default(),
        &[("out", outer), ("in", inner)],
        json!({"l": [1, 2, 3, 4, 5, 6, 7, 8]}),
        small,
        Approval::None,
    );
    assert_eq!(nested.error.unwrap().code, "too_many_calls");
}

#[test]
fn timeout_or_cancellation_ends_a_run() {
    let slow = run("steps: [{tool: wait, input: {millis: 60000}, timeout: 20ms, retries: 1}]", json!({}));
    assert_eq!((slow.error.unwrap().code.as_str(), slow.steps[0].calls[0].attempts.len()), ("timeout", 2));
    let short = RunLimits { millis: 30, ..limits() };
    let declared = "steps: [{tool: wait, input: {millis: 60000}, on_error: skip}, {tool: wait, input: {millis: 1}}]";
    let ended = run_with(&Words::default(), &[("a", declared)], json!({}), short, Approval::None);
    assert_eq!((ended.status, ended.error.unwrap().code.as_str()), (Status::Failed, "timeout"));
    let host = Words::default();
    let composed = compile(&host, &[("a", "steps: [{tool: wait, input: {millis: 60000}, on_error: skip}]")]);
    let cancelled = AtomicBool::new(false);
    let executor = Executor { cancelled: &cancelled, ..executor(&host, &composed) };
    let trace = std::thread::scope(|threads| {
        threads.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            cancelled.store(true, Ordering::Relaxed);
        });
        executor.run(&composed[0], json!({}))
    });
    assert_eq!(trace.status, Status::Cancelled);
}

#[test]
fn plan_shows_inputs_without_calls() {
    let host = Words::default();
    let declared = "\
input: {type: object, properties: {l: {type: array}, on: {type: boolean, default: true}}}
steps:
  - {tool: join, for_each: \"{{input.l}}\", input: {words: [\"{{item}}\", \"{{index}}\"]}, when: \"{{input.on}}\"}
  - {tool: save, input: {text: \"{{input.on}} {{steps.0.output.0.text}}\"}, on_error: skip}
";
    let composed = compile(&host, &[("a", declared)]);
    let plain = executor(&host, &composed);
    let plan = plain.plan(&composed[0], json!({"l": ["x"]})).unwrap();
    assert_eq!(
        (&plan["approval"], &plan["steps"][0]["inputs"][0]["words"]),
        (&json!("plan_confirm"), &json!(["x", 0])),
        "{plan:#}"
    );
    assert_eq!(plan["steps"][1]["input"]["text"], "true {{steps.0.output.0.text}}");
    assert!(host.called.lock().unwrap().is_empty());
    assert_eq!(plain.plan(&composed[0], json!({"l": 3})).unwrap_err().code, "invalid_input");
}

#[test]
fn invalid_templates_are_errors() {
    for text in ["", "{", "}}", "{{\"\\u0000\"}}", "{{input[\"a]b\"].*}}", "{{ index }}", "x{{item.0}}y"] {
        assert!(template::Template::parse(text).is_ok(), "{text}");
    }
    for text in [
        "{{", "{{}}", "{{a}}", "{{input.}}", "{{input[}}", "{{input[-1]}}", "{{\"}}", "{{input {{item}}}}",
        "{{inputx}}",
    ] {
        assert!(template::Template::parse(text).is_err(), "{text}");
    }
}
