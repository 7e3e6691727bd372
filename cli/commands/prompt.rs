//! `skillhub prompt`: the list of skills for an agent's prompt.

mod fit;

use std::borrow::Cow;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::{
    catalogue::{Catalogue, Listed, exit_with},
    context::Context,
    exit::{CliError, Exit},
};

/// Flags of `prompt`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub prompt                                <available_skills> as the standard has it
  skillhub prompt --format markdown
  skillhub prompt --budget 800 --task \"fill in a PDF form\"
  skillhub prompt --format json")]
pub struct PromptArgs {
    /// The form of the list
    #[arg(long, value_enum, default_value = "xml")]
    format: Format,
    /// Leave out skills, the least fitting first, until the list has at most so many tokens
    #[arg(long, value_name = "TOKENS")]
    budget: Option<usize>,
    /// What is to be done; skills that fit it come first
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,
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
    let render = |skills: &[&Listed]| match args.format {
        Format::Markdown => markdown(skills),
        Format::Xml | Format::Json => xml(skills),
    };
    let ranked = fit::rank(catalogue.visible().collect(), args.task.as_deref());
    let (skills, left_out) = fit::within(ranked, args.budget, render);
    for note in &catalogue.notes {
        context.out.note(note);
    }
    let problems = catalogue.problems(context.out);
    for listed in catalogue.skills.iter().filter(|listed| listed.enabled && !listed.damaged) {
        if let Some(fault) = &listed.fault {
            context.out.note(&format!("{} is left out: {fault}", listed.name));
        }
    }
    let names: Vec<&str> = left_out.iter().map(|listed| listed.name.as_str()).collect();
    let document = || {
        let entries: Vec<Value> = skills.iter().map(|listed| document(listed)).collect();
        json!({"ok": problems.is_empty(), "skills": entries, "left_out": names, "problems": problems})
    };
    let answer = if context.out.json { document() } else { Value::Null };
    context.out.answer(&answer, |out| match args.format {
        Format::Json => writeln!(out, "{:#}", document()),
        _ => {
            out.write_all(render(&skills).as_bytes())?;
            out.write_all(rest(&names).as_bytes())
        }
    })?;
    let exit = exit_with(&problems);
    // The process ends here: giving back tens of thousands of pieces of memory would only take time.
    std::mem::forget(catalogue);
    Ok(exit)
}

/// What an agent is told of the skills that did not fit.
fn rest(names: &[&str]) -> String {
    if names.is_empty() {
        return String::new();
    }
    format!(
        "{} more skills are not described here: {}. `skillhub read NAME` opens one.\n",
        names.len(),
        names.join(", ")
    )
}

fn location(listed: &Listed) -> String {
    let file = listed.path.as_ref().map(|path| path.join("SKILL.md").into_os_string().into_string());
    file.map(|text| text.unwrap_or_else(|odd| odd.to_string_lossy().into_owned())).unwrap_or_default()
}

fn document(listed: &Listed) -> Value {
    json!({
        "name": listed.name.as_str(), "description": listed.description, "location": location(listed),
        "scope": listed.scope,
    })
}

fn xml(skills: &[&Listed]) -> String {
    let mut text = String::with_capacity(skills.len() * 400);
    text.push_str("<available_skills>\n");
    for listed in skills {
        let fields = [
            ("name", listed.name.as_str()),
            ("description", listed.description.as_str()),
            ("location", &location(listed)),
        ];
        text.push_str("<skill>\n");
        for (tag, value) in fields {
            for part in ["<", tag, ">\n", &escape(value), "\n</", tag, ">\n"] {
                text.push_str(part);
            }
        }
        text.push_str("</skill>\n");
    }
    text + "</available_skills>\n"
}

/// A value as XML text, so that no description closes its own element.
pub fn escape(value: &str) -> Cow<'_, str> {
    let is_plain = |byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\'');
    // Without a way out early, so that the compiler makes wide steps of it.
    if value.bytes().fold(true, |plain, byte| plain & is_plain(byte)) {
        return value.into();
    }
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
    text.into()
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
