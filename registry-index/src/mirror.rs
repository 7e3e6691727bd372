//! [`Index::take_over`]: stores some files of a remote index locally, byte for byte.

use thiserror::Error;

use crate::{
    Index, OwnerFile, ReadError, Stamp, StoreError,
    index::parse_lines,
    shard,
    store::{Change, PlanOutcome, TreeEdit},
};

/// Reasons why files of a remote index were not stored.
#[derive(Debug, Error)]
pub enum MirrorError {
    /// A file lost content that was seen before: the remote index was rewritten.
    #[error("{0} no longer has everything that it had before")]
    WentBack(String),
    /// The new or the stored version of a file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A git operation failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<git2::Error> for MirrorError {
    fn from(error: git2::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Index {
    /// Replaces local files with those of the remote index; `None` for a file that was removed. Unless
    /// `accepts_rewrite` is set, files of skills and owners must extend their earlier versions.
    ///
    /// # Errors
    /// [`MirrorError`]; nothing has changed then.
    pub fn take_over(
        &self,
        files: &[(String, Option<Vec<u8>>)],
        accepts_rewrite: bool,
        stamp: &Stamp,
    ) -> Result<(), MirrorError> {
        self.update(|base| {
            let mut edits = Vec::new();
            for (path, bytes) in files {
                let old = base.read(path)?;
                if old == *bytes {
                    continue;
                }
                if !accepts_rewrite && !has_grown(path, old.as_deref(), bytes.as_deref())? {
                    return Err(MirrorError::WentBack(path.clone()));
                }
                edits.push(match bytes {
                    Some(bytes) => TreeEdit::Put(path.clone(), bytes.clone()),
                    None => TreeEdit::Remove(path.clone()),
                });
            }
            match edits.is_empty() {
                true => Ok(PlanOutcome::Done(())),
                false => {
                    let message = format!("{} files of elsewhere\n", edits.len());
                    Ok(PlanOutcome::Commit(Change { edits, message, stamp: stamp.clone() }, ()))
                }
            }
        })
    }
}

fn has_grown(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Result<bool, MirrorError> {
    let Some(old) = old else { return Ok(true) };
    let is_owner = path.starts_with(shard::OWNERS);
    if !is_owner && shard::skill_at(path).is_none() {
        return Ok(true);
    }
    let Some(new) = new else { return Ok(false) };
    if !is_owner {
        return Ok(parse_lines(path, new)?.only_grew_from(&parse_lines(path, old)?));
    }
    Ok(match (OwnerFile::parse(old), OwnerFile::parse(new)) {
        (Ok(old), Ok(new)) => new.only_grew_from(&old),
        (Err(_), _) => true,
        (Ok(_), Err(_)) => false,
    })
}
