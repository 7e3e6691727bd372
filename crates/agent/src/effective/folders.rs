//! [`Folders`]: a cache of the entries of agents' folders.

use std::{
    cell::{OnceCell, RefCell},
    collections::HashMap,
    path::{Component, Path, PathBuf},
    rc::Rc,
};

use cap_std::{ambient_authority, fs::Dir};

/// Cache of the entries of agents' folders. The first lookup reads a folder, and each link is read once. No file is
/// opened.
#[derive(Default)]
pub(super) struct Folders {
    listings: RefCell<HashMap<PathBuf, Option<Rc<Listing>>>>,
}

/// Entries of one folder.
struct Listing {
    dir: Dir,
    /// Path with links resolved.
    real: PathBuf,
    entries: HashMap<String, Entry>,
}

enum Entry {
    Folder,
    /// Link, with its target once it was followed. `None` if the target is not a folder.
    Link(OnceCell<Option<PathBuf>>),
}

impl Folders {
    /// Returns the resolved path of the folder that a host finds under a name. `expected` is the likely one. A broken
    /// link, or a link that the host does not follow, is not found.
    pub fn find(&self, folder: &Path, name: &str, expected: &Path, follows_links: bool) -> Option<PathBuf> {
        let listing = self.listing(folder)?;
        match listing.entries.get(name)? {
            Entry::Folder => Some(listing.real.join(name)),
            Entry::Link(_) if !follows_links => None,
            Entry::Link(target) => target.get_or_init(|| listing.follow(name, expected)).clone(),
        }
    }

    fn listing(&self, folder: &Path) -> Option<Rc<Listing>> {
        let mut listings = self.listings.borrow_mut();
        if let Some(known) = listings.get(folder) {
            return known.clone();
        }
        let listing = Listing::read(folder).map(Rc::new);
        listings.insert(folder.to_owned(), listing.clone());
        listing
    }
}

impl Listing {
    fn read(folder: &Path) -> Option<Self> {
        let dir = Dir::open_ambient_dir(folder, ambient_authority()).ok()?;
        let real = library::resolve(folder).ok()?;
        let mut entries = HashMap::new();
        for entry in dir.entries().ok()?.flatten() {
            let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else { continue };
            if kind.is_dir() {
                entries.insert(name, Entry::Folder);
            } else if kind.is_symlink() {
                entries.insert(name, Entry::Link(OnceCell::new()));
            }
        }
        Some(Self { dir, real, entries })
    }

    fn follow(&self, name: &str, expected: &Path) -> Option<PathBuf> {
        let target = self.dir.read_link_contents(name).ok()?;
        let path = self.real.join(&target);
        if without_dots(&path) == expected {
            return Some(expected.to_owned());
        }
        let real = library::resolve(&path).ok()?;
        Dir::open_ambient_dir(&real, ambient_authority()).ok().map(|_| real)
    }
}

/// Removes each `..` together with the name before it. The result is the resolved path if none of those names is a
/// link.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn links_are_followed_to_folders_only() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let (library, agent) = (root.join(".agents/skills"), root.join(".claude/skills"));
        fs::create_dir_all(library.join("pdf")).unwrap();
        fs::create_dir_all(agent.join("own")).unwrap();
        fs::write(root.join("file"), "x").unwrap();
        symlink("../../.agents/skills/pdf", agent.join("pdf")).unwrap();
        symlink(library.join("pdf"), agent.join("other-name")).unwrap();
        symlink("../../nothing", agent.join("gone")).unwrap();
        symlink("../../file", agent.join("file")).unwrap();
        let folders = Folders::default();
        let find = |name: &str, follows| folders.find(&agent, name, &library.join(name), follows);
        assert_eq!(find("pdf", true), Some(library.join("pdf")));
        assert_eq!(find("other-name", true), Some(library.join("pdf")));
        assert_eq!(find("own", true), Some(agent.join("own")));
        assert_eq!((find("gone", true), find("file", true), find("missing", true)), (None, None, None));
        assert_eq!((find("pdf", false), find("own", false)), (None, Some(agent.join("own"))));
        assert_eq!(folders.find(&root.join("nowhere"), "pdf", &library, true), None);
    }
}
