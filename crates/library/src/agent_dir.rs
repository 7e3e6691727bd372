//! An agent's skills folder, in which skillhub creates links to a library's skills ([`AgentDir`]).
//!
//! It can only add and remove entries. Existing entries that skillhub did not create are not touched.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use cap_std::{ambient_authority, fs::Dir};
use scan::Cleared;
use skill::SkillName;
use thiserror::Error;

use crate::{
    checkout::{self, TemporaryOwner},
    disk::{ensure_dir, open_dir, sync_folder},
    folder::{self, ToolFiles},
    folder_link::FolderLink,
    originals,
    path_access_error::PathAccessError,
    system::System,
};

/// Folders of version control systems that contain a history.
const REPOSITORIES: [&str; 3] = [".git", ".hg", ".svn"];

/// Capability to add skills to one agent's folder and remove them.
#[derive(Debug)]
pub struct AgentDir {
    path: PathBuf,
    dir: Dir,
}

/// Result of adding a skill to an agent's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentLink {
    /// It was created at this path.
    New(PathBuf),
    /// It already existed at this path.
    Already(PathBuf),
}

impl AgentLink {
    /// Returns the path of the link or copy.
    pub fn path(&self) -> &Path {
        match self {
            Self::New(path) | Self::Already(path) => path,
        }
    }
}

/// Reason why a skill could not be added to an agent's folder or removed from it.
#[derive(Debug, Error)]
pub enum AgentLinkError {
    /// The path is occupied by something that skillhub did not create.
    #[error("{0:?} already exists and was not created by skillhub")]
    Occupied(PathBuf),
    /// The agent's folder cannot be used.
    #[error(transparent)]
    Place(#[from] PathAccessError),
    /// The entry differs from every content that the skill ever had.
    #[error("{0:?} was not changed: it differs from every revision of the skill")]
    Differs(PathBuf),
    /// The skill itself cannot be read or is blocked.
    #[error("cannot copy {0}: {1}")]
    Skill(SkillName, String),
    /// Any other I/O error.
    #[error("cannot create {path:?}: {source}")]
    Io {
        /// Path of the skill in the agent's folder.
        path: PathBuf,
        /// Error of the system call.
        source: io::Error,
    },
}

impl AgentDir {
    /// Opens an agent's skills folder, creating it if missing.
    ///
    /// # Errors
    /// An I/O error, or another user owns it.
    pub fn create(path: &Path) -> Result<Self, AgentLinkError> {
        Ok(Self { path: path.to_owned(), dir: ensure_dir(path)? })
    }

    /// Opens an agent's skills folder. Returns `None` if it does not exist.
    ///
    /// # Errors
    /// An I/O error, or another user owns it.
    pub fn open(path: &Path) -> Result<Option<Self>, AgentLinkError> {
        Ok(open_dir(path)?.map(|dir| Self { path: path.to_owned(), dir }))
    }

    /// Returns whether the folder is the library's own, for example through a link to it.
    pub fn is_library(&self, library: &Path) -> bool {
        crate::resolve(&self.path).is_ok_and(|real| real == library)
    }

