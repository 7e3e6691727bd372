//! [`Catalogue`]: the skills that are visible from a location.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use library::{
    FolderEdit, FolderState, HandEditFault, Library, LibraryError, Scope,
    folder::{self, FolderError, ToolFiles},
};
use scan::{Baseline, Scanner};
use skill::{Bundle, Limits, SkillName, SkillPath};

use crate::{
    builtin::Builtin,
    error::AgentError,
    listed_skill::{ListedSkill, Source, of_builtin},
    near::near,
    prompt::trees,
    settings::Settings,
    skill_locations::{Access, Root, SkillLocations},
    storage::{LocalStorage, ReadOnlyStorage, SkillStorage},
    visibility::Visibility,
};

/// A skill that is excluded because another of the same name takes precedence.
#[derive(Debug, Clone)]
pub struct Shadowed {
    /// Name of both skills.
    pub name: SkillName,
    /// Folder of the skill that takes precedence.
    pub by: Option<PathBuf>,
    /// Folder of the excluded skill.
    pub path: Option<PathBuf>,
}

/// Folder of a skill that is listed without a library.
#[derive(Debug)]
pub struct GivenFolder {
    /// Root under which the folder was found.
    pub root: PathBuf,
    /// Path of the folder.
    pub path: PathBuf,
    /// Files of the skill.
    pub files: Bundle,
}

/// All visible skills by precedence. A skill with the name of an earlier one is excluded, with a note.
#[derive(Default)]
pub struct Catalogue {
    /// Skills, highest precedence first.
    pub skills: Vec<ListedSkill>,
    /// Notes on excluded skills, one sentence each.
    pub notes: Vec<String>,
    /// Skills that are excluded because another of the same name takes precedence.
    pub shadowed: Vec<Shadowed>,
    places: HashMap<SkillName, usize>,
    libraries: Vec<Library>,
    /// Change marks of the libraries, taken before they were read.
    marks: Vec<u64>,
    /// Skills of each library with an unrecorded edit.
    edited: Vec<Vec<SkillName>>,
    /// Fingerprint of the policy by which folder edits were judged, if there are any.
    edit_policy: Option<String>,
}

impl Catalogue {
    /// Collects all skills. Built-in ones come last.
    ///
    /// # Errors
    /// A library cannot be read. An unreadable agents' folder only causes a note.
    pub fn collect(places: &SkillLocations, builtin: Vec<Builtin>) -> Result<Self, AgentError> {
        Self::collect_by(places, builtin, Access::Open)
    }

    /// Collects all skills without writing: operations left behind by a killed process are not applied.
    ///
    /// # Errors
    /// As for [`Catalogue::collect`].
    pub fn inspect(places: &SkillLocations) -> Result<Self, AgentError> {
        Self::collect_by(places, Vec::new(), Access::Inspect)
    }

    /// Builds a catalogue of given folders.
    pub fn of_folders(folders: Vec<GivenFolder>, scanner: Scanner) -> Self {
        let mut catalogue = Self::default();
        for GivenFolder { root, path, files } in folders {
            let group = path.parent().and_then(|group| group.strip_prefix(&root).ok()).unwrap_or(Path::new(""));
            let (scope, group) = trees().find_map(|tree| tree.place(group)).unwrap_or((Scope::Project, group));
            let group = Some(group.to_string_lossy().into_owned()).filter(|group| !group.is_empty());
            let folder = path.file_name().unwrap_or_default().to_string_lossy();
            let Ok(name) = SkillName::parse(&folder) else {
                catalogue.notes.push(format!("{} was skipped: its name is not a valid skill name", path.display()));
                continue;
            };
            let blocked =
                scan::clear_by(files.clone(), Baseline::None, &scanner.reading()).err().map(|found| found.to_string());
            let listed = of_builtin(Builtin { name, files, qualified: None });
            let fault = blocked.or(listed.fault);
            catalogue.add(ListedSkill { scope, group, path: Some(path), fault, ..listed });
        }
        catalogue
    }

