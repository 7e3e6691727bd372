//! [`Catalogue`]: the skills that are visible from somewhere.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use library::{FolderEdit, FolderState, Front, Glance, HandEditFault, Head, Library, LibraryError, Scope, Standing};
use scan::{Baseline, Scanner};
use skill::{Bundle, Limits, QualifiedName, SkillName, SkillPath};

use crate::{
    builtin::Builtin,
    effective::{Sight, is_equal_copy},
    error::AgentError,
    places::{Access, Places, Root},
    prompt::trees,
    search::search,
    settings::Settings,
    storage::{LocalStorage, ReadOnlyStorage, SkillStorage},
    tool_policy::Declared,
};

/// Names that an error proposes in place of one that is not there.
const SIMILAR: usize = 3;

/// A skill of a library, or one inside the program.
#[derive(Debug)]
pub struct Listed {
    /// Its name.
    pub name: SkillName,
    /// Whose it is.
    pub scope: Scope,
    /// Its folder, absolute; a built-in skill has none.
    pub path: Option<PathBuf>,
    /// Its title in any script, by `metadata.title`.
    pub title: Option<String>,
    /// What it does and when to use it; empty where that cannot be read.
    pub description: String,
    /// The name in its `SKILL.md`, where that is not the folder's.
    pub called: Option<String>,
    /// Departures of its `SKILL.md` from the standard with which it loads all the same.
    pub warnings: Vec<String>,
    /// The tools that it declares; `None` where it says nothing of tools.
    pub tools: Option<Vec<String>>,
    /// Its newest revision; `None` for a folder without history and for a built-in skill.
    pub head: Option<Head>,
    /// The content of its folder where that is not the head's and passes the scanner.
    pub edit: Option<FolderEdit>,
    /// The author's version, or that of the release.
    pub version: Option<String>,
    /// Whether agents see it.
    pub enabled: bool,
    /// Whether it differs from the release that was installed, or its folder from its head.
    pub modified: bool,
    /// Findings that would block it by the rules of today, where earlier ones let it pass; a person decides.
    pub undecided: usize,
    /// Whether it has a history but no folder.
    pub missing: bool,
    /// Why agents do not see it although it is enabled.
    pub fault: Option<String>,
    /// Whether that is damage of its history.
    pub damaged: bool,
    /// Whether its folder has content that readers refuse.
    pub blocked: bool,
    /// The folder of several skills below its library that it stands in, with `/` between the parts.
    pub group: Option<String>,
    /// Whether it stands in a folder of agents rather than in a library of the user or project.
    pub found_elsewhere: bool,
    registry_name: Option<QualifiedName>,
    source: Source,
}

/// Where a skill's files are.
#[derive(Debug)]
enum Source {
    /// In the library of this place in the catalogue.
    Library(usize),
    /// Inside the program.
    Program(Box<Bundle>),
}

/// All visible skills by precedence. One whose name is taken already is left out, and a note says so.
#[derive(Default)]
pub struct Catalogue {
    /// Skills by precedence.
    pub skills: Vec<Listed>,
    /// Sentences about what is left out and why.
    pub notes: Vec<String>,
    /// Names with the folders of the skill that has it and of the one that is left out.
    pub shadowed: Vec<(SkillName, Option<PathBuf>, Option<PathBuf>)>,
    places: HashMap<SkillName, usize>,
    libraries: Vec<Library>,
    /// The marks of the libraries before they were looked at.
    marks: Vec<u64>,
    /// The policy by which edits of folders were judged, where there are such.
    edit_policy: Option<String>,
}

impl Catalogue {
    /// Collects them; built-in ones last.
    ///
    /// # Errors
    /// A library cannot be read. Of an agents' folder that cannot, a note tells.
    pub fn collect(places: &Places, builtin: Vec<Builtin>) -> Result<Self, AgentError> {
        Self::collect_by(places, builtin, Access::Open)
    }

    /// As [`Catalogue::collect`], but nothing is written: operations that a killed process left are not applied.
    ///
    /// # Errors
    /// As [`Catalogue::collect`].
    pub fn inspect(places: &Places) -> Result<Self, AgentError> {
        Self::collect_by(places, Vec::new(), Access::Inspect)
    }

