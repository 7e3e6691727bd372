//! The Agent Skills standard: its folder tree, frontmatters, names, fields, references and lists.

use std::fs;

use serde_json::{Value, json};

use crate::support::Sandbox;

const PDF: &str = include_str!("data/pdf-processing.md");
const WITH_OPTIONAL: &str = include_str!("data/pdf-processing-optional.md");

/// The problems of a skill, as pairs of code and severity.
fn problems(sandbox: &Sandbox, skill: &str) -> Vec<[String; 2]> {
    let document = sandbox.ask(&["validate", skill]).json();
    let found = document["skills"][0]["problems"].as_array().unwrap().clone();
    found.iter().map(|found| ["code", "severity"].map(|key| found[key].as_str().unwrap().to_owned())).collect()
}

fn write(sandbox: &Sandbox, path: &str, text: &str) {
    let path = sandbox.cwd().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

// AS1, AS3, AS4
#[test]
fn standard_frontmatter_is_valid() {
    let sandbox = Sandbox::new();
    for text in [PDF, WITH_OPTIONAL] {
        write(&sandbox, "pdf-processing/SKILL.md", text);
        for folder in ["scripts/run.py", "references/REFERENCE.md", "assets/form.txt"] {
            write(&sandbox, &format!("pdf-processing/{folder}"), "text\n");
        }
        sandbox.done(&["validate", "./pdf-processing", "--strict"]);
    }
    for field in [
        "license: 专有. LICENSE.txt 文件包含完整条款",
        "compatibility: 设计用于 Claude Code（或类似产品）",
        "compatibility: 需要 git、docker、jq 和互联网访问",
        "metadata: \n  author: example-org \n  version: \"1.0\"",
        "allowed-tools: Bash(git:*) Bash(jq:*) Read",
        "description: 从 PDF 文件中提取文本和表格，填写 PDF 表单，合并多个 PDF 文件。用于处理 PDF 文档或用户提到 PDF、表单或文档提取时。",
    ] {
        let description = if field.starts_with("description") { "" } else { "description: Reads PDF.\n" };
        write(
            &sandbox,
            "pdf-processing/SKILL.md",
            &format!("---\nname: pdf-processing\n{description}{field}\n---\nDo it.\n"),
        );
        sandbox.done(&["validate", "pdf-processing", "--strict"]);
    }
}

// AS2
#[test]
fn names_are_validated_per_standard() {
    let sandbox = Sandbox::new();
    for (name, valid) in [
        ("pdf-processing", true),
        ("data-analysis", true),
        ("code-review", true),
        ("PDF-Processing", false),
        ("-pdf", false),
        ("pdf--processing", false),
    ] {
        write(&sandbox, &format!("{name}/SKILL.md"), &format!("---\nname: {name}\ndescription: Reads.\n---\nDo it.\n"));
        let found = problems(&sandbox, &format!("./{name}"));
        assert_eq!(found.iter().any(|[code, _]| code == "name_invalid"), !valid, "{name}: {found:?}");
        assert_eq!(found.is_empty(), valid, "{name}: {found:?}");
    }
}

// AS5
/// It does not matter which name their frontmatter declares.
#[test]
fn skills_load_by_folder_name() {
    let sandbox = Sandbox::project();
    let names =
        [("pdf", "PDF Tools"), ("Caps_Skill", "Caps_Skill"), ("long", &*"x".repeat(70)), ("a", "same"), ("b", "same")];
    for (folder, name) in names {
        let text = format!("---\nname: {name}\ndescription: Reads {folder}.\n---\nRead it.\n");
        write(&sandbox, &format!(".agents/skills/{folder}/SKILL.md"), &text);
    }
    let listed = sandbox.done(&["list"]);
    for (folder, _) in names {
        let entry = listed["skills"].as_array().unwrap().iter().find(|entry| entry["name"] == folder).unwrap();
        assert!(entry["fault"].is_null() && !entry["warnings"].as_array().unwrap().is_empty(), "{entry:#}");
        let read = sandbox.done(&["read", folder]);
        assert_eq!(read["warnings"], entry["warnings"]);
        assert_eq!(sandbox.done(&["status", folder])["skills"][0]["state"], "new");
        let prompt = sandbox.run(&["prompt"]).exits(0);
        assert!(
            prompt.text().contains(&format!("/{folder}/SKILL.md"))
                && prompt.to_string().contains(&format!("{folder}: the name")),
            "{prompt}"
        );
    }
    assert_eq!(sandbox.done(&["read", "PDF Tools"])["name"], "pdf");
    let message = sandbox.ask(&["read", "same"]).refused_with_hint(6, "ambiguous_name")["message"].to_string();
    assert!(message.contains("a and b"), "{message}");
    let patch = |name: &str, by: &str| json!({"action": "patch", "name": name, "find": "Read it.", "replace": by});
    assert_eq!(sandbox.request(&patch("Caps_Skill", "Read on.")).done()["name"], "Caps_Skill");
    sandbox.request(&patch("long", "Read on.")).done();
    sandbox.done(&["manage", "patch", "PDF Tools", "--find", "Read it.", "--replace", "Read on."]);
    assert_eq!(sandbox.done(&["history", "pdf"])["revisions"].as_array().unwrap().len(), 2);
    sandbox
        .request(&json!({"action": "create", "name": "Caps_Two", "content": "x"}))
        .refused_with_hint(3, "invalid_skill");
    write(&sandbox, ".claude/skills/other/SKILL.md", "---\nname: another\ndescription: Reads.\n---\nRead it.\n");
    assert_eq!(sandbox.done(&["adopt", ".claude/skills/other"])["skills"][0]["name"], "other");
}

// AS5
#[test]
fn folder_name_replaces_invalid_name() {
    let sandbox = Sandbox::new();
    for name in ["Bun_Bundler", "Bun Bundler", "Verification-Before-Completion"] {
        write(&sandbox, "bundler/SKILL.md", &format!("---\nname: {name}\ndescription: Bundles.\n---\nBundle it.\n"));
        let done = sandbox.done(&["install", "./bundler"]);
        assert_eq!(done["skills"][0]["name"], "bundler", "{name}: {done:#}");
        sandbox.done(&["uninstall", "bundler", "-y"]);
    }
}

// AS6
#[test]
fn missing_and_chained_references_warn() {
    let sandbox = Sandbox::new();
    let body = "请参阅 [参考指南](references/REFERENCE.md) 获取详细信息。\n\n运行提取脚本： scripts/extract.py\n";
    write(&sandbox, "pdf-processing/SKILL.md", &format!("{PDF}{body}"));
    let missing = ["reference_missing", "warning"].map(str::to_owned);
    assert_eq!(problems(&sandbox, "pdf-processing"), [missing.clone(), missing]);
    write(&sandbox, "pdf-processing/scripts/extract.py", "print()\n");
    write(&sandbox, "pdf-processing/references/REFERENCE.md", "Then see [forms](FORMS.md).\n");
    write(&sandbox, "pdf-processing/references/FORMS.md", "Forms.\n");
    assert_eq!(problems(&sandbox, "pdf-processing"), [["reference_chain", "warning"]]);
}

// AS6
#[test]
fn lists_match_reference_tool() {
    let sandbox = Sandbox::new();
    let description = "分析数据集，生成图表并创建总结报告。";
    write(&sandbox, "pdf-processing/SKILL.md", WITH_OPTIONAL);
    write(
        &sandbox,
        "data-analysis/SKILL.md",
        &format!("---\nname: data-analysis\ndescription: {description}\n---\nA.\n"),
    );
    let item = |name: &str, description: &str| {
        let location = crate::support::canonical(&sandbox.cwd().join(name).join("SKILL.md"));
        format!(
            "<skill>\n<name>\n{name}\n</name>\n<description>\n{description}\n</description>\n<location>\n{location}\n</location>\n</skill>\n"
        )
    };
    let pdf = item("pdf-processing", "从 PDF 文件中提取文本和表格，填写表单，合并文档。");
    let expected = format!("<available_skills>\n{pdf}{}</available_skills>\n", item("data-analysis", description));
    let paths = ["pdf-processing", "./data-analysis/SKILL.md"];
    assert_eq!(sandbox.run(&["to-prompt", paths[0], paths[1]]).exits(0).text(), expected);
    assert_eq!(sandbox.run(&["prompt", paths[0], paths[1]]).exits(0).text(), expected);
    let properties: Value =
        serde_json::from_str(&sandbox.run(&["read-properties", "pdf-processing"]).exits(0).text()).unwrap();
    assert_eq!(properties["metadata"], json!({"author": "example-org", "version": "1.0"}));
    assert_eq!(properties["license"], "Apache-2.0");
    write(&sandbox, "none/SKILL.md", "No frontmatter.\n");
    sandbox.run(&["to-prompt", "none"]).exits(1);
    sandbox.run(&["read-properties", "none"]).exits(1);
    sandbox.run(&["to-prompt", "absent"]).exits(2);
}
