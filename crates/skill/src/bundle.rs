//! [`Bundle`]: the files of one skill in memory.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::{
    Digest, Frontmatter, Limits, SkillPath,
    frontmatter::{self, FrontmatterError, Parsed, Reading},
    path::fold,
};

/// Content and executable bit of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Content as installed. Shared, so that cloning a bundle is cheap.
    pub bytes: Arc<[u8]>,
    /// Executable bit. No other part of the mode is kept.
    pub executable: bool,
}

impl File {
    /// Returns the content as text if it is UTF-8 without NUL.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok().filter(|_| memchr::memchr(0, &self.bytes).is_none())
    }

    /// Returns whether both files have the same mode and the same content, ignoring CRLF against LF in text.
    pub fn same_but_line_ends(&self, other: &Self) -> bool {
        self.executable == other.executable
            && (self.bytes == other.bytes
                || match (self.text(), other.text()) {
                    (Some(a), Some(b)) => lines_without_ends(a).eq(lines_without_ends(b)),
                    _ => false,
                })
    }
}

/// Yields each line with whether it is terminated. A `\r` without a following `\n` belongs to its line.
fn lines_without_ends(text: &str) -> impl Iterator<Item = (&str, bool)> {
    text.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
        Some(line) => (line.strip_suffix('\r').unwrap_or(line), true),
        None => (line, false),
    })
}

/// Files of a skill by path, within the limits on size and number. No two paths collide on a file system that folds
/// case or Unicode normal forms.
///
/// The `SKILL.md` may be missing or invalid: [`crate::validate()`] checks it.
#[derive(Clone, Default)]
pub struct Bundle {
    files: BTreeMap<SkillPath, File>,
    /// Computed on first use and shared with clones.
    digest: Arc<OnceLock<Digest>>,
    /// Parsed on first use and shared with clones, and with bundles derived from this one while the block is the same.
    front: Arc<Parsed>,
}

impl PartialEq for Bundle {
    fn eq(&self, other: &Self) -> bool {
        self.files == other.files
    }
}

impl Eq for Bundle {}

impl fmt::Debug for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bundle").field("files", &self.files).finish()
    }
}

/// Reason why files do not form a [`Bundle`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BundleError {
    /// The skill has too many files.
    #[error("the skill has {files} files, but the limit is {limit}")]
    TooManyFiles {
        /// Number of files found.
        files: usize,
        /// Number of files allowed.
        limit: usize,
    },
    /// The files are too large in total.
    #[error("the skill has at least {bytes} bytes, but the limit is {limit}")]
    TooManyBytes {
        /// Total size found so far, in bytes.
        bytes: u64,
        /// Total size allowed, in bytes.
        limit: u64,
    },
    /// A text file exceeds the limit for text.
    #[error("{path} has {bytes} bytes, but the limit for a text file is {limit}")]
    TextTooLarge {
        /// Path of the file in the skill.
        path: SkillPath,
        /// Size found, in bytes.
        bytes: u64,
        /// Size allowed, in bytes.
        limit: u64,
    },
    /// Two paths are equal after case folding or NFKC, or one path is a file and the folder of another.
    #[error("{first} and {second} would be the same file on some systems")]
    Collision {
        /// First path of the pair.
        first: SkillPath,
        /// Second path of the pair.
        second: SkillPath,
    },
}

impl Bundle {
    /// Collects files into a bundle.
    ///
    /// # Errors
    /// [`BundleError`] if a limit is exceeded or two paths collide.
    pub fn from_files(
        files: impl IntoIterator<Item = (SkillPath, File)>,
        limits: &Limits,
    ) -> Result<Self, BundleError> {
        let mut map = BTreeMap::new();
        for (path, file) in files {
            if map.contains_key(&path) {
                return Err(BundleError::Collision { first: path.clone(), second: path });
            }
            map.insert(path, file);
        }
        let bundle = Self { files: map, ..Self::default() };
        bundle.check(limits)?;
        Ok(bundle)
    }

    /// Returns this bundle with one file added or replaced.
    ///
    /// # Errors
    /// [`BundleError`] if the result exceeds a limit or two paths collide.
    pub fn with_file(mut self, path: SkillPath, file: File, limits: &Limits) -> Result<Self, BundleError> {
        let is_skill_md = path.is_skill_md();
        let old = self.files.insert(path, file);
        if is_skill_md && old.as_ref().and_then(block_of) != self.skill_md_file().and_then(block_of) {
            self.front = Arc::default();
        }
        self.digest = Arc::default();
        self.check(limits)?;
        Ok(self)
    }

