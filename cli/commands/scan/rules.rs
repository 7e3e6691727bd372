//! Output of `skillhub scan --rules` and `--explain`.

use scan::{Evidence, Role, Rule, Scanner, Scope, Severity};
use serde_json::{Value, json};

use super::techniques::title;
use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{STRONG, Table, severity_style},
};

/// Maximum number of suggestions for an unknown rule id.
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
    })
}

fn severity_word(rule: &Rule, scanner: Scanner) -> &'static str {
    scanner.severity(rule).map_or("off", Severity::as_str)
}

fn rule_document(rule: &Rule, scanner: Scanner) -> Value {
    json!({
        "id": rule.id, "category": rule.category, "severity": scanner.severity(rule), "evidence": rule.evidence.as_str(),
        "technique": rule.technique, "technique_title": title(rule.technique), "risk": rule.risk,
        "scope": rule.scope.as_str(), "role": rule.role.as_str(), "elsewhere": rule.elsewhere().severity(),
        "message": rule.message, "harm": rule.harm(), "remedy": rule.remedy,
    })
}

/// Describes the files in which a match has the full severity of its rule.
fn scope_words(scope: Scope) -> &'static str {
    match scope {
        Scope::Any => "in all files",
        Scope::Script => "in scripts",
        Scope::Code => "in scripts and code blocks",
        Scope::Machine => "in scripts, configuration, data and code blocks",
        Scope::Prose => "in texts that an agent reads",
    }
}

/// Describes the contexts that lower the severity of a match.
fn role_words(role: Role) -> &'static str {
    match role {
        Role::Fact => "in reference examples that no text says to run",
        Role::Command => "where the sentence forbids it or warns against it, and in lessons about attacks",
        Role::Test => "in texts about security tests, and as one of several texts in a list",
        Role::Speech => "where it is quoted or forbidden, and in passages about attacks",
        Role::Planted => "where it is quoted or shown in a block, and in passages about attacks",
    }
}

/// Describes the weight of a match with this evidence in the verdict on its file.
fn evidence_words(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Note => "for information, never counted",
        Evidence::Weak => "common in honest skills; three such rules in one file give a warning",
        Evidence::Strong => "rare in honest skills; one gives a warning, two such rules in one file block the skill",
        Evidence::Hard => "a complete attack chain; blocks the skill by itself",
        Evidence::Conclusive => "always harmful; blocks the skill by itself",
    }
}

/// A technique by its id and its title, where there is one.
fn technique_words(id: &str) -> String {
    let list = if id.starts_with("AML.") { "MITRE ATLAS" } else { "MITRE ATT&CK" };
    match title(id) {
        Some(title) => format!("{id} {title} ({list})"),
        None => format!("{id} ({list})"),
    }
}

/// Lines about the severity of a rule, what it counts for and its names in public lists.
fn weight_lines(rule: &Rule, scanner: Scanner) -> [String; 4] {
    let others = if rule.scope == Scope::Any { "" } else { "in other files, and " };
    let (severity, lower) = (severity_word(rule, scanner), rule.elsewhere().severity());
    [
        format!("Severity: {severity} {}", scope_words(rule.scope)),
        format!("Lowered to {lower} {others}{}", role_words(rule.role)),
        format!("Evidence: {}, {}", rule.evidence, evidence_words(rule.evidence)),
        format!("Known as: {}, {} (OWASP Agentic Skills Top 10)", technique_words(rule.technique), rule.risk),
    ]
}

/// Returns the rules whose id or category resembles the query, best match first.
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

/// Returns true if an example has Chinese words, which the output then points out.
fn is_chinese(text: &str) -> bool {
    text.chars().any(|c| matches!(c, '\u{4e00}'..='\u{9fff}'))
}

/// Explains one rule with its examples.
pub(super) fn explain(context: &Context, scanner: Scanner, id: &str) -> Result<Exit, CliError> {
    let rule = scanner.rule(id).ok_or_else(|| {
        let hint = match nearest(id, scanner).as_slice() {
            [] => "see the rules: skillhub scan --rules".to_owned(),
            near => format!("did you mean one of {}? see all rules with `skillhub scan --rules`", near.join(", ")),
        };
        CliError::new("not_found", Exit::NotFound, format!("unknown rule {id:?}")).hint(hint)
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
        writeln!(out, "{}", rule.message)?;
        rule.harm().map_or(Ok(()), |harm| writeln!(out, "Risk: {harm}"))?;
        writeln!(out, "What to do: {}", rule.remedy)?;
        if !rule.harmless_if.is_empty() {
            writeln!(out, "Nothing to do if {}", rule.harmless_if)?;
        }
        writeln!(out)?;
        weight_lines(rule, scanner).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        for (title, files) in [("Matches", rule.harmful), ("Does not match", rule.harmless)] {
            writeln!(out, "\n{title}:")?;
            for (path, text) in files {
                writeln!(out, "  {path}{}", if is_chinese(text) { " (in Chinese)" } else { "" })?;
                for line in text.lines().take(12) {
                    writeln!(out, "    {}", crate::print::visible(line))?;
                }
            }
        }
        Ok(())
    })
}
