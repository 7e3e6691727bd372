//! [`Projection`]: a file of ours that can be made again from the history, and is only there for speed.
//!
//! It is a first line that names what it holds and in which format, the content, and a sum of both
//! that tells damage, not malice: who could forge it could forge the history beside it. What is missing, damaged, cut or of another format reads as nothing, and whoever asked does
//! without it. It is replaced in one step and never synced: after a power loss it may be gone.

use std::{
    hash::{DefaultHasher, Hasher},
    io,
};

use cap_std::fs::Dir;

use crate::disk::{Durability, read_optional, write_atomically};

const SUM_BYTES: usize = 8;

/// What a projection holds, and in which format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Projection {
    /// A word for the content.
    pub kind: &'static str,
    /// Its format's version.
    pub format: u32,
}

/// The content of a file that was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    bytes: Vec<u8>,
    from: usize,
}

impl Content {
    /// The bytes, without the first line and the sum.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(self.from..).unwrap_or_default()
    }
}

/// The same for the same bytes, by one version of the program.
fn sum_of(bytes: &[u8]) -> [u8; SUM_BYTES] {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish().to_be_bytes()
}

impl Projection {
    fn first_line(self) -> String {
        format!("skillhub {} {}\n", self.kind, self.format)
    }

    /// The content of the file, if it is whole and of this format.
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

    /// Replaces the file.
    ///
    /// # Errors
    /// What the system said; the old file is then as it was.
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
    fn what_is_cut_damaged_or_of_another_format_reads_as_nothing() {
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