    fn collect_by(places: &SkillLocations, builtin: Vec<Builtin>, access: Access) -> Result<Self, AgentError> {
        let mut catalogue = Self::default();
        for root in places.open(access, &mut catalogue.notes)? {
            let (path, is_own) = (root.library.path().to_owned(), root.is_own);
            match catalogue.add_root(places, access, root) {
                Err(error) if is_own => return Err(error.into()),
                Err(error) => catalogue.notes.push(format!("{} was skipped: {error}", path.display())),
                Ok(()) => {}
            }
        }
        let read_only = ReadOnlyStorage { skills: builtin, library: catalogue.libraries.first() }.load()?;
        read_only.into_iter().for_each(|skill| catalogue.add(skill));
        catalogue.edit_policy = catalogue.policy_of_edits();
        Ok(catalogue)
    }

    /// Adds the skills of a folder, and of its subfolders that contain skills.
    fn add_root(&mut self, places: &SkillLocations, access: Access, root: Root) -> Result<(), LibraryError> {
        let Root { library, is_own } = root;
        let top = library.path().to_owned();
        let (mark, place) = (library.mark(), self.libraries.len());
        let mut skills = LocalStorage { library: &library, access, place, is_own }.load()?;
        // A folder that cannot be loaded as a skill may contain skills.
        let loadable = skills.iter().filter(|skill| skill.head.is_some() || skill.fault.is_none());
        let names: HashSet<&str> = loadable.map(|skill| skill.name.as_str()).collect();
        let nested = places.nested(&library, access, |name| names.contains(name), &mut self.notes)?;
        skills.retain(|skill| !nested.groups.contains(skill.name.as_str()));
        self.add_library(library, mark, skills);
        for (library, inner) in nested.libraries {
            let (mark, place, is_own) = (library.mark(), self.libraries.len(), is_own && inner.is_none());
            let group = library.path().strip_prefix(&top).ok().map(|group| group.to_string_lossy().into_owned());
            let mut skills = LocalStorage { library: &library, access, place, is_own }.load()?;
            skills.retain(|skill| {
                inner.as_ref().is_none_or(|inner| skill.path.as_ref().is_some_and(|at| inner.contains(at)))
            });
            skills.iter_mut().for_each(|skill| skill.group.clone_from(&group));
            self.add_library(library, mark, skills);
        }
        Ok(())
    }

    fn add_library(&mut self, library: Library, mark: u64, skills: Vec<ListedSkill>) {
        let edited = skills.iter().filter(|skill| skill.has_unrecorded_edit());
        self.edited.push(edited.map(|skill| skill.name.clone()).collect());
        skills.into_iter().for_each(|skill| self.add(skill));
        self.libraries.push(library);
        self.marks.push(mark);
    }

    fn add(&mut self, listed: ListedSkill) {
        match self.places.get(&listed.name).and_then(|place| self.skills.get(*place)) {
            Some(_) if listed.scope == Scope::Builtin => {}
            Some(known) if is_equal_copy(self, known, &listed) => {}
            Some(known) => {
                let place = |path: &Option<PathBuf>| path.as_ref().map(|p| p.display().to_string()).unwrap_or_default();
                let (by, hidden) = (place(&known.path), place(&listed.path));
                self.notes.push(format!("{} in {hidden} is shadowed by the one in {by}", listed.name));
                let (name, by, path) = (listed.name.clone(), known.path.clone(), listed.path);
                self.shadowed.push(Shadowed { name, by, path });
            }
            None => {
                self.places.insert(listed.name.clone(), self.skills.len());
                self.skills.push(listed);
            }
        }
    }

    /// Removes the skills that the configuration hides from an agent, and the notes about them.
    #[must_use]
    pub fn without_hidden(mut self, settings: &Settings, agent: &str) -> Self {
        let is_hidden = |listed: &ListedSkill| {
            !settings.grants_visibility(agent, listed.name.as_str(), listed.qualified().as_deref())
        };
        let hidden: Vec<SkillName> =
            self.skills.extract_if(.., |listed| is_hidden(listed)).map(|listed| listed.name).collect();
        self.shadowed.retain(|shadowed| !hidden.contains(&shadowed.name));
        self.notes.retain(|note| !hidden.iter().any(|name| note.starts_with(&format!("{name} "))));
        self.places = self.skills.iter().enumerate().map(|(place, listed)| (listed.name.clone(), place)).collect();
        self
    }

