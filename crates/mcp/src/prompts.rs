//! Skills as MCP prompts, which hosts present as slash commands.

use agent::{OUTPUT_BYTES, SkillSelector, Visibility};
use rmcp::{
    ErrorData,
    model::{GetPromptResult, JsonObject, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Role},
};

use crate::{
    resources::{failed, failed_for, page},
    tool::Call,
    tools::skills::{bare_name, instructions},
};

/// Name of the single argument of each prompt: free text from the user.
const ARGUMENTS: &str = "arguments";

/// Lists one page of the skills that the agent sees.
pub(crate) fn prompts(call: &Call<'_>, cursor: Option<&str>) -> Result<ListPromptsResult, ErrorData> {
    let settings = call.place.settings().map_err(|refusal| failed(&refusal))?;
    let listed = call.live.with(|catalogue| {
        let seen = catalogue.visible().filter(|listed| listed.visibility(&settings, call.agent) == Visibility::Seen);
        let argument =
            || PromptArgument::new(ARGUMENTS).with_description("Task to do with the skill").with_required(false);
        seen.map(|listed| {
            Prompt::new(listed.name.as_str(), Some(agent::single_line(&listed.description)), Some(vec![argument()]))
        })
        .collect::<Vec<_>>()
    });
    let listed = listed.map_err(|error| failed(&error.into()))?;
    let (shown, next) = page(&listed, cursor)?;
    let mut result = ListPromptsResult::with_all_items(shown.to_vec());
    result.next_cursor = next;
    Ok(result)
}

/// Returns a skill's instructions, followed by the user's text.
pub(crate) fn prompt(call: &Call<'_>, name: &str, arguments: &JsonObject) -> Result<GetPromptResult, ErrorData> {
    if let Some(other) = arguments.keys().find(|key| *key != ARGUMENTS) {
        return Err(ErrorData::invalid_params(
            format!("unknown argument {other:?}; the only argument is `{ARGUMENTS}`"),
            None,
        ));
    }
    let said = match arguments.get(ARGUMENTS) {
        None => "",
        Some(value) => {
            value.as_str().ok_or_else(|| ErrorData::invalid_params(format!("`{ARGUMENTS}` must be a string"), None))?
        }
    };
    let opened = bare_name(name)
        .and_then(|name| instructions(call, &SkillSelector { name: Some(name), path: None }))
        .map_err(|refusal| failed_for(call, &refusal))?;
    let mut text = opened.skill_content(OUTPUT_BYTES);
    if !said.trim().is_empty() {
        text.push_str(&format!("\n{}\n", said.trim()));
    }
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}
