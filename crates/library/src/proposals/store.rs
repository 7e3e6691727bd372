//! Files of proposals, in the journal and in the home ([`ProposalFile`]).

use std::io;

use cap_std::fs::Dir;
use skill::Limits;

use super::{ProposalEntry, ProposalId, document};
use crate::{
    disk::{read_bounded, remove_if_present, sync_folder},
    lock::LockedDir,
};

const OPEN: &str = "proposals";
const DECIDED: &str = "proposals/decided";

/// A proposal's file after an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalFile {
    /// Id of the proposal.
    pub id: String,
    /// True if it still needs a decision. Determines the folder.
    pub is_open: bool,
    /// Complete content of the file.
    pub bytes: Vec<u8>,
}

/// Selects a folder of proposals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProposalFolder {
    Open,
    Decided,
}

impl ProposalFolder {
    fn folder(self) -> &'static str {
        match self {
            Self::Open => OPEN,
            Self::Decided => DECIDED,
        }
    }
}

/// Writes the files of operations, only the last one of each proposal. `durable` syncs them.
pub(crate) fn write(own: &LockedDir, files: &[ProposalFile], durable: bool) -> io::Result<()> {
    let last = |index: usize, file: &ProposalFile| !files.iter().skip(index + 1).any(|later| later.id == file.id);
    let files: Vec<_> = files.iter().enumerate().filter(|(index, file)| last(*index, file)).map(|(_, f)| f).collect();
    if files.is_empty() {
        return Ok(());
    }
    own.create_dir_all(DECIDED)?;
    files.into_iter().try_for_each(|file| write_one(own, file, durable))?;
    if durable {
        for folder in [DECIDED, OPEN] {
            sync_folder(&own.open_dir(folder)?)?;
        }
        sync_folder(own)?;
    }
    Ok(())
}

/// Writes one file atomically. When a proposal is decided, its open file is removed last, so that it is always in one
/// of the folders. An open state never replaces a decision. The journal may replay one if its later records were
/// lost.
fn write_one(own: &Dir, file: &ProposalFile, durable: bool) -> io::Result<()> {
    let which = if file.is_open { ProposalFolder::Open } else { ProposalFolder::Decided };
    let folder = own.open_dir(which.folder())?;
    let (name, temporary) = (format!("{}.json", file.id), format!(".{}.tmp", file.id));
    if file.is_open && is_decided(own, &file.id) {
        return remove_open(own, &name);
    }
    let mut beside = folder.create(&temporary)?;
    io::Write::write_all(&mut beside, &file.bytes)?;
    if durable {
        beside.sync_data()?;
    }
    folder.rename(&temporary, &folder, &name)?;
    match which {
        ProposalFolder::Open => Ok(()),
        ProposalFolder::Decided => remove_open(own, &name),
    }
}

fn remove_open(own: &Dir, name: &str) -> io::Result<()> {
    remove_if_present(&own.open_dir(OPEN)?, name)
}

/// Returns whether the folder of decided proposals has a file with a decision. Such a file takes precedence over an
/// open one. A damaged or unreadable file does not.
fn is_decided(own: &Dir, id: &str) -> bool {
    let Ok(id) = ProposalId::parse(id) else { return false };
    match read_one(own, &id, ProposalFolder::Decided) {
        Ok(Some(bytes)) => !document::parse(id, bytes).is_open(),
        _ => false,
    }
}

fn read_one(own: &Dir, id: &ProposalId, which: ProposalFolder) -> io::Result<Option<Vec<u8>>> {
    read_bounded(own, &format!("{}/{id}.json", which.folder()), Limits::default().open_proposals_bytes)
}

/// Opens the folder of open or decided proposals, creating it if missing.
pub(crate) fn folder(own: &Dir, which: ProposalFolder) -> io::Result<Dir> {
    own.create_dir_all(which.folder())?;
    own.open_dir(which.folder())
}

/// Reads a proposal's file, decided or open. If it is decided concurrently, it is found in its new folder.
pub(crate) fn bytes(own: &Dir, id: &ProposalId) -> io::Result<Option<Vec<u8>>> {
    if !is_decided(own, id.as_str())
        && let Some(open) = read_one(own, id, ProposalFolder::Open)?
    {
        return Ok(Some(open));
    }
    read_one(own, id, ProposalFolder::Decided)
}

/// Reads all proposals of a folder, sorted by id.
pub(crate) fn read(own: &Dir, which: ProposalFolder) -> io::Result<Vec<ProposalEntry>> {
    let mut entries = Vec::new();
    each(own, which, |entry| entries.push(entry))?;
    entries.sort_by(|a, b| a.id().cmp(b.id()));
    Ok(entries)
}

/// Calls `look` for the proposals of a folder one by one. A proposal that is decided concurrently is skipped, and one
/// that cannot be read counts as damaged.
pub(crate) fn each(own: &Dir, which: ProposalFolder, mut look: impl FnMut(ProposalEntry)) -> io::Result<()> {
    for id in ids(own, which)? {
        if which == ProposalFolder::Open && is_decided(own, id.as_str()) {
            continue;
        }
        match read_one(own, &id, which) {
            Ok(Some(bytes)) => look(document::parse(id, bytes)),
            Ok(None) => {}
            Err(error) => look(document::unreadable(id, &error)),
        }
    }
    Ok(())
}

/// Removes open files of proposals that are decided.
pub(crate) fn drop_doubles(own: &LockedDir) -> io::Result<()> {
    for id in ids(own, ProposalFolder::Open)? {
        if is_decided(own, id.as_str()) {
            remove_open(own, &format!("{id}.json"))?;
        }
    }
    Ok(())
}

/// Deletes decided proposals permanently.
pub(crate) fn remove_decided(own: &LockedDir, ids: &[ProposalId]) -> io::Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let folder = own.open_dir(DECIDED)?;
    ids.iter().try_for_each(|id| folder.remove_file(format!("{id}.json")))?;
    sync_folder(&folder)
}

/// Returns the ids of the files in a folder.
pub(crate) fn ids(own: &Dir, which: ProposalFolder) -> io::Result<Vec<ProposalId>> {
    let entries = match own.read_dir(which.folder()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut ids = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        ids.extend(name.to_str().and_then(|name| ProposalId::parse(name.strip_suffix(".json")?).ok()));
    }
    Ok(ids)
}
