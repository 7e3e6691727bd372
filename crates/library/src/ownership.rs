//! Protection of a home, and of the configuration and data in it, from changes by other users ([`check_home`]).

use std::path::Path;

use crate::path_access_error::PathAccessError;

/// Refuses a home that another user owns or can write to. A missing home passes.
///
/// The folder, the folders above it, and the files directly in it are checked. If nobody else can enter the home, its
/// files are safe whatever their mode. `config.toml` is still checked, since it may be a link to a file outside.
pub(crate) fn check_home(home: &Path) -> Result<(), PathAccessError> {
    refuse_foreign(home)?;
    refuse_shared(home)?;
    refuse_replaceable(home)?;
    if is_private(home) {
        return check_entry(&home.join("config.toml"));
    }
    entries(home).iter().try_for_each(|name| check_entry(&home.join(name)))
}

/// Refuses a library that other users can write to, or whose folder `own` in the home they can write to.
pub(crate) fn check_library(library: &Path, own: &Path, home: &Path) -> Result<(), PathAccessError> {
    refuse_shared(library)?;
    if is_private(home) {
        return Ok(());
    }
    refuse_shared(own)?;
    entries(own).iter().try_for_each(|name| check_entry(&own.join(name)))
}

/// Returns the names in a folder. Empty if the folder cannot be listed.
fn entries(folder: &Path) -> Vec<std::ffi::OsString> {
    use cap_std::{ambient_authority, fs::Dir};
    let dir = Dir::open_ambient_dir(folder, ambient_authority()).and_then(|dir| dir.entries());
    dir.into_iter().flatten().flatten().map(|entry| entry.file_name()).collect()
}

#[cfg(unix)]
use unix::{check_entry, is_private, refuse_replaceable, refuse_shared};
#[cfg(unix)]
pub(crate) use unix::{is_writable_by_others, refuse_foreign};

#[cfg(unix)]
mod unix {
    use std::path::Path;

    use nix::unistd::{Gid, Group, Uid, User};
    use rustix::fs::{Stat, stat};

    use crate::{location::resolve, path_access_error::PathAccessError};

    const GROUP_WRITES: u32 = 0o020;
    const ALL_WRITE: u32 = 0o002;
    /// Sticky bit: in a folder with it, only the owner of an entry can rename or remove the entry.
    const STICKY: u32 = 0o1000;

    /// Refuses a folder that another user owns. A missing folder passes.
    pub(crate) fn refuse_foreign(path: &Path) -> Result<(), PathAccessError> {
        match stat(path) {
            Ok(stat) if stat.st_uid != rustix::process::geteuid().as_raw() => {
                Err(PathAccessError::Foreign { path: path.to_owned(), owner: stat.st_uid })
            }
            _ => Ok(()),
        }
    }

    /// Refuses a file or folder that other users can write. A missing one passes.
    pub(super) fn refuse_shared(path: &Path) -> Result<(), PathAccessError> {
        match stat(path) {
            Ok(stat) if is_writable_by_others(mode(&stat), stat.st_gid) => Err(shared(path, &stat)),
            _ => Ok(()),
        }
    }

    /// Refuses a path of which anybody can rename a component. Group write permission on parent folders is left to
    /// the administrator.
    pub(super) fn refuse_replaceable(path: &Path) -> Result<(), PathAccessError> {
        let Ok(real) = resolve(path) else { return Ok(()) };
        for folder in real.ancestors().skip(1) {
            match stat(folder) {
                Ok(stat) if mode(&stat) & (ALL_WRITE | STICKY) == ALL_WRITE => return Err(shared(folder, &stat)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses a file, also behind a link, that others can write or that belongs to neither the user nor the
    /// superuser.
    pub(super) fn check_entry(path: &Path) -> Result<(), PathAccessError> {
        match stat(path) {
            Ok(stat) if stat.st_uid == 0 => refuse_shared(path),
            Ok(_) => refuse_foreign(path).and_then(|()| refuse_shared(path)),
            Err(_) => Ok(()),
        }
    }

    /// Returns whether nobody else can enter a folder.
    pub(super) fn is_private(folder: &Path) -> bool {
        stat(folder).is_ok_and(|stat| mode(&stat) & 0o077 == 0)
    }

    /// Returns whether a mode lets others write: everybody, or a group with members other than the user.
    pub(crate) fn is_writable_by_others(mode: u32, gid: u32) -> bool {
        mode & ALL_WRITE != 0 || (mode & GROUP_WRITES != 0 && !is_own_group(gid))
    }

    /// Returns whether a group is the user's private group, which systems create with an account: the primary group,
    /// with the user's name and no other members. If the account is unknown to the system, equal ids decide.
    fn is_own_group(gid: u32) -> bool {
        let uid = rustix::process::geteuid().as_raw();
        let group = Group::from_gid(Gid::from_raw(gid)).ok().flatten();
        match (User::from_uid(Uid::from_raw(uid)).ok().flatten(), group) {
            (Some(user), Some(group)) => {
                user.gid.as_raw() == gid && group.name == user.name && group.mem.iter().all(|name| *name == user.name)
            }
            _ => gid == uid,
        }
    }

    fn shared(path: &Path, stat: &Stat) -> PathAccessError {
        PathAccessError::Shared { path: path.to_owned(), mode: mode(stat) & 0o7777 }
    }

    #[cfg_attr(target_os = "linux", expect(clippy::useless_conversion, reason = "its type differs between systems"))]
    fn mode(stat: &Stat) -> u32 {
        stat.st_mode.into()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn foreign_group_write_is_detected() {
            let own = rustix::process::geteuid().as_raw();
            assert!(is_writable_by_others(0o702, own));
            assert!(is_writable_by_others(0o720, own.wrapping_add(4_000_000)));
            assert!(!is_writable_by_others(0o755, own.wrapping_add(4_000_000)));
        }
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::path::Path;

    use crate::path_access_error::PathAccessError;

    pub(crate) fn refuse_foreign(_path: &Path) -> Result<(), PathAccessError> {
        Ok(())
    }

    pub(super) fn refuse_shared(_path: &Path) -> Result<(), PathAccessError> {
        Ok(())
    }

    pub(super) fn refuse_replaceable(_path: &Path) -> Result<(), PathAccessError> {
        Ok(())
    }

    pub(super) fn check_entry(_path: &Path) -> Result<(), PathAccessError> {
        Ok(())
    }

    pub(super) fn is_private(_folder: &Path) -> bool {
        true
    }
}
#[cfg(not(unix))]
pub(crate) use elsewhere::refuse_foreign;
#[cfg(not(unix))]
use elsewhere::{check_entry, is_private, refuse_replaceable, refuse_shared};
