//! [`Snapshot`]: paths, bytes and modes of a folder, for comparison.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Content of each path below a folder.
pub type Snapshot = BTreeMap<String, Entry>;

/// Content of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A folder, without its content.
    Folder,
    /// A link with its target.
    Link(PathBuf),
    /// A file with its executable bit and bytes.
    File(bool, Vec<u8>),
    /// A pipe, socket or device, which is not opened.
    Special,
}

/// Returns the files of a folder with their executable bits, without folders.
pub fn snapshot(folder: &Path) -> Snapshot {
    let mut entries = tree(folder);
    entries.retain(|_, entry| *entry != Entry::Folder);
    entries
}

/// Snapshots everything below a folder; empty if the folder does not exist.
pub fn tree(folder: &Path) -> Snapshot {
    let mut entries = Snapshot::new();
    if folder.exists() {
        collect(folder, "", &mut entries);
    }
    entries
}

fn collect(folder: &Path, below: &str, entries: &mut Snapshot) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let entry = entry.unwrap();
        let path = format!("{below}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            entries.insert(path.clone(), Entry::Folder);
            collect(&entry.path(), &format!("{path}/"), entries);
        } else if kind.is_symlink() {
            entries.insert(path, Entry::Link(fs::read_link(entry.path()).unwrap()));
        } else if !kind.is_file() {
            entries.insert(path, Entry::Special);
        } else {
            let executable = entry.metadata().unwrap().permissions().mode() & 0o100 != 0;
            entries.insert(path, Entry::File(executable, fs::read(entry.path()).unwrap()));
        }
    }
}

/// Writes files, given as path, bytes and executable bit.
pub fn write_files(folder: &Path, files: &[(&str, &[u8], bool)]) {
    for (path, bytes, executable) in files {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, bytes).unwrap();
        set_mode(&file, if *executable { 0o755 } else { 0o644 });
    }
}

/// Sets the mode of a file or folder.
pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
