//! [`ListedSkill`]: a skill as an entry of the catalogue.

use std::path::PathBuf;

use library::{FolderEdit, FolderStatus, Head, Library, Origin, Scope, SkillMdSummary, SkillSummary};
use skill::{Bundle, Limits, QualifiedName, SkillName};

use crate::{builtin::Builtin, tool_policy::Declared};

/// Skill of a library, or from the program.
#[derive(Debug)]
pub struct ListedSkill {
    /// Name of the skill.
    pub name: SkillName,
    /// Scope that contains the skill.
    pub scope: Scope,
    /// Absolute path of its folder. `None` for a built-in skill.
    pub path: Option<PathBuf>,
    /// Title in any script, from `metadata.title`.
    pub title: Option<String>,
    /// Description of its purpose and when to use it. Empty if it cannot be read.
    pub description: String,
    /// Name in its `SKILL.md`, if it differs from the folder's.
    pub called: Option<String>,
    /// Tolerated deviations of its `SKILL.md` from the standard.
    pub warnings: Vec<String>,
    /// Tools that it declares. `None` if it does not declare any.
    pub tools: Option<Vec<String>>,
    /// Newest revision. `None` for a folder without history and for a built-in skill.
    pub head: Option<Head>,
    /// Content of its folder, if it differs from the head and passes the scanner.
    pub edit: Option<FolderEdit>,
    /// Version given by the author or the release.
    pub version: Option<String>,
    /// True if it is enabled for agents.
    pub enabled: bool,
    /// True if it is pinned, so that only people can change it.
    pub pinned: bool,
    /// True if it differs from the installed release, or its folder from its head.
    pub modified: bool,
    /// Number of findings that block under the current rules, although earlier rules let the content pass. A person
    /// decides about them.
    pub undecided: usize,
    /// True if it has a history but no folder.
    pub missing: bool,
    /// Reason why agents do not see it although it is enabled.
    pub fault: Option<String>,
    /// True if the reason is damage to its history.
    pub damaged: bool,
    /// True if its folder has content that readers refuse.
    pub blocked: bool,
    /// Group folder below its library, with `/` as separator.
    pub group: Option<String>,
    /// True if it is in a folder of agents, not in a library of the user or project.
    pub found_elsewhere: bool,
    pub(crate) registry_name: Option<QualifiedName>,
    pub(crate) source: Source,
}

/// Location of a skill's files.
#[derive(Debug)]
pub(crate) enum Source {
    /// Library, by its index in the catalogue.
    Library(usize),
    /// Files inside the program.
    Program(Box<Bundle>),
}

impl ListedSkill {
    /// Returns `owner/name`, if it was installed from a registry.
    pub fn qualified(&self) -> Option<String> {
        if let Some(name) = &self.registry_name {
            return Some(name.to_string());
        }
        self.head.as_ref()?.origin.as_ref()?.qualified_name()
    }

    /// Returns the edit of its folder that readers get in place of the head.
    pub fn served_edit(&self) -> Option<&FolderEdit> {
        self.edit.as_ref().filter(|edit| edit.held.is_none())
    }

    /// Returns whether readers get an unrecorded edit of its folder.
    pub fn is_edited(&self) -> bool {
        self.served_edit().is_some_and(|edit| edit.at.is_none())
    }

    /// Returns whether its folder has an unrecorded edit that passes the scanner, also one that is held for a person.
    pub(crate) fn has_unrecorded_edit(&self) -> bool {
        self.head.is_some() && self.edit.as_ref().is_some_and(|edit| edit.at.is_none())
    }

    /// Returns the reason why an edit of its folder is held for a person.
    pub fn held(&self) -> Option<&str> {
        self.edit.as_ref()?.held.as_deref()
    }

    /// Returns the revision that readers get: the head, or the earlier revision in its folder.
    pub fn served(&self) -> Option<&Head> {
        self.served_edit().and_then(|edit| edit.at.as_ref()).or(self.head.as_ref())
    }

    /// Returns the digest of the content that readers get. `None` for a folder without history and for a built-in
    /// skill.
    pub fn digest(&self) -> Option<&str> {
        let edit = self.served_edit().map(|edit| edit.digest.as_str());
        edit.or_else(|| self.head.as_ref().map(|head| head.digest.as_str()))
    }

    /// Returns its declaration of tools.
    pub fn declared(&self) -> Declared {
        Declared { skill: self.name.clone(), tools: self.tools.clone() }
    }

    /// Returns the absolute path of its `SKILL.md`. Empty for a built-in skill.
    pub fn location(&self) -> String {
        let file = self.path.as_ref().map(|path| path.join("SKILL.md").into_os_string().into_string());
        file.map(|text| text.unwrap_or_else(|odd| odd.to_string_lossy().into_owned())).unwrap_or_default()
    }

    #[cfg(test)]
    pub(crate) fn in_scope(self, scope: Scope, folder: &str) -> Self {
        Self { scope, path: Some(PathBuf::from(folder)), ..self }
    }

    #[cfg(test)]
    pub(crate) fn described(name: &str, description: &str) -> Self {
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

/// Builds the entry of a library's skill.
pub(crate) fn listed(library: &Library, place: usize, glance: SkillSummary) -> ListedSkill {
    let SkillSummary { name, head, front, standing, edit, undecided, .. } = glance;
    let SkillMdSummary { title, description, version, tools, called, warnings, fault: unreadable } = front;
    let at = edit.as_ref().filter(|edit| edit.held.is_none()).and_then(|edit| edit.at.as_ref());
    let release = at.or(head.as_ref()).and_then(|head| Some((head.origin.as_ref()?, &head.digest)));
    let evolved = release.is_some_and(|(origin, digest)| {
        origin.digest().to_string() != *digest && !is_renamed_release(library, &name, origin, digest)
    });
    let version = release.and_then(|(origin, _)| origin.version()).or(version);
    let fault = match &standing {
        FolderStatus::Blocked(fault) if head.is_some() => Some(format!("its folder was edited by hand: {fault}")),
        FolderStatus::Blocked(fault) | FolderStatus::Lapsed(fault) => Some(fault.clone()),
        FolderStatus::Missing => Some("its folder is missing".to_owned()),
        FolderStatus::Damaged(why) => Some(format!("its history is damaged: {why}")),
        FolderStatus::Clean | FolderStatus::Modified | FolderStatus::Earlier => None,
    };
    let edited = head.is_some() && matches!(standing, FolderStatus::Modified | FolderStatus::Blocked(_));
    ListedSkill {
        scope: library.scope(),
        path: Some(library.path().join(name.as_str())),
        title,
        description,
        called,
        warnings,
        tools,
        version,
        enabled: true,
        pinned: false,
        modified: edited || evolved,
        missing: standing == FolderStatus::Missing,
        damaged: matches!(standing, FolderStatus::Damaged(_)),
        blocked: matches!(standing, FolderStatus::Blocked(_)),
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

/// Returns whether the content is the release under the name of the folder. It needs the history, so it is asked only
/// for skills installed under another name.
fn is_renamed_release(library: &Library, name: &SkillName, origin: &Origin, digest: &str) -> bool {
    let release = || library.release_here(name, origin).ok().flatten();
    name != origin.bare_name() && release().is_some_and(|(_, files)| files.digest().to_string() == digest)
}

pub(crate) fn of_builtin(builtin: Builtin) -> ListedSkill {
    let Builtin { name, files, qualified } = builtin;
    let SkillMdSummary { title, description, version, tools, called, warnings, fault } =
        SkillMdSummary::of(&files, &name, &Limits::default());
    ListedSkill {
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
        pinned: false,
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
