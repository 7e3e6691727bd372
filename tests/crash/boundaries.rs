//! [`Boundary`]: a system call that changes files, or makes a change durable.

use std::{
    fmt, fs,
    path::{Component, Path, PathBuf},
};

use nix::{
    libc::{self, user_regs_struct},
    sys::uio::{RemoteIoVec, process_vm_readv},
    unistd::Pid,
};

/// Longest path that is read from a process.
const PATH_BYTES: usize = 4096;
/// Page size. A path is not read across a page border at once, because the next page may be unmapped.
const PAGE_BYTES: u64 = 4096;
const STDOUT: u64 = 1;

/// A relevant call of a process, before it is carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundary {
    /// Index among the relevant calls, from 0.
    pub number: usize,
    /// Effect of the call.
    pub effect: Effect,
}

/// Effect of a call on the files below the traced folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Writes the command's answer.
    Print,
    /// Writes this many bytes into a file.
    Write(PathBuf, u64),
    /// Creates or truncates a file on opening it.
    Create { file: PathBuf, empties: bool },
    /// Sets a file's size.
    Resize(PathBuf),
    /// Creates a folder.
    MakeFolder(PathBuf),
    /// Removes a name.
    Remove(PathBuf),
    /// Renames a path, replacing an existing file, or exchanges two paths.
    Rename { from: PathBuf, to: PathBuf, exchange: bool },
    /// Adds a hard link.
    Link { from: PathBuf, to: PathBuf },
    /// Creates a symbolic link to `target`.
    Symlink { target: PathBuf, path: PathBuf },
    /// Sets the mode of a file.
    Mode(PathBuf),
    /// Syncs a file's content, or a folder's names.
    Sync(PathBuf),
}

impl Effect {
    /// Decodes the call that a process has just entered; `None` when it does not change anything below `root`.
    pub fn of(pid: Pid, call: &user_regs_struct, root: &Path) -> Option<Self> {
        let effect = Caller { pid, args: [call.rdi, call.rsi, call.rdx, call.r10, call.r8] }
            .effect(i64::try_from(call.orig_rax).ok()?)?;
        effect.is_below(root).then_some(effect)
    }

    fn is_below(&self, root: &Path) -> bool {
        match self {
            Self::Print => true,
            Self::Write(path, _) | Self::Resize(path) | Self::MakeFolder(path) | Self::Remove(path) => {
                path.starts_with(root)
            }
            Self::Create { file: path, .. } | Self::Symlink { path, .. } | Self::Mode(path) | Self::Sync(path) => {
                path.starts_with(root)
            }
            Self::Rename { from, to, .. } | Self::Link { from, to } => from.starts_with(root) || to.starts_with(root),
        }
    }

    /// Returns whether the call can be carried out in part.
    pub fn can_be_cut(&self) -> bool {
        matches!(self, Self::Write(_, bytes) if *bytes > 1)
    }
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "boundary {}: {:?}", self.number, self.effect)
    }
}

/// A process in a call, with the call's arguments.
struct Caller {
    pid: Pid,
    args: [u64; 5],
}

