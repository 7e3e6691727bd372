//! What the command line tells of a [`Catalogue`].

use agent::{Builtin, Catalogue, Places};
use serde_json::{Value, json};
use skill::SkillName;

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    print::Output,
};

/// The skills inside the program.
///
/// # Errors
/// Never, unless the program was built wrongly.
pub fn builtin() -> Result<Vec<Builtin>, CliError> {
    let internal = |error: String| CliError::new("internal", Exit::Failed, error);
    let seeds = registry_index::builtins().map_err(|error| internal(error.to_string()))?;
    seeds.into_iter().map(|files| Builtin::of(files).map_err(internal)).collect()
}

/// The skills that whoever acts, or the agent that is named, may know of, by precedence.
///
/// # Errors
/// A library or the configuration cannot be read.
pub fn collect(
    context: &Context,
    places: &Places,
    builtin: Vec<Builtin>,
    agent: Option<&str>,
) -> Result<Catalogue, CliError> {
    let catalogue = Catalogue::collect(places, builtin).map_err(failed)?;
    if context.is_person() {
        return Ok(catalogue);
    }
    Ok(catalogue.without_hidden(&context.settings()?, &context.agent(agent)))
}

/// What is damaged of single skills, which the others do not suffer from: told to people, and as a part
/// of the document.
pub fn problems(catalogue: &Catalogue, out: Output) -> Vec<Value> {
    let damaged = catalogue.skills.iter().filter(|listed| listed.damaged);
    damaged.map(|listed| problem(out, &listed.name, listed.fault.as_deref().unwrap_or_default())).collect()
}

/// Tells people of one skill that is damaged; gives what the document says of it.
pub fn problem(out: Output, name: &SkillName, why: &str) -> Value {
    out.note(&format!("{name}: {why}; run `skillhub doctor`"));
    json!({"skill": name.as_str(), "code": "damaged_history", "message": why})
}

/// The exit code of an answer that goes on without damaged skills.
pub fn exit_with(problems: &[Value]) -> Exit {
    if problems.is_empty() { Exit::Done } else { Exit::Integrity }
}
