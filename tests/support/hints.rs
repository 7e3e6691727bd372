//! [`check`]: runs the commands that an answer offers, as printed, in the state that the answer left.
//!
//! Each command in a hint, a warning or a next step is run by a shell in a copy of the sandbox. The copy has the
//! sandbox's own path, so that absolute paths lead into it. The test then continues with the original sandbox.

mod expected;
mod found;
mod pasted;

use std::{
    collections::HashSet,
    fs::OpenOptions,
    io::Write,
    process::Command,
    sync::{LazyLock, Mutex},
    time::{Duration, Instant},
};

use self::{expected::Expected, found::Offer, pasted::Outcome};
use super::{Answer, Sandbox};

/// File that collects every offer with its result, instead of failing the test.
const LOG: &str = "SKILLHUB_TEST_HINTS_LOG";

/// Tests in which another process changes the sandbox concurrently.
const RACING: [&str; 1] = ["cli::containment::races::"];

/// Commands that were run already, normalised: each is run once.
static DONE: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

/// Context in which a command produced its answer.
pub struct Asked<'a> {
    /// The program with its environment and working folder.
    pub command: &'a Command,
    /// True if a person ran it at a terminal.
    pub at_terminal: bool,
}

/// Runs every command that an answer offers and checks its exit code.
///
/// Only tests of the command line are checked, in their own thread: elsewhere other commands may work in the sandbox
/// concurrently.
#[track_caller]
pub fn check(sandbox: &Sandbox, asked: &Asked<'_>, answer: &Answer) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    let is_alone = test.starts_with("cli::") && !RACING.iter().any(|module| test.starts_with(module));
    if !is_alone || asked.command.get_program() != env!("CARGO_BIN_EXE_skillhub") {
        return;
    }
    for offer in found::offers(answer, asked.command) {
        let is_new = DONE.lock().unwrap().insert(plain(sandbox, &offer));
        if !is_new {
            continue;
        }
        let began = Instant::now();
        let fault = fault(sandbox, asked, &offer, test);
        log((test, answer, &offer), fault.as_deref(), began.elapsed());
        if let Some(fault) = fault.filter(|_| std::env::var_os(LOG).is_none()) {
            panic!(
                "`skillhub {}` ended with {} and printed\n  {}\nof which the command\n  {}\n{fault}",
                answer.command, answer.exit, offer.text, offer.command
            );
        }
    }
}

/// Returns the fault of an offer, or `None` if its command behaves as expected.
fn fault(sandbox: &Sandbox, asked: &Asked<'_>, offer: &Offer, test: &str) -> Option<String> {
    if offer.is_loose {
        return Some("stands in a sentence without backticks".to_owned());
    }
    let (command, expected) = match expected::of(offer, test) {
        Ok(Expected::Unrun) => return None,
        Ok(Expected::Run { command, exits }) => (command, exits),
        Err(fault) => return Some(fault),
    };
    let at_terminal = asked.at_terminal || expected::is_for_people(&offer.text);
    match pasted::run(sandbox, asked.command, &command, at_terminal) {
        Outcome::Ended { exit, .. } if expected.contains(&exit) => None,
        Outcome::Ended { exit, output } => Some(format!("ended with {exit}, not with one of {expected:?}:\n{output}")),
        Outcome::Endless { .. } if expected::is_server(&command) => None,
        Outcome::Endless { output } => Some(format!("did not end:\n{output}")),
    }
}

/// Normalises an offer: without the sandbox's path, numbers and ids.
fn plain(sandbox: &Sandbox, offer: &Offer) -> String {
    /// Words that precede a proposal's id, which may be without a digit.
    const BEFORE_IDS: [&str; 6] = ["proposal", "accept", "diff", "edit", "reject", "show"];
    let text = format!("{} {}", offer.text, offer.command).replace(&sandbox.path("").display().to_string(), "/");
    let mut before = "";
    let mut plain = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_id = bare.len() == 6 && BEFORE_IDS.contains(&before);
        plain.push_str(if is_id || bare.contains(|c: char| c.is_ascii_digit()) { "0" } else { word });
        before = bare;
    }
    plain
}

fn log((test, answer, offer): (&str, &Answer, &Offer), fault: Option<&str>, took: Duration) {
    let Some(path) = std::env::var_os(LOG) else { return };
    let line = serde_json::json!({
        "test": test, "asked": answer.command, "exit": answer.exit, "text": offer.text, "command": offer.command,
        "fault": fault, "milliseconds": took.as_millis() as u64,
    });
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}
