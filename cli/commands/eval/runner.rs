//! Execution of one case: the user's command runs in a temporary folder and its results are graded.

use std::{
    cell::Cell,
    ffi::OsString,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use evolve::{
    compare::AssertionResults,
    evals::{
        Case, EvalLimits, EvalSet, Grading, Judgement, Metrics, Observed, Timing, Witness, grade, is_eval,
        without_evals,
    },
};
use library::{
    folder::{self, ToolFiles},
    interrupt,
};
use serde_json::{Value, json};
use skill::{Bundle, Limits, SkillPath};

use super::{
    RunnerArgs,
    input::{JudgeInput, RunnerInput},
};
use crate::{
    context::Context,
    exit::{CliError, Exit, failed, io_at},
    print::shell_word,
    process::{self, BoundedCommand, ProcessOutput},
};

/// Maximum size, in bytes, of the metrics file that a runner writes.
const METRICS_BYTES: u64 = 64 * 1024;

/// Timeout of a script or a judge, in seconds.
const GRADER_SECONDS: u64 = 120;

/// Runs cases with the settings of the flags.
pub(super) struct Runner<'a> {
    args: &'a RunnerArgs,
    command: String,
    judge: Option<String>,
    skill: &'a str,
    /// Bundle whose evals grade the runs.
    judging: &'a Bundle,
    limits: EvalLimits,
    /// Number of runs so far, and of those that the shell could not start.
    counts: Cell<(usize, usize)>,
}

/// The result of one run of a case.
pub(super) struct CaseRun {
    /// Grades, in the order of the assertions.
    pub marks: AssertionResults,
    /// Contents of `grading.json`.
    pub grading: Grading,
    /// Observed output and exit of the runner.
    pub observed: Observed,
    /// Files that the run left behind. `None` if they cannot be a bundle.
    pub left: Option<Bundle>,
}

impl<'a> Runner<'a> {
    /// Creates a runner for a skill, with the cases of `judging`.
    pub fn new(context: &Context, args: &'a RunnerArgs, skill: &'a str, judging: &'a Bundle) -> Self {
        let command = process::from_here(args.command(), &context.cwd);
        let judge = args.judge.as_ref().map(|judge| process::from_here(judge, &context.cwd));
        Self { args, command, judge, skill, judging, limits: EvalLimits::default(), counts: Cell::new((0, 0)) }
    }

    /// Returns the cases that the flags select.
    ///
    /// # Errors
    /// The flags name a case that does not exist.
    pub fn cases(&self, set: &EvalSet) -> Result<Vec<Case>, CliError> {
        if let Some(unknown) = self.args.cases.iter().find(|id| set.cases.iter().all(|case| case.id != **id)) {
            let known: Vec<&str> = set.cases.iter().map(|case| case.id.as_str()).take(20).collect();
            return Err(CliError::new("not_found", Exit::NotFound, format!("{} has no case {unknown:?}", self.skill))
                .hint(format!("choose one of its cases: {}", known.join(", "))));
        }
        let wanted = |case: &&Case| self.args.cases.is_empty() || self.args.cases.contains(&case.id);
        Ok(set.cases.iter().filter(wanted).cloned().collect())
    }

