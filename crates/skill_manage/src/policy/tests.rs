//! Tests of every preset, actor, class of change and verdict, and of rules and layers.

use library::{Actor, Origin, SourceDigest, SourceSkill};
use skill::{Bundle, SkillName, diff};
use testkit::bundle_with_modes;

use super::*;

const MD: &str = "---\nname: a\n---\n";

/// Change to be decided, by default a patch by an agent.
struct Case<'a> {
    actor: Actor,
    actions: &'a [Action],
    installed: bool,
    before: Bundle,
    after: Bundle,
    verdict: Verdict,
}

impl Case<'_> {
    fn new(before: &[(&str, &str, bool)], after: &[(&str, &str, bool)]) -> Self {
        Self {
            actor: Actor::new(ActorKind::Agent, "x"),
            actions: &[Action::Patch],
            installed: false,
            before: bundle_with_modes(before),
            after: bundle_with_modes(after),
            verdict: Verdict::Allow,
        }
    }

    fn decide(&self, policy: &Policy) -> Decision {
        let files = diff::diff(&self.before, &self.after).files;
        let digest = SourceDigest::Foreign("unknown".to_owned());
        let skill = SourceSkill { name: SkillName::parse("a").unwrap(), version: None, digest };
        let origin = Origin::Folder { path: "/a".to_owned(), skill };
        let change = Proposed {
            skill: "a",
            actions: self.actions,
            origin: self.installed.then_some(&origin),
            before: &self.before,
            after: &self.after,
            files: &files,
            verdict: self.verdict,
            privilege: OnceCell::new(),
        };
        policy.decide(&self.actor, &change)
    }

    fn ruling(&self, policy: &Policy) -> Ruling {
        self.decide(policy).ruling
    }
}

/// Returns a change of each class, based on a skill with one script, one executable and evals.
fn changes() -> Vec<(&'static str, Case<'static>)> {
    let base = [
        ("SKILL.md", MD, false),
        ("scripts/a.sh", "1", false),
        ("assets/run", "1", true),
        ("evals/e.json", "1", false),
    ];
    let with = |path: &'static str, text: &'static str, executable: bool| {
        let mut after: Vec<_> = base.iter().copied().filter(|file| file.0 != path).collect();
        after.push((path, text, executable));
        Case::new(&base, &after)
    };
    vec![
        ("text", with("SKILL.md", "---\nname: a\n---\nmore", false)),
        ("text", with("references/a.md", "more", false)),
        ("delicate", with("scripts/a.sh", "2", false)),
        ("delicate", Case::new(&base[..1], &[base[0], ("Scripts/b.sh", "2", false)])),
        ("delicate", with("assets/SCRIPTS/b.sh", "2", false)),
        ("delicate", with("assets/run", "2", true)),
        ("delicate", with("assets/new", "2", true)),
        ("delicate", with("SKILL.md", "---\nname: a\nallowed-tools: Bash\n---\n", false)),
        ("delicate", with("SKILL.md", "---\nname: a\nAllowed_Tools: Bash\n---\n", false)),
        ("delicate", with("SKILL.md", "---\nname: a\nhooks: {PreToolUse: [x]}\n---\n", false)),
        ("delicate", with("SKILL.md", "---\nname: a\n<<: {allowed-tools: Bash}\n---\n", false)),
        ("delicate", with("SKILL.md", "---\nname: a\nallowed-tools: A\nallowed-tools: B\n---\n", false)),
        ("delicate", with("SKILL.md", "---\nname: a\ntool_schema: {steps: []}\n---\n", false)),
        ("delicate", with("SKILL.md", "---\nname: a\n\"tool\\x5fschema\": {steps: []}\n---\n", false)),
        ("evals", with("evals/e.json", "2", false)),
        ("evals-and-text", {
            let after = [base[0], base[1], base[2], ("evals/e.json", "2", false), ("references/a.md", "x", false)];
            Case::new(&base, &after)
        }),
        ("evals-and-text", {
            let after = [base[0], ("EVALS/f.json", "2", false), ("assets/a.md", "x", false)];
            Case::new(&base[..1], &after)
        }),
        ("removed", Case::new(&base, &[base[0], base[3]])),
    ]
}

#[test]
fn presets_decide_every_case() {
    for preset in [Preset::Open, Preset::Balanced, Preset::Strict] {
        for kind in [ActorKind::Agent, ActorKind::Optimizer, ActorKind::External, ActorKind::Person] {
            for verdict in [Verdict::Allow, Verdict::Warn] {
                for (class, mut case) in changes() {
                    (case.actor, case.verdict) = (Actor::new(kind, "x"), verdict);
                    let expected = match (preset, kind, class, verdict) {
                        (_, ActorKind::Person, ..) | (Preset::Open, ..) => Ruling::Apply,
                        (Preset::Strict, ..) | (_, _, "evals-and-text", _) => Ruling::Hold,
                        (_, _, "delicate", Verdict::Warn) => Ruling::Hold,
                        _ => Ruling::Apply,
                    };
                    let found = case.ruling(&preset.into());
                    assert_eq!(found, expected, "{preset} {kind:?} {class} {verdict} {:?}", case.after);
                }
            }
        }
    }
}