    /// Returns this bundle without one file, or unchanged if the file does not exist.
    #[must_use]
    pub fn without_file(mut self, path: &SkillPath) -> Self {
        self.files.remove(path);
        self.digest = Arc::default();
        self
    }

    /// Returns this bundle with what was parsed of another one, if their frontmatters are the same text.
    #[must_use]
    pub fn with_frontmatter_of(mut self, other: &Self) -> Self {
        let own = self.skill_md_file().and_then(block_of);
        if own.is_some() && own == other.skill_md_file().and_then(block_of) {
            self.front = other.front.clone();
        }
        self
    }

    /// Returns the file at a path.
    pub fn get(&self, path: &SkillPath) -> Option<&File> {
        self.files.get(path)
    }

    /// Returns the text of `SKILL.md`, or `None` if the file is missing or not UTF-8.
    pub fn skill_md(&self) -> Option<&str> {
        self.skill_md_file().and_then(File::text)
    }

    fn skill_md_file(&self) -> Option<&File> {
        self.files.get(&SkillPath::skill_md())
    }

    /// Reads the frontmatter of `SKILL.md`, which is parsed once. A missing `SKILL.md` has none.
    ///
    /// # Errors
    /// [`FrontmatterError`], as for [`frontmatter::read`].
    pub fn reading(&self, limits: &Limits) -> Result<Reading<'_>, FrontmatterError> {
        frontmatter::read_once(self.skill_md().unwrap_or_default(), limits, &self.front)
    }

    /// Returns the frontmatter of `SKILL.md`, or `None` if it cannot be read within the default limits.
    pub fn frontmatter(&self) -> Option<Arc<Frontmatter>> {
        self.reading(&Limits::default()).ok().map(|reading| reading.frontmatter)
    }

    /// Yields all files, sorted by the bytes of their paths.
    pub fn files(&self) -> impl Iterator<Item = (&SkillPath, &File)> {
        self.files.iter()
    }

    /// Yields all paths, sorted by their bytes.
    pub fn paths(&self) -> impl Iterator<Item = &SkillPath> {
        self.files.keys()
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns whether the bundle has no files, as in the revision written by a deletion.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the total size of all files in bytes.
    pub fn total_bytes(&self) -> u64 {
        self.files.values().map(|file| file.bytes.len() as u64).sum()
    }

    /// Returns the digest that identifies the content.
    pub fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| Digest::of_bundle(self))
    }

    /// Returns whether both bundles hold the same files, ignoring CRLF against LF in text files.
    pub fn same_but_line_ends(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.files().zip(other.files()).all(|((p, a), (q, b))| p == q && a.same_but_line_ends(b))
    }

    /// Returns the same files, each with the executable bit of the file of that path in `other`, if there is one.
    #[must_use]
    pub fn with_modes_of(&self, other: &Self) -> Self {
        let with_mode = |(path, file): (&SkillPath, &File)| {
            let executable = other.get(path).map_or(file.executable, |recorded| recorded.executable);
            (path.clone(), File { bytes: file.bytes.clone(), executable })
        };
        Self { files: self.files().map(with_mode).collect(), ..Self::default() }
    }

    /// Returns the same files with CRLF replaced by LF in text files, as a checkout with Unix line endings has them.
    #[must_use]
    pub fn with_line_feeds(&self) -> Self {
        self.with_texts(|text| text.replace("\r\n", "\n"))
    }

    /// Returns the same files with CRLF at the end of every line of text files.
    #[must_use]
    pub fn with_carriage_returns(&self) -> Self {
        self.with_texts(|text| text.replace("\r\n", "\n").replace('\n', "\r\n"))
    }

    fn with_texts(&self, change: impl Fn(&str) -> String) -> Self {
        let changed = |file: &File| match file.text() {
            Some(text) => File { bytes: change(text).into_bytes().into(), executable: file.executable },
            None => file.clone(),
        };
        let files = self.files.iter().map(|(path, file)| (path.clone(), changed(file))).collect();
        Self { files, ..Self::default() }
    }

    fn check(&self, limits: &Limits) -> Result<(), BundleError> {
        if self.len() > limits.files_per_skill {
            return Err(BundleError::TooManyFiles { files: self.len(), limit: limits.files_per_skill });
        }
        let bytes = self.total_bytes();
        if bytes > limits.skill_bytes {
            return Err(BundleError::TooManyBytes { bytes, limit: limits.skill_bytes });
        }
        for (path, file) in &self.files {
            let bytes = file.bytes.len() as u64;
            if bytes > limits.text_file_bytes && file.text().is_some() {
                return Err(BundleError::TextTooLarge { path: path.clone(), bytes, limit: limits.text_file_bytes });
            }
        }
        check_collisions(self.paths())
    }
}

