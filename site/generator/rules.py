"""The page of the scanner's rules."""

import html
import json

from commands import prose
from program import Program

PAGE = "scanner/rules.md"
SEVERITIES = ["critical", "high", "medium", "low", "info"]
EFFECTS = {
    "critical": "blocks the skill; also needs `--accept-critical` to be accepted",
    "high": "blocks the skill",
    "medium": "warns",
    "low": "is shown",
    "info": "is shown",
}
EVIDENCE = {
    "conclusive": "conclusive: blocks by itself",
    "hard": "hard: a complete attack; blocks by itself",
    "strong": "strong: warns",
    "weak": "weak: three weak rules in one file warn",
    "note": "note: is shown",
}
SCOPES = {"code": "scripts and code blocks", "prose": "texts that an agent reads", "any": "all files"}


def entry(rule: dict) -> str:
    """One rule with its anchor."""
    facts = [EVIDENCE.get(rule["evidence"], rule["evidence"]), "looks at " + SCOPES.get(rule["scope"], rule["scope"])]
    if rule.get("technique"):
        facts.append(f"{rule['technique']} {rule.get('technique_title', '')}".strip())
    if rule.get("risk"):
        facts.append(rule["risk"])
    message, remedy = rule["message"], rule["remedy"]
    return "\n".join([
        '<div class="rule">',
        f'<h3 id="{rule["id"]}"><a href="#{rule["id"]}"><code>{rule["id"]}</code></a> '
        f'<span class="severity {rule["severity"]}">{rule["severity"]}</span></h3>',
        f"<p>{prose(message[0].upper() + message[1:])}.</p>",
        *([f"<p><strong>Risk:</strong> {prose(rule['harm'])}.</p>"] if rule.get("harm") else []),
        f"<p><strong>What to do:</strong> {prose(remedy)}.</p>",
        f'<p class="facts">{html.escape(" · ".join(facts))}</p>',
        "</div>",
    ])


def page(program: Program) -> str:
    """All rules, by category."""
    listed = json.loads(program.run("scan", "--rules", "--json"))
    rules = sorted(listed["rules"], key=lambda rule: (SEVERITIES.index(rule["severity"]), rule["id"]))
    categories = sorted({rule["category"] for rule in rules})
    counts = [(name, sum(rule["severity"] == name for rule in rules)) for name in SEVERITIES]
    table = [f'| <span class="severity {name}">{name}</span> | {count} | {EFFECTS[name]} |' for name, count in counts if count]
    parts = [
        "# Rules of the scanner",
        f"These are the {len(rules)} built-in rules of version `{listed['ruleset']}`. "
        "`skillhub scan --explain RULE` prints a rule with examples of what it matches and what it does not.",
        "\n".join(["| severity | rules | effect |", "|---|---|---|", *table]),
        "A finding has a lower severity where the words are quoted, forbidden or shown as an example. "
        "[Scanning](../guides/scanning.md) explains findings and how to accept them, and "
        "[Rules of your own](../guides/scan-rules.md) how to add rules. "
        "Techniques are those of MITRE ATT&CK and MITRE ATLAS; AST01 to AST10 are the OWASP Agentic Skills Top 10.",
    ]
    for category in categories:
        title = category.replace("-", " ").capitalize()
        chosen = [entry(rule) for rule in rules if rule["category"] == category]
        parts += [f"## {title} {{ #category-{category} }}", *chosen]
    return "\n\n".join(parts)