    /// Creates a link to a skill's folder.
    ///
    /// # Errors
    /// Returns [`AgentLinkError::Occupied`] if the name is taken by something else.
    pub fn place_link(&self, skill: &SkillName, library: &Path) -> Result<AgentLink, AgentLinkError> {
        let path = self.path.join(skill.as_str());
        match self.dir.symlink_metadata(skill.as_str()) {
            Ok(found) if found.is_symlink() && self.shows(skill, library) => Ok(AgentLink::Already(path)),
            // A folder that is itself a link to the library shows every skill.
            _ if self.is_library(library) => Ok(AgentLink::Already(path)),
            Ok(_) => Err(AgentLinkError::Occupied(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.link(skill.as_str()).create(&library.join(skill.as_str())).map_err(self.io(skill))?;
                Ok(AgentLink::New(path))
            }
            Err(error) => Err(self.io(skill)(error)),
        }
    }

    /// Returns whether the folder has any entry with the skill's name.
    pub fn holds(&self, skill: &SkillName) -> bool {
        self.dir.symlink_metadata(skill.as_str()).is_ok()
    }

    /// Returns whether that entry is a link to the skill's folder in a library.
    pub fn shows(&self, skill: &SkillName, library: &Path) -> bool {
        let folder = library.join(skill.as_str());
        self.link(skill.as_str()).leads_to(&folder)
            || self
                .dir
                .read_link_contents(skill.as_str())
                .is_ok_and(|target| crate::resolve(&self.path.join(target)).is_ok_and(|real| real == folder))
    }

    /// Returns the id of the trial whose files a link with the skill's name leads to. `trials` is the folder of all
    /// trials of a library; the files may be gone.
    pub(crate) fn trial_of(&self, skill: &SkillName, trials: &Path) -> Option<String> {
        let target = self.dir.read_link_contents(skill.as_str()).ok()?;
        let below = target.strip_prefix(System::this().link_text(&self.path, trials)).ok()?;
        match below.components().collect::<Vec<_>>().as_slice() {
            [Component::Normal(id), Component::Normal(name)] if *name == skill.as_str() => {
                Some(id.to_str()?.to_owned())
            }
            _ => None,
        }
    }

    /// Replaces the link to the folder `from` by one to `to`, in one step. Anything else with the skill's name stays.
    /// Returns whether it was replaced. The caller holds the lock of the library to which both belong.
    pub(crate) fn retarget_link(&self, skill: &SkillName, from: &Path, to: &Path) -> Result<bool, AgentLinkError> {
        let name = skill.as_str();
        if !self.link(name).leads_to(from) {
            return Ok(false);
        }
        // The name is the same each time, so that the next attempt removes what a killed process left.
        let temporary = format!("{}link-{name}", checkout::TEMPORARY);
        self.exchange_link(name, from, to, &temporary).map_err(self.io(skill))
    }

    /// Puts a link to `to` in the place of the link to `from`. An entry that took that place meanwhile is put back.
    fn exchange_link(&self, name: &str, from: &Path, to: &Path, temporary: &str) -> io::Result<bool> {
        let new = self.link(temporary);
        if new.exists() {
            new.remove()?;
        }
        new.create(to)?;
        let exchanged = checkout::exchange_in_one_step(&self.dir, temporary, name);
        let is_ours = match exchanged {
            Ok(()) => new.leads_to(from),
            Err(error) if checkout::is_no_exchange(&error) => {
                if cfg!(windows) {
                    // Here, a link to a folder is not renamed over another one.
                    self.link(name).remove()?;
                }
                return self.dir.rename(temporary, &self.dir, name).map(|()| true);
            }
            Err(error) => return new.remove().and(Err(error)),
        };
        if !is_ours {
            checkout::exchange_in_one_step(&self.dir, temporary, name)?;
        }
        new.remove().map(|()| is_ours)
    }

    /// Moves the entry with the skill's name to `kept` below a library's folder in the home.
    pub(crate) fn move_aside(&self, skill: &SkillName, own: &Dir, kept: &str) -> Result<(), AgentLinkError> {
        originals::move_aside(&self.dir, skill.as_str(), own, kept).map_err(self.io(skill))
    }

    /// Moves an original back from `kept` below a library's folder in the home.
    pub(crate) fn restore_original(&self, skill: &SkillName, own: &Dir, kept: &str) -> Result<(), AgentLinkError> {
        originals::move_back(own, kept, &self.dir, skill.as_str()).map_err(self.io(skill))
    }

    /// Creates a copy of a skill's files.
    ///
    /// # Errors
    /// Returns [`AgentLinkError::Occupied`] if the name is taken by something else.
    pub fn place_copy(&self, skill: &SkillName, files: &Cleared) -> Result<AgentLink, AgentLinkError> {
        let path = self.path.join(skill.as_str());
        match folder::read(&self.dir, skill.as_str(), ToolFiles::Skip, &skill::Limits::default()) {
            Ok(found) if folder::has_content(&found, files.bundle()) => Ok(AgentLink::Already(path)),
            Err(folder::FolderError::Missing(_)) => {
                folder::write(&self.dir, skill.as_str(), files.bundle()).map_err(self.io(skill))?;
                Ok(AgentLink::New(path))
            }
            _ => Err(AgentLinkError::Occupied(path)),
        }
    }

    /// Removes the link to a skill of a library. A link to something else stays. Returns whether there was one.
    ///
    /// # Errors
    /// The link cannot be removed.
    pub fn remove_link(&self, skill: &SkillName, library: &Path) -> Result<bool, AgentLinkError> {
        let link = self.link(skill.as_str());
        if !link.leads_to(&library.join(skill.as_str())) {
            return Ok(false);
        }
        // Sync, because the state drops the link next. A link restored by a power loss could then not be removed.
        link.remove().and_then(|()| sync_folder(&self.dir)).map_err(self.io(skill))?;
        Ok(true)
    }

    /// Removes a dangling link. Returns whether there was one.
    ///
    /// # Errors
    /// The link cannot be removed.
    pub fn remove_dangling_link(&self, skill: &SkillName) -> Result<bool, AgentLinkError> {
        let link = self.link(skill.as_str());
        let opened = Dir::open_ambient_dir(self.path.join(skill.as_str()), ambient_authority());
        let leads_nowhere = opened.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if !link.exists() || !leads_nowhere {
            return Ok(false);
        }
        link.remove().map_err(self.io(skill))?;
        Ok(true)
    }

    /// Removes a copy that still has the given files. A copy that was edited stays, as does one with a repository of
    /// its own. Returns whether it was removed.
    ///
    /// # Errors
    /// The copy cannot be moved or removed.
    pub fn remove_copy(&self, skill: &SkillName, files: &skill::Bundle) -> Result<bool, AgentLinkError> {
        self.bring_back(skill).map_err(self.io(skill))?;
        if !self.holds_only(skill.as_str(), files) {
            return Ok(false);
        }
        self.remove_looked_at(skill, |aside| self.holds_only(aside, files))
    }

    /// Completes the removal of checked copies by a killed process, and restores copies that it had not checked.
    fn bring_back(&self, skill: &SkillName) -> io::Result<()> {
        for entry in self.dir.entries()? {
            let Ok(name) = entry?.file_name().into_string() else { continue };
            let is_left = TemporaryOwner::of(&name).is_some_and(|maker| maker.is_known_dead());
            if !is_left || !checkout::is_name_again(&name, skill.as_str()) {
                continue;
            }
            if checkout::is_gone(&name) {
                self.dir.remove_dir_all(&name)?;
            } else if checkout::is_part(&name) {
                checkout::give_back(&self.dir, skill.as_str(), &name);
            } else if self.dir.symlink_metadata(skill.as_str()).is_err() {
                self.dir.rename(&name, &self.dir, skill.as_str())?;
            }
        }
        Ok(())
    }

    /// Moves a folder to a temporary name, checks it again there, and removes it or puts it back, so that a
    /// concurrent edit is not lost.
    fn remove_looked_at(&self, skill: &SkillName, may_go: impl FnOnce(&str) -> bool) -> Result<bool, AgentLinkError> {
        let aside = checkout::temporary_name_again(skill.as_str());
        checkout::rename_away(&self.dir, skill.as_str(), &aside).map_err(self.io(skill))?;
        if !may_go(&aside) {
            return self.dir.rename(&aside, &self.dir, skill.as_str()).map(|()| false).map_err(self.io(skill));
        }
        checkout::remove_renamed(&self.dir, &aside).map_err(self.io(skill))?;
        Ok(true)
    }

    /// Returns whether a folder has exactly these files and no repository of its own.
    fn holds_only(&self, name: &str, files: &skill::Bundle) -> bool {
        let found = folder::read(&self.dir, name, ToolFiles::Skip, &skill::Limits::default());
        found.is_ok_and(|found| folder::has_content(&found, files)) && !self.holds_repository(name)
    }

    /// Returns whether a copy contains a version control history, which may exist nowhere else.
    fn holds_repository(&self, name: &str) -> bool {
        let is_repository = |path: &String| REPOSITORIES.contains(&path.rsplit('/').next().unwrap_or(path));
        let tool_files =
            folder::open(&self.dir, name).and_then(|dir| folder::tool_files_of(dir, &skill::Limits::default()));
        tool_files.map_or(true, |left| left.iter().any(is_repository))
    }

    fn link<'a>(&'a self, name: &'a str) -> FolderLink<'a> {
        FolderLink::new(&self.dir, &self.path, name)
    }

    fn io(&self, skill: &SkillName) -> impl FnOnce(io::Error) -> AgentLinkError {
        let path = self.path.join(skill.as_str());
        move |source| AgentLinkError::Io { path, source }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn only_own_links_are_removed() {
        let temp = tempfile::tempdir().unwrap();
        let library = temp.path().join(".agents/skills");
        let agent = AgentDir::create(&temp.path().join(".claude/skills")).unwrap();
        let (pdf, own) = (SkillName::parse("pdf").unwrap(), SkillName::parse("own").unwrap());
        assert!(matches!(agent.place_link(&pdf, &library).unwrap(), AgentLink::New(_)));
        assert!(matches!(agent.place_link(&pdf, &library).unwrap(), AgentLink::Already(_)));
        assert_eq!(agent.dir.read_link_contents("pdf").unwrap(), Path::new("../../.agents/skills/pdf"));
        agent.dir.create_dir("own").unwrap();
        assert!(matches!(agent.place_link(&own, &library), Err(AgentLinkError::Occupied(_))));
        assert!(!agent.remove_link(&own, &library).unwrap() && agent.dir.is_dir("own"));
        assert!(agent.remove_link(&pdf, &library).unwrap());
        assert!(!agent.remove_link(&pdf, &library).unwrap());
    }

    #[test]
    fn only_own_links_are_retargeted() {
        let temp = tempfile::tempdir().unwrap();
        let (library, trials) = (temp.path().join(".agents/skills"), temp.path().join(".skillhub/trials"));
        let agent = AgentDir::create(&temp.path().join(".claude/skills")).unwrap();
        let pdf = SkillName::parse("pdf").unwrap();
        let (head, candidate, mine) = (library.join("pdf"), trials.join("t1/pdf"), temp.path().join("mine"));
        let retarget = |from: &Path, to: &Path| agent.retarget_link(&pdf, from, to).unwrap();
        assert!(!retarget(&head, &candidate), "nothing is there");
        agent.place_link(&pdf, &library).unwrap();
        // Left by a killed process.
        agent.dir.symlink_contents("../../gone", ".skillhub-link-pdf").unwrap();
        assert!(retarget(&head, &candidate) && !retarget(&head, &candidate));
        assert_eq!(agent.trial_of(&pdf, &trials).as_deref(), Some("t1"));
        assert!(!agent.remove_link(&pdf, &library).unwrap(), "it is returned first");
        assert!(retarget(&candidate, &head) && agent.trial_of(&pdf, &trials).is_none());
        assert_eq!(agent.dir.entries().unwrap().count(), 1);
        agent.dir.remove_file("pdf").unwrap();
        agent.dir.symlink_contents("../../mine", "pdf").unwrap();
        assert!(!retarget(&head, &candidate) && agent.link("pdf").leads_to(&mine));
        // An entry that takes the place between check and exchange.
        assert!(!agent.exchange_link("pdf", &head, &candidate, ".skillhub-link-pdf").unwrap());
        assert!(agent.link("pdf").leads_to(&mine));
        assert_eq!(agent.dir.entries().unwrap().count(), 1);
    }

    #[test]
    fn linked_library_gets_no_links() {
        let temp = tempfile::tempdir().unwrap();
        let root = crate::resolve(temp.path()).unwrap();
        let (library, folder) = (root.join("library"), root.join("skills"));
        let dir = AgentDir::create(&library).unwrap();
        let parent = Dir::open_ambient_dir(&root, ambient_authority()).unwrap();
        FolderLink::new(&parent, &root, "skills").create(&library).unwrap();
        let agent = AgentDir { path: folder, dir: dir.dir.try_clone().unwrap() };
        let pdf = SkillName::parse("pdf").unwrap();
        assert!(matches!(agent.place_link(&pdf, &library).unwrap(), AgentLink::Already(_)));
        assert!(!dir.holds(&pdf), "a link to itself");
    }

    #[test]
    fn edited_copy_stays() {
        let temp = tempfile::tempdir().unwrap();
        let agent = AgentDir::create(temp.path()).unwrap();
        let name = SkillName::parse("pdf").unwrap();
        let bundle = testkit::bundle(&[("SKILL.md", "x")]);
        let cleared = scan::clear(bundle.clone(), scan::Baseline::None).unwrap();
        agent.place_copy(&name, &cleared).unwrap();
        agent.dir.write("pdf/SKILL.md", "edited").unwrap();
        assert!(!agent.remove_copy(&name, &bundle).unwrap());
        agent.dir.write("pdf/SKILL.md", "x").unwrap();
        agent.dir.create_dir("pdf/.git").unwrap();
        assert!(!agent.remove_copy(&name, &bundle).unwrap(), "a history of somebody's own stays");
        agent.dir.remove_dir("pdf/.git").unwrap();
        assert!(agent.remove_copy(&name, &bundle).unwrap() && !agent.dir.exists("pdf"));
    }

    #[test]
    fn copy_edited_during_removal_returns() {
        let temp = tempfile::tempdir().unwrap();
        let agent = AgentDir::create(temp.path()).unwrap();
        let name = SkillName::parse("pdf").unwrap();
        agent.dir.create_dir("pdf").unwrap();
        agent.dir.write("pdf/SKILL.md", "mine").unwrap();
        assert!(!agent.remove_looked_at(&name, |aside| !agent.dir.exists(format!("{aside}/SKILL.md"))).unwrap());
        assert_eq!(agent.dir.read_to_string("pdf/SKILL.md").unwrap(), "mine");
        assert!(agent.remove_looked_at(&name, |_| true).unwrap());
        assert_eq!(agent.dir.entries().unwrap().count(), 0, "nothing is left aside");
    }
    /// Creates a copy of two files, and the name to which a dead process was moving it.
    fn copy_and_name_of_the_dead() -> (tempfile::TempDir, AgentDir, SkillName, skill::Bundle, String) {
        let temp = tempfile::tempdir().unwrap();
        let agent = AgentDir::create(temp.path()).unwrap();
        let name = SkillName::parse("pdf").unwrap();
        let bundle = testkit::bundle(&[("SKILL.md", "x"), ("docs/b.md", "x")]);
        agent.place_copy(&name, &scan::clear(bundle.clone(), scan::Baseline::None).unwrap()).unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let (ours, dead) = (std::process::id().to_string(), child.id().to_string());
        let aside = checkout::temporary_name_again("pdf").replacen(&ours, &dead, 1);
        (temp, agent, name, bundle, aside)
    }

    #[test]
    fn interrupted_copy_removal_is_completed() {
        for files_moved in 0..3 {
            let (_temp, agent, name, bundle, aside) = copy_and_name_of_the_dead();
            let part = format!("{aside}-part");
            agent.dir.create_dir_all(format!("{part}/docs")).unwrap();
            for file in ["docs/b.md", "SKILL.md"].iter().take(files_moved) {
                agent.dir.rename(format!("pdf/{file}"), &agent.dir, format!("{part}/{file}")).unwrap();
            }
            assert!(agent.remove_copy(&name, &bundle).unwrap(), "{files_moved} files were moved");
            assert_eq!(agent.dir.entries().unwrap().count(), 0, "nothing is left aside");
        }
        let (_temp, agent, name, bundle, aside) = copy_and_name_of_the_dead();
        agent.dir.rename("pdf", &agent.dir, &aside).unwrap();
        agent.dir.create_dir(format!("{aside}-1-gone")).unwrap();
        agent.dir.create_dir(format!("{aside}-gone")).unwrap();
        agent.dir.write(format!("{aside}-gone/SKILL.md"), "half of it").unwrap();
        assert!(agent.remove_copy(&name, &bundle).unwrap());
        assert_eq!(agent.dir.entries().unwrap().count(), 1, "but for what has no name of ours");
    }

    #[test]
    fn file_written_after_kill_stays() {
        let (_temp, agent, name, bundle, aside) = copy_and_name_of_the_dead();
        let part = format!("{aside}-part");
        agent.dir.create_dir(&part).unwrap();
        agent.dir.rename("pdf/SKILL.md", &agent.dir, format!("{part}/SKILL.md")).unwrap();
        agent.dir.write("pdf/SKILL.md", "mine").unwrap();
        assert!(!agent.remove_copy(&name, &bundle).unwrap());
        assert_eq!(agent.dir.read_to_string("pdf/SKILL.md").unwrap(), "mine");
        assert!(agent.dir.exists("pdf/docs/b.md") && !agent.dir.exists(&part));
        let at_work = format!("{}-part", checkout::temporary_name_again("pdf"));
        agent.dir.create_dir(&at_work).unwrap();
        assert!(!agent.remove_copy(&name, &bundle).unwrap() && agent.dir.exists(&at_work));
    }
}
