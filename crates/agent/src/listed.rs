//! [`Listed`]: a skill as it is listed.

use std::path::PathBuf;

use library::{FolderEdit, Front, Glance, Head, Library, Scope, Standing};
use skill::{Bundle, Limits, QualifiedName, SkillName};

use crate::{builtin::Builtin, tool_policy::Declared};

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
    pub(crate) registry_name: Option<QualifiedName>,
    pub(crate) source: Source,
}

/// Where a skill's files are.
#[derive(Debug)]
pub(crate) enum Source {
    /// In the library of this place in the catalogue.
    Library(usize),
    /// Inside the program.
    Program(Box<Bundle>),
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
