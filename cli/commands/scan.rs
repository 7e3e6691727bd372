//! `skillhub scan`: what is dangerous in skills.

use std::path::PathBuf;

use clap::Args;
use library::folder::Leftovers;
use scan::{Report, Rule, Severity, Verdict};
use serde_json::{Value, json};

use crate::{
    commands::found::{Found, find, map_parallel},
    context::Context,
    exit::{CliError, Exit},
    print::{STRONG, Table, finding_lines, severity_style, verdict_style},
};

/// Flags of `scan`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub scan ./my-skill
  skillhub scan --fail-on medium skills/         exit 4 when anything is medium or worse
  skillhub scan --rules
  skillhub scan --explain prompt-override

Without --fail-on, exit 4 means that something is high or critical: such a skill is not installed.")]
pub struct ScanArgs {
    /// Skill folders, .skill files, or folders of skills
    #[arg(required_unless_present_any = ["rules", "explain"])]
    path: Vec<PathBuf>,
    /// The least severity that makes the exit code 4: info, low, medium, high, critical
    #[arg(long, value_name = "SEVERITY", default_value = "high", value_parser = severity)]
    fail_on: Severity,
    /// List the rules
    #[arg(long, conflicts_with = "path")]
    rules: bool,
    /// Explain a rule, with examples
    #[arg(long, value_name = "RULE", conflicts_with_all = ["path", "rules"])]
    explain: Option<String>,
}

fn severity(text: &str) -> Result<Severity, String> {
    text.parse().map_err(|error: scan::LevelError| error.to_string())
}

struct Scanned {
    found: Found,
    name: Option<String>,
    result: Result<Report, CliError>,
}

impl Scanned {
    /// What cannot be read as a skill is blocked: it could not be looked at.
    fn verdict(&self) -> Verdict {
        self.result.as_ref().map_or(Verdict::Block, Report::verdict)
    }

    /// The exit code that it asks for; a finding that is grave enough asks for that of a block.
    fn exit(&self, fail_on: Severity) -> Option<Exit> {
        match &self.result {
            Ok(report) => report.worst().filter(|worst| *worst >= fail_on).map(|_| Exit::Blocked),
            Err(error) => Some(error.exit),
        }
    }
}

/// Scans every skill, or tells about the rules.
pub fn run(context: &Context, args: &ScanArgs) -> Result<Exit, CliError> {
    if args.rules {
        return list_rules(context);
    }
    if let Some(id) = &args.explain {
        return explain(context, id);
    }
    let skills = find(context, &args.path)?;
    let scanned = map_parallel(&skills, scan_one);
    let failed = scanned.iter().any(|skill| skill.exit(args.fail_on).is_some());
    let document = json!({
        "ok": !failed, "ruleset": scan::ruleset(), "skills": scanned.iter().map(document).collect::<Vec<_>>(),
    });
    context.out.answer(&document, |out| {
        for skill in &scanned {
            let verdict = skill.verdict();
            let style = verdict_style(verdict);
            writeln!(out, "{style}{verdict}{style:#} {STRONG}{}{STRONG:#}", skill.found.path.display())?;
            let lines = match &skill.result {
                Ok(report) => report.findings.iter().flat_map(finding_lines).collect(),
                Err(error) => vec![error.message.clone()],
            };
            for line in lines {
                writeln!(out, "  {line}")?;
            }
        }
        Ok(())
    })?;
    Ok(scanned
        .iter()
        .filter_map(|skill| skill.exit(args.fail_on))
        .max_by_key(|exit| *exit == Exit::Blocked)
        .unwrap_or(Exit::Done))
}

fn scan_one(found: &Found) -> Scanned {
    let bundle = found.bundle(Leftovers::Read);
    let name = bundle.as_ref().ok().and_then(|bundle| {
        let text = bundle.skill_md()?;
        skill::frontmatter::read(text, &skill::Limits::default()).ok()?.frontmatter.name
    });
    Scanned { found: found.clone(), name: name.or_else(|| found.folder_name()), result: bundle.map(|b| scan::scan(&b)) }
}

fn document(skill: &Scanned) -> Value {
    let (findings, error) = match &skill.result {
        Ok(report) => (json!(report.findings), Value::Null),
        Err(error) => (json!([]), json!({"code": error.code, "message": error.message})),
    };
    json!({
        "path": skill.found.path, "name": skill.name, "verdict": skill.verdict(), "findings": findings, "error": error,
    })
}

fn list_rules(context: &Context) -> Result<Exit, CliError> {
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

fn explain(context: &Context, id: &str) -> Result<Exit, CliError> {
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
