//! [`System`]: rules that differ between operating systems, as functions of a value, so that each is tested on all.
//!
//! Names inside skills need none: a `SkillPath` is valid on every system.

use std::path::{Component, Path, PathBuf};

/// Operating system with rules of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux, and other systems without an entry of their own.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

/// Length in UTF-16 units from which Windows takes a path only in its verbatim form (`MAX_PATH`).
const WINDOWS_PATH_UNITS: usize = 260;

/// Prefix of verbatim paths, which Windows does not normalise.
const VERBATIM: &str = r"\\?\";

impl System {
    /// Returns the system for which the program was built.
    pub const fn this() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_vendor = "apple") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }

    /// Returns whether a text begins with a drive and a separator, such as `C:\` or `C:/`. Elsewhere it may be the name
    /// of a host or a file.
    pub fn is_drive_path(self, text: &str) -> bool {
        let mut start = text.chars();
        let is_drive = start.next().is_some_and(|c| c.is_ascii_alphabetic()) && start.next() == Some(':');
        self == Self::Windows && is_drive && matches!(start.next(), Some('/' | '\\'))
    }

    /// Returns a resolved path as people and other programs write it. On Windows, resolved paths are verbatim
    /// (`\\?\C:\skills`), a form that git and `cmd` do not take. A path that only this form can express is unchanged:
    /// one on a network, a long one, and one with a device name or a name that ends in a dot or a space.
    pub fn plain_path(self, path: &str) -> &str {
        let Some(plain) = path.strip_prefix(VERBATIM) else { return path };
        let is_kept = |name: &str| !name.ends_with(['.', ' ']) && !skill::is_device_name(name);
        let names = plain.split('\\').skip(1);
        let is_same = self.is_drive_path(plain) && !plain.contains('/') && names.into_iter().all(is_kept);
        if is_same && plain.encode_utf16().count() < WINDOWS_PATH_UNITS { plain } else { path }
    }

    /// Returns the text that a link in the folder `from` has, for a target. Both paths are absolute and without `..`.
    /// It is relative if the two share more than the root, so that a tree of both can be moved. On Windows it is the
    /// target, since junctions have absolute targets only.
    pub fn link_text(self, from: &Path, target: &Path) -> PathBuf {
        let shared = from.components().zip(target.components()).take_while(|(a, b)| a == b).count();
        if self == Self::Windows || shared < 2 {
            return target.to_owned();
        }
        let up = from.components().skip(shared).map(|_| Component::ParentDir);
        up.chain(target.components().skip(shared)).collect()
    }

    /// Returns whether files have an executable bit. Elsewhere it is taken from the recorded revision.
    pub fn has_executable_bits(self) -> bool {
        self != Self::Windows
    }

    /// Returns whether a folder can be synced. Windows cannot flush one; NTFS logs changes of names itself.
    pub fn syncs_folders(self) -> bool {
        self != Self::Windows
    }

    /// Returns whether a lock on a file keeps others from reading it, so that readers must take it too.
    pub fn locks_keep_readers_out(self) -> bool {
        self == Self::Windows
    }

    /// Returns the environment variable that names the user's home folder.
    pub fn home_variable(self) -> &'static str {
        if self == Self::Windows { "USERPROFILE" } else { "HOME" }
    }

    /// Returns whether the error code of a system call means that links cannot be made at a place, so that a copy is
    /// needed. Elsewhere than on Windows this is an error: a file system without links has no executable bits either,
    /// and a copy there could not be told from one that was edited.
    pub fn lacks_links(self, code: Option<i32>) -> bool {
        // ERROR_INVALID_FUNCTION and ERROR_NOT_SUPPORTED, as exFAT answers, and ERROR_PRIVILEGE_NOT_HELD.
        self == Self::Windows && matches!(code, Some(1 | 50 | 1314))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::System::{Linux, MacOs, Windows};

    #[test]
    fn link_texts_are_absolute_on_windows() {
        let text = |from: &str, to: &str| {
            [Linux, MacOs, Windows].map(|system| system.link_text(Path::new(from), Path::new(to)).display().to_string())
        };
        let near = "../../.agents/skills/pdf";
        assert_eq!(text("/h/a/.claude/skills", "/h/a/.agents/skills/pdf"), [near, near, "/h/a/.agents/skills/pdf"]);
        assert_eq!(text("/srv/skills", "/h/a/pdf"), ["/h/a/pdf"; 3], "only the root is shared");
    }

    #[test]
    fn windows_lacks_bits_and_folder_syncs() {
        let all = [Linux, MacOs, Windows];
        assert_eq!(all.map(super::System::has_executable_bits), [true, true, false]);
        assert_eq!(all.map(super::System::syncs_folders), [true, true, false]);
        assert_eq!(all.map(super::System::locks_keep_readers_out), [false, false, true]);
        assert_eq!(all.map(super::System::home_variable), ["HOME", "HOME", "USERPROFILE"]);
    }

    #[test]
    fn drives_exist_on_windows_only() {
        for text in [r"C:\skills", "c:/skills/pdf", "Z:/"] {
            assert_eq!(
                [Linux, MacOs, Windows].map(|system| system.is_drive_path(text)),
                [false, false, true],
                "{text}"
            );
        }
        for text in ["C:", "C:skills", "acme/pdf", "host:path", r"\\server\share", "1:/x", "é:/x", ""] {
            assert!(!Windows.is_drive_path(text), "{text}");
        }
    }

    #[test]
    fn verbatim_paths_become_plain() {
        let path = r"\\?\C:\Users\Ann\.agents\skills";
        assert_eq!([Linux, MacOs, Windows].map(|system| system.plain_path(path)), [path, path, &path[4..]]);
        let (short, long) = ("x".repeat(254), "x".repeat(255));
        assert_eq!(Windows.plain_path(&format!(r"\\?\C:\a\{short}")), format!(r"C:\a\{short}"), "259 units");
        for path in [
            r"\\?\UNC\server\share\skills",
            r"\\?\Volume{b75e2c83}\skills",
            r"\\?\C:\a\nul.txt\b",
            r"\\?\C:\a\b.",
            r"\\?\C:\a \b",
            r"\\?\C:\a/b",
            r"\\.\C:\a",
            r"C:\a",
            "/home/ann",
            &format!(r"\\?\C:\a\{long}"),
        ] {
            assert_eq!(Windows.plain_path(path), path);
        }
    }

    #[test]
    fn missing_right_to_link_needs_copy() {
        let lacks = |code| [Linux, MacOs, Windows].map(|system| system.lacks_links(code));
        for code in [1314, 1, 50] {
            assert_eq!(lacks(Some(code)), [false, false, true], "{code}");
        }
        // The disk is full, the name is taken, access is denied.
        for code in [Some(28), Some(38), Some(95), Some(183), Some(13), Some(5), Some(112), None] {
            assert_eq!(lacks(code), [false; 3], "{code:?}");
        }
    }
}
