//! Adapter for Spring AI Alibaba: its argument names, and tools that join with a skill ([`joined`]).

mod skill_tools;

use std::sync::Arc;

use ops::Refusal;
use rmcp::model::JsonObject;
use skill::SkillName;

use self::skill_tools::{SkillTool, joined};
use super::{BundledTool, System};
use crate::tool::Call;

/// Argument names of Spring AI Alibaba, with the names here.
const ARGUMENTS: [(&str, &str); 2] = [("skill_name", "name"), ("skill_path", "path")];

/// Tools that accept these argument names.
const TOOLS: [&str; 3] = ["read_skill", "disable_skill", "enable_skill"];

/// Adapter for Spring AI Alibaba.
pub(super) const SPRING: System = System {
    arguments: |spec, arguments| match TOOLS.contains(&spec.name) {
        true => ARGUMENTS.iter().try_for_each(|(alias, name)| rename(arguments, alias, name)),
        false => Ok(()),
    },
    offer: |call, _, tools| {
        let skills: Vec<SkillName> = call.session.skills().cloned().collect();
        // Faults of other servers do not affect this list. A call of such a tool reports the fault.
        tools.extend(joined(call, Some(&skills)).unwrap_or_default().iter().map(SkillTool::tool));
        Ok(())
    },
    names: |call, skill| {
        let joined = joined(call, Some(std::slice::from_ref(skill))).unwrap_or_default();
        joined.into_iter().map(|joined| joined.name).collect()
    },
    find,
    ..System::PLAIN
};

/// Moves the value of an alias to the argument's real name. Both may be given if they agree.
fn rename(arguments: &mut JsonObject, alias: &str, name: &str) -> Result<(), Refusal> {
    let Some(value) = arguments.remove(alias) else { return Ok(()) };
    match arguments.get(name) {
        Some(given) if *given != value => {
            Err(Refusal::request(format!("`{name}` and `{alias}` have different values")))
        }
        _ => {
            arguments.insert(name.to_owned(), value);
            Ok(())
        }
    }
}

/// Finds a tool that a skill in this session brings. Without a session, every skill that the agent sees counts as read.
fn find(call: &Call<'_>, name: &str) -> Result<Option<BundledTool>, Refusal> {
    let read: Option<Vec<SkillName>> = call.run.map(|_| call.session.skills().cloned().collect());
    let mut joined = joined(call, read.as_deref())?.into_iter();
    let found = joined.find(|joined| joined.name == name || joined.spec.name == name);
    Ok(found.map(|found| BundledTool {
        title: found.name.clone(),
        run: Arc::new(move |call, arguments| found.call(call, arguments)),
    }))
}
