//! `skillhub to-prompt` and `skillhub read-properties` replicate the commands of the standard's reference tool, with
//! its output and exit codes.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use agent::escape;
use clap::Args;
use library::folder;
use serde_json::{Map, Value};
use skill::{
    Limits, SkillPath,
    frontmatter::{self, Frontmatter},
};

use crate::{
    context::Context,
    exit::{CliError, Exit},
};

/// Flags of `to-prompt`.
#[derive(Debug, Args)]
pub struct ToPromptArgs {
    /// Skill folders
    #[arg(required = true)]
    path: Vec<PathBuf>,
}

/// Flags of `read-properties`.
#[derive(Debug, Args)]
pub struct ReadPropertiesArgs {
    /// A skill folder
    path: PathBuf,
}

/// The fields of a skill that the reference tool reads.
struct Properties {
    skill_md: PathBuf,
    name: String,
    description: String,
    fields: Arc<Frontmatter>,
    /// True if `allowed-tools` is a list rather than a string.
    lists_tools: bool,
}

/// Prints `<available_skills>` with the skills in the given order.
pub fn to_prompt(context: &Context, args: &ToPromptArgs) -> Result<Exit, CliError> {
    let skills = args.path.iter().map(|path| properties(context, path)).collect::<Result<Vec<_>, _>>()?;
    let mut text = String::from("<available_skills>\n");
    for skill in &skills {
        let (name, description) = (escape(&skill.name), escape(&skill.description));
        let location = skill.skill_md.display();
        text.push_str(&format!(
            "<skill>\n<name>\n{name}\n</name>\n<description>\n{description}\n</description>\n\
             <location>\n{location}\n</location>\n</skill>\n"
        ));
    }
    text.push_str("</available_skills>\n");
    context.out.answer(&Value::String(text.clone()), |out| out.write_all(text.as_bytes()))
}

/// Prints the fields of the frontmatter as JSON.
pub fn read_properties(context: &Context, args: &ReadPropertiesArgs) -> Result<Exit, CliError> {
    let skill = properties(context, &args.path)?;
    let fields = &skill.fields;
    let tools = fields.allowed_tools.as_ref().map(|tools| match skill.lists_tools {
        true => format!("[\n    {}\n  ]", tools.iter().map(|tool| ascii(tool)).collect::<Vec<_>>().join(",\n    ")),
        false => ascii(&tools.join(" ")),
    });
    let values = [
        ("name", Some(ascii(&skill.name))),
        ("description", Some(ascii(&skill.description))),
        ("license", fields.license.as_deref().map(ascii)),
        ("compatibility", fields.compatibility.as_deref().map(ascii)),
        ("allowed-tools", tools),
    ];
    let mut lines: Vec<String> =
        values.into_iter().filter_map(|(key, value)| Some(format!("  \"{key}\": {}", value?))).collect();
    if !fields.metadata.is_empty() {
        let entry = |key: &String| Some(format!("    {}: {}", ascii(key), ascii(fields.metadata.get(key)?)));
        let entries: Vec<String> = fields.metadata_keys.iter().filter_map(entry).collect();
        lines.push(format!("  \"metadata\": {{\n{}\n  }}", entries.join(",\n")));
    }
    let text = format!("{{\n{}\n}}\n", lines.join(",\n"));
    let document: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
    context.out.answer(&document, |out| out.write_all(text.as_bytes()))
}

fn properties(context: &Context, path: &Path) -> Result<Properties, CliError> {
    let given = context.absolute(path);
    let usage = || CliError::usage(format!("{} does not exist", path.display())).hint("name a skill folder");
    let folder = library::real_path(&given).map_err(|_| usage())?;
    let is_skill_md = folder.is_file() && folder.file_name().is_some_and(|name| name.eq_ignore_ascii_case("skill.md"));
    let folder = if is_skill_md { folder.parent().unwrap_or(&folder).to_owned() } else { folder };
    let limits = Limits::default();
    let bad = |why: String| {
        CliError::new("invalid_skill", Exit::Failed, format!("{}: {why}", path.display())).hint(format!(
            "see all problems: skillhub validate {}",
            crate::print::shell_word(&path.display().to_string())
        ))
    };
    let read = |name: &str| {
        let dir = folder::open_at(&folder).ok()?;
        let bytes = folder::read_file(&dir, name, limits.text_file_bytes).ok()??;
        Some((folder.join(name), String::from_utf8(bytes).ok()?))
    };
    let found = [SkillPath::SKILL_MD, "skill.md"].into_iter().find_map(read);
    let (skill_md, text) = found.ok_or_else(|| bad("no SKILL.md in UTF-8".to_owned()))?;
    let fields = frontmatter::read(&text, &limits).map_err(|error| bad(error.to_string()))?.frontmatter;
    let required = |key: &str, value: &Option<String>| {
        let text = value.as_deref().map(str::trim).filter(|text| !text.is_empty());
        text.map(str::to_owned).ok_or_else(|| bad(format!("the frontmatter has no `{key}`")))
    };
    let (name, description) = (required("name", &fields.name)?, required("description", &fields.description)?);
    let values = frontmatter::as_json(&text, &limits).unwrap_or_default();
    let lists_tools = values.get("allowed-tools").is_some_and(Value::is_array);
    Ok(Properties { skill_md, name, description, fields, lists_tools })
}

/// Serialises a string as JSON in ASCII, as the reference tool does.
fn ascii(text: &str) -> String {
    let mut units = [0; 2];
    let escaped = |c: char| match c.is_ascii() && c != '\u{7f}' {
        true => c.to_string(),
        false => c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    };
    serde_json::Value::from(text).to_string().chars().map(escaped).collect()
}
