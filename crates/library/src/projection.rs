//! Cache files that can be rebuilt from the history ([`Projection`]).
//!
//! It consists of a first line with the kind of content and the format, the content, and a checksum of both. The
//! checksum detects damage, not forgery: an attacker who can write the file can also change the history beside it. A
//! file that is missing, damaged, truncated or of another format reads as absent, and the caller works without it. It
//! is replaced atomically and never synced, so a power loss may remove it.

use std::{
    hash::{DefaultHasher, Hasher},
    io,
};

use cap_std::fs::Dir;

use crate::disk::{Durability, read_optional, write_atomically};

const SUM_BYTES: usize = 8;

/// Kind and format of a projection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Projection {
    /// Word for the kind of content.
    pub kind: &'static str,
    /// Version of the format.
    pub format: u32,
}

/// Content of a projection that was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    bytes: Vec<u8>,
    from: usize,
}

impl Content {
    /// Returns the bytes, without the first line and the checksum.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(self.from..).unwrap_or_default()
    }
}

/// Computes a checksum, which is only stable within one version of the program.
fn sum_of(bytes: &[u8]) -> [u8; SUM_BYTES] {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish().to_be_bytes()
}

impl Projection {
    fn first_line(self) -> String {
        format!("skillhub {} {}\n", self.kind, self.format)
    }

    /// Reads the content of the file, if it is intact and of this format.
    pub fn read(self, dir: &Dir, name: &str) -> Option<Content> {
        let mut bytes = read_optional(dir, name).ok()??;
        let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(SUM_BYTES)?)?;
        let first_line = self.first_line();
        let is_whole = content.starts_with(first_line.as_bytes()) && sum_of(content) == sum;
        is_whole.then(|| {
            bytes.truncate(bytes.len() - SUM_BYTES);
            Content { bytes, from: first_line.len() }
        })
    }

    /// Replaces the file atomically, without syncing it.
    ///
    /// # Errors
    /// Returns the I/O error; the old file is then unchanged.
    pub fn write(self, dir: &Dir, name: &str, content: &[u8]) -> io::Result<()> {
        let first_line = self.first_line();
        let mut bytes = [first_line.as_bytes(), content].concat();
        bytes.extend(sum_of(&bytes));
        write_atomically(dir, name, &bytes, Durability::Unsynced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_projection_reads_as_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
        let ours = Projection { kind: "test", format: 1 };
        assert_eq!(ours.read(&dir, "file"), None);
        ours.write(&dir, "file", b"old").unwrap();
        ours.write(&dir, "file", b"content").unwrap();
        assert_eq!(ours.read(&dir, "file").unwrap().bytes(), b"content");
        for other in [Projection { kind: "test", format: 2 }, Projection { kind: "other", format: 1 }] {
            assert_eq!(other.read(&dir, "file"), None);
        }
        let whole = dir.read("file").unwrap();
        for at in 0..whole.len() {
            dir.write("file", &whole[..at]).unwrap();
            assert_eq!(ours.read(&dir, "file"), None, "cut at {at}");
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            dir.write("file", &damaged).unwrap();
            assert_eq!(ours.read(&dir, "file"), None, "damaged at {at}");
        }
        assert_eq!(dir.entries().unwrap().count(), 1, "nothing unfinished stays");
    }
}