#[test]
fn only_strict_preset_holds_deletions() {
    for (_, mut case) in changes() {
        (case.actions, case.verdict) = (&[Action::Delete], Verdict::Warn);
        assert_eq!(case.ruling(&Preset::Strict.into()), Ruling::Hold);
        assert_eq!(case.ruling(&Preset::Balanced.into()), Ruling::Apply);
    }
}

#[test]
fn rollback_is_ruled_like_edit() {
    for preset in [Preset::Open, Preset::Balanced, Preset::Strict] {
        for (_, mut case) in changes() {
            case.verdict = Verdict::Warn;
            case.actions = &[Action::Patch];
            let as_edit = case.ruling(&preset.into());
            case.actions = &[Action::Rollback];
            assert_eq!(case.ruling(&preset.into()), as_edit, "{preset}");
        }
    }
}

#[test]
fn changed_tool_schema_is_held() {
    let waits = |before: &str, after: &str| {
        let skill = |fields: &str| format!("---\nname: a\n{fields}---\n");
        let mut case = Case::new(&[("SKILL.md", &skill(before), false)], &[("SKILL.md", &skill(after), false)]);
        case.verdict = Verdict::Warn;
        case.ruling(&Preset::Balanced.into()) == Ruling::Hold
    };
    assert!(waits("tool_schema: {steps: [a]}\n", "tool_schema: {steps: [b]}\n"));
    assert!(waits("\"tool\\x5fschema\": {steps: [a]}\n", "\"tool\\x5fschema\": {steps: [b]}\n"), "an escaped key");
    assert!(waits("x: &x [a]\ntool_schema: *x\n", "x: &x [b]\ntool_schema: *x\n"), "an alias");
    assert!(waits("x: [\nallowed-tools: A\n", "x: [\nallowed-tools: B\n"), "what no parser reads");
    assert!(!waits("license: MIT\ntool_schema: {steps: [a]}\n", "license: ISC\ntool_schema: {steps: [a]}\n"));
}

/// Returns a policy with one layer and these rules, in the form of a policy file.
fn policy(preset: Preset, rules: serde_json::Value) -> Policy {
    Policy::new(layer(Some(preset), rules), Vec::new())
}

fn layer(preset: Option<Preset>, rules: serde_json::Value) -> Layer {
    let rules: Vec<Rule> = serde_json::from_value(rules).unwrap();
    assert!(rules.iter().all(|rule| rule.check().is_ok()));
    Layer { file: "config.toml".to_owned(), preset, rules, why: None }
}

fn scripts() -> Case<'static> {
    Case::new(&[("SKILL.md", MD, false)], &[("SKILL.md", MD, false), ("scripts/a.sh", "1", true)])
}

#[test]
fn first_matching_rule_decides() {
    let rules = serde_json::json!([
        {"changes": ["executables"], "decision": "apply"},
        {"changes": ["scripts"], "decision": "deny", "why": "scripts are ours"},
        {"changes": ["scripts"], "decision": "apply"},
        {"changes": ["any"], "decision": "hold"},
    ]);
    let policy = policy(Preset::Open, rules);
    let why = "rule 2 of config.toml denies changes to scripts/a.sh (scripts): scripts are ours".to_owned();
    assert_eq!(scripts().decide(&policy), Decision { ruling: Ruling::Deny, why });
    let text = Case::new(&[("SKILL.md", MD, false)], &[("SKILL.md", "---\nname: a\n---\nb", false)]);
    assert!(matches!(text.decide(&policy), Decision { ruling: Ruling::Hold, why } if why.starts_with("rule 4 ")));
    let person = Case { actor: Actor::new(ActorKind::Person, "ann"), ..scripts() };
    assert_eq!(person.ruling(&policy), Ruling::Apply, "rules are about people only where they say so");
}

