//! [`Index::take_over`]: an index that has some files of one that is elsewhere, byte for byte.

use thiserror::Error;

use crate::{
    Index, OwnerFile, ReadError, Stamp, StoreError,
    index::parse_lines,
    shard,
    store::{Change, Step, TreeEdit},
};

/// Why files of an index elsewhere were not taken over.
#[derive(Debug, Error)]
pub enum MirrorError {
    /// A file lost something that was seen in it: the index elsewhere was written anew.
    #[error("{0} does not hold all that was seen in it before")]
    WentBack(String),
    /// A file cannot be read, or what is here of it.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// git failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<git2::Error> for MirrorError {
    fn from(error: git2::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Index {
    /// Puts files in the place of those that are here, `None` for one that is gone elsewhere. Files of skills and owners
    /// may only have grown, unless `accepts_rewrite`.
    ///
    /// # Errors
    /// [`MirrorError`]; nothing has changed then.
    pub fn take_over(
        &self,
        files: &[(String, Option<Vec<u8>>)],
        accepts_rewrite: bool,
        stamp: &Stamp,
    ) -> Result<(), MirrorError> {
        self.store.update(|base| {
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
                    Some(bytes) => TreeEdit::Put(path.clone(), self.store.write_blob(bytes)?),
                    None => TreeEdit::Remove(path.clone()),
                });
            }
            match edits.is_empty() {
                true => Ok(Step::Done(())),
                false => {
                    let message = format!("{} files of elsewhere\n", edits.len());
                    Ok(Step::Commit(Change { edits, message, stamp: stamp.clone() }, ()))
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