    /// The skills of these folders alone, each with the root below which it was found, its folder and its files.
    #[must_use]
    pub fn of_folders(folders: Vec<(PathBuf, PathBuf, Bundle)>, scanner: Scanner) -> Self {
        let mut catalogue = Self::default();
        for (root, path, files) in folders {
            let group = path.parent().and_then(|group| group.strip_prefix(&root).ok()).unwrap_or(Path::new(""));
            let (scope, group) = trees().find_map(|tree| tree.place(group)).unwrap_or((Scope::Project, group));
            let group = Some(group.to_string_lossy().into_owned()).filter(|group| !group.is_empty());
            let folder = path.file_name().unwrap_or_default().to_string_lossy();
            let Ok(name) = SkillName::parse(&folder) else {
                catalogue.notes.push(format!("{} is left out: no skill's folder can have this name", path.display()));
                continue;
            };
            let blocked = scan::clear_by(files.clone(), Baseline::None, &scanner).err().map(|found| found.to_string());
            let listed = of_builtin(Builtin { name, files, qualified: None });
            let fault = blocked.or(listed.fault);
            catalogue.add(Listed { scope, group, path: Some(path), fault, ..listed });
        }
        catalogue
    }

    fn collect_by(places: &Places, builtin: Vec<Builtin>, access: Access) -> Result<Self, AgentError> {
        let mut catalogue = Self::default();
        for root in places.open(access, &mut catalogue.notes)? {
            let (path, is_own) = (root.library.path().to_owned(), root.is_own);
            match catalogue.add_root(places, access, root) {
                Err(error) if is_own => return Err(error.into()),
                Err(error) => catalogue.notes.push(format!("{} is left out: {error}", path.display())),
                Ok(()) => {}
            }
        }
        let read_only = ReadOnlyStorage { skills: builtin, library: catalogue.libraries.first() }.load()?;
        read_only.into_iter().for_each(|skill| catalogue.add(skill));
        catalogue.edit_policy = catalogue.policy_of_edits();
        Ok(catalogue)
    }

    /// Adds the skills of a folder, and those of the folders below it that hold skills.
    fn add_root(&mut self, places: &Places, access: Access, root: Root) -> Result<(), LibraryError> {
        let Root { library, is_own } = root;
        let top = library.path().to_owned();
        let (mark, place) = (library.mark(), self.libraries.len());
        let mut skills = LocalStorage { library: &library, access, place, is_own }.load()?;
        // A folder that cannot be loaded as a skill may hold skills.
        let loadable = skills.iter().filter(|skill| skill.head.is_some() || skill.fault.is_none());
        let names: HashSet<&str> = loadable.map(|skill| skill.name.as_str()).collect();
        let nested = places.nested((&library, access), |name| names.contains(name), &mut self.notes)?;
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

    fn add_library(&mut self, library: Library, mark: u64, skills: Vec<Listed>) {
        skills.into_iter().for_each(|skill| self.add(skill));
        self.libraries.push(library);
        self.marks.push(mark);
    }

    fn add(&mut self, listed: Listed) {
        match self.places.get(&listed.name).and_then(|place| self.skills.get(*place)) {
            Some(_) if listed.scope == Scope::Builtin => {}
            Some(known) if is_equal_copy(self, known, &listed) => {}
            Some(known) => {
                let place = |path: &Option<PathBuf>| path.as_ref().map(|p| p.display().to_string()).unwrap_or_default();
                let (by, hidden) = (place(&known.path), place(&listed.path));
                self.notes.push(format!("{} in {hidden} is shadowed by the one in {by}", listed.name));
                self.shadowed.push((listed.name.clone(), known.path.clone(), listed.path));
            }
            None => {
                self.places.insert(listed.name.clone(), self.skills.len());
                self.skills.push(listed);
            }
        }
    }

    /// The same without the skills that the configuration hides from an agent, and without what is noted of them.
    #[must_use]
    pub fn without_hidden(mut self, settings: &Settings, agent: &str) -> Self {
        let is_hidden =
            |listed: &Listed| !settings.lets_see(agent, listed.name.as_str(), listed.qualified().as_deref());
        let hidden: Vec<SkillName> =
            self.skills.extract_if(.., |listed| is_hidden(listed)).map(|listed| listed.name).collect();
        self.shadowed.retain(|(name, ..)| !hidden.contains(name));
        self.notes.retain(|note| !hidden.iter().any(|name| note.starts_with(&format!("{name} "))));
        self.places = self.skills.iter().enumerate().map(|(place, listed)| (listed.name.clone(), place)).collect();
        self
    }

    /// Sentences about skills that load although they depart from the standard.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.visible().flat_map(|skill| skill.warnings.iter().map(move |warning| format!("{}: {warning}", skill.name)))
    }

