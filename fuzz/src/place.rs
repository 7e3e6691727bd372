//! [`Place`]: a library in a temporary folder, beside files that it has no business with.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
    path::{Path, PathBuf},
};

use arbitrary::Unstructured;
use jiff::Timestamp;
use library::{Actor, ActorKind, Home, Library, LibraryError, Scope};
use skill::Bundle;
use skill_manage::{Context, Preset};

use super::plans::{is_real, planned_text};

/// What the files outside hold, and nothing of ours may ever say.
pub(super) const SECRET: &[u8] = b"OUTSIDE-AND-SECRET";

/// Where somebody may change a skill's folder.
const SPOTS: [&str; 9] = [
    "", "SKILL.md", "scripts", "scripts/run.sh", "references", "references/notes.md", "references/deep", ".git",
    "extra.md",
];
/// Where a link that somebody swaps in leads, seen from the temporary folder or as it is.
const TARGETS: [&str; 9] = [
    "{}/outside", "{}/outside/skill", "{}/outside/secret.txt", "{}/outside/skill/SKILL.md", "../../outside/secret.txt",
    "../outside/skill", "nowhere", ".", "{}/home",
];

/// What stands at a path: its mode, and its bytes or where it leads.
type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// A temporary folder with `library`, `home` and `outside`.
pub(super) struct Place {
    temp: tempfile::TempDir,
    outside: Tree,
}

