//! What `skillhub scan` tells about its rules.

use scan::Rule;
use serde_json::{Value, json};

use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{STRONG, Table, severity_style},
};

/// Lists all rules.
pub(super) fn list(context: &Context) -> Result<Exit, CliError> {
    let rules: Vec<Value> = scan::rules().iter().map(rule_document).collect();
    let document = json!({"ok": true, "ruleset": scan::ruleset(), "rules": rules});
    context.out.answer(&document, |out| {
        let mut table = Table::new(&["rule", "severity", "category", "what it finds"]);
        for rule in scan::rules() {
            let cells = [rule.id, rule.severity.as_str(), rule.category, rule.message];
            table.row(&cells.map(str::to_owned));
        }
        table.write(out)?;
        writeln!(out, "{} rules, version {}", scan::rules().len(), scan::ruleset())
    })?;
    Ok(Exit::Done)
}

fn rule_document(rule: &Rule) -> Value {
    json!({
        "id": rule.id, "category": rule.category, "severity": rule.severity,
        "message": rule.message, "remedy": rule.remedy,
    })
}

/// Explains one rule with its examples.
pub(super) fn explain(context: &Context, id: &str) -> Result<Exit, CliError> {
    let rule = scan::rule(id).ok_or_else(|| {
        CliError::new("not_found", Exit::NotFound, format!("there is no rule {id:?}"))
            .hint("`skillhub scan --rules` lists them")
    })?;
    let example = |files: &[(&str, &str)]| -> Vec<Value> {
        files.iter().map(|(path, text)| json!({"path": path, "text": text})).collect()
    };
    let mut document = rule_document(rule);
    document["ok"] = json!(true);
    document["harmful"] = json!(example(rule.harmful));
    document["harmless"] = json!(example(rule.harmless));
    context.out.answer(&document, |out| {
        let style = severity_style(rule.severity);
        writeln!(out, "{STRONG}{}{STRONG:#}  {style}{}{style:#}, {}", rule.id, rule.severity, rule.category)?;
        writeln!(out, "{}\nWhat to do: {}", rule.message, rule.remedy)?;
        for (title, files) in [("It fires on", rule.harmful), ("It stays silent on", rule.harmless)] {
            writeln!(out, "\n{title}:")?;
            for (path, text) in files {
                writeln!(out, "  {path}")?;
                for line in text.lines().take(12) {
                    writeln!(out, "    {}", crate::print::visible(line))?;
                }
            }
        }
        Ok(())
    })?;
    Ok(Exit::Done)
}