    /// Yields sentences about skills that load in spite of deviations from the standard.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.visible().flat_map(|skill| skill.warnings.iter().map(move |warning| format!("{}: {warning}", skill.name)))
    }

    /// Returns whether it contains a skill of this name.
    pub fn has(&self, name: &str) -> bool {
        SkillName::parse(name).is_ok_and(|name| self.places.contains_key(&name))
    }

    /// Returns the library that contains a skill. `None` for a built-in skill.
    pub fn library_of(&self, listed: &ListedSkill) -> Option<&Library> {
        match &listed.source {
            Source::Library(place) => self.libraries.get(*place),
            Source::Program(_) => None,
        }
    }

    /// Returns the library whose state stores a skill's enabled flag: its own, or the writable library for a built-in
    /// skill.
    pub fn state_library(&self, listed: &ListedSkill) -> Option<&Library> {
        self.library_of(listed).or(self.libraries.first())
    }

    /// Returns the libraries that were searched, the writable one first.
    pub fn libraries(&self) -> &[Library] {
        &self.libraries
    }

    /// Yields the libraries, each with its skills that have an unrecorded edit. These include shadowed skills.
    pub fn edited_skills(&self) -> impl Iterator<Item = (&Library, &[SkillName])> {
        self.libraries.iter().zip(self.edited.iter().map(Vec::as_slice))
    }

    /// Returns whether the catalogue is current: no skillhub process has committed or set anything in a library since,
    /// and the policy on folder edits is unchanged.
    pub(crate) fn is_as_marked(&self) -> bool {
        let is_judged_alike = self.edit_policy.is_none() || self.edit_policy == self.policy_of_edits();
        is_judged_alike && self.libraries.iter().map(Library::mark).eq(self.marks.iter().copied())
    }

    /// Returns the policy's fingerprint, if there are folder edits to judge.
    fn policy_of_edits(&self) -> Option<String> {
        let has_edits = self.skills.iter().any(|listed| listed.edit.is_some());
        self.libraries.first().filter(|_| has_edits).map(Library::edit_policy_fingerprint)
    }

    /// Returns a hash of everything that clients see of the skills.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for listed in &self.skills {
            let head = listed.head.as_ref().map(|head| &head.id);
            let ListedSkill { name, description, path, tools, enabled, modified, fault, .. } = listed;
            (name.as_str(), description, path, tools, head, enabled, modified, fault).hash(&mut hasher);
            listed.edit.as_ref().map(|edit| (&edit.digest, &edit.held)).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Returns a skill's files for our own readers: those of the head, or those of the folder if it was edited or has
    /// no history and passed the scanner.
    ///
    /// # Errors
    /// The library cannot be read, or the scanner blocks the folder.
    pub fn files(&self, listed: &ListedSkill) -> Result<Bundle, AgentError> {
        let gone = || AgentError::NoSkill { name: listed.name.to_string(), near: None };
        let library = match &listed.source {
            Source::Program(files) => return Ok((**files).clone()),
            Source::Library(place) => self.libraries.get(*place).ok_or_else(gone)?,
        };
        let unusable = |fault: String| AgentError::Unusable { name: listed.name.clone(), fault };
        if let Some(head) = &listed.head {
            return match listed.served_edit() {
                None => Ok(library.bundle(&head.id)?),
                Some(FolderEdit { at: Some(at), .. }) => Ok(library.bundle(&at.id)?),
                Some(edit) => Ok(Self::edited(library, listed, edit)?.files),
            };
        }
        match library.folder_state(&listed.name)? {
            FolderState::Modified(cleared) => Ok(cleared.bundle().clone()),
            FolderState::Blocked(HandEditFault::Invalid { bundle, .. }) => {
                match library.clear_by(&listed.name, bundle, Baseline::None, &library.scanner().reading())? {
                    Ok(cleared) => Ok(cleared.bundle().clone()),
                    Err(blocked) => Err(unusable(blocked.to_string())),
                }
            }
            FolderState::Blocked(fault) => Err(unusable(fault.to_string())),
            FolderState::Absent | FolderState::Clean | FolderState::Missing | FolderState::Earlier { .. } => {
                Err(gone())
            }
        }
    }

    /// Returns the skill of a name, regardless of visibility.
    ///
    /// # Errors
    /// No skill has that name.
    pub fn find(&self, name: &SkillName) -> Result<&ListedSkill, AgentError> {
        let found = self.places.get(name).and_then(|place| self.skills.get(*place));
        found.ok_or_else(|| self.missing(name.as_str(), &self.skills.iter().collect::<Vec<_>>()))
    }

    /// Finds a skill by the name in its `SKILL.md`, among those that satisfy `seen`, if no folder has that name.
    ///
    /// # Errors
    /// Several skills have the name.
    pub fn called(&self, text: &str, seen: impl Fn(&ListedSkill) -> bool) -> Result<Option<SkillName>, AgentError> {
        if self.has(text) {
            return Ok(None);
        }
        let gives = |listed: &&ListedSkill| listed.called.as_deref().is_some_and(|called| called.trim() == text.trim());
        let skills: Vec<_> =
            self.skills.iter().filter(gives).filter(|listed| seen(listed)).map(|listed| listed.name.clone()).collect();
        match skills.len() {
            0 | 1 => Ok(skills.into_iter().next()),
            _ => Err(AgentError::Ambiguous { name: text.to_owned(), skills }),
        }
    }

    /// Finds a skill by the path of its folder or `SKILL.md`, regardless of visibility.
    pub fn at(&self, path: &Path) -> Option<&ListedSkill> {
        self.skills.iter().find(|listed| listed.path.as_deref() == Some(folder_of(path)))
    }

    /// Returns the "not found" error for a name, with the nearest name among `known`.
    pub(crate) fn missing(&self, name: &str, known: &[&ListedSkill]) -> AgentError {
        let near = near(name, known.iter().map(|listed| listed.name.as_str())).map(str::to_owned);
        AgentError::NoSkill { name: name.to_owned(), near }
    }

    /// Yields the skills that agents in general may see.
    pub fn visible(&self) -> impl Iterator<Item = &ListedSkill> {
        self.skills.iter().filter(|listed| listed.enabled && listed.fault.is_none())
    }

    /// Returns the skills that one agent sees.
    pub fn seen(&self, settings: &Settings, agent: &str) -> Vec<&ListedSkill> {
        let is_seen =
            |listed: &&ListedSkill| matches!(listed.visibility(settings, agent), Visibility::Seen | Visibility::Asked);
        self.visible().filter(is_seen).collect()
    }
}

/// Returns the folder of a skill, given the folder or its `SKILL.md`.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.file_name() {
        Some(name) if name == SkillPath::SKILL_MD => path.parent().unwrap_or(path),
        _ => path,
    }
}

/// Returns whether a hidden skill has the same content as the one that takes precedence over it.
fn is_equal_copy(catalogue: &Catalogue, known: &ListedSkill, hidden: &ListedSkill) -> bool {
    let digest =
        |listed: &ListedSkill| listed.head.as_ref().filter(|_| !listed.modified).map(|head| head.digest.clone());
    if digest(known).is_some() && digest(known) == digest(hidden) {
        return true;
    }
    let found = hidden.path.as_deref().map(read_folder);
    let served = || catalogue.files(known);
    found
        .is_some_and(|found| found.is_ok_and(|found| served().is_ok_and(|served| folder::has_content(&found, &served))))
}

pub(crate) fn read_folder(path: &Path) -> Result<Bundle, FolderError> {
    folder::read_dir(folder::open_at(path)?, ToolFiles::Skip, &Limits::default())
}
