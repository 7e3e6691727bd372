//! [`own_or_of_category`]: loss for the user if a finding is real.

/// Consequence for the user, as a clause, by category. Sorted by category.
const HARMS: &[(&str, &str)] = &[
    (
        "agent-files",
        "the agent or the system does what this skill's author set up, in later sessions too, without asking the user",
    ),
    ("credentials", "whoever gets the user's logins or keys can act as the user"),
    ("deception", "the user decides on the basis of wrong information"),
    ("defense-evasion", "harm goes unnoticed, because what would stop or record it is off"),
    ("destructive", "the user loses data or systems that cannot be restored"),
    ("evasion", "the user cannot see or stop what the agent does"),
    ("execution", "text from outside decides which code runs on the user's machine"),
    ("exfiltration", "private data of the user reaches somebody else"),
    ("exploit", "a machine or service is attacked in the user's name"),
    ("infrastructure", "a mistake or an attacker gets control of the user's machines, cloud, cluster or builds"),
    ("mining", "somebody else earns money with the user's machine and electricity"),
    ("network", "somebody whom the user does not know can get data, or decide which code runs"),
    ("obfuscation", "a reviewer cannot see what the code does"),
    ("package", "content that no reviewer reads reaches the agent or the machine"),
    ("persistence", "something of this skill goes on running or comes back after the task, unnoticed by the user"),
    ("privilege", "a mistake or an attacker gets more control of the machine than the task needs"),
    ("prompt-injection", "the agent follows the author of this text instead of its user"),
    (
        "remote-code",
        "whoever controls where the code comes from can run anything on the user's machine, after every review",
    ),
    ("resources", "the user's machine, time or money is used up"),
    ("reverse-shell", "somebody else can run commands on the user's machine"),
    ("sabotage", "the user gets bad or biased work and does not notice"),
    ("secrets", "everybody who can read the skill can use the secret"),
    ("social-engineering", "the user gives away what they would refuse if asked openly"),
    ("supply-chain", "software of a stranger runs with the user's rights"),
    ("surveillance", "what the user types, says or copies reaches somebody else"),
    ("tampering", "protection, money or work of the user is changed without their decision"),
    ("unicode", "people and agents read different texts, so a reviewer misses what the agent reads"),
];

/// Returns a rule's own text about the loss, or that of its category if it has none.
pub(crate) fn own_or_of_category<'t>(own: &'t str, category: &str) -> Option<&'t str> {
    if own.is_empty() { harm_of(category) } else { Some(own) }
}

/// Returns the loss that findings of a category can mean for the user, as a clause.
fn harm_of(category: &str) -> Option<&'static str> {
    let at = HARMS.binary_search_by_key(&category, |(name, _)| name).ok()?;
    HARMS.get(at).map(|(_, harm)| *harm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_category_has_a_harm() {
        assert!(HARMS.is_sorted_by_key(|(category, _)| category));
        for rule in crate::rules() {
            assert!(rule.category == "scan" || harm_of(rule.category).is_some(), "{}: {}", rule.id, rule.category);
        }
        assert_eq!(harm_of("local"), None);
    }
}
