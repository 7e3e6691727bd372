//! The command of `[scan.judge]` as part of a scanner ([`judged`]). Its answers are cached in the home.
//!
//! The command gets the skill as one JSON document on standard input. Its time and the size of its output are
//! limited, and its output must be a single document. A failure counts as no answer and is not cached.

use std::{path::Path, time::Duration};

use process::{BoundedCommand, ExitReason, child};
use scan::{Answer, JudgeSettings, Question, Scanner};
use serde::{Deserialize, Serialize};
use skill::Digest;

use crate::{
    home::Home,
    interrupt,
    projection::Projection,
    verdicts::{read_private, write_private},
};

const FILE: &str = "judge";
const KIND: Projection = Projection { kind: "answers of a judge", format: 1 };

/// Number of cached answers. The oldest are dropped.
const ANSWERS: usize = 1000;

/// Output limit of the command, in bytes.
const ANSWER_BYTES: usize = 64 << 10;

/// Answers by the digest of the command and its question.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Answers(Vec<(String, Answer)>);

/// Adds the judge of these settings to a scanner. `note` receives the reason when it gave no answer.
pub fn judged(
    scanner: Scanner,
    settings: &JudgeSettings,
    home: &Home,
    note: impl Fn(&str) + Send + Sync + 'static,
) -> Scanner {
    let (of_command, home) = (settings.clone(), home.clone());
    scanner.judged_by(settings.clone(), move |question| {
        ask(&of_command, &home, question).inspect_err(|why| note(&format!("the judge did not answer: {why}")))
    })
}

fn ask(settings: &JudgeSettings, home: &Home, question: &Question<'_>) -> Result<Answer, String> {
    let mut document = serde_json::to_vec(question).map_err(|error| error.to_string())?;
    document.push(b'\n');
    let key = key(settings, &document)?;
    let known = read_private::<Answers>(home, KIND, FILE).unwrap_or_default();
    if let Some((_, answer)) = known.0.iter().find(|(known, _)| *known == key) {
        return Ok(answer.clone());
    }
    let answer = run(settings, document)?;
    // Read again, since another process may have added answers.
    let Answers(mut all) = read_private(home, KIND, FILE).unwrap_or_default();
    all.push((key, answer.clone()));
    all.drain(..all.len().saturating_sub(ANSWERS));
    write_private(home, KIND, FILE, &Answers(all));
    Ok(answer)
}

fn key(settings: &JudgeSettings, document: &[u8]) -> Result<String, String> {
    let of_command = serde_json::to_vec(&(&settings.command, &settings.folder)).map_err(|error| error.to_string())?;
    Ok(Digest::of_bytes(&[&of_command, document].concat()).hex())
}

fn run(settings: &JudgeSettings, document: Vec<u8>) -> Result<Answer, String> {
    let (program, arguments) = settings.command.split_first().ok_or("its command is empty")?;
    let mut command = child::command(program);
    command.args(arguments);
    if !settings.folder.is_empty() {
        command.current_dir(Path::new(&settings.folder));
    }
    let time = Duration::from_secs(settings.timeout_seconds);
    let order =
        BoundedCommand { input: document, output_bytes: Some(ANSWER_BYTES), ..BoundedCommand::new(command, time) };
    let done = process::run(order, interrupt::is_raised).map_err(|error| format!("cannot run {program:?}: {error}"))?;
    match (done.ended, done.exit) {
        (ExitReason::Exited, Some(0)) => Answer::parse(&done.stdout),
        (ExitReason::Exited, Some(code)) => Err(format!("it failed with exit code {code}")),
        (ExitReason::Exited, None) => Err("it was killed by a signal".to_owned()),
        (ExitReason::TimedOut, _) => Err(format!("it did not finish within {} s", settings.timeout_seconds)),
        (ExitReason::TooMuchOutput, _) => Err(format!("it printed more than {ANSWER_BYTES} bytes")),
        (ExitReason::Stopped, _) => Err("interrupted".to_owned()),
    }
}