#[test]
fn each_condition_narrows_its_rule() {
    let deny = |mut rule: serde_json::Value| {
        rule["decision"] = "deny".into();
        policy(Preset::Open, serde_json::json!([rule]))
    };
    let warned = || Case { verdict: Verdict::Warn, ..scripts() };
    let installed = || Case { installed: true, ..scripts() };
    let (agent, optimizer) = (ActorKind::Agent, ActorKind::Optimizer);
    let by = |kind, id: &str| Case { actor: Actor::new(kind, id), ..scripts() };
    let rule = |key: &str, value: serde_json::Value| deny(serde_json::json!({ key: value }));
    let table: [(Policy, Vec<Case<'_>>, Vec<Case<'_>>); 9] = [
        (rule("actor", "agent".into()), vec![by(agent, "a"), by(optimizer, "a")], vec![by(ActorKind::Person, "a")]),
        (rule("actor", "optimizer".into()), vec![by(optimizer, "a")], vec![by(agent, "a")]),
        (rule("actor", "agent:ci-*".into()), vec![by(agent, "ci-1")], vec![by(agent, "ci"), by(agent, "CI-1")]),
        (rule("actor", "person".into()), vec![by(ActorKind::Person, "ann")], vec![by(agent, "a")]),
        (rule("origin", "installed".into()), vec![installed()], vec![scripts()]),
        (rule("origin", "authored".into()), vec![scripts()], vec![installed()]),
        (rule("verdict", "warn".into()), vec![warned()], vec![scripts()]),
        (rule("skill", "a*".into()), vec![scripts()], vec![]),
        (
            rule("actions", serde_json::json!(["write_file"])),
            vec![Case { actions: &[Action::Patch, Action::WriteFile], ..scripts() }],
            vec![scripts()],
        ),
    ];
    for (policy, denied, others) in table {
        assert!(denied.iter().all(|case| case.ruling(&policy) == Ruling::Deny), "{policy:?}");
        assert!(others.iter().all(|case| case.ruling(&policy) == Ruling::Apply), "{policy:?}");
    }
    assert_eq!(scripts().ruling(&rule("skill", "b*".into())), Ruling::Apply);
}

#[test]
fn strictest_layer_wins() {
    let free = || layer(Some(Preset::Open), serde_json::json!([{"decision": "apply"}]));
    let with = |others: Vec<Layer>| scripts().ruling(&Policy::new(free(), others));
    let rule = |decision: &str| layer(None, serde_json::json!([{"decision": decision, "changes": ["scripts"]}]));
    assert_eq!(with(vec![]), Ruling::Apply);
    assert_eq!(with(vec![layer(None, serde_json::json!([]))]), Ruling::Apply, "a layer that says nothing");
    assert_eq!(with(vec![rule("apply")]), Ruling::Apply);
    assert_eq!(with(vec![rule("hold"), rule("apply")]), Ruling::Hold);
    assert_eq!(with(vec![rule("apply"), rule("deny"), rule("hold")]), Ruling::Deny);
    assert_eq!(with(vec![layer(Some(Preset::Strict), serde_json::json!([]))]), Ruling::Hold);
    let tight = layer(Some(Preset::Strict), serde_json::json!([]));
    assert_eq!(scripts().ruling(&Policy::new(tight, vec![free()])), Ruling::Hold, "another layer loosens nothing");
}

#[test]
fn rules_hold_rollbacks_and_deletions() {
    let rules = serde_json::json!([{"decision": "hold", "actions": ["rollback", "delete"]}]);
    let policy = policy(Preset::Open, rules);
    let by = |actions| Case { actions, ..scripts() }.ruling(&policy);
    assert_eq!(by(&[Action::Rollback]), Ruling::Hold);
    assert_eq!(by(&[Action::Delete]), Ruling::Hold);
    assert_eq!(by(&[Action::Patch]), Ruling::Apply);
}

#[test]
fn meaningless_rules_are_refused() {
    let read = |text: &str| serde_json::from_str::<Rule>(text);
    for text in [
        "{}",
        "{\"decision\":\"Apply\"}",
        "{\"decision\":\"allow\"}",
        "{\"decision\":\"hold\",\"action\":[\"patch\"]}",
        "{\"decision\":\"hold\",\"actions\":[\"publish\"]}",
        "{\"decision\":\"hold\",\"actions\":[\"Patch\"]}",
        "{\"decision\":\"hold\",\"changes\":[\"script\"]}",
        "{\"decision\":\"hold\",\"changes\":\"scripts\"}",
        "{\"decision\":\"hold\",\"actor\":\"\"}",
        "{\"decision\":\"hold\",\"actor\":\"agent:\"}",
        "{\"decision\":\"hold\",\"actor\":\"Agent\"}",
        "{\"decision\":\"hold\",\"actor\":\"external\"}",
        "{\"decision\":\"hold\",\"origin\":\"pinned\"}",
        "{\"decision\":\"hold\",\"verdict\":\"WARN\"}",
    ] {
        assert!(read(text).is_err(), "{text}");
    }
    let checked = |text: &str| read(text).unwrap().check();
    for claimed in ["agent:a", "agent:*", "optimizer", "person:ann"] {
        let rule = format!("{{\"decision\":\"apply\",\"actor\":\"{claimed}\"}}");
        assert!(matches!(checked(&rule), Err(RuleError::Claimed(_))), "{claimed}");
        assert!(checked(&rule.replace("apply", "hold")).is_ok(), "{claimed}");
    }
    assert!(checked("{\"decision\":\"apply\",\"actor\":\"agent\"}").is_ok());
    assert_eq!(checked("{\"decision\":\"deny\",\"verdict\":\"block\"}"), Err(RuleError::Blocked));
}

