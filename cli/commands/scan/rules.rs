//! What `skillhub scan` tells about its rules.

use scan::{Rule, Scanner, Severity};
use serde_json::{Value, json};

use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{STRONG, Table, severity_style},
};

/// Rules that are named where there is none of an id.
const NEAREST: usize = 5;

/// Lists all rules.
pub(super) fn list(context: &Context, scanner: Scanner) -> Result<Exit, CliError> {
    let rules: Vec<Value> = scanner.rules().map(|rule| rule_document(rule, scanner)).collect();
    let document = json!({"ok": true, "ruleset": scanner.ruleset(), "rules": rules});
    context.out.answer(&document, |out| {
        let mut table = Table::new(&["rule", "severity", "category", "what it finds"]);
        for rule in scanner.rules() {
            let cells = [rule.id, severity_word(rule, scanner), rule.category, rule.message];
            table.row(&cells.map(str::to_owned));
        }
        table.write(out)?;
        writeln!(out, "{} rules, version {}", rules.len(), scanner.ruleset())
    })?;
    Ok(Exit::Done)
}

fn severity_word(rule: &Rule, scanner: Scanner) -> &'static str {
    scanner.severity(rule).map_or("off", Severity::as_str)
}

fn rule_document(rule: &Rule, scanner: Scanner) -> Value {
    json!({
        "id": rule.id, "category": rule.category, "severity": scanner.severity(rule), "evidence": rule.evidence.as_str(),
        "technique": rule.technique, "risk": rule.risk,
        "message": rule.message, "remedy": rule.remedy,
    })
}

/// Rules whose ids or categories share words with what was asked for, the nearest first.
fn nearest(asked: &str, scanner: Scanner) -> Vec<&'static str> {
    let asked = asked.to_lowercase();
    let words: Vec<&str> = asked.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2).collect();
    let likeness = |rule: &Rule| {
        let of_word = |word: &&str| match (rule.id.split('-').any(|part| part == *word), *word) {
            (true, _) => 3,
            (false, word) if rule.id.contains(word) => 2,
            (false, word) => usize::from(rule.category.contains(word) || rule.id.contains(word.trim_end_matches('s'))),
        };
        words.iter().map(of_word).sum::<usize>()
    };
    let mut near: Vec<(usize, &str)> = scanner.rules().map(|rule| (likeness(rule), rule.id)).collect();
    near.retain(|(likeness, _)| *likeness > 0);
    near.sort_by_key(|(likeness, _)| std::cmp::Reverse(*likeness));
    near.into_iter().take(NEAREST).map(|(_, id)| id).collect()
}

/// Explains one rule with its examples.
pub(super) fn explain(context: &Context, scanner: Scanner, id: &str) -> Result<Exit, CliError> {
    let rule = scanner.rule(id).ok_or_else(|| {
        let hint = match nearest(id, scanner).as_slice() {
            [] => "`skillhub scan --rules` lists them".to_owned(),
            near => format!("was one of these meant: {}? `skillhub scan --rules` lists all", near.join(", ")),
        };
        CliError::new("not_found", Exit::NotFound, format!("there is no rule {id:?}")).hint(hint)
    })?;
    let example = |files: &[(&str, &str)]| -> Vec<Value> {
        files.iter().map(|(path, text)| json!({"path": path, "text": text})).collect()
    };
    let mut document = rule_document(rule, scanner);
    document["ok"] = json!(true);
    document["harmful"] = json!(example(rule.harmful));
    document["harmless"] = json!(example(rule.harmless));
    context.out.answer(&document, |out| {
        let (style, severity) = (severity_style(rule.severity()), severity_word(rule, scanner));
        writeln!(out, "{STRONG}{}{STRONG:#}  {style}{severity}{style:#}, {}", rule.id, rule.category)?;
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
