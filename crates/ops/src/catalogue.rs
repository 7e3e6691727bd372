//! The skills of a [`Workplace`]: all that agents find there, by names and places.

use agent::{Builtin, Catalogue, Places};
use client::{Request, Spec, vetted};
use skill::{QualifiedName, SkillName, failure::FailureKind};

use crate::{refusal::Refusal, workplace::Workplace};

/// The skills inside the program.
///
/// # Errors
/// Never, unless the program was built wrongly.
pub fn builtin() -> Result<Vec<Builtin>, Refusal> {
    let internal = |error: String| Refusal::new(FailureKind::Failed, "internal", error);
    let seeds = registry_index::builtins().map_err(|error| internal(error.to_string()))?;
    seeds.into_iter().map(|files| Builtin::of(files).map_err(internal)).collect()
}

/// A skill's name as people write it, bare or after its owner's.
///
/// # Errors
/// It is none.
pub fn skill_name(text: &str) -> Result<SkillName, Refusal> {
    if let Ok(qualified) = text.parse::<QualifiedName>() {
        return Ok(qualified.name);
    }
    SkillName::parse(text).map_err(|fault| {
        Refusal::new(FailureKind::Invalid, "invalid_skill", format!("{text:?} is no name of a skill: {fault}"))
            .hint("`skillhub list` shows the names of the skills")
    })
}

/// Tests for a text that can only be a path or an address.
fn is_place(text: &str) -> bool {
    ["/", "./", "../", "~/"].iter().any(|start| text.starts_with(start)) || text.contains("://")
}

impl Workplace {
    /// The skills that are read only: those inside the program, then those of the registry that the configuration names
    /// as the storage.
    ///
    /// # Errors
    /// As [`builtin`]. What of the registry cannot be read is left out, with a note.
    pub fn public_skills(&self) -> Result<Vec<Builtin>, Refusal> {
        let mut skills = builtin()?;
        if let Some(given) = self.config.skills.registry() {
            match self.skills_of_registry(given) {
                Ok(found) => skills.extend(found),
                Err(error) => self.note(&format!("the registry of [skills] is left out: {}", error.message)),
            }
        }
        Ok(skills)
    }

    /// The newest release of each skill of a registry that an install would take.
    fn skills_of_registry(&self, given: Option<&str>) -> Result<Vec<Builtin>, Refusal> {
        let registries = self.registries_at(given).requiring_signatures(self.required_signers()?);
        let registry = registries.default_one()?;
        let names = registry.with_all_lines()?.names()?;
        let release = |name: QualifiedName| {
            let spec = Spec::Qualified { name: name.clone(), request: Request::newest() };
            match vetted(&registries, &spec, self.home.scanner().reading()) {
                Ok(release) => {
                    let files = release.cleared.bundle().clone();
                    Some(Builtin { name: name.name.clone(), files, qualified: Some(name) })
                }
                Err(error) => {
                    self.note(&format!("{name} of the registry is left out: {error}"));
                    None
                }
            }
        };
        Ok(names.into_iter().filter_map(release).collect())
    }

    /// The skills that whoever acts, or the agent that is named, may know of, by precedence.
    ///
    /// # Errors
    /// A library or the configuration cannot be read.
    pub fn catalogue(&self, places: &Places, builtin: Vec<Builtin>, agent: Option<&str>) -> Result<Catalogue, Refusal> {
        self.without_hidden(Catalogue::collect(places, builtin)?, agent)
    }

    fn without_hidden(&self, catalogue: Catalogue, agent: Option<&str>) -> Result<Catalogue, Refusal> {
        match self.is_person() {
            true => Ok(catalogue),
            false => Ok(catalogue.without_hidden(&self.settings()?, &self.agent(agent))),
        }
    }

    /// Looks for a skill in the visible libraries and their groups, in their histories and as a folder.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn has_skill(&self, skill: &SkillName) -> Result<bool, Refusal> {
        for library in self.visible_libraries()? {
            let library = self.within(library, skill)?;
            if library.head(skill)?.is_some() || library.folders()?.iter().any(|folder| folder == skill.as_str()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The skill that an argument names: by its folder, or by the name in its `SKILL.md` where it alone gives that.
    ///
    /// # Errors
    /// The text cannot be a name, or several skills give it.
    pub fn skill_called(&self, text: &str) -> Result<SkillName, Refusal> {
        let parsed = skill_name(text);
        if is_place(text) || matches!(&parsed, Ok(name) if self.has_skill(name)?) {
            return parsed;
        }
        let catalogue = self.without_hidden(Catalogue::inspect(&self.places(true))?, None)?;
        catalogue.called(text, |_| true)?.map_or(parsed, Ok)
    }
}
