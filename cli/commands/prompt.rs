//! `skillhub prompt`: the list of skills for an agent's prompt.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::{
    catalogue::{Catalogue, Listed},
    context::Context,
    exit::{CliError, Exit},
};

/// Flags of `prompt`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub prompt                                <available_skills> as the standard has it
  skillhub prompt --format markdown
  skillhub prompt --format json")]
pub struct PromptArgs {
    /// The form of the list
    #[arg(long, value_enum, default_value = "xml")]
    format: Format,
}

/// A form of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// `<available_skills>` as the standard has it
    Xml,
    /// A Markdown list
    Markdown,
    /// A JSON document
    Json,
}

/// Prints the enabled skills with absolute paths of their SKILL.md.
pub fn run(context: &Context, args: &PromptArgs) -> Result<Exit, CliError> {
    let catalogue = Catalogue::collect(context, false)?;
    let skills: Vec<&Listed> = catalogue.visible().collect();
    for note in &catalogue.notes {
        context.out.note(note);
    }
    for listed in catalogue.skills.iter().filter(|listed| listed.enabled) {
        if let Some(fault) = &listed.fault {
            context.out.note(&format!("{} is left out: {fault}", listed.name));
        }
    }
    let entries: Vec<Value> = skills.iter().map(|listed| document(listed)).collect();
    let document = json!({"ok": true, "skills": entries});
    context.out.answer(&document, |out| match args.format {
        Format::Xml => write!(out, "{}", xml(&skills)),
        Format::Markdown => write!(out, "{}", markdown(&skills)),
        Format::Json => writeln!(out, "{document:#}"),
    })?;
    Ok(Exit::Done)
}

fn location(listed: &Listed) -> String {
    listed.path.as_ref().map(|path| path.join("SKILL.md").display().to_string()).unwrap_or_default()
}

fn document(listed: &Listed) -> Value {
    json!({
        "name": listed.name.as_str(), "description": listed.description, "location": location(listed),
        "scope": listed.scope,
    })
}

fn xml(skills: &[&Listed]) -> String {
    let mut text = "<available_skills>\n".to_owned();
    for listed in skills {
        let fields = [
            ("name", listed.name.as_str()),
            ("description", listed.description.as_str()),
            ("location", &location(listed)),
        ];
        text.push_str("<skill>\n");
        for (tag, value) in fields {
            text.push_str(&format!("<{tag}>\n{}\n</{tag}>\n", escape(value)));
        }
        text.push_str("</skill>\n");
    }
    text + "</available_skills>\n"
}

/// A value as XML text, so that no description closes its own element.
pub fn escape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            '\'' => text.push_str("&#x27;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => {}
            c => text.push(c),
        }
    }
    text
}

fn markdown(skills: &[&Listed]) -> String {
    let mut text = String::new();
    for listed in skills {
        let description = listed.description.split_whitespace().collect::<Vec<_>>().join(" ");
        text.push_str(&format!("- **{}**: {description} (`{}`)\n", listed.name, location(listed)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_close_their_element() {
        assert_eq!(escape("</description> & \"x\"\u{7}"), "&lt;/description&gt; &amp; &quot;x&quot;");
    }
}