    /// Whether a skill of this name is in it.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        SkillName::parse(name).is_ok_and(|name| self.places.contains_key(&name))
    }

    /// The library that a skill stands in; a built-in one stands in none.
    #[must_use]
    pub fn library_of(&self, listed: &Listed) -> Option<&Library> {
        match &listed.source {
            Source::Library(place) => self.libraries.get(*place),
            Source::Program(_) => None,
        }
    }

    /// The library in whose state a skill is switched on and off: its own, or for a built-in one the library
    /// that is written to.
    #[must_use]
    pub fn state_library(&self, listed: &Listed) -> Option<&Library> {
        self.library_of(listed).or(self.libraries.first())
    }

    /// The libraries in which skills were looked for, the one that is written to first.
    #[must_use]
    pub fn libraries(&self) -> &[Library] {
        &self.libraries
    }

    /// Whether no skillhub has committed or set anything in one of the libraries since, and the policy by which edits
    /// of folders were judged is the same.
    pub(crate) fn is_as_marked(&self) -> bool {
        let is_judged_alike = self.edit_policy.is_none() || self.edit_policy == self.policy_of_edits();
        is_judged_alike && self.libraries.iter().map(Library::mark).eq(self.marks.iter().copied())
    }

    /// The policy, where there are edits that it bears on.
    fn policy_of_edits(&self) -> Option<String> {
        let has_edits = self.skills.iter().any(|listed| listed.edit.is_some());
        self.libraries.first().filter(|_| has_edits).map(Library::edit_policy_fingerprint)
    }

    /// A number that changes with what clients are told of the skills.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for listed in &self.skills {
            let head = listed.head.as_ref().map(|head| &head.id);
            let Listed { name, description, path, tools, enabled, modified, fault, .. } = listed;
            (name.as_str(), description, path, tools, head, enabled, modified, fault).hash(&mut hasher);
            listed.edit.as_ref().map(|edit| (&edit.digest, &edit.held)).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// A skill's files as our own readers see them: those of the head, or those of the folder where that was edited or
    /// has no history and the scanner let them pass.
    ///
    /// # Errors
    /// The library cannot be read, or the scanner blocks the folder.
    pub fn files(&self, listed: &Listed) -> Result<Bundle, AgentError> {
        let gone = || AgentError::NoSkill { name: listed.name.to_string(), similar: Vec::new() };
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
                match library.clear(&listed.name, bundle, Baseline::None)? {
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

    /// The skill of a name, whoever may see it.
    ///
    /// # Errors
    /// No skill has that name.
    pub fn find(&self, name: &SkillName) -> Result<&Listed, AgentError> {
        let found = self.places.get(name).and_then(|place| self.skills.get(*place));
        found.ok_or_else(|| self.missing(name.as_str(), &self.skills.iter().collect::<Vec<_>>()))
    }

    /// The one skill among those that are `seen` whose `SKILL.md` gives this name, where no folder has it.
    ///
    /// # Errors
    /// Several give it.
    pub fn called(&self, text: &str, seen: impl Fn(&Listed) -> bool) -> Result<Option<SkillName>, AgentError> {
        if self.has(text) {
            return Ok(None);
        }
        let gives = |listed: &&Listed| listed.called.as_deref().is_some_and(|called| called.trim() == text.trim());
        let skills: Vec<_> =
            self.skills.iter().filter(gives).filter(|listed| seen(listed)).map(|listed| listed.name.clone()).collect();
        match skills.len() {
            0 | 1 => Ok(skills.into_iter().next()),
            _ => Err(AgentError::Ambiguous { name: text.to_owned(), skills }),
        }
    }

    /// The skill of which this is the folder or the `SKILL.md`, whoever may see it.
    #[must_use]
    pub fn at(&self, path: &Path) -> Option<&Listed> {
        self.skills.iter().find(|listed| listed.path.as_deref() == Some(folder_of(path)))
    }

    /// That no skill has a name, with those among `known` that are like it.
    pub(crate) fn missing(&self, name: &str, known: &[&Listed]) -> AgentError {
        let similar = search(known, name, SIMILAR).iter().map(|hit| hit.listed.name.to_string()).collect();
        AgentError::NoSkill { name: name.to_owned(), similar }
    }

    /// The skills that agents may see, whichever they are.
    pub fn visible(&self) -> impl Iterator<Item = &Listed> {
        self.skills.iter().filter(|listed| listed.enabled && listed.fault.is_none())
    }

    /// The skills that one agent sees.
    #[must_use]
    pub fn seen(&self, settings: &Settings, agent: &str) -> Vec<&Listed> {
        let is_seen = |listed: &&Listed| matches!(listed.sight(settings, agent), Sight::Seen | Sight::Asked);
        self.visible().filter(is_seen).collect()
    }
}

impl Listed {
    /// `owner/name`, for a skill that was installed from a registry.
    #[must_use]
    pub fn qualified(&self) -> Option<String> {
        if let Some(name) = &self.registry_name {
            return Some(name.to_string());
        }
        let origin = self.head.as_ref()?.origin.as_ref()?;
        origin.name.parse::<QualifiedName>().ok().map(|name| name.to_string())
    }

    /// The edit of its folder that readers get in place of the head.
    #[must_use]
    pub fn served_edit(&self) -> Option<&FolderEdit> {
        self.edit.as_ref().filter(|edit| edit.held.is_none())
    }

    /// Whether readers get an edit of its folder that is not recorded.
    #[must_use]
    pub fn is_edited(&self) -> bool {
        self.served_edit().is_some_and(|edit| edit.at.is_none())
    }

    /// Why an edit of its folder waits for a person.
    #[must_use]
    pub fn held(&self) -> Option<&str> {
        self.edit.as_ref()?.held.as_deref()
    }

    /// The revision that readers get: the head, or the earlier one that its folder is at.
    #[must_use]
    pub fn served(&self) -> Option<&Head> {
        self.served_edit().and_then(|edit| edit.at.as_ref()).or(self.head.as_ref())
    }

    /// The digest of what readers get; `None` for a folder without history and for a built-in skill.
    #[must_use]
    pub fn digest(&self) -> Option<&str> {
        let edit = self.served_edit().map(|edit| edit.digest.as_str());
        edit.or_else(|| self.head.as_ref().map(|head| head.digest.as_str()))
    }

    /// What it says of tools.
    #[must_use]
    pub fn declared(&self) -> Declared {
        Declared { skill: self.name.clone(), tools: self.tools.clone() }
    }

    /// Its `SKILL.md`, absolute; empty for a built-in skill.
    #[must_use]
    pub fn location(&self) -> String {
        let file = self.path.as_ref().map(|path| path.join("SKILL.md").into_os_string().into_string());
        file.map(|text| text.unwrap_or_else(|odd| odd.to_string_lossy().into_owned())).unwrap_or_default()
    }

    #[cfg(test)]
    pub(crate) fn in_scope(self, scope: Scope, folder: &str) -> Self {
        Self { scope, path: Some(PathBuf::from(folder)), ..self }
    }

    #[cfg(test)]
    pub(crate) fn told(name: &str, description: &str) -> Self {
        let name = SkillName::parse(name).unwrap();
        Self {
            description: description.to_owned(),
            ..of_builtin(Builtin { name, files: Bundle::default(), qualified: None })
        }
        .without_fault()
    }

    #[cfg(test)]
    pub(crate) fn without_fault(self) -> Self {
        Self { fault: None, ..self }
    }
}

/// The folder of a skill that is named by it or by its `SKILL.md`.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.file_name() {
        Some(name) if name == SkillPath::SKILL_MD => path.parent().unwrap_or(path),
        _ => path,
    }
}