    /// Runs a case with a skill, or without one.
    ///
    /// # Errors
    /// The temporary folder cannot be created, or the shell cannot be started.
    pub fn run(&self, case: &Case, skill: Option<&Bundle>) -> Result<CaseRun, CliError> {
        let place = RunFolders::make(self.skill, case, skill, self.judging)?;
        let done = process::run(&BoundedCommand {
            command: &self.command,
            folder: &place.work,
            variables: self.variables(case, &place, skill.is_some()),
            scrubbed: false,
            passed: &[],
            input: self.runner_input(case, &place, skill.is_some())?,
            time: Duration::from_secs(self.args.time_limit),
            output_bytes: self.args.output_limit.saturating_mul(1024),
            memory_mib: None,
        })?;
        // The shell's exit codes for a command that cannot be executed (126) or found (127).
        let is_unstarted = matches!(done.exit, Some(126 | 127));
        let (runs, unstarted) = self.counts.get();
        self.counts.set((runs + 1, unstarted + usize::from(is_unstarted)));
        let metrics = place.metrics(&done);
        let observed = observed(&done);
        let started = Instant::now();
        let seen = Seen { runner: self, place: &place, stdout: &done.stdout };
        let graded = grade(case, &observed, &seen, &self.limits);
        interrupt::check().map_err(failed)?;
        let (ran, graded_in) = (done.took, started.elapsed());
        let timing = Timing {
            total_tokens: metrics.total_tokens,
            duration_ms: u64::try_from(ran.as_millis()).unwrap_or(u64::MAX),
            total_duration_seconds: seconds(ran + graded_in),
            executor_duration_seconds: seconds(ran),
            grader_duration_seconds: seconds(graded_in),
        };
        let marks = graded.iter().map(|graded| graded.passed).collect();
        let left = place.left();
        Ok(CaseRun { marks, grading: Grading::new(graded, metrics, timing), observed, left })
    }

    /// Checks that at least one run started, since runs that never started are no evidence about the skill.
    ///
    /// # Errors
    /// None of the runs could start.
    pub fn check_started(&self) -> Result<(), CliError> {
        let (runs, unstarted) = self.counts.get();
        if runs == 0 || unstarted < runs {
            return Ok(());
        }
        let message = format!("cannot run the runner {:?}: it was not found or is not executable", self.args.command());
        Err(CliError::new("runner_failed", Exit::Failed, message)
            .hint("give its full path, as it runs in a temporary folder, and make the file executable"))
    }

    fn variables(&self, case: &Case, place: &RunFolders, with_skill: bool) -> Vec<(&'static str, OsString)> {
        let mut variables: Vec<(&'static str, OsString)> = vec![
            ("SKILLHUB_EVAL_PROMPT", case.prompt.clone().into()),
            ("SKILLHUB_EVAL_CASE", case.id.clone().into()),
            ("SKILLHUB_EVAL_NAME", self.skill.into()),
            ("SKILLHUB_EVAL_WORK", place.work.clone().into()),
            ("SKILLHUB_EVAL_METRICS", place.metrics_file().into()),
        ];
        if with_skill {
            variables.push(("SKILLHUB_EVAL_SKILL", place.skill.clone().into()));
        }
        variables
    }

    /// Builds the runner's standard input. It reveals neither the assertions nor the side under test.
    fn runner_input(&self, case: &Case, place: &RunFolders, with_skill: bool) -> std::io::Result<Vec<u8>> {
        let input = RunnerInput {
            v: 1,
            name: self.skill,
            case: &case.written_id,
            prompt: &case.prompt,
            files: case.files.iter().map(|path| place.work.join(Case::place_of(path))).collect(),
            skill: with_skill.then_some(place.skill.as_path()),
            work: &place.work,
            metrics: place.metrics_file(),
        };
        Ok(serde_json::to_vec(&input)?)
    }
}

fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

fn observed(done: &ProcessOutput) -> Observed {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Observed {
        exit: done.exit,
        ended: process::ended(done.ended),
        stdout: text(&done.stdout),
        stderr: text(&done.stderr),
    }
}

/// The folders of one run, removed on drop.
struct RunFolders {
    root: tempfile::TempDir,
    /// Copy of the skill under test.
    skill: PathBuf,
    /// Working folder of the runner.
    work: PathBuf,
}

