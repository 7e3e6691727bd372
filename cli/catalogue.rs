//! [`Listed`]: the skills that are visible from where a command was given.

use std::path::PathBuf;

use library::{FolderState, HandEditFault, Library, Revision, Scope};
use scan::Baseline;
use skill::{Bundle, SkillName, validate::load};

use crate::{
    context::Context,
    exit::{CliError, Exit},
};

/// A skill of a library, or one inside the program.
#[derive(Debug)]
pub struct Listed {
    /// Its name.
    pub name: SkillName,
    /// Whose it is.
    pub scope: Scope,
    /// Its folder, absolute; a built-in skill has none.
    pub path: Option<PathBuf>,
    /// What it does and when to use it; empty where that cannot be read.
    pub description: String,
    /// Its newest revision; `None` for a folder without history and for a built-in skill.
    pub head: Option<Revision>,
    /// The author's version, or that of the release.
    pub version: Option<String>,
    /// Whether agents see it.
    pub enabled: bool,
    /// Whether it differs from the release that was installed, or its folder from its head.
    pub modified: bool,
    /// Whether it has a history but no folder.
    pub missing: bool,
    /// Why agents do not see it although it is enabled.
    pub fault: Option<String>,
    /// Its files as our own readers see them: those of the head.
    pub files: Bundle,
}

/// All visible skills: those of the first library, then of the others. One whose name is taken already
/// is left out, and a note says so.
pub struct Catalogue {
    /// Skills by precedence.
    pub skills: Vec<Listed>,
    /// Sentences about what is left out and why.
    pub notes: Vec<String>,
}

/// The skills inside the program.
///
/// # Errors
/// Never, unless the program was built wrongly.
pub fn builtin() -> Result<Vec<(SkillName, Bundle)>, CliError> {
    let internal = |error: String| CliError::new("internal", Exit::Failed, error);
    let seeds = registry_index::seeds().map_err(|error| internal(error.to_string()))?;
    seeds.into_iter().map(|bundle| Ok((builtin_name(&bundle).map_err(internal)?, bundle))).collect()
}

fn builtin_name(bundle: &Bundle) -> Result<SkillName, String> {
    let text = bundle.skill_md().unwrap_or_default();
    let loaded = load(text.as_bytes(), "", &skill::Limits::default()).map_err(|problems| format!("{problems:?}"))?;
    SkillName::parse(&loaded.name).map_err(|fault| fault.to_string())
}

impl Catalogue {
    /// Collects them; built-in ones last, when asked for.
    ///
    /// # Errors
    /// A library cannot be read.
    pub fn collect(context: &Context, with_builtin: bool) -> Result<Self, CliError> {
        let mut catalogue = Self { skills: Vec::new(), notes: Vec::new() };
        for library in context.visible_libraries()? {
            for listed in of_library(&library)? {
                catalogue.add(listed);
            }
        }
        if with_builtin {
            for (name, files) in builtin()? {
                catalogue.add(of_builtin(name, files));
            }
        }
        Ok(catalogue)
    }

    fn add(&mut self, listed: Listed) {
        match self.skills.iter().find(|known| known.name == listed.name) {
            Some(_) if listed.scope == Scope::Builtin => {}
            Some(known) => {
                let place = |path: &Option<PathBuf>| path.as_ref().map(|p| p.display().to_string()).unwrap_or_default();
                let (by, hidden) = (place(&known.path), place(&listed.path));
                self.notes.push(format!("{} in {hidden} is shadowed by the one in {by}", listed.name));
            }
            None => self.skills.push(listed),
        }
    }

    /// The skill of a name.
    ///
    /// # Errors
    /// No visible skill has that name.
    pub fn find(&self, name: &SkillName) -> Result<&Listed, CliError> {
        self.skills.iter().find(|listed| listed.name == *name).ok_or_else(|| {
            CliError::new("not_found", Exit::NotFound, format!("there is no skill {name} here"))
                .hint("`skillhub list` shows the skills that are visible from this folder")
        })
    }

