//! [`ProposalFile`]: the files of proposals, as the journal holds them and as they stand in the home.

use std::io;

use cap_std::fs::Dir;
use skill::Limits;

use super::{ProposalEntry, ProposalId, document};
use crate::disk::{read_bounded, sync_folder};

const OPEN: &str = "proposals";
const DECIDED: &str = "proposals/decided";

/// A proposal's file as an operation leaves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalFile {
    /// The proposal.
    pub id: String,
    /// Whether it still waits for somebody, by which its folder is known.
    pub is_open: bool,
    /// The whole file.
    pub bytes: Vec<u8>,
}

/// Which proposals are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Open,
    Decided,
}

impl Which {
    fn folder(self) -> &'static str {
        match self {
            Self::Open => OPEN,
            Self::Decided => DECIDED,
        }
    }
}

/// Writes the files that operations left, the last of each proposal. `durable` syncs them.
pub(crate) fn write(own: &Dir, files: &[ProposalFile], durable: bool) -> io::Result<()> {
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

/// Beside and renamed over, so that a reader finds a whole one; one that was decided leaves its old
/// place last, so that it is never in none. A state in which it waited, as a journal gives back whose
/// later records were lost, takes no decision back.
fn write_one(own: &Dir, file: &ProposalFile, durable: bool) -> io::Result<()> {
    let which = if file.is_open { Which::Open } else { Which::Decided };
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
        Which::Open => Ok(()),
        Which::Decided => remove_open(own, &name),
    }
}

fn remove_open(own: &Dir, name: &str) -> io::Result<()> {
    match own.open_dir(OPEN)?.remove_file(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether a file with a decision stands in the folder of those that were decided. It counts, whatever
/// stands in the other one; one that is damaged or cannot be read takes the place of none that waits.
fn is_decided(own: &Dir, id: &str) -> bool {
    let Ok(id) = ProposalId::parse(id) else { return false };
    match read_one(own, &id, Which::Decided) {
        Ok(Some(bytes)) => !document::parse(id, bytes).is_open(),
        _ => false,
    }
}

fn read_one(own: &Dir, id: &ProposalId, which: Which) -> io::Result<Option<Vec<u8>>> {
    read_bounded(own, &format!("{}/{id}.json", which.folder()), Limits::default().open_proposals_bytes)
}

/// The folder of those that wait, or of those that were decided; made where there is none.
pub(super) fn folder(own: &Dir, which: Which) -> io::Result<Dir> {
    own.create_dir_all(which.folder())?;
    own.open_dir(which.folder())
}

/// The bytes of a proposal's file, decided or open. One that is decided while this looks is found in its
/// new place.
pub(crate) fn bytes(own: &Dir, id: &ProposalId) -> io::Result<Option<Vec<u8>>> {
    if !is_decided(own, id.as_str())
        && let Some(open) = read_one(own, id, Which::Open)?
    {
        return Ok(Some(open));
    }
    read_one(own, id, Which::Decided)
}

/// All proposals of a folder, sorted by id.
pub(crate) fn read(own: &Dir, which: Which) -> io::Result<Vec<ProposalEntry>> {
    let mut entries = Vec::new();
    each(own, which, |entry| entries.push(entry))?;
    entries.sort_by(|a, b| a.id().cmp(b.id()));
    Ok(entries)
}

/// Looks at the proposals of a folder one by one. One that another process decides meanwhile is left out,
/// one that cannot be read is damaged.
pub(crate) fn each(own: &Dir, which: Which, mut look: impl FnMut(ProposalEntry)) -> io::Result<()> {
    for id in ids(own, which)? {
        if which == Which::Open && is_decided(own, id.as_str()) {
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

/// Removes what stands in the place of those that wait beside its own decision.
pub(crate) fn drop_doubles(own: &Dir) -> io::Result<()> {
    for id in ids(own, Which::Open)? {
        if is_decided(own, id.as_str()) {
            remove_open(own, &format!("{id}.json"))?;
        }
    }
    Ok(())
}

/// Removes decided proposals for good.
pub(crate) fn remove_decided(own: &Dir, ids: &[ProposalId]) -> io::Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let folder = own.open_dir(DECIDED)?;
    ids.iter().try_for_each(|id| folder.remove_file(format!("{id}.json")))?;
    sync_folder(&folder)
}

/// The ids after which files of a folder are called.
pub(super) fn ids(own: &Dir, which: Which) -> io::Result<Vec<ProposalId>> {
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
