//! [`Listed`]: the skills that are visible from where a command was given.

use std::{collections::HashMap, path::PathBuf};

use library::{Closeness, FolderState, Front, Glance, HandEditFault, Head, Library, Scope, Standing, State};
use scan::Baseline;
use serde_json::{Value, json};
use skill::{Bundle, Limits, SkillName, validate::load};

use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::Output,
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
    pub head: Option<Head>,
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
    /// Whether that is damage of its history.
    pub damaged: bool,
    source: Source,
}

/// Where a skill's files are.
#[derive(Debug)]
enum Source {
    /// In the library of this place in the catalogue.
    Library(usize),
    /// Inside the program.
    Program(Bundle),
}

/// All visible skills: those of the first library, then of the others. One whose name is taken already
/// is left out, and a note says so.
pub struct Catalogue {
    /// Skills by precedence.
    pub skills: Vec<Listed>,
    places: HashMap<SkillName, usize>,
    libraries: Vec<Library>,
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
        let libraries = context.visible_libraries()?;
        let mut catalogue =
            Self { skills: Vec::new(), places: HashMap::new(), libraries: Vec::new(), notes: Vec::new() };
        for (place, library) in libraries.iter().enumerate() {
            let state = library.state()?;
            for glance in library.glances(Closeness::Signatures)? {
                catalogue.add(listed(library, place, glance, &state));
            }
        }
        catalogue.libraries = libraries;
        if with_builtin {
            for (name, files) in builtin()? {
                catalogue.add(of_builtin(name, files));
            }
        }
        Ok(catalogue)
    }

    fn add(&mut self, listed: Listed) {
        match self.places.get(&listed.name).and_then(|place| self.skills.get(*place)) {
            Some(_) if listed.scope == Scope::Builtin => {}
            Some(known) => {
                let place = |path: &Option<PathBuf>| path.as_ref().map(|p| p.display().to_string()).unwrap_or_default();
                let (by, hidden) = (place(&known.path), place(&listed.path));
                self.notes.push(format!("{} in {hidden} is shadowed by the one in {by}", listed.name));
            }
            None => {
                self.places.insert(listed.name.clone(), self.skills.len());
                self.skills.push(listed);
            }
        }
    }

    /// Whether a skill of this name is in it.
    pub fn has(&self, name: &str) -> bool {
        SkillName::parse(name).is_ok_and(|name| self.places.contains_key(&name))
    }

    /// A skill's files as our own readers see them: those of the head, or, where there is none, those
    /// of the folder after the scanner let them pass.
    ///
    /// # Errors
    /// The library cannot be read, or the scanner blocks the folder.
    pub fn files(&self, listed: &Listed) -> Result<Bundle, CliError> {
        let library = match &listed.source {
            Source::Program(files) => return Ok(files.clone()),
            Source::Library(place) => self.libraries.get(*place),
        };
        let gone = || CliError::new("not_found", Exit::NotFound, format!("{} is gone", listed.name));
        let library = library.ok_or_else(gone)?;
        if let Some(head) = &listed.head {
            return Ok(library.bundle(&head.id)?);
        }
        match library.folder_state(&listed.name)? {
            FolderState::Modified(cleared) => Ok(cleared.bundle().clone()),
            FolderState::Blocked(HandEditFault::Invalid { bundle, .. }) => {
                match library.clear(&listed.name, bundle, Baseline::None)? {
                    Ok(cleared) => Ok(cleared.bundle().clone()),
                    Err(blocked) => Err(unusable(&listed.name, &blocked.to_string())),
                }
            }
            FolderState::Blocked(fault) => Err(unusable(&listed.name, &fault.to_string())),
            FolderState::Absent | FolderState::Clean | FolderState::Missing => Err(gone()),
        }
    }

    /// The skill of a name.
    ///
    /// # Errors
    /// No visible skill has that name.
    pub fn find(&self, name: &SkillName) -> Result<&Listed, CliError> {
        self.places.get(name).and_then(|place| self.skills.get(*place)).ok_or_else(|| {
            CliError::new("not_found", Exit::NotFound, format!("there is no skill {name} here"))
                .hint("`skillhub list` shows the skills that are visible from this folder")
        })
    }

    /// What is damaged of single skills, which the others do not suffer from: told to people, and as a part
    /// of the document.
    pub fn problems(&self, out: Output) -> Vec<Value> {
        let damaged = self.skills.iter().filter(|listed| listed.damaged);
        damaged.map(|listed| problem(out, &listed.name, listed.fault.as_deref().unwrap_or_default())).collect()
    }

    /// The skills that agents see.
    pub fn visible(&self) -> impl Iterator<Item = &Listed> {
        self.skills.iter().filter(|listed| listed.enabled && listed.fault.is_none())
    }
}

/// Tells people of one skill that is damaged; gives what the document says of it.
pub fn problem(out: Output, name: &SkillName, why: &str) -> Value {
    out.note(&format!("{name}: {why}; run `skillhub doctor`"));
    json!({"skill": name.as_str(), "code": "damaged_history", "message": why})
}

/// The exit code of an answer that goes on without damaged skills.
pub fn exit_with(problems: &[Value]) -> Exit {
    if problems.is_empty() { Exit::Done } else { Exit::Integrity }
}

/// A skill of a library.
fn listed(library: &Library, place: usize, glance: Glance, state: &State) -> Listed {
    let Glance { name, head, front, standing, .. } = glance;
    let Front { description, version, fault: unreadable } = front;
    let release = head.as_ref().and_then(|head| Some((head.origin.as_ref()?, &head.digest)));
    let evolved = release.is_some_and(|(origin, digest)| origin.digest != *digest);
    let version = release.and_then(|(origin, _)| origin.version.clone()).or(version);
    let fault = match &standing {
        Standing::Blocked(fault) if head.is_some() => Some(format!("its folder was changed by hand: {fault}")),
        Standing::Blocked(fault) => Some(fault.clone()),
        Standing::Missing => Some("its folder is missing".to_owned()),
        Standing::Damaged(why) => Some(format!("its history is damaged: {why}")),
        Standing::Clean | Standing::Modified => None,
    };
    let edited = head.is_some() && matches!(standing, Standing::Modified | Standing::Blocked(_));
    Listed {
        scope: library.scope(),
        path: Some(library.path().join(name.as_str())),
        description,
        version,
        enabled: state.of(&name).enabled,
        modified: edited || evolved,
        missing: standing == Standing::Missing,
        damaged: matches!(standing, Standing::Damaged(_)),
        fault: fault.or(unreadable),
        source: Source::Library(place),
        name,
        head,
    }
}

fn of_builtin(name: SkillName, files: Bundle) -> Listed {
    let Front { description, version, .. } = Front::of(&files, &name, &Limits::default());
    Listed {
        name,
        scope: Scope::Builtin,
        path: None,
        description,
        head: None,
        version,
        enabled: true,
        modified: false,
        missing: false,
        damaged: false,
        fault: None,
        source: Source::Program(files),
    }
}

/// The error of a skill that agents may not see.
pub fn unusable(name: &SkillName, fault: &str) -> CliError {
    CliError::new("external_blocked", Exit::Blocked, format!("{name} cannot be used: {fault}"))
        .hint(format!("`skillhub status {name}` says more"))
}