#[test]
fn whole_skill_changes_need_explicit_rules() {
    let rule = |text: &str| -> Rule { serde_json::from_str(text).unwrap() };
    let layer = |preset, rules| Layer { file: "policy.toml".to_owned(), preset, rules, why: None };
    let policy = |text: &str| Policy::new(layer(Some(Preset::Open), vec![rule(text)]), Vec::new());
    let (empty, files) =
        (Bundle::default(), bundle_with_modes(&[("SKILL.md", MD, false), ("scripts/a.sh", "1", false)]));
    let skill = SkillName::parse("team-a").unwrap();
    let asked = |policy: &Policy, kind, action, before: &Bundle, after: &Bundle| {
        let change = SkillChange { skill: &skill, action, origin: None, before, after, verdict: Verdict::Warn };
        policy.permit(&Actor::new(kind, "x"), &change).map_err(|denied| denied.to_string())
    };
    let install = |policy: &Policy, kind| asked(policy, kind, Action::Install, &empty, &files);
    let agent = ActorKind::Agent;
    for refuses in [
        r#"{"decision": "deny", "actions": ["install"], "why": "ask ann"}"#,
        r#"{"decision": "hold", "actions": ["update", "install"], "actor": "agent", "changes": ["scripts"]}"#,
        r#"{"decision": "hold", "actions": ["install"], "skill": "team-*", "verdict": "warn"}"#,
    ] {
        let told = install(&policy(refuses), agent).unwrap_err();
        assert!(told.starts_with("the policy refuses to install team-a: rule 1 of policy.toml"), "{told}");
        assert!(install(&policy(refuses), ActorKind::Person).is_ok(), "{refuses}");
        assert!(asked(&policy(refuses), agent, Action::Uninstall, &files, &empty).is_ok(), "{refuses}");
        assert!(asked(&policy(refuses), agent, Action::Install, &files, &files).is_ok(), "nothing is touched");
    }
    for lets in [
        r#"{"decision": "deny"}"#,
        r#"{"decision": "deny", "actions": ["install"], "skill": "other"}"#,
        r#"{"decision": "deny", "actions": ["install"], "changes": ["executables"]}"#,
        r#"{"decision": "deny", "actions": ["install"], "actor": "agent:ci-*"}"#,
    ] {
        assert_eq!(install(&policy(lets), agent), Ok(()), "{lets}");
    }
    for preset in [Preset::Open, Preset::Balanced, Preset::Strict] {
        assert_eq!(install(&preset.into(), agent), Ok(()), "{preset}");
    }
    let frees = layer(Some(Preset::Strict), vec![rule(r#"{"decision": "apply", "actions": ["install"]}"#)]);
    let denies = layer(None, vec![rule(r#"{"decision": "deny", "actions": ["install"]}"#)]);
    assert!(install(&Policy::new(frees, vec![denies]), agent).is_err(), "a layer can only tighten");
    let gone = policy(r#"{"decision": "deny", "actions": ["uninstall", "adopt"], "actor": "person"}"#);
    for action in [Action::Uninstall, Action::Adopt] {
        assert!(asked(&gone, ActorKind::Person, action, &files, &empty).is_err());
        assert!(asked(&gone, agent, action, &files, &empty).is_ok());
    }
}

// DF6
#[test]
fn scripts_gaining_power_are_held() {
    let base = [("SKILL.md", MD, false), ("scripts/old.sh", "sudo ls", false)];
    let with = |script: &'static str| {
        let after = [base[0], base[1], ("scripts/new.sh", script, false)];
        Case::new(&base, &after)
    };
    let balanced = Policy::from(Preset::Balanced);
    for script in ["pip install x", "rm -rf ~/notes", "doas ls"] {
        assert_eq!(with(script).ruling(&balanced), Ruling::Hold, "{script}");
        assert_eq!(with(script).ruling(&Preset::Open.into()), Ruling::Apply, "{script}");
    }
    for script in ["ls", "sudo ls", "rm -rf build", "rm /tmp/x", "echo pip install x"] {
        assert_eq!(with(script).ruling(&balanced), Ruling::Apply, "{script}");
    }
    let person = Case { actor: Actor::new(ActorKind::Person, "x"), ..with("pip install x") };
    assert_eq!(person.ruling(&balanced), Ruling::Apply);
    let text = [("SKILL.md", "---\nname: a\n---\n```sh\npip install x\n```\n", false), base[1]];
    assert_eq!(Case::new(&base, &text).ruling(&balanced), Ruling::Apply, "a text runs nothing");
}