impl Digest {
    /// Computes the digest of a skill. The input is `skillhub-digest-v1\n`, then for each file, sorted by path: the
    /// length of the path (8 bytes, big endian), the path, one byte for the executable bit, and the SHA-256 of the
    /// content.
    pub fn of_bundle(bundle: &Bundle) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(b"skillhub-digest-v1\n");
        for (path, file) in bundle.files() {
            let path = path.as_str().as_bytes();
            hasher.update((path.len() as u64).to_be_bytes());
            hasher.update(path);
            hasher.update([u8::from(file.executable)]);
            hasher.update(Sha256::digest(&file.bytes));
        }
        Self::from_bytes(hasher.finalize().into())
    }
}

/// Returns the YAML block of a `SKILL.md`.
fn block_of(skill_md: &File) -> Option<&str> {
    frontmatter::split(skill_md.text()?).ok().map(|split| split.yaml)
}

/// Checks that no two paths denote the same file, or a file and a folder, on any system.
///
/// # Errors
/// [`BundleError::Collision`] with the first such pair.
pub fn check_collisions<'a>(paths: impl Iterator<Item = &'a SkillPath>) -> Result<(), BundleError> {
    let mut seen: BTreeMap<String, &SkillPath> = BTreeMap::new();
    for path in paths {
        if let Some(first) = seen.insert(path.folded(), path) {
            return Err(BundleError::Collision { first: first.clone(), second: path.clone() });
        }
    }
    for (folded, path) in &seen {
        let parents = folded.match_indices('/').map(|(at, _)| &folded[..at]);
        if let Some(first) = parents.filter_map(|parent| seen.get(parent)).next() {
            return Err(BundleError::Collision { first: (*first).clone(), second: (*path).clone() });
        }
    }
    check_folder_spellings(seen.values().copied())
}

