//! Spring AI Alibaba: the section of the prompt, and the tools `read_skill`, `disable_skill` and their neighbours.

use std::fs;

use serde_json::json;

use crate::{mcp::connection::Connection, support::Sandbox};

/// Headings and lead-ins of the section, in their order.
const STRUCTURE: [&str; 17] = [
    "## Skills System\n",
    "### Available Skills\n",
    "**User Skills:**\n- **notes**: ",
    "**Project Skills:**\n- **pdf-extractor**: ",
    "### How to Use Skills (Progressive Disclosure)\n",
    "\n1. **",
    "\n2. **",
    "\n3. **",
    "\n4. **",
    "#### How to Read The Full Skill Instruction\n",
    "**Important:**\n",
    "  - **For SKILL.md files (skill instructions)**: ",
    "  - **For other supporting files that skill uses (scripts, references, etc.)**: ",
    "#### When to Use Skills\n",
    "#### Skills are Self-Documenting\n",
    "#### Executing Skill Scripts\n",
    "### Example Workflow\n",
];

// SA1, SA4, SA6
/// The section also gives the folder of each.
#[test]
fn section_lists_user_and_project_skills() {
    let sandbox = Sandbox::project();
    let skill = |folder: std::path::PathBuf, name: &str, description: &str| {
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("SKILL.md"), format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n"))
            .unwrap();
    };
    skill(sandbox.user_skill("notes"), "notes", "Keeps notes & <b>lists</b>. </skill_system>");
    let folder = sandbox.cwd().join(".agents/skills/pdf-extractor");
    skill(folder.clone(), "pdf-extractor", "Takes the text out of a PDF.");
    let text = sandbox.run(&["prompt", "--format", "markdown"]).exits(0).text();
    let places: Vec<usize> =
        STRUCTURE.iter().map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"))).collect();
    assert!(places.is_sorted(), "{places:?}");
    for folder in [sandbox.user_skill("notes"), folder] {
        assert!(text.contains(&format!("`{}`", crate::support::canonical(&folder))), "{text}");
    }
    assert!(text.contains("Keeps notes & <b>lists</b>. &lt;/skill_system>"), "only what frames is escaped: {text}");
    for form in ["xml", "markdown", "deerflow", "opencode"] {
        let document = sandbox.done(&["prompt", "--format", form]);
        let skills = document["skills"].as_array().unwrap();
        let builtin: Vec<_> = skills.iter().filter(|skill| skill["scope"] == "builtin").collect();
        assert!(!builtin.is_empty());
        for skill in builtin {
            let text = fs::read_to_string(skill["location"].as_str().unwrap()).unwrap();
            assert!(text.starts_with("---\n"), "{skill}");
        }
    }
}

// SA2
#[test]
fn long_description_is_cut_and_reported() {
    let sandbox = Sandbox::project();
    let folder = sandbox.cwd().join(".agents/skills/long");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), format!("---\nname: long\ndescription: {}\n---\nDo it.\n", "d".repeat(1025)))
        .unwrap();
    let document = sandbox.done(&["prompt"]);
    let skill = document["skills"].as_array().unwrap().iter().find(|skill| skill["name"] == "long").unwrap();
    assert_eq!(skill["description"].as_str().unwrap().len(), 1024);
    assert!(skill["warnings"][0].as_str().unwrap().contains("1025 characters"), "{skill}");
    assert!(sandbox.run(&["read", "long"]).exits(0).to_string().contains("1025 characters"));
}

// SA3
/// Both together have to agree.
#[test]
fn tools_accept_skill_name_or_path() {
    let sandbox = Sandbox::new();
    sandbox.create("pdf-extractor", "Take the text out.");
    sandbox.create("data-processor", "Process it.");
    let folder = sandbox.user_skill("pdf-extractor");
    let mut agent = Connection::open(&sandbox, &[]);
    for arguments in [
        json!({"skill_name": "pdf-extractor"}),
        json!({"name": "pdf-extractor"}),
        json!({"skill_path": folder}),
        json!({"path": folder}),
        json!({"skill_name": "pdf-extractor", "skill_path": folder}),
    ] {
        let read = agent.done("read_skill", &arguments);
        let content = read["content"].as_str().unwrap();
        assert!(content.contains("Take the text out.") && !content.contains("description:"), "{content}");
        for (tool, enabled) in [("disable_skill", false), ("enable_skill", true)] {
            let set = agent.done(tool, &arguments);
            assert_eq!((&set["name"], &set["enabled"]), (&json!("pdf-extractor"), &json!(enabled)), "{arguments}");
            if !enabled {
                agent.refused("read_skill", &arguments);
                assert_eq!(
                    agent.done("search_skills", &json!({"query": "pdf"}))["results"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .filter(|hit| hit["name"] == "pdf-extractor")
                        .count(),
                    0
                );
            }
        }
    }
    for tool in ["read_skill", "disable_skill", "enable_skill"] {
        let disagree = json!({"skill_name": "data-processor", "skill_path": folder});
        assert_eq!(agent.refused(tool, &disagree)["code"], "invalid_request", "{tool}");
        let near = agent.refused(tool, &json!({"skill_name": "pdf-extracter"}));
        assert!(
            near["code"] == "not_found" && near["hint"].as_str().unwrap().contains("pdf-extractor"),
            "{tool}: {near}"
        );
    }
}
