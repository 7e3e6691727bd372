//! [`Store`]: what is kept of runs and comparisons, in the home, where no skill and no clone reaches.

use std::path::PathBuf;

use evolve::compare::{Comparison, Decision};
use library::{Durability, ensure_dir, open_dir, read_bounded, write_atomically};
use serde::{Deserialize, Serialize};
use skill::Digest;

use crate::{
    context::Context,
    exit::{CliError, Exit},
};

/// Bytes that one kept document may have.
const BYTES: u64 = 8 << 20;

/// Comparisons that are looked through for one of a candidate.
const COMPARISONS: usize = 10_000;

/// The version of what is kept.
const FORMAT: u32 = 1;

/// A comparison that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// The version of this document.
    pub format: u32,
    /// The skill.
    pub skill: String,
    /// The digest of the base.
    pub base: String,
    /// The digest of the candidate.
    pub candidate: String,
    /// The digest of the evals that judged, which are the base's.
    pub evals: String,
    /// When.
    pub time: String,
    /// By which command.
    pub runner: String,
    /// Where its runs are.
    pub results: PathBuf,
    /// What it said.
    pub comparison: Comparison,
}

/// Assertions that did not hold when a skill was run last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LastRun {
    /// The version of this document.
    pub format: u32,
    /// The digest of what was run.
    pub digest: String,
    /// When.
    pub time: String,
    /// What failed.
    pub failures: Vec<FailedAssertion>,
}

/// One assertion that did not hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailedAssertion {
    /// The case.
    pub case: String,
    /// The assertion.
    pub text: String,
    /// By what that is seen.
    pub evidence: String,
}

/// The folder `evals` in the home.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
}

impl Store {
    /// That of the home.
    pub fn of(context: &Context) -> Self {
        Self { path: context.home.path().join("evals") }
    }

    /// Where the results of a run that begins now go, unless the flags say so.
    pub fn results(&self, context: &Context, skill: &str, kind: &str) -> PathBuf {
        let time = context.now.strftime("%Y%m%dT%H%M%S%.3f").to_string().replace('.', "-");
        self.path.join(skill).join(format!("{time}-{kind}"))
    }

    /// Keeps a comparison, in place of an earlier one of the same three digests.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn keep(&self, stored: &Stored) -> Result<(), CliError> {
        let dir = ensure_dir(&self.path.join("comparisons"))?;
        let bytes = serde_json::to_vec_pretty(stored).map_err(std::io::Error::from)?;
        let name = file_name(&stored.base, &stored.candidate, &stored.evals);
        Ok(write_atomically(&dir, &name, &bytes, Durability::Durable)?)
    }

    /// The comparison of exactly these.
    ///
    /// # Errors
    /// It is damaged, or cannot be read.
    pub fn find(&self, base: &Digest, candidate: &Digest, evals: &Digest) -> Result<Option<Stored>, CliError> {
        let Some(dir) = open_dir(&self.path.join("comparisons"))? else { return Ok(None) };
        let (base, candidate, evals) = (base.to_string(), candidate.to_string(), evals.to_string());
        let name = file_name(&base, &candidate, &evals);
        let Some(bytes) = read_bounded(&dir, &name, BYTES)? else { return Ok(None) };
        let damaged = |why: String| {
            CliError::new("damaged_state", Exit::Integrity, format!("a stored comparison is damaged: {why}"))
                .hint("make it again: skillhub eval compare")
        };
        let stored: Stored = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        let fits = stored.format == FORMAT && (stored.base, stored.candidate, stored.evals) == (base, candidate, evals);
        match fits {
            true => Ok(serde_json::from_slice(&bytes).ok()),
            false => Err(damaged(format!("{name} says that it is of something else"))),
        }
    }

    /// The newest comparison of a candidate with a base, by whichever evals.
    ///
    /// # Errors
    /// The folder cannot be read; a damaged comparison is passed over.
    pub fn newest(&self, base: &str, candidate: &str) -> Result<Option<Stored>, CliError> {
        let Some(dir) = open_dir(&self.path.join("comparisons"))? else { return Ok(None) };
        let mut newest: Option<Stored> = None;
        for entry in dir.entries()?.take(COMPARISONS) {
            let Some(name) = entry?.file_name().to_str().map(str::to_owned) else { continue };
            let stored =
                read_bounded(&dir, &name, BYTES)?.and_then(|bytes| serde_json::from_slice::<Stored>(&bytes).ok());
            let fits =
                |stored: &Stored| stored.format == FORMAT && stored.base == base && stored.candidate == candidate;
            let Some(stored) = stored.filter(fits) else { continue };
            if newest.as_ref().is_none_or(|newest| newest.time < stored.time) {
                newest = Some(stored);
            }
        }
        Ok(newest)
    }

    /// Keeps what failed in the run of a skill.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn keep_last(&self, skill: &str, last: &LastRun) -> Result<(), CliError> {
        let dir = ensure_dir(&self.path.join(skill))?;
        let bytes =
            serde_json::to_vec_pretty(&LastRun { format: FORMAT, ..last.clone() }).map_err(std::io::Error::from)?;
        Ok(write_atomically(&dir, "last.json", &bytes, Durability::Unsynced)?)
    }

    /// What failed when exactly this was run last.
    ///
    /// # Errors
    /// It cannot be read; a damaged one counts as none.
    pub fn last(&self, skill: &str, digest: &Digest) -> Result<Option<LastRun>, CliError> {
        let Some(dir) = open_dir(&self.path.join(skill))? else { return Ok(None) };
        let bytes = read_bounded(&dir, "last.json", BYTES)?;
        let last = bytes.and_then(|bytes| serde_json::from_slice::<LastRun>(&bytes).ok());
        Ok(last.filter(|last| last.format == FORMAT && last.digest == digest.to_string()))
    }
}

impl Stored {
    /// What a comparison said.
    pub fn new(
        skill: &str,
        digests: [String; 3],
        time: String,
        runner: &str,
        results: PathBuf,
        comparison: Comparison,
    ) -> Self {
        let [base, candidate, evals] = digests;
        let (skill, runner) = (skill.to_owned(), runner.to_owned());
        Self { format: FORMAT, skill, base, candidate, evals, time, runner, results, comparison }
    }

    /// Whether it says that the candidate does worse.
    pub fn is_worse(&self) -> bool {
        self.comparison.decision == Decision::Worse
    }
}

fn file_name(base: &str, candidate: &str, evals: &str) -> String {
    let sum = Digest::of_bytes(format!("{base}\0{candidate}\0{evals}").as_bytes()).hex();
    format!("{}.json", sum.get(..32).unwrap_or(&sum))
}