    /// The skills that agents see.
    pub fn visible(&self) -> impl Iterator<Item = &Listed> {
        self.skills.iter().filter(|listed| listed.enabled && listed.fault.is_none())
    }
}

/// The skills of one library: those of its history, and folders without one.
fn of_library(library: &Library) -> Result<Vec<Listed>, CliError> {
    let state = library.state()?;
    let mut skills = Vec::new();
    for (name, head) in library.skills()? {
        let files = library.bundle(&head.id)?;
        let folder = library.folder_state(&name)?;
        let missing = matches!(folder, FolderState::Missing);
        let (edited, fault) = match folder {
            FolderState::Blocked(fault) => (true, Some(format!("its folder was changed by hand: {fault}"))),
            FolderState::Modified(_) => (true, None),
            FolderState::Missing => (false, Some("its folder is missing".to_owned())),
            FolderState::Absent | FolderState::Clean => (false, None),
        };
        let evolved = head.origin.as_ref().is_some_and(|origin| origin.digest != head.digest.to_string());
        let listed = listed(library, name.clone(), files, state.of(&name).enabled, fault);
        let version = head.origin.as_ref().and_then(|origin| origin.version.clone()).or(listed.version);
        skills.push(Listed { head: Some(head), version, modified: edited || evolved, missing, ..listed });
    }
    for name in library.folders()?.iter().filter_map(|folder| SkillName::parse(folder).ok()) {
        if !skills.iter().any(|known| known.name == name) {
            skills.extend(without_history(library, &name, state.of(&name).enabled)?);
        }
    }
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(skills)
}

/// A folder that looks like a skill but has no history yet. It is read leniently, as other clients do,
/// but what the scanner blocks is not shown to agents.
fn without_history(library: &Library, name: &SkillName, enabled: bool) -> Result<Option<Listed>, CliError> {
    let (files, fault) = match library.folder_state(name)? {
        FolderState::Modified(cleared) => (cleared.bundle().clone(), None),
        FolderState::Blocked(HandEditFault::Invalid { bundle, .. }) => {
            match library.clear(name, bundle, Baseline::None)? {
                Ok(cleared) => (cleared.bundle().clone(), None),
                Err(blocked) => (blocked.bundle.clone(), Some(blocked.to_string())),
            }
        }
        FolderState::Blocked(fault) => (Bundle::default(), Some(fault.to_string())),
        FolderState::Absent | FolderState::Clean | FolderState::Missing => return Ok(None),
    };
    Ok(Some(listed(library, name.clone(), files, enabled, fault)))
}

fn listed(library: &Library, name: SkillName, files: Bundle, enabled: bool, fault: Option<String>) -> Listed {
    let path = Some(library.path().join(name.as_str()));
    let text = files.skill_md().unwrap_or_default().as_bytes();
    let (description, version, unreadable) = match load(text, name.as_str(), library.limits()) {
        Ok(loaded) => (loaded.description, loaded.frontmatter.version(), None),
        Err(problems) => (String::new(), None, problems.first().map(|problem| problem.message.clone())),
    };
    let fault = fault.or(unreadable);
    Listed {
        name,
        scope: library.scope(),
        path,
        description,
        head: None,
        version,
        enabled,
        modified: false,
        missing: false,
        fault,
        files,
    }
}

fn of_builtin(name: SkillName, files: Bundle) -> Listed {
    let text = files.skill_md().unwrap_or_default().as_bytes();
    let loaded = load(text, name.as_str(), &skill::Limits::default()).ok();
    let version = loaded.as_ref().and_then(|loaded| loaded.frontmatter.version());
    let description = loaded.map(|loaded| loaded.description).unwrap_or_default();
    let (scope, path, head, fault) = (Scope::Builtin, None, None, None);
    Listed {
        name,
        scope,
        path,
        description,
        head,
        version,
        enabled: true,
        modified: false,
        missing: false,
        fault,
        files,
    }
}