impl Caller {
    fn effect(&self, call: i64) -> Option<Effect> {
        let [first, second, third, fourth, fifth] = self.args;
        let here = libc::AT_FDCWD as u64;
        Some(match call {
            libc::SYS_write | libc::SYS_pwrite64 if first == STDOUT => Effect::Print,
            libc::SYS_write | libc::SYS_pwrite64 => Effect::Write(self.open_file(first)?, third),
            libc::SYS_writev | libc::SYS_pwritev | libc::SYS_pwritev2 => Effect::Write(self.open_file(first)?, 0),
            libc::SYS_sendfile | libc::SYS_fallocate => Effect::Write(self.open_file(first)?, 0),
            libc::SYS_copy_file_range => Effect::Write(self.open_file(third)?, 0),
            libc::SYS_ftruncate => Effect::Resize(self.open_file(first)?),
            libc::SYS_truncate => Effect::Resize(self.path(here, first)?),
            libc::SYS_open => self.create(here, first, second)?,
            libc::SYS_creat => self.create(here, first, (libc::O_CREAT | libc::O_TRUNC) as u64)?,
            libc::SYS_openat => self.create(first, second, third)?,
            libc::SYS_openat2 => self.create(first, second, self.word(third)?)?,
            libc::SYS_mkdir => Effect::MakeFolder(self.path(here, first)?),
            libc::SYS_mkdirat => Effect::MakeFolder(self.path(first, second)?),
            libc::SYS_unlink | libc::SYS_rmdir => Effect::Remove(self.path(here, first)?),
            libc::SYS_unlinkat => Effect::Remove(self.path(first, second)?),
            libc::SYS_rename => self.rename([here, first, here, second], 0)?,
            libc::SYS_renameat => self.rename([first, second, third, fourth], 0)?,
            libc::SYS_renameat2 => self.rename([first, second, third, fourth], fifth)?,
            libc::SYS_link => Effect::Link { from: self.path(here, first)?, to: self.path(here, second)? },
            libc::SYS_linkat => Effect::Link { from: self.path(first, second)?, to: self.path(third, fourth)? },
            libc::SYS_symlink => Effect::Symlink { target: self.text(first)?, path: self.path(here, second)? },
            libc::SYS_symlinkat => Effect::Symlink { target: self.text(first)?, path: self.path(second, third)? },
            libc::SYS_chmod => Effect::Mode(self.path(here, first)?),
            libc::SYS_fchmod => Effect::Mode(self.open_file(first)?),
            libc::SYS_fchmodat | libc::SYS_fchmodat2 => Effect::Mode(self.path(first, second)?),
            libc::SYS_fsync | libc::SYS_fdatasync => Effect::Sync(self.open_file(first)?),
            _ => return None,
        })
    }

    fn create(&self, folder: u64, name: u64, flags: u64) -> Option<Effect> {
        let has = |flag: i32| flags & flag as u64 != 0;
        let file = (has(libc::O_CREAT) || has(libc::O_TRUNC)).then(|| self.path(folder, name))??;
        Some(Effect::Create { file, empties: has(libc::O_TRUNC) })
    }

    fn rename(&self, [from_folder, from, to_folder, to]: [u64; 4], flags: u64) -> Option<Effect> {
        let exchange = flags & u64::from(libc::RENAME_EXCHANGE) != 0;
        Some(Effect::Rename { from: self.path(from_folder, from)?, to: self.path(to_folder, to)?, exchange })
    }

    /// Returns the current path of an open file.
    fn open_file(&self, descriptor: u64) -> Option<PathBuf> {
        // A descriptor is an `int`: the upper half of the register is undefined.
        let descriptor = descriptor as u32 as i32;
        let link = match descriptor {
            libc::AT_FDCWD => format!("/proc/{}/cwd", self.pid),
            descriptor => format!("/proc/{}/fd/{descriptor}", self.pid),
        };
        fs::read_link(link).ok()
    }

    /// Returns the path in a call, resolved from the open folder that it is relative to.
    fn path(&self, folder: u64, name: u64) -> Option<PathBuf> {
        let name = self.text(name)?;
        let path = if name.is_absolute() { name } else { self.open_file(folder)?.join(name) };
        Some(path.components().filter(|component| *component != Component::CurDir).collect())
    }

    fn text(&self, address: u64) -> Option<PathBuf> {
        let mut text = Vec::new();
        while text.len() < PATH_BYTES {
            let from = address + text.len() as u64;
            let part = self.bytes(from, (PAGE_BYTES - from % PAGE_BYTES) as usize)?;
            let end = part.iter().position(|byte| *byte == 0);
            text.extend(&part[..end.unwrap_or(part.len())]);
            if end.is_some() {
                return Some(PathBuf::from(String::from_utf8_lossy(&text).into_owned()));
            }
        }
        None
    }

    fn word(&self, address: u64) -> Option<u64> {
        Some(u64::from_ne_bytes(self.bytes(address, 8)?.try_into().ok()?))
    }

    fn bytes(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        let remote = RemoteIoVec { base: address as usize, len };
        let read = process_vm_readv(self.pid, &mut [std::io::IoSliceMut::new(&mut bytes)], &[remote]).ok()?;
        (read == len).then_some(bytes)
    }
}
