//! `skillhub scan` scans skills for dangerous content.

mod baseline;
mod rules;
mod sarif;
mod target;
mod taxa;
mod techniques;

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use clap::Args;
use library::Verdicts;
use scan::{Capabilities, CapabilityDelta, Cause, Finding, Report, Scanner, Severity, Verdict, causes};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use skill::{Bundle, SkillName};

use crate::{
    commands::discovery::map_parallel,
    context::{self, Context},
    exit::{CliError, Exit},
    hints,
    print::{
        FAINT, GOOD, STRONG, findings_lines, hanging, terminal_columns, verdict_style, visible, write_capabilities,
    },
};
use target::{Known, Target, known, skills_around, targets};

/// Flags of `scan`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub scan ./my-skill
  skillhub scan --fail-on medium skills/         exit 4 for medium findings or worse
  skillhub scan ./my-skill --capabilities        hosts, files, commands, variables it would use
  skillhub scan my-skill                         a skill of the library, by name
  git show HEAD:SKILL.md | skillhub scan -       one file, from standard input
  skillhub scan --skills $(git diff --name-only) the skills that these files belong to
  skillhub scan skills/ --json > known.json
  skillhub scan skills/ --baseline known.json    fail only for new findings
  skillhub scan skills/ --sarif > scan.sarif     for code hosts that show findings in reviews
  skillhub scan skills/ --rules-from rules/      with your own rules
  skillhub scan --rules                          list the rules
  skillhub scan --explain prompt-override        explain one rule

Exit code 4: a finding is high or critical (see --fail-on). Such a skill is not installed. Waived findings
of a skill in the library are shown, but do not fail. Nothing inside a skill can turn a rule off.
docs/guides/scanning.md has a git hook, and docs/guides/ci.md an action for CI.")]
pub struct ScanArgs {
    /// Skill folders, folders of skills, .skill files, single files, `-` for stdin, or names of installed skills
    #[arg(required_unless_present_any = ["rules", "explain"])]
    path: Vec<PathBuf>,
    /// Exit with 4 for findings of this severity or worse: info, low, medium, high, critical
    #[arg(long, value_name = "SEVERITY", default_value = "high", value_parser = severity)]
    fail_on: Severity,
    /// Print the findings as SARIF 2.1.0
    #[arg(long, conflicts_with = "json")]
    sarif: bool,
    /// Ignore findings of this earlier `scan --json` output for the exit code
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Show the hosts, commands, files and variables that each skill uses, declared or not
    #[arg(long, conflicts_with = "sarif")]
    capabilities: bool,
    /// Scan the skills that the paths belong to, and skip other paths; for git hooks
    #[arg(long)]
    skills: bool,
    /// Neither read nor write the cache of scan results
    #[arg(long)]
    no_cache: bool,
    /// Also apply the rules in this folder; docs/guides/scan-rules.md describes their format
    #[arg(long, value_name = "DIR")]
    rules_from: Option<PathBuf>,
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

/// Minimum number of skills for which the verdict cache is used. Fewer are scanned faster than the cache loads.
const REMEMBERED: usize = 8;

struct Scanned {
    target: Target,
    name: Option<String>,
    note: Option<&'static str>,
    result: Result<Report, CliError>,
    capabilities: Option<Capabilities>,
    /// Difference from the capabilities of the skill's head, if it is installed.
    delta: Option<CapabilityDelta>,
}

impl Scanned {
    /// Returns the name of the skill if registries refuse it.
    fn unpublishable_name(&self) -> Option<String> {
        let is_refused = |name: &String| !SkillName::parse_standard(name).is_ok_and(|name| name.is_publishable());
        self.name.clone().filter(is_refused)
    }

    /// Returns the verdict. A skill that cannot be read is blocked, because it could not be examined.
    fn verdict(&self) -> Verdict {
        self.result.as_ref().map_or(Verdict::Block, Report::verdict)
    }

