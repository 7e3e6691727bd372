//! Failures of names: a name that is taken, and a skill that has another name ([`InstallError::Exists`]).

use skill::{
    failure::{Failure, FailureKind},
    shell_word,
};

use super::InstallError;

impl InstallError {
    /// Returns the failure for a name that another skill of the library has.
    pub(super) fn name_taken_failure(&self) -> Failure {
        let of = Failure::new;
        match self {
            Self::Exists { name, unmanaged: Some(path), is_adoptable: false, .. } => {
                of(FailureKind::Conflict, "exists")
                    .hint(format!("move {} elsewhere and install {name} again", path.display()))
            }
            Self::Exists { name, unmanaged: Some(path), .. } => of(FailureKind::Conflict, "exists").hint(format!(
                "manage the folder with `skillhub adopt {}`, or move it elsewhere and install {name} again",
                shell_word(&path.display().to_string())
            )),
            Self::Exists { name, beside, .. } if beside.is_empty() => of(FailureKind::Conflict, "exists")
                .hint(format!("uninstall that skill first: skillhub uninstall {name}")),
            Self::Exists { name, is_installed: true, beside, .. } => of(FailureKind::Conflict, "exists").hint(format!(
                "install it under another name with `skillhub install {beside}`, or uninstall that skill first: \
                 skillhub uninstall {name}"
            )),
            Self::Exists { name, beside, .. } => of(FailureKind::Conflict, "exists").hint(format!(
                "install it under another name with `skillhub install {beside}`, or delete that skill first (if it is \
                 pinned, only a person can): skillhub manage delete {name}"
            )),
            Self::Moved { name, to, .. } => of(FailureKind::Conflict, "exists")
                .hint(format!("to install it from {to}, uninstall it first: skillhub uninstall {name}")),
            Self::InstalledAs { installed, .. } => of(FailureKind::Conflict, "exists").hint(format!(
                "update it with `skillhub update {installed}`, or uninstall it first: skillhub uninstall {installed}"
            )),
            _ => Failure::io(),
        }
    }
}