/// A skill of a library.
pub(crate) fn listed(library: &Library, place: usize, glance: Glance) -> Listed {
    let Glance { name, head, front, standing, edit, undecided, .. } = glance;
    let Front { title, description, version, tools, called, warnings, fault: unreadable } = front;
    let at = edit.as_ref().filter(|edit| edit.held.is_none()).and_then(|edit| edit.at.as_ref());
    let release = at.or(head.as_ref()).and_then(|head| Some((head.origin.as_ref()?, &head.digest)));
    let evolved = release.is_some_and(|(origin, digest)| origin.digest != *digest);
    let version = release.and_then(|(origin, _)| origin.version.clone()).or(version);
    let fault = match &standing {
        Standing::Blocked(fault) if head.is_some() => Some(format!("its folder was changed by hand: {fault}")),
        Standing::Blocked(fault) | Standing::Lapsed(fault) => Some(fault.clone()),
        Standing::Missing => Some("its folder is missing".to_owned()),
        Standing::Damaged(why) => Some(format!("its history is damaged: {why}")),
        Standing::Clean | Standing::Modified | Standing::Earlier => None,
    };
    let edited = head.is_some() && matches!(standing, Standing::Modified | Standing::Blocked(_));
    Listed {
        scope: library.scope(),
        path: Some(library.path().join(name.as_str())),
        title,
        description,
        called,
        warnings,
        tools,
        version,
        enabled: true,
        modified: edited || evolved,
        missing: standing == Standing::Missing,
        damaged: matches!(standing, Standing::Damaged(_)),
        blocked: matches!(standing, Standing::Blocked(_)),
        fault: fault.or(unreadable),
        found_elsewhere: false,
        group: None,
        registry_name: None,
        source: Source::Library(place),
        name,
        edit,
        undecided,
        head,
    }
}

pub(crate) fn of_builtin(builtin: Builtin) -> Listed {
    let Builtin { name, files, qualified } = builtin;
    let Front { title, description, version, tools, called, warnings, fault } =
        Front::of(&files, &name, &Limits::default());
    Listed {
        name,
        scope: Scope::Builtin,
        path: None,
        title,
        description,
        called,
        warnings,
        tools,
        head: None,
        edit: None,
        undecided: 0,
        version,
        enabled: true,
        modified: false,
        missing: false,
        damaged: false,
        blocked: false,
        fault,
        found_elsewhere: false,
        group: None,
        registry_name: qualified,
        source: Source::Program(Box::new(files)),
    }
}