impl RunFolders {
    fn make(name: &str, case: &Case, skill: Option<&Bundle>, judging: &Bundle) -> Result<Self, CliError> {
        let root = tempfile::Builder::new().prefix("skillhub-eval-").tempdir()?;
        interrupt::note_temporary(root.path());
        let top = library::real_path(root.path())?;
        let dir = folder::open_at(&top)?;
        if let Some(bundle) = skill {
            folder::write(&dir, name, &without_evals(bundle))?;
        }
        let inputs = case
            .files
            .iter()
            .filter_map(|path| Some((SkillPath::parse(Case::place_of(path)).ok()?, judging.get(path)?.clone())));
        let inputs = Bundle::from_files(inputs, &Limits::default()).map_err(|error| {
            CliError::new("invalid_evals", Exit::Invalid, error.to_string()).hint("rename the file")
        })?;
        folder::write(&dir, ".work", &inputs)?;
        Ok(Self { skill: top.join(name), work: top.join(".work"), root })
    }

    fn metrics_file(&self) -> PathBuf {
        self.root.path().join(".metrics.json")
    }

    fn metrics(&self, done: &ProcessOutput) -> Metrics {
        let read = || {
            let dir = folder::open_at(self.root.path()).ok()?;
            let bytes = folder::read_file(&dir, ".metrics.json", METRICS_BYTES).ok()??;
            serde_json::from_slice::<Metrics>(&bytes).ok()
        };
        let output_chars = String::from_utf8_lossy(&done.stdout).chars().count() as u64;
        Metrics { output_chars, ..read().unwrap_or_default() }
    }

    /// Reads all files that the run left, if they form a valid bundle.
    fn left(&self) -> Option<Bundle> {
        folder::read_dir(folder::open_at(&self.work).ok()?, ToolFiles::Skip, &Limits::default()).ok()
    }
}

/// Data of a run that its graders see.
struct Seen<'a> {
    runner: &'a Runner<'a>,
    place: &'a RunFolders,
    stdout: &'a [u8],
}

impl Seen<'_> {
    fn grader(&self, command: &str, folder: &Path, input: Vec<u8>, scrubbed: bool) -> std::io::Result<ProcessOutput> {
        process::run(&BoundedCommand {
            command,
            folder,
            variables: vec![("SKILLHUB_EVAL_WORK", self.place.work.clone().into())],
            scrubbed,
            passed: &[],
            input,
            time: Duration::from_secs(self.runner.args.time_limit.min(GRADER_SECONDS)),
            output_bytes: 256 * 1024,
            memory_mib: None,
        })
    }
}

fn undecided(why: impl Into<String>) -> Judgement {
    Judgement { passed: None, evidence: why.into() }
}

