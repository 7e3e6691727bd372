//! Outcomes of skills in hosts' transcripts, for `record --import`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use evolve::{BYTES, Host, KnownRevisions, OutcomeRecord, ReadRevision, SkillUse, Transcripts};
use library::Library;
use skill::SkillName;

use super::read;
use crate::{
    context::Context,
    exit::{CliError, io_at},
};

/// Counts of an import: lines and skill uses in transcripts.
#[derive(Debug, Clone, Copy)]
pub struct ImportCounts {
    /// Lines that were parsed.
    pub read: usize,
    /// Lines that were skipped.
    pub skipped: usize,
    /// Uses of skills that are not in the libraries.
    pub elsewhere: usize,
    /// Outcomes of texts that belong to no revision.
    pub unrecorded: usize,
}

/// Extracts the outcomes of installed skills from a host's transcripts, each for the revision that was read.
///
/// # Errors
/// The host is unknown, or a transcript or a history cannot be read.
pub fn import(
    context: &Context,
    words: &[String],
    counts: &mut Option<ImportCounts>,
) -> Result<Vec<OutcomeRecord>, CliError> {
    let [host, paths @ ..] = words else { return Err(CliError::usage("name a host and its transcripts")) };
    let host = Host::from_word(host).ok_or_else(|| {
        let hosts = Host::ALL.map(Host::as_str).join(", ");
        CliError::usage(format!("cannot read transcripts of {host:?}; name one of {hosts}"))
    })?;
    let mut found = Transcripts::default();
    for path in paths {
        match path.as_str() {
            "-" => found.add(host, &read(context, Path::new(path))?),
            path => add(&context.absolute(path.as_ref()), host, &mut found)?,
        }
    }
    let mut totals = ImportCounts { read: found.read, skipped: found.skipped, elsewhere: 0, unrecorded: 0 };
    let records = records(context, &found.uses, &mut totals)?;
    *counts = Some(totals);
    Ok(records)
}

fn records(context: &Context, uses: &[SkillUse], totals: &mut ImportCounts) -> Result<Vec<OutcomeRecord>, CliError> {
    let libraries = context.visible_libraries()?;
    let mut histories = BTreeMap::new();
    let mut records = Vec::new();
    for used in uses {
        let name = SkillName::parse(&used.skill).ok();
        let read = match name {
            Some(name) => {
                if !histories.contains_key(&name) {
                    histories.insert(name.clone(), history(&libraries, &name)?);
                }
                histories.get(&name).map_or(ReadRevision::NoHistory, |history| history.read_by(used))
            }
            None => ReadRevision::NoHistory,
        };
        match read {
            ReadRevision::Known(revision) => records.extend(used.records(&revision)),
            ReadRevision::Unrecorded => totals.unrecorded += 1,
            ReadRevision::NoHistory => totals.elsewhere += 1,
        }
    }
    for (index, record) in records.iter_mut().enumerate() {
        record.place = index + 1;
    }
    Ok(records)
}

/// Reads the history in the first library that has the skill, which is the one that records its outcomes.
fn history(libraries: &[Library], name: &SkillName) -> Result<KnownRevisions, CliError> {
    for library in libraries {
        if library.head(name)?.is_some() {
            return Ok(KnownRevisions::of(library, name)?);
        }
    }
    Ok(KnownRevisions::default())
}

/// Adds a file, or all possible transcripts of a folder. Links are skipped.
fn add(path: &Path, host: Host, found: &mut Transcripts) -> Result<(), CliError> {
    let kind = fs::symlink_metadata(path).map_err(io_at(path))?;
    if kind.is_dir() {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path).map_err(io_at(path))? {
            entries.push(entry.map_err(io_at(path))?.path());
        }
        entries.sort();
        let may_be =
            |entry: &PathBuf| entry.is_dir() || entry.extension().is_some_and(|end| end == "jsonl" || end == "json");
        return entries.iter().filter(|entry| may_be(entry)).try_for_each(|entry| add(entry, host, found));
    }
    if kind.is_file() && kind.len() <= BYTES {
        found.add(host, &fs::read(path).map_err(io_at(path))?);
    } else {
        found.skipped += 1;
    }
    Ok(())
}