/// Refuses two spellings of one folder (`Docs/a`, `docs/b`), which are one folder on some systems and two on others.
fn check_folder_spellings<'a>(paths: impl Iterator<Item = &'a SkillPath>) -> Result<(), BundleError> {
    let mut folders: BTreeMap<String, (&str, &SkillPath)> = BTreeMap::new();
    for path in paths {
        for (at, _) in path.as_str().match_indices('/') {
            let folder = &path.as_str()[..at];
            let folded = fold(folder);
            match folders.get(&folded) {
                Some((spelling, first)) if *spelling != folder => {
                    return Err(BundleError::Collision { first: (*first).clone(), second: path.clone() });
                }
                _ => drop(folders.insert(folded, (folder, path))),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(paths: &[&str]) -> Result<Bundle, BundleError> {
        let file = File { bytes: b"x".as_slice().into(), executable: false };
        let files = paths.iter().map(|p| (SkillPath::parse(p).unwrap(), file.clone()));
        Bundle::from_files(files, &Limits { files_per_skill: 3, ..Limits::default() })
    }

    #[test]
    fn colliding_paths_are_refused() {
        assert!(bundle(&["SKILL.md", "docs/a.md", "docs/b.md"]).is_ok());
        for bad in
            [["SKILL.md", "skill.md"], ["a", "a/b"], ["A", "a/b"], ["Docs/a", "docs/b"], ["ﬁle", "file"], ["a", "a"]]
        {
            assert!(matches!(bundle(&bad), Err(BundleError::Collision { .. })), "{bad:?}");
        }
    }

    #[test]
    fn frontmatter_follows_skill_md() {
        let limits = Limits::default();
        let file = |text: &str| File { bytes: text.as_bytes().into(), executable: false };
        let with = |bundle: Bundle, text| bundle.with_file(SkillPath::skill_md(), file(text), &limits).unwrap();
        let name = |bundle: &Bundle| bundle.frontmatter().and_then(|front| front.name.clone());
        let first = with(Bundle::default(), "---\nname: a\n---\n");
        assert_eq!(name(&first).as_deref(), Some("a"));
        let body = with(first.clone(), "---\nname: a\n---\nbody\n");
        assert_eq!(body.reading(&limits).unwrap().body, "body\n");
        assert!(Arc::ptr_eq(&body.frontmatter().unwrap(), &first.frontmatter().unwrap()));
        let again = with(Bundle::default(), "---\nname: a\n---\nother\n").with_frontmatter_of(&first);
        assert!(Arc::ptr_eq(&again.frontmatter().unwrap(), &first.frontmatter().unwrap()));
        let other = with(Bundle::default(), "---\nname: e\n---\n").with_frontmatter_of(&first);
        assert_eq!(name(&other).as_deref(), Some("e"));
        let renamed = with(first.clone(), "---\nname: b\n---\n");
        assert_eq!((name(&renamed).as_deref(), name(&first).as_deref()), (Some("b"), Some("a")));
        let gone = first.clone().without_file(&SkillPath::skill_md());
        assert_eq!(name(&gone), None);
        assert_eq!(name(&with(gone, "---\nname: c\n---\n")).as_deref(), Some("c"));
        assert_eq!(name(&with(with(first, "no block"), "---\nname: d\n---\n")).as_deref(), Some("d"));
        let small = Limits { frontmatter_bytes: 3, ..limits };
        assert!(matches!(body.reading(&small), Err(FrontmatterError::TooLarge { .. })), "it is known already");
    }

    #[test]
    fn number_and_size_are_bounded() {
        assert!(matches!(bundle(&["a", "b", "c", "d"]), Err(BundleError::TooManyFiles { files: 4, limit: 3 })));
        let big = |bytes: Vec<u8>| {
            let file = File { bytes: bytes.into(), executable: false };
            Bundle::from_files([(SkillPath::parse("a").unwrap(), file)], &Limits::default())
        };
        assert!(matches!(big(vec![b'a'; (1 << 20) + 1]), Err(BundleError::TextTooLarge { .. })));
        assert!(big(vec![0; (1 << 20) + 1]).is_ok(), "binary files only count towards the whole");
        assert!(matches!(big(vec![0; (16 << 20) + 1]), Err(BundleError::TooManyBytes { .. })));
    }

    #[test]
    fn line_end_changes_are_ignored() {
        let file = |text: &str| File { bytes: text.as_bytes().into(), executable: false };
        assert!(file("a\r\nb\r\n").same_but_line_ends(&file("a\nb\n")));
        for (one, other) in [("a", "a\r"), ("a", "a\n"), ("a\r", "a\r\n"), ("a\r\r\n", "a\n"), ("", "\n")] {
            assert!(!file(one).same_but_line_ends(&file(other)), "{one:?} {other:?}");
        }
        let bundle = |text: &str| {
            let files = [(SkillPath::skill_md(), file(text)), (SkillPath::parse("b").unwrap(), file("\0\r\n"))];
            Bundle::from_files(files, &Limits::default()).unwrap()
        };
        assert_eq!(bundle("a\r\nb\n").with_line_feeds(), bundle("a\nb\n"));
        assert_eq!(bundle("a\r\nb\n").with_carriage_returns(), bundle("a\r\nb\r\n"), "binary stays");
        assert!(!file("a\rb").same_but_line_ends(&file("a\nb")));
        assert!(!file("a\0\r\n").same_but_line_ends(&file("a\0\n")), "binary is compared as it is");
    }

    fn content(files: &[(&str, &str, bool)]) -> Bundle {
        let files = files.iter().map(|(path, text, executable)| {
            (SkillPath::parse(path).unwrap(), File { bytes: text.as_bytes().into(), executable: *executable })
        });
        Bundle::from_files(files, &Limits::default()).unwrap()
    }

    #[test]
    fn digest_covers_path_mode_and_content() {
        let base = Digest::of_bundle(&content(&[("SKILL.md", "x", false), ("a", "y", false)]));
        for other in [
            content(&[("SKILL.md", "x", false), ("a", "y", true)]),
            content(&[("SKILL.md", "x", false), ("b", "y", false)]),
            content(&[("SKILL.md", "xy", false), ("a", "", false)]),
        ] {
            assert_ne!(base, Digest::of_bundle(&other));
        }
    }

    #[test]
    fn framing_is_as_documented() {
        let mut framed = b"skillhub-digest-v1\n".to_vec();
        framed.extend(8u64.to_be_bytes());
        framed.extend(b"SKILL.md\x01");
        framed.extend(Sha256::digest(b"x"));
        assert_eq!(Digest::of_bundle(&content(&[("SKILL.md", "x", true)])), Digest::of_bytes(&framed));
    }
}