impl Witness for Seen<'_> {
    fn file(&self, path: &SkillPath) -> Option<Vec<u8>> {
        let mut dir = folder::open_at(&self.place.work).ok()?;
        let (parents, name) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
        for parent in parents.split_terminator('/') {
            dir = folder::open(&dir, parent).ok()?;
        }
        folder::read_file(&dir, name, Limits::default().skill_bytes).ok()?
    }

    fn script(&self, path: &SkillPath) -> Judgement {
        if !self.runner.args.allow_scripts {
            return undecided("needs a script of the skill, which only --allow-scripts runs");
        }
        let run = || -> Result<ProcessOutput, CliError> {
            let top = tempfile::Builder::new().prefix("skillhub-judging-").tempdir()?;
            interrupt::note_temporary(top.path());
            let judging = self.runner.judging;
            let others: Vec<SkillPath> = judging.paths().filter(|path| !is_eval(path)).cloned().collect();
            let evals = others.iter().fold(judging.clone(), |evals, path| evals.without_file(path));
            folder::write(&folder::open_at(top.path())?, "judging", &evals)?;
            let file = shell_word(&top.path().join("judging").join(path.as_str()).display().to_string());
            let command = match path.extension().as_str() {
                "py" => format!("python3 {file}"),
                _ if judging.get(path).is_some_and(|file| file.executable) => file,
                _ => format!("sh {file}"),
            };
            Ok(self.grader(&command, &self.place.work, self.stdout.to_vec(), true)?)
        };
        match run() {
            Ok(done) => {
                let printed = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).trim().to_owned();
                let code = done
                    .exit
                    .map_or_else(|| process::ended(done.ended).words().to_owned(), |exit| format!("exit code {exit}"));
                let evidence = if printed.is_empty() { code } else { format!("{code}; {printed}") };
                Judgement { passed: Some(done.exit == Some(0)), evidence }
            }
            Err(error) => undecided(format!("cannot run {path}: {}", error.message)),
        }
    }

    fn judge(&self, case: &Case, sentences: &[&str], observed: &Observed) -> Vec<Judgement> {
        let Some(command) = &self.runner.judge else { return Vec::new() };
        let question = JudgeInput {
            v: 1,
            prompt: &case.prompt,
            expected_output: case.expected_output.as_deref(),
            output: &observed.stdout,
            exit_code: observed.exit,
            work: &self.place.work,
            assertions: sentences,
        };
        let input = serde_json::to_vec(&question).map_err(std::io::Error::from);
        let answer = input.and_then(|input| self.grader(command, &self.place.work, input, false));
        let all = |why: String| sentences.iter().map(|_| undecided(why.clone())).collect();
        let done = match answer {
            Ok(done) if done.exit == Some(0) => done,
            Ok(done) => return all(format!("the judge failed: {}", String::from_utf8_lossy(&done.stderr).trim())),
            Err(error) => return all(format!("cannot run the judge: {error}")),
        };
        let answer: Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
        let list = ["expectations", "verdicts"].iter().find_map(|key| answer.get(key)?.as_array());
        match list.or_else(|| answer.as_array()).filter(|list| list.len() == sentences.len()) {
            Some(list) => list.iter().map(verdict).collect(),
            None => all(format!("the judge did not return {} verdicts", sentences.len())),
        }
    }
}

fn verdict(answer: &Value) -> Judgement {
    let passed = answer.as_bool().or_else(|| answer.get("passed")?.as_bool());
    let evidence = answer.get("evidence").and_then(Value::as_str).unwrap_or("the judge gave no reason");
    Judgement { passed, evidence: evidence.to_owned() }
}

/// Output folder of a run or comparison.
pub(super) struct Results {
    /// Path of the folder.
    pub path: PathBuf,
}

impl Results {
    /// Creates the folder.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn make(path: PathBuf) -> Result<Self, CliError> {
        std::fs::create_dir_all(&path).map_err(io_at(&path))?;
        Ok(Self { path })
    }

    /// Writes the results of one run.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn keep(&self, case: &Case, side: &str, number: usize, ran: &CaseRun) -> Result<(), CliError> {
        let of_case = self.path.join(case.folder());
        let folder = of_case.join(side).join(format!("run-{number}"));
        std::fs::create_dir_all(&folder).map_err(io_at(&folder))?;
        let sentences: Vec<&str> = case.assertions.iter().map(|assertion| assertion.text.as_str()).collect();
        let about = json!({
            "eval_id": case.written_id, "eval_name": case.name, "prompt": case.prompt, "assertions": sentences,
        });
        write_json(&of_case.join("eval_metadata.json"), &about)?;
        write_json(&folder.join("grading.json"), &json!(ran.grading))?;
        write_json(&folder.join("timing.json"), &json!(ran.grading.timing))?;
        write(&folder.join("answer.txt"), ran.observed.stdout.as_bytes())?;
        write(&folder.join("errors.txt"), ran.observed.stderr.as_bytes())?;
        if let Some(left) = ran.left.as_ref().filter(|left| !left.is_empty()) {
            folder::write(&folder::open_at(&folder)?, "outputs", left)?;
        }
        Ok(())
    }
}

/// Writes a JSON document, indented and with a final newline.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write_json(path: &Path, document: &Value) -> Result<(), CliError> {
    let mut text = serde_json::to_vec_pretty(document).map_err(std::io::Error::from)?;
    text.push(b'\n');
    write(path, &text)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    std::fs::write(path, bytes).map_err(io_at(path))
}