    /// Returns the exit code for this skill. Findings at or above `fail_on` have the exit code of a block.
    fn exit(&self, fail_on: Severity) -> Option<Exit> {
        match &self.result {
            Ok(report) => {
                let counts = report.findings.iter().filter(|finding| finding.new && !finding.waived);
                counts.map(|finding| finding.severity).max().filter(|worst| *worst >= fail_on).map(|_| Exit::Blocked)
            }
            Err(error) => Some(error.exit),
        }
    }
}

/// Scans every skill, or prints the rules.
pub fn run(context: &Context, args: &ScanArgs) -> Result<Exit, CliError> {
    let scanner = scanner(context, args)?;
    if args.rules {
        return rules::list(context, scanner);
    }
    if let Some(id) = &args.explain {
        return rules::explain(context, scanner, id);
    }
    let mut scanned = scan_all(context, scanner, args)?;
    if let Some(file) = &args.baseline {
        baseline::BaselineFindings::read(&context.absolute(file))?.mark(&mut scanned);
    }
    for name in scanned.iter().filter_map(Scanned::unpublishable_name) {
        let suggested = SkillName::suggested(&name);
        context.out.note(&format!("registries refuse the name {name:?}; to publish the skill, name it {suggested}"));
    }
    let exit = scanned.iter().filter_map(|skill| skill.exit(args.fail_on)).max_by_key(|exit| *exit == Exit::Blocked);
    if args.sarif {
        let document = sarif::document(&scanned, scanner, &context.cwd);
        context.out.answer(&json!({}), |out| writeln!(out, "{document:#}"))?;
        return Ok(exit.unwrap_or(Exit::Done));
    }
    let skills = scanned.iter().map(ScannedDocument::of).collect();
    let document = ScanDocument { ok: exit.is_none(), ruleset: scanner.ruleset().to_string(), skills };
    context.out.answer(&document, |out| {
        scanned.iter().try_for_each(|skill| text(skill, out))?;
        if scanned.is_empty() {
            writeln!(out, "None of these paths belong to a skill")?;
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

/// Returns the configured scanner, with the additional rules of `--rules-from`.
fn scanner(context: &Context, args: &ScanArgs) -> Result<Scanner, CliError> {
    let Some(folder) = &args.rules_from else { return Ok(context.home.scanner()) };
    let scanner = context.scanner_with(folder)?;
    match scanner.wrong_example() {
        None => Ok(scanner),
        Some((rule, path)) => Err(CliError::new(
            "invalid_rules",
            Exit::Usage,
            format!("the rule {:?} fails its own example {path:?}", rule.id),
        )
        .hint("correct the rule: it must match its harmful examples and no harmless ones")),
    }
}

/// Scans in parallel. The results keep the order of the arguments.
fn scan_all(context: &Context, scanner: Scanner, args: &ScanArgs) -> Result<Vec<Scanned>, CliError> {
    let targets = if args.skills { skills_around(context, &args.path)? } else { targets(context, &args.path)? };
    let known = known(context, &targets, args.sarif);
    let working = context.out.working("scanning");
    let (total, done) = (targets.len(), AtomicUsize::new(0));
    let work: Vec<(Target, Known)> = targets.into_iter().zip(known).collect();
    let program = context::program().filter(|_| total >= REMEMBERED && !args.no_cache);
    let home = context.home.clone().scanned_by(scanner);
    let verdicts = program.map(|program| Verdicts::of(&home, &program));
    let report = |files: &Bundle| match &verdicts {
        Some(verdicts) => verdicts.report_or(files, |files| scanner.scan(files)),
        None => scanner.scan(files),
    };
    let scanned = map_parallel(work, |(target, known)| {
        let scanned = scan_one(target, &known, report, args.capabilities);
        working.say(format!("scanned {} of {total}", done.fetch_add(1, Ordering::Relaxed) + 1));
        scanned
    });
    verdicts.into_iter().for_each(|verdicts| verdicts.keep(&home));
    Ok(scanned)
}

fn scan_one(target: Target, known: &Known, report: impl Fn(&Bundle) -> Report, with_capabilities: bool) -> Scanned {
    let bundle = target.bundle();
    let name = bundle.as_ref().ok().and_then(|bundle| bundle.frontmatter()?.name.clone());
    let read = bundle.as_ref().ok();
    Scanned {
        name: name.or_else(|| target.name()),
        note: read.and_then(|bundle| target.note(bundle)),
        delta: read.zip(known.head.as_ref()).and_then(|(files, head)| CapabilityDelta::between(head, files)),
        capabilities: read.filter(|_| with_capabilities).map(scan::capabilities),
        result: bundle.map(|bundle| {
            let mut report = report(&bundle);
            report.waive(&bundle, &known.waivers);
            report
        }),
        target,
    }
}

/// Advice to whoever means to install a blocked skill.
const BEFORE_INSTALLING: &str = "do not install it unless you trust its author and understand each finding";

fn text(skill: &Scanned, out: &mut dyn Write) -> io::Result<()> {
    let verdict = skill.verdict();
    let style = verdict_style(verdict);
    writeln!(out, "{style}{verdict}{style:#} {STRONG}{}{STRONG:#}", skill.target.path.display())?;
    if let Some(note) = skill.note {
        writeln!(out, "  {FAINT}{note}{FAINT:#}")?;
    }
    match &skill.result {
        Ok(report) => {
            let columns = terminal_columns().map(|columns| columns.saturating_sub(2));
            let mut lines = findings_lines(&report.findings);
            lines.extend((verdict == Verdict::Block).then(|| BEFORE_INSTALLING.to_owned()));
            for line in lines.iter().flat_map(|line| hanging(line, columns)) {
                writeln!(out, "  {line}")?;
            }
        }
        Err(error) => {
            writeln!(out, "  {}", visible(&error.message))?;
            if let Some(hint) = &error.hint {
                writeln!(out, "  {GOOD}hint{GOOD:#}: {}", visible(&hints::for_user(hint)))?;
            }
        }
    }
    skill.capabilities.as_ref().map_or(Ok(()), |capabilities| write_capabilities(capabilities, out))
}

/// Answer of `skillhub scan --json`.
#[derive(Debug, Serialize, JsonSchema)]
struct ScanDocument<'a> {
    /// False if a finding is as severe as `--fail-on`, or a skill could not be read.
    ok: bool,
    /// Id of the rules that were applied.
    ruleset: String,
    /// Skills in the order of the arguments.
    skills: Vec<ScannedDocument<'a>>,
}

/// A skill that was scanned.
#[derive(Debug, Serialize, JsonSchema)]
struct ScannedDocument<'a> {
    /// Path of the skill.
    path: &'a Path,
    /// Form in which it was given: `folder`, `archive`, `file` or `stdin`.
    kind: &'static str,
    /// Name in its frontmatter.
    name: Option<&'a str>,
    /// Verdict: `allow`, `warn` or `block`. A skill that cannot be read is blocked.
    #[schemars(with = "String")]
    verdict: Verdict,
    /// Findings, each as in judge.json. `risk` is the loss for the user if the finding is real, or null; `remedy` is the
    /// change to make.
    #[schemars(with = "Vec<Map<String, Value>>")]
    findings: &'a [Finding],
    /// Findings by their cause.
    #[schemars(with = "Vec<Map<String, Value>>")]
    causes: Vec<Cause<'a>>,
    /// Remark on how it was scanned.
    note: Option<&'static str>,
    /// Reason why it could not be read.
    error: Option<ScanError<'a>>,
    /// Resources that the skill would access, with `--capabilities`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    capabilities: Option<&'a Capabilities>,
}

/// Reason why a skill could not be scanned.
#[derive(Debug, Serialize, JsonSchema)]
struct ScanError<'a> {
    /// Stable code of the error.
    code: &'static str,
    /// Description of the error.
    message: &'a str,
    /// Remedy for the error.
    hint: Option<&'a str>,
}

impl<'a> ScannedDocument<'a> {
    fn of(skill: &'a Scanned) -> Self {
        let (findings, error) = match &skill.result {
            Ok(report) => (report.findings.as_slice(), None),
            Err(error) => (&[][..], Some(error)),
        };
        Self {
            path: &skill.target.path,
            kind: skill.target.word(),
            name: skill.name.as_deref(),
            verdict: skill.verdict(),
            findings,
            causes: causes(findings),
            note: skill.note,
            error: error.map(|error| ScanError {
                code: error.code,
                message: &error.message,
                hint: error.hint.as_deref(),
            }),
            capabilities: skill.capabilities.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_has_the_published_schema() {
        testkit::assert_published::<ScanDocument<'_>>("scan");
    }
}
