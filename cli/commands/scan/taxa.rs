//! Entries of public taxonomies for rules, in SARIF form: MITRE ATT&CK and ATLAS, the OWASP Agentic Skills Top 10, and
//! CWE.

use std::collections::BTreeSet;

use scan::Rule;
use serde_json::{Value, json};

use super::techniques::title;

const ATTACK: &str = "MITRE ATT&CK";
const ATLAS: &str = "MITRE ATLAS";
const OWASP: &str = "OWASP AST10";
const CWE: &str = "CWE";

/// CWE weakness of each category of rules.
const WEAKNESSES: &[(&str, &str)] = &[
    ("agent-files", "CWE-829"),
    ("credentials", "CWE-522"),
    ("deception", "CWE-451"),
    ("defense-evasion", "CWE-693"),
    ("destructive", "CWE-73"),
    ("evasion", "CWE-506"),
    ("execution", "CWE-78"),
    ("exfiltration", "CWE-200"),
    ("exploit", "CWE-1395"),
    ("infrastructure", "CWE-284"),
    ("mining", "CWE-506"),
    ("network", "CWE-918"),
    ("obfuscation", "CWE-506"),
    ("package", "CWE-506"),
    ("persistence", "CWE-506"),
    ("privilege", "CWE-250"),
    ("prompt-injection", "CWE-1427"),
    ("remote-code", "CWE-494"),
    ("resources", "CWE-400"),
    ("reverse-shell", "CWE-506"),
    ("sabotage", "CWE-506"),
    ("secrets", "CWE-798"),
    ("social-engineering", "CWE-451"),
    ("supply-chain", "CWE-1357"),
    ("surveillance", "CWE-359"),
    ("tampering", "CWE-345"),
    ("unicode", "CWE-1007"),
];

/// Returns the taxonomy entries of a rule, each with its taxonomy.
fn places(rule: &Rule) -> Vec<(&'static str, &'static str)> {
    let technique = (if rule.technique.starts_with("AML.") { ATLAS } else { ATTACK }, rule.technique);
    let weakness = WEAKNESSES.iter().find(|(category, _)| *category == rule.category).map(|(_, id)| (CWE, *id));
    let known = [technique, (OWASP, rule.risk)].into_iter().filter(|(_, id)| !id.is_empty());
    known.chain(weakness).collect()
}

/// Returns the SARIF relationships of a rule to its taxonomy entries.
pub(super) fn relationships(rule: &Rule) -> Vec<Value> {
    let relation =
        |(taxonomy, id)| json!({"target": {"id": id, "toolComponent": {"name": taxonomy}}, "kinds": ["superset"]});
    places(rule).into_iter().map(relation).collect()
}

/// Returns the web page of a rule's technique, or that of the OWASP list if it has none.
pub(super) fn page(rule: &Rule) -> String {
    match rule.technique {
        "" => "https://owasp.org/www-project-agentic-skills-top-10/".to_owned(),
        atlas if atlas.starts_with("AML.") => format!("https://atlas.mitre.org/techniques/{atlas}"),
        attack => format!("https://attack.mitre.org/techniques/{}/", attack.replace('.', "/")),
    }
}

/// An entry of a taxonomy, with its title where that is known.
fn entry(id: &str) -> Value {
    match title(id) {
        Some(title) => json!({"id": id, "name": title}),
        None => json!({"id": id}),
    }
}

/// The taxonomies, with the entries that some rules refer to.
pub(super) fn taxonomies<'r>(rules: impl Iterator<Item = &'r Rule>) -> Vec<Value> {
    let used: BTreeSet<_> = rules.flat_map(places).collect();
    let taxonomy = |name: &str, organization: &str, site: &str| {
        let taxa: Vec<Value> = used.iter().filter(|(of, _)| *of == name).map(|(_, id)| entry(id)).collect();
        json!({"name": name, "organization": organization, "informationUri": site, "taxa": taxa})
    };
    vec![
        taxonomy(ATTACK, "MITRE", "https://attack.mitre.org/"),
        taxonomy(ATLAS, "MITRE", "https://atlas.mitre.org/"),
        taxonomy(OWASP, "OWASP Foundation", "https://owasp.org/www-project-agentic-skills-top-10/"),
        taxonomy(CWE, "MITRE", "https://cwe.mitre.org/"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_category_has_a_weakness() {
        for rule in scan::rules() {
            assert!(WEAKNESSES.iter().any(|(category, _)| *category == rule.category), "{}", rule.category);
        }
    }
}
