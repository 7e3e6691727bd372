//! `skillhub evolve conformance` tests whether a program follows the optimiser protocol.
//!
//! The program gets synthetic skills, and each answer is treated as by `evolve run`: parsed, applied, validated and
//! scanned. Nothing is stored.

use clap::Args;
use evolve::{
    Count,
    evals::{EVALS_FILE, EvalLimits, read},
    optimise::{KnownFailure, OptimiserRequest, read_answer, sanitise},
};
use scan::Baseline;
use serde_json::{Value, json};
use skill::{Bundle, File, Limits, SkillName, SkillPath, Strictness, counted, edit, validate::validate_bundle};

use super::with::OptimiserArgs;
use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    print::{BAD, GOOD, visible},
};

/// Name of the synthetic skills.
const NAME: &str = "counting-words";

/// Revision id given for the synthetic skills.
const REVISION: &str = "0000000000000000000000000000000000000000";

/// Maximum length, in characters, of a displayed fault.
const TOLD_CHARS: usize = 300;

/// Flags of `evolve conformance`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub evolve conformance --with ./improve.py
  skillhub evolve conformance --with ./improve.py --time-limit 60 --json

Runs the program six times. Exit code 1: a test fails.")]
pub struct ConformanceArgs {
    #[command(flatten)]
    optimiser: OptimiserArgs,
}

/// Outcome counts sent with the skills that have cases. The others are sent without counts.
const COUNT: Count = Count { runs: 40, successes: 31, failures: 7, unknown: 2 };

/// One test with a synthetic skill.
struct Trial {
    /// Description of the tested property.
    about: &'static str,
    /// Markdown body of the skill.
    body: String,
    /// True if the request has cases, with failures.
    has_cases: bool,
    /// Additional file of the skill.
    file: Option<(&'static str, Vec<u8>)>,
    /// True if the request has fields of a later protocol version.
    is_later: bool,
}

fn trials() -> Vec<Trial> {
    let body = "# Counting words\n\n1. Run `wc -w FILE`.\n2. Say the number.\n";
    let trial = |about, has_cases| Trial { about, body: body.to_owned(), has_cases, file: None, is_later: false };
    let long = "A line of a long reference.\n".repeat(12_000);
    vec![
        trial("a skill with a case that fails", true),
        trial("a skill without cases", false),
        Trial { is_later: true, ..trial("fields of a later version", true) },
        Trial {
            body: "# 数词\n\n1. 运行 `wc -w 文件`。\n2. 说出数字。🎉\n".to_owned(),
            ..trial("a skill in another script", true)
        },
        Trial { file: Some(("references/long.md", long.into_bytes())), ..trial("a large file", true) },
        Trial { file: Some(("assets/dot.bin", (0..=255).collect())), ..trial("a binary file", true) },
    ]
}

/// Runs all tests against the program.
pub(super) fn run(context: &Context, args: &ConformanceArgs) -> Result<Exit, CliError> {
    let (mut documents, mut lines, mut is_good) = (Vec::new(), Vec::new(), true);
    for trial in trials() {
        let result = attempt(context, args, &trial);
        let fault = result.as_ref().err().map(|error| sanitise(&error.message, TOLD_CHARS));
        is_good &= fault.is_none();
        let patches = result.ok();
        documents.push(json!({"trial": trial.about, "ok": fault.is_none(), "patches": patches, "fault": fault}));
        lines.push(match (fault, patches) {
            (Some(fault), _) => format!("{BAD}failed{BAD:#} {}: {}", trial.about, visible(&fault)),
            (None, patches) => {
                format!("{GOOD}passed{GOOD:#} {}, {}", trial.about, counted(patches.unwrap_or_default(), "patch"))
            }
        });
    }
    let document = json!({"ok": is_good, "trials": documents});
    context.out.answer(&document, |out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
    Ok(if is_good { Exit::Done } else { Exit::Failed })
}

/// Runs one test. Returns the number of proposed edits, all of them valid.
fn attempt(context: &Context, args: &ConformanceArgs, trial: &Trial) -> Result<usize, CliError> {
    let bundle = bundle_of(trial)?;
    let name = SkillName::parse(NAME).map_err(|fault| internal(&fault.to_string()))?;
    let set = read(&bundle, &EvalLimits::default()).set;
    let failure = KnownFailure {
        case: "1".to_owned(),
        text: "The answer names the file".to_owned(),
        evidence: "the answer was: 3".to_owned(),
    };
    let failures = if trial.has_cases { vec![failure] } else { Vec::new() };
    let limits = args.optimiser.limits();
    let request = OptimiserRequest {
        skill: &name,
        revision: REVISION,
        bundle: &bundle,
        evals: set.as_ref(),
        failures: &failures,
        outcomes: trial.has_cases.then(|| COUNT.document(true)),
        limits,
        held_out_percent: 0,
    };
    let mut document =
        request.document(|bytes| base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes));
    if let (true, Some(fields)) = (trial.is_later, document.as_object_mut()) {
        fields.insert("from_a_later_version".to_owned(), json!({"deep": [1, 2, 3]}));
    }
    let answer = args.optimiser.ask(context, &document)?;
    let improvement = read_answer(&answer, &name, REVISION, &limits).map_err(failed)?;
    let Some(request) = improvement.request else { return Ok(0) };
    let mut candidate = bundle.clone();
    for edit in &request.edits {
        let applied = edit::apply(edit, &candidate, &Limits::default());
        candidate = applied.map_err(|fault| bad(format!("an edit does not apply to the given files: {fault}")))?.bundle;
    }
    let problems = validate_bundle(&candidate, Some(NAME), Strictness::Standard, &Limits::default());
    if let Some(problem) = problems.iter().find(|problem| problem.is_error()) {
        return Err(bad(format!("the edited skill is invalid: {}", problem.message)));
    }
    scan::clear_by(candidate, Baseline::None, &context.home.scanner())
        .map_err(|blocked| bad(format!("the scanner blocks the edits: {blocked}")))?;
    Ok(request.edits.len())
}

fn bad(message: String) -> CliError {
    CliError::new("optimiser_answer", Exit::Invalid, message)
}

fn internal(message: &str) -> CliError {
    CliError::new("io", Exit::Failed, message)
}

fn bundle_of(trial: &Trial) -> Result<Bundle, CliError> {
    let front =
        format!("---\nname: {NAME}\ndescription: Counts words. Use when words of a file have to be counted.\n---\n\n");
    let evals: Value = json!({"evals": [{
        "id": 1, "prompt": "How many words has in.txt?", "expected_output": "The number, and the name of the file.",
        "assertions": ["The answer names the file"], "files": ["evals/files/in.txt"],
    }]});
    let mut files = vec![("SKILL.md", format!("{front}{}", trial.body).into_bytes())];
    if trial.has_cases {
        files.push((EVALS_FILE, evals.to_string().into_bytes()));
        files.push(("evals/files/in.txt", b"one two three\n".to_vec()));
    }
    files.extend(trial.file.clone());
    let parsed: Result<Vec<_>, _> = files
        .into_iter()
        .map(|(path, bytes)| Ok((SkillPath::parse(path)?, File { bytes: bytes.into(), executable: false })))
        .collect();
    let parsed = parsed.map_err(|fault: skill::PathError| internal(&fault.to_string()))?;
    Bundle::from_files(parsed, &Limits::default()).map_err(|fault| internal(&fault.to_string()))
}
