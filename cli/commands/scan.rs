//! `skillhub scan`: what is dangerous in skills.

mod baseline;
mod rules;
mod sarif;

use std::path::PathBuf;

use clap::Args;
use library::folder::Leftovers;
use scan::{Report, Severity, Verdict};
use serde_json::{Value, json};

use crate::{
    commands::found::{Found, find, map_parallel},
    context::Context,
    exit::{CliError, Exit},
    print::{STRONG, finding_lines, verdict_style},
};

/// Flags of `scan`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub scan ./my-skill
  skillhub scan --fail-on medium skills/         exit 4 when anything is medium or worse
  skillhub scan skills/ --json > known.json
  skillhub scan skills/ --baseline known.json    only what is not in there fails
  skillhub scan skills/ --sarif > scan.sarif     for code hosts that show findings in a review
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
    /// Print SARIF 2.1.0
    #[arg(long, conflicts_with = "json")]
    sarif: bool,
    /// An earlier answer of `scan --json`: what it holds is shown, but fails no more
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
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
            Ok(report) => {
                let new = report.findings.iter().filter(|finding| finding.new);
                new.map(|finding| finding.severity).max().filter(|worst| *worst >= fail_on).map(|_| Exit::Blocked)
            }
            Err(error) => Some(error.exit),
        }
    }
}

/// Scans every skill, or tells about the rules.
pub fn run(context: &Context, args: &ScanArgs) -> Result<Exit, CliError> {
    if args.rules {
        return rules::list(context);
    }
    if let Some(id) = &args.explain {
        return rules::explain(context, id);
    }
    let skills = find(context, &args.path)?;
    let working = context.out.working("scanning");
    let mut scanned = map_parallel(&skills, scan_one);
    drop(working);
    if let Some(file) = &args.baseline {
        baseline::Known::read(&context.absolute(file))?.mark(&mut scanned);
    }
    let exit = scanned.iter().filter_map(|skill| skill.exit(args.fail_on)).max_by_key(|exit| *exit == Exit::Blocked);
    if args.sarif {
        context.out.answer(&json!({}), |out| writeln!(out, "{:#}", sarif::document(&scanned)))?;
        return Ok(exit.unwrap_or(Exit::Done));
    }
    let document = json!({
        "ok": exit.is_none(), "ruleset": scan::ruleset(), "skills": scanned.iter().map(document).collect::<Vec<_>>(),
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
        if scanned.len() > 1 {
            let count = |verdict| scanned.iter().filter(|skill| skill.verdict() == verdict).count();
            let (allow, warn, block) = (count(Verdict::Allow), count(Verdict::Warn), count(Verdict::Block));
            writeln!(out, "{} skills: {allow} allow, {warn} warn, {block} block", scanned.len())?;
        }
        Ok(())
    })?;
    Ok(exit.unwrap_or(Exit::Done))
}

fn scan_one(found: &Found) -> Scanned {
    let bundle = found.bundle(Leftovers::Read).and_then(|bundle| match bundle.is_empty() {
        true => Err(CliError::new("invalid_skill", Exit::Invalid, "there are no files in the folder")),
        false => Ok(bundle),
    });
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
