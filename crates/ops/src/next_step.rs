//! [`tool_call`] and [`request`]: the operations that hints suggest, for clients of the MCP server and of the gateway.

use serde_json::{Value, json};
use skill::{QualifiedName, failure::NextStep, uri};

/// Returns the call of a tool of the MCP server, or else the command. `listed` maps the tools that the client was
/// offered to their names in its list.
pub fn tool_call<'n>(step: &NextStep, listed: impl Fn(&str) -> Option<&'n str>) -> String {
    let call = |tool: &str, arguments: Value| {
        listed(tool).map_or_else(|| step.command(), |name| format!("{name} {arguments}"))
    };
    match step {
        NextStep::ListSkills => call("search_skills", json!({"query": "WORDS"})),
        NextStep::ShowSkill(name) => call("read_skill", json!({"name": name})),
        NextStep::ShowFile(name, path) => call("read_skill_file", json!({"name": name, "path": path})),
        NextStep::ShowStatus(name) => call("skill_status", json!({"name": name})),
        NextStep::ShowHistory(name) => call("skill_history", json!({"name": name})),
        NextStep::ShowDiff(name) => call("skill_diff", json!({"name": name})),
        NextStep::Restore(name, revision) => call("skill_rollback", json!({"name": name, "revision": revision})),
        NextStep::Withdraw { skill, is_new: false, .. } => {
            call("skill_rollback", json!({"name": skill, "revision": "head"}))
        }
        NextStep::Delete(name) | NextStep::Uninstall(name) | NextStep::Withdraw { skill: name, .. } => {
            call("skill_manage", json!({"action": "delete", "name": name}))
        }
        NextStep::Create(name) => call("skill_manage", json!({"action": "create", "name": name, "content": "TEXT"})),
        NextStep::Enable(name) => call("enable_skill", json!({"name": name})),
        NextStep::Search(words) => call("search_marketplace", json!({"query": words})),
        NextStep::Install(spec) if is_of_registry(spec) => call("install_skill", json!({"spec": spec})),
        NextStep::ShowRequests => {
            listed("skill_manage").map_or_else(|| step.command(), |name| format!("the input schema of {name}"))
        }
        NextStep::SetField(field) => (*field).to_owned(),
        NextStep::ListProposals => call("skill_review_list", json!({})),
        NextStep::ListAllProposals => call("skill_review_list", json!({"all": true})),
        NextStep::DiffProposal(id) | NextStep::ShowProposal(id) => call("skill_review_show", json!({"id": id})),
        NextStep::DiffProposalOntoHead(id) => call("skill_review_show", json!({"id": id, "onto_head": true})),
        NextStep::Install(_)
        | NextStep::Update(_)
        | NextStep::RejectProposal(_)
        | NextStep::ShowPolicy
        | NextStep::ExplainRule(_) => step.command(),
        NextStep::ListTools => call("skills_codegen_status", json!({})),
        NextStep::CompileTool(name) => call("skills_codegen", json!({"names": [name]})),
        NextStep::RemoveTool(name) => call("skills_codegen_remove", json!({"names": [name]})),
    }
}

/// Returns whether the arguments of an install are only the name of a registry's skill, perhaps with a version.
fn is_of_registry(arguments: &str) -> bool {
    let name = arguments.split_once('@').map_or(arguments, |(name, _)| name);
    name.parse::<QualifiedName>().is_ok() && !arguments.contains([' ', '\''])
}

/// Returns the gateway's request for a step, or the command for a step without one.
pub fn request(step: &NextStep) -> String {
    let of_skill = |name: &str, rest: &str| format!("/api/skills/custom/{}{rest}", uri::component(name));
    match step {
        NextStep::ListSkills => "GET /api/skills".to_owned(),
        NextStep::ShowSkill(name) => format!("GET {}", of_skill(name, "")),
        NextStep::ShowFile(name, path) => {
            format!("GET /skills/{}/files/now/{}", uri::component(name), uri::path(path))
        }
        NextStep::ShowStatus(name) => format!("GET /api/skills/{}", uri::component(name)),
        NextStep::ShowHistory(name) => format!("GET {}", of_skill(name, "/history")),
        NextStep::ShowDiff(name) => format!("GET {}", of_skill(name, "/diff")),
        NextStep::Restore(name, revision) => {
            format!("POST {} {}", of_skill(name, "/rollback"), json!({"revision": revision}))
        }
        NextStep::Withdraw { skill, is_new: false, .. } => {
            request(&NextStep::Restore(skill.clone(), "head".to_owned()))
        }
        NextStep::Delete(name) | NextStep::Uninstall(name) | NextStep::Withdraw { skill: name, .. } => {
            format!("DELETE {}", of_skill(name, ""))
        }
        NextStep::Create(_) => "POST /api/skills/install".to_owned(),
        NextStep::Enable(name) => format!("PUT /api/skills/{} {}", uri::component(name), json!({"enabled": true})),
        // Its clients install archives only, and search only what is installed.
        NextStep::Search(_) | NextStep::Install(_) | NextStep::Update(_) => step.command(),
        NextStep::ShowRequests => "docs/guides/gateway.md".to_owned(),
        NextStep::SetField(field) => (*field).to_owned(),
        NextStep::ListProposals => "GET /api/proposals".to_owned(),
        NextStep::ListAllProposals => "GET /api/proposals?all=true".to_owned(),
        NextStep::DiffProposal(id) | NextStep::ShowProposal(id) => format!("GET /api/proposals/{id}"),
        NextStep::DiffProposalOntoHead(id) => format!("GET /api/proposals/{id}?onto_head=true"),
        NextStep::RejectProposal(id) => format!("POST /api/proposals/{id}/reject"),
        NextStep::ShowPolicy => "docs/guides/policy.md".to_owned(),
        // The answer has the findings, each with the rule and its remedy.
        NextStep::ExplainRule(_) => "details.findings".to_owned(),
        NextStep::ListTools => "GET /api/skills.codegen.status".to_owned(),
        NextStep::CompileTool(name) => format!("POST /api/skills.codegen {}", json!({"names": [name]})),
        NextStep::RemoveTool(name) => format!("POST /api/skills.codegen.remove {}", json!({"names": [name]})),
    }
}

