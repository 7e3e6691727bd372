//! [`Candidate`]: a fetched skill before planning.

use std::{collections::BTreeMap, path::PathBuf};

use library::Origin;
use skill::{Bundle, Digest, Limits, SkillName, SkillPath, shell_word};

use super::{InstallError, InstallRequest};
use crate::{lock_file::LockedSkill, releases::ReleaseNotes, spec::GitSpec};

/// A skill in memory, with its origin.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// Name under which it is installed, which may differ from the release's.
    pub name: SkillName,
    /// Files to install.
    pub bundle: Bundle,
    /// Files of the release, if those to install differ from them in the name.
    pub release: Option<Bundle>,
    pub origin: Origin,
    /// Origin that the skill keeps, if a fork of it is merged in; `None` if it gets the candidate's.
    pub follows: Option<Origin>,
    /// Hash of the packed files.
    pub archive: Digest,
    /// Text that the lock file records as the request.
    pub requested: String,
    /// True if the source exists on this machine only.
    pub local: bool,
    /// Fingerprint of the key with which the owner signed the release.
    pub signer: Option<String>,
    /// Fingerprints of the owner's other keys that vouch for that key.
    pub vouchers: Vec<String>,
    /// Keys of the owner known before, if the release is signed with a different key that they do not vouch for.
    pub unknown_key: Vec<String>,
    /// True if it is installed only as a requirement of other skills.
    pub is_dependency: bool,
    pub warnings: Vec<String>,
    /// Changelogs of the releases since the installed one.
    pub notes: Vec<ReleaseNotes>,
    /// Entry of the lock file for which it was fetched.
    pub locked: Option<LockedSkill>,
    /// Files of the installed release, if they are needed for a merge.
    pub base: Option<Bundle>,
    /// Existing folder of another tool, if it is being imported.
    pub taken: Option<ImportedFolder>,
}

impl Candidate {
    /// Creates a candidate that nothing else is known about: unsigned, no dependency, and not fetched for an update.
    pub fn new(
        name: SkillName,
        bundle: Bundle,
        origin: Origin,
        archive: Digest,
        requested: String,
        local: bool,
    ) -> Self {
        Self {
            name,
            bundle,
            release: None,
            origin,
            follows: None,
            archive,
            requested,
            local,
            signer: None,
            vouchers: Vec::new(),
            unknown_key: Vec::new(),
            is_dependency: false,
            warnings: Vec::new(),
            notes: Vec::new(),
            locked: None,
            base: None,
            taken: None,
        }
    }

    /// Returns `owner/name`, or the name of the folder for a skill from another source.
    pub fn full_name(&self) -> String {
        self.followed().name_in(&self.name)
    }

    /// Returns the origin that the skill has afterwards.
    pub fn followed(&self) -> &Origin {
        self.follows.as_ref().unwrap_or(&self.origin)
    }

    /// Returns the skill's folder within its git repository. `None` for another source, for the root of the repository,
    /// or if a fork is merged into the skill.
    pub fn git_path(&self) -> Option<SkillPath> {
        let is_git = self.follows.is_none() && matches!(self.origin, Origin::Git { .. });
        is_git.then(|| path_in_repository(&self.requested)).flatten()
    }

    /// Returns the argument of `skillhub install` that means this skill: its full name in a registry, or its address.
    pub fn address(&self) -> String {
        match self.origin.as_registry() {
            Some(release) => release.name.to_string(),
            None => self.requested.clone(),
        }
    }

    /// Returns arguments of `skillhub install` that install it beside a skill that has its name.
    pub fn beside(&self) -> String {
        let release = self.origin.as_registry();
        let spec = shell_word(&self.address());
        let names = [
            release.map(|release| format!("{}-{}", release.name.owner, release.name.name)),
            Some(format!("{}-2", self.name)),
        ];
        let is_free = |name: &String| *name != self.name.as_str() && SkillName::parse_standard(name).is_ok();
        let name = names.into_iter().flatten().find(is_free).unwrap_or_else(|| "NAME".to_owned());
        format!("{spec} --as {name}")
    }

    /// Returns the files of the release.
    pub fn release(&self) -> &Bundle {
        self.release.as_ref().unwrap_or(&self.bundle)
    }

    /// Chooses the name under which it is installed: the requested one, that of the lock file, or else its own. An
    /// update has set it already. Another name is written into the files.
    pub fn choose_name(
        &mut self,
        request: &InstallRequest,
        folders: &BTreeMap<String, SkillName>,
    ) -> Result<(), InstallError> {
        let installed_as = self.locked.as_ref().map(LockedSkill::bare_name);
        let installed_as = installed_as.or_else(|| folders.get(&self.origin.qualified_name()?));
        let asked = request.alias.as_ref().filter(|_| !self.is_dependency);
        if let (Some(asked), Some(installed)) = (asked, installed_as)
            && asked != installed
        {
            return Err(InstallError::InstalledAs { name: self.origin.name(), installed: installed.clone() });
        }
        let has_own_name = self.name == *self.origin.bare_name();
        if let Some(wanted) =
            asked.or(installed_as).filter(|_| has_own_name && self.taken.is_none() && self.follows.is_none())
        {
            self.name = wanted.clone();
        }
        self.rename()
    }

    fn rename(&mut self) -> Result<(), InstallError> {
        if self.name == *self.origin.bare_name() || self.release.is_some() || self.taken.is_some() {
            return Ok(());
        }
        let renamed = self
            .bundle
            .renamed(&self.name, &Limits::default())
            .ok_or_else(|| InstallError::Rename { name: self.origin.name(), wanted: self.name.clone() })?;
        self.release = Some(std::mem::replace(&mut self.bundle, renamed));
        Ok(())
    }
}

/// Returns the folder that the address of a git repository names, as the lock file records it.
pub(super) fn path_in_repository(requested: &str) -> Option<SkillPath> {
    requested.parse::<GitSpec>().ok()?.path
}

/// A folder that another tool installed and that is being imported.
#[derive(Debug, Clone)]
pub(crate) struct ImportedFolder {
    /// Lock file that lists the folder.
    pub named_in: PathBuf,
    /// Files of the folder, which may have been changed since they were installed.
    pub files: Bundle,
}
