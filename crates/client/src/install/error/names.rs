//! Failures of names: a name that is taken, and a skill that has another name ([`InstallError::Exists`]).

use std::fmt;

use skill::{
    failure::{Failure, FailureKind, Hint, NextStep},
    shell_word,
};

use super::InstallError;

impl InstallError {
    /// Returns the failure for a name that another skill of the library has.
    pub(super) fn name_taken_failure(&self) -> Failure {
        let of = Failure::new;
        let uninstall = |name: &dyn fmt::Display| NextStep::Uninstall(name.to_string());
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
                .hint(Hint::from("uninstall that skill first: ").last(uninstall(name))),
            Self::Exists { name, is_installed: true, beside, .. } => of(FailureKind::Conflict, "exists").hint(
                Hint::from("install it under another name with ")
                    .step(NextStep::Install(beside.to_string()))
                    .text(", or uninstall that skill first: ")
                    .last(uninstall(name)),
            ),
            Self::Exists { name, beside, .. } => of(FailureKind::Conflict, "exists").hint(
                Hint::from("install it under another name with ")
                    .step(NextStep::Install(beside.to_string()))
                    .text(", or delete that skill first (if it is pinned, only a person can): ")
                    .last(NextStep::Delete(name.to_string())),
            ),
            Self::Moved { name, to, .. } => of(FailureKind::Conflict, "exists")
                .hint(Hint::from(format!("to install it from {to}, uninstall it first: ")).last(uninstall(name))),
            Self::InstalledAs { installed, .. } => of(FailureKind::Conflict, "exists").hint(
                Hint::from("update it with ")
                    .step(NextStep::Update(installed.to_string()))
                    .text(", or uninstall it first: ")
                    .last(uninstall(installed)),
            ),
            _ => Failure::io(),
        }
    }
}