#[cfg(test)]
mod tests {
    use agent::decisions::{Channel, Operation};

    use super::*;

    fn steps() -> Vec<NextStep> {
        let name = || "pdf".to_owned();
        vec![
            NextStep::ListSkills,
            NextStep::ShowSkill(name()),
            NextStep::ShowFile(name(), "scripts/a b.sh".to_owned()),
            NextStep::ShowStatus(name()),
            NextStep::ShowHistory(name()),
            NextStep::ShowDiff(name()),
            NextStep::Restore(name(), "head".to_owned()),
            NextStep::Delete(name()),
            NextStep::Create(name()),
            NextStep::Enable(name()),
            NextStep::Uninstall(name()),
            NextStep::ListProposals,
            NextStep::ListAllProposals,
            NextStep::ShowProposal(name()),
            NextStep::DiffProposal(name()),
            NextStep::DiffProposalOntoHead(name()),
            NextStep::Withdraw { id: "abc".to_owned(), skill: name(), is_new: false },
            NextStep::Withdraw { id: "abc".to_owned(), skill: name(), is_new: true },
            NextStep::ListTools,
            NextStep::CompileTool(name()),
            NextStep::RemoveTool(name()),
        ]
    }

    #[test]
    fn every_step_names_an_operation() {
        for step in steps() {
            let call = tool_call(&step, |tool| Operation::find(Channel::Mcp, tool).map(|row| row.name));
            let (tool, arguments) = call.split_once(' ').unwrap();
            assert!(Operation::find(Channel::Mcp, tool).is_some(), "{call}");
            assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object(), "{call}");
            let request = request(&step);
            let (line, _) = request.split_once(" {").unwrap_or((&request, ""));
            assert!(line.split_once(' ').unwrap().1.starts_with('/'), "{request}");
            assert!(step.command().starts_with("skillhub "));
        }
        let file = NextStep::ShowFile("pdf".to_owned(), "scripts/a b.sh".to_owned());
        assert_eq!(request(&file), "GET /skills/pdf/files/now/scripts/a%20b.sh");
        assert_eq!(file.command(), "skillhub show pdf 'scripts/a b.sh'");
    }

    /// With the tools that a connection is offered at first, and with none.
    #[test]
    fn steps_name_only_listed_tools() {
        let first = ["read_skill", "read_skill_file", "search_skills", "skill_manage", "record_outcome"];
        let others = [
            NextStep::Search("words".to_owned()),
            NextStep::Install("acme/pdf".to_owned()),
            NextStep::Update("pdf".to_owned()),
            NextStep::ShowRequests,
            NextStep::RejectProposal("abc".to_owned()),
            NextStep::ShowPolicy,
            NextStep::ExplainRule("rule".to_owned()),
        ];
        for step in steps().into_iter().chain(others) {
            for listed in [&first[..], &first[..0]] {
                let call = tool_call(&step, |tool| listed.iter().copied().find(|name| *name == tool));
                let mut words = call.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                let tool = words.find(|word| Operation::find(Channel::Mcp, word).is_some());
                assert!(tool.map_or(call == step.command(), |tool| listed.contains(&tool)), "{call}");
            }
        }
        let history = NextStep::ShowHistory("pdf".to_owned());
        assert_eq!(tool_call(&history, |_| None), "skillhub history pdf");
        assert_eq!(tool_call(&history, |_| Some("its_name")), r#"its_name {"name":"pdf"}"#);
    }

    /// A client may install no folder, repository or archive, and cannot choose another name.
    #[test]
    fn clients_install_from_registries_only() {
        let call = |step: &NextStep| tool_call(step, |tool| Operation::find(Channel::Mcp, tool).map(|row| row.name));
        let install = |arguments: &str| call(&NextStep::Install(arguments.to_owned()));
        assert_eq!(install("acme/pdf@1.0.0"), r#"install_skill {"spec":"acme/pdf@1.0.0"}"#);
        for arguments in ["acme/pdf --as pdf-2", "./pdf", "github:acme/pdf", "acme/pdf@1.0.0 --frozen", "pdf"] {
            assert_eq!(install(arguments), format!("skillhub install {arguments}"));
        }
        let search = NextStep::Search("two words".to_owned());
        assert_eq!(call(&search), r#"search_marketplace {"query":"two words"}"#);
        assert_eq!(request(&search), "skillhub search 'two words'");
    }
}
