//! Stored results of evals, kept in the home, out of reach of skills and clones.

use std::path::PathBuf;

use evolve::compare::{Comparison, ComparisonResult};
use library::{Durability, ensure_dir, open_dir, read_bounded, write_atomically};
use serde::{Deserialize, Serialize};
use skill::Digest;

use crate::{
    context::Context,
    exit::{CliError, Exit},
};

/// Maximum size of one stored document, in bytes.
const BYTES: u64 = 8 << 20;

/// Maximum number of comparisons that are searched for a candidate.
const COMPARISONS: usize = 10_000;

/// Version of the stored documents.
const FORMAT: u32 = 1;

/// A stored comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// Version of this document.
    pub format: u32,
    /// Name of the skill.
    pub skill: String,
    /// Content digest of the base.
    pub base: String,
    /// Content digest of the candidate.
    pub candidate: String,
    /// Digest of the evals that graded, which are the base's.
    pub evals: String,
    /// Time of the comparison, in RFC 3339.
    pub time: String,
    /// Command line of the runner.
    pub runner: String,
    /// Folder with the results of all runs.
    pub results: PathBuf,
    /// Outcome of the comparison.
    pub comparison: Comparison,
}

/// Failed assertions of the last run of a skill.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LastRun {
    /// Version of this document.
    pub format: u32,
    /// Content digest of the skill that was run.
    pub digest: String,
    /// Time of the run, in RFC 3339.
    pub time: String,
    /// All failed assertions.
    pub failures: Vec<FailedAssertion>,
}

/// A failed assertion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailedAssertion {
    /// Id of the case.
    pub case: String,
    /// Text of the assertion.
    pub text: String,
    /// Evidence for the failure.
    pub evidence: String,
}

/// The folder `evals` in the home.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
}

impl Store {
    /// Opens the store of the home.
    pub fn of(context: &Context) -> Self {
        Self { path: context.home.path().join("evals") }
    }

    /// Returns the default results folder of a run that begins now.
    pub fn results(&self, context: &Context, skill: &str, kind: &str) -> PathBuf {
        let time = context.now.strftime("%Y%m%dT%H%M%S%.3f").to_string().replace('.', "-");
        self.path.join(skill).join(format!("{time}-{kind}"))
    }

    /// Stores a comparison. An earlier one of the same three digests is replaced.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, stored: &Stored) -> Result<(), CliError> {
        let dir = ensure_dir(&self.path.join("comparisons"))?;
        let bytes = serde_json::to_vec_pretty(stored).map_err(std::io::Error::from)?;
        let name = file_name(&stored.base, &stored.candidate, &stored.evals);
        Ok(write_atomically(&dir, &name, &bytes, Durability::Durable)?)
    }

    /// Finds the comparison of exactly these digests.
    ///
    /// # Errors
    /// The stored comparison is damaged or cannot be read.
    pub fn find(&self, base: &Digest, candidate: &Digest, evals: &Digest) -> Result<Option<Stored>, CliError> {
        let Some(dir) = open_dir(&self.path.join("comparisons"))? else { return Ok(None) };
        let (base, candidate, evals) = (base.to_string(), candidate.to_string(), evals.to_string());
        let name = file_name(&base, &candidate, &evals);
        let Some(bytes) = read_bounded(&dir, &name, BYTES)? else { return Ok(None) };
        let damaged = |why: String| {
            CliError::new("damaged_state", Exit::Integrity, format!("a stored comparison is damaged: {why}"))
                .hint("repeat the comparison with `eval compare`")
        };
        let stored: Stored = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        let fits = stored.format == FORMAT && (stored.base, stored.candidate, stored.evals) == (base, candidate, evals);
        match fits {
            true => Ok(serde_json::from_slice(&bytes).ok()),
            false => Err(damaged(format!("{name} has the wrong content"))),
        }
    }

    /// Finds the newest comparison of a candidate with a base, under any evals. Damaged files are skipped.
    ///
    /// # Errors
    /// The folder cannot be read.
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

    /// Stores the failures of a skill's last run.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep_last(&self, skill: &str, last: &LastRun) -> Result<(), CliError> {
        let dir = ensure_dir(&self.path.join(skill))?;
        let bytes =
            serde_json::to_vec_pretty(&LastRun { format: FORMAT, ..last.clone() }).map_err(std::io::Error::from)?;
        Ok(write_atomically(&dir, "last.json", &bytes, Durability::Unsynced)?)
    }

    /// Returns the failures of the last run if it was of exactly this content. A damaged file counts as absent.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn last(&self, skill: &str, digest: &Digest) -> Result<Option<LastRun>, CliError> {
        let Some(dir) = open_dir(&self.path.join(skill))? else { return Ok(None) };
        let bytes = read_bounded(&dir, "last.json", BYTES)?;
        let last = bytes.and_then(|bytes| serde_json::from_slice::<LastRun>(&bytes).ok());
        Ok(last.filter(|last| last.format == FORMAT && last.digest == digest.to_string()))
    }
}

impl Stored {
    /// Creates the stored form of a comparison. `digests` are those of base, candidate and evals.
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

    /// Returns whether the candidate did worse.
    pub fn is_worse(&self) -> bool {
        self.comparison.decision == ComparisonResult::Worse
    }
}

fn file_name(base: &str, candidate: &str, evals: &str) -> String {
    let sum = Digest::of_bytes(format!("{base}\0{candidate}\0{evals}").as_bytes()).hex();
    format!("{}.json", sum.get(..32).unwrap_or(&sum))
}