impl Place {
    /// Makes one, in memory where the system has a place for that.
    pub(super) fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let mut builder = tempfile::Builder::new();
        builder.prefix("skillhub-fuzz-");
        let temp =
            if memory.is_dir() { builder.tempdir_in(memory) } else { builder.tempdir() }.expect("a temporary folder");
        let outside = temp.path().join("outside");
        let secret = String::from_utf8_lossy(SECRET);
        let text = format!("---\nname: a\ndescription: Tells {secret}. Use never.\n---\n{secret}\n");
        for (path, text) in [("secret.txt", &*secret), ("skill/SKILL.md", &text), ("skill/scripts/run.sh", &secret)] {
            fs::create_dir_all(outside.join(path).parent().expect("a folder")).expect("a folder is made");
            fs::write(outside.join(path), text).expect("a file is written");
        }
        fs::write(outside.join("shared.txt"), "a file with two names\n").expect("a file is written");
        fs::create_dir(temp.path().join("library")).expect("a folder is made");
        let outside = tree(&outside);
        Self { temp, outside }
    }

    pub(super) fn library(&self) -> PathBuf {
        self.temp.path().join("library")
    }

    pub(super) fn open(&self) -> Library {
        self.reopen().expect("the library opens")
    }

    /// Opens the library whatever its home holds by now.
    pub(super) fn reopen(&self) -> Result<Library, LibraryError> {
        let home = Home::at(self.temp.path().join("home")).expect("our own home");
        Library::open(&self.library(), Scope::User, &home, "git")
    }

    pub(super) fn context(preset: Preset) -> Context<'static> {
        let time = Timestamp::from_second(1_767_225_600).expect("a time");
        Context { actor: Actor::new(ActorKind::Agent, "fuzz"), time, policy: preset.into(), surroundings: &Vec::new }
    }

    /// Writes a file of a skill as an editor would, never through a link.
    pub(super) fn write_by_hand(&self, skill: &str, plan: &mut Unstructured<'_>) -> arbitrary::Result<()> {
        let path = self.spot(skill, plan)?;
        let text = planned_text(plan)?;
        let text = match path.ends_with("SKILL.md") && plan.ratio(3, 4)? {
            true => format!("---\nname: {skill}\ndescription: Edited by hand. Use when it was.\n---\n{text}"),
            false => text,
        };
        let mode = *plan.choose(&[0o644, 0o755, 0o600, 0o4755, 0o2755, 0o1644, 0o777])?;
        self.make_parents(&path);
        if is_real(&self.library(), &path) && !fs::symlink_metadata(&path).is_ok_and(|there| !is_single_file(&there)) {
            let _refused =
                fs::write(&path, text).and_then(|()| fs::set_permissions(&path, PermissionsExt::from_mode(mode)));
        }
        Ok(())
    }

    pub(super) fn remove_by_hand(&self, skill: &str, plan: &mut Unstructured<'_>) -> arbitrary::Result<()> {
        let path = self.spot(skill, plan)?;
        if is_real(&self.library(), &path) {
            remove(&path);
        }
        Ok(())
    }

    /// Puts something else in the place of a file or folder.
    pub(super) fn swap(&self, skill: &str, plan: &mut Unstructured<'_>) -> arbitrary::Result<()> {
        let path = self.spot(skill, plan)?;
        self.make_parents(&path);
        if !is_real(&self.library(), &path) {
            return Ok(());
        }
        remove(&path);
        let kind = plan.int_in_range(0..=7)?;
        let target = plan.choose(&TARGETS)?.replace("{}", &self.temp.path().display().to_string());
        let _refused = match kind {
            0 => rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o644.into(), 0)
                .map_err(Into::into),
            1 => UnixListener::bind(&path).map(drop),
            2 => fs::hard_link(self.temp.path().join("outside/shared.txt"), &path),
            3 => fs::create_dir(&path),
            4 => fs::write(&path, "plain\n"),
            _ => symlink(target, &path),
        };
        Ok(())
    }

    /// Takes everything out of the library but what is kept for a person.
    pub(super) fn clear(&self) {
        for entry in fs::read_dir(self.library()).expect("the library is listed") {
            let entry = entry.expect("the library is listed");
            if !entry.file_name().to_string_lossy().starts_with(".skillhub-") {
                remove(&entry.path());
            }
        }
    }

    /// Outside all is as it was, and nothing was put beside it.
    pub(super) fn assert_untouched(&self) {
        assert_eq!(tree(&self.temp.path().join("outside")), self.outside, "something outside was touched");
        let beside = fs::read_dir(self.temp.path()).expect("the place is listed").count();
        assert!(beside <= 3, "something was made beside the library");
    }

    /// A skill's folder holds just these files, with the modes of new files.
    pub(super) fn assert_holds(&self, skill: &str, bundle: &Bundle) {
        let mut found = tree(&self.library().join(skill));
        found.retain(|_, (mode, _)| *mode & 0o170_000 != 0o040_000);
        let expected = bundle.files().map(|(path, file)| {
            let mode = if file.executable { 0o100_755 } else { 0o100_644 };
            (PathBuf::from(path.as_str()), (mode, file.bytes.to_vec()))
        });
        assert_eq!(found, expected.collect::<Tree>(), "the folder is not the revision");
    }

    fn spot(&self, skill: &str, plan: &mut Unstructured<'_>) -> arbitrary::Result<PathBuf> {
        let spot = *plan.choose(&SPOTS)?;
        let skill = self.library().join(skill);
        Ok(if spot.is_empty() { skill } else { skill.join(spot) })
    }

    fn make_parents(&self, path: &Path) {
        let Ok(below) = path.strip_prefix(self.library()) else { return };
        let mut at = self.library();
        for part in below.parent().into_iter().flatten() {
            at.push(part);
            let _there_or_refused = fs::create_dir(&at);
            if !fs::symlink_metadata(&at).is_ok_and(|metadata| metadata.is_dir()) {
                return;
            }
        }
    }
}

/// Whether a bundle holds what only stands outside.
pub(super) fn holds_secret(bundle: &Bundle) -> bool {
    bundle.files().any(|(_, file)| file.bytes.windows(SECRET.len()).any(|part| part == SECRET))
}

fn is_single_file(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.is_file() && metadata.nlink() == 1
}

/// Removes whatever stands at a path, links not followed.
fn remove(path: &Path) {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let _absent = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

fn tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.expect("a folder is listed").path();
            let metadata = fs::symlink_metadata(&path).expect("what is listed is there");
            let content = match metadata.file_type() {
                kind if kind.is_symlink() => {
                    fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
                }
                kind if kind.is_file() => fs::read(&path).expect("a file"),
                _ => Vec::new(),
            };
            tree.insert(path.strip_prefix(root).expect("below").to_owned(), (metadata.permissions().mode(), content));
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    tree
}
