//! Lookup of the skills in a [`Workspace`], by name and location.

use agent::{Builtin, Catalogue, SkillLocations};
use client::{Spec, VersionRequest, fetch_verified};
use skill::{
    QualifiedName, SkillName,
    failure::{FailureKind, Hint, NextStep},
};

use crate::{refusal::Refusal, workspace::Workspace};

/// Returns the skills built into the program.
///
/// # Errors
/// Only if the program was built incorrectly.
pub fn builtin() -> Result<Vec<Builtin>, Refusal> {
    let internal = |error: String| Refusal::new(FailureKind::Failed, "internal", error);
    let seeds = registry_index::builtins().map_err(|error| internal(error.to_string()))?;
    seeds.into_iter().map(|files| Builtin::of(files).map_err(internal)).collect()
}

/// Parses a skill's name as people write it, with or without an owner.
///
/// # Errors
/// The text is not a valid name.
pub fn skill_name(text: &str) -> Result<SkillName, Refusal> {
    if let Ok(qualified) = text.parse::<QualifiedName>() {
        return Ok(qualified.name);
    }
    SkillName::parse(text).map_err(|fault| {
        Refusal::new(FailureKind::Invalid, "invalid_skill", format!("{text:?} is not a valid skill name: {fault}"))
            .hint(Hint::from("see the names of the skills: ").step(NextStep::ListSkills))
    })
}

/// Returns whether a text can only be a path or a URL.
fn is_place(text: &str) -> bool {
    ["/", "./", "../", "~/"].iter().any(|start| text.starts_with(start)) || text.contains("://")
}

impl Workspace {
    /// Returns the read-only skills: those built into the program, then those of the registry that the configuration
    /// names as the storage. Unreadable parts of the registry are left out, with a note.
    ///
    /// # Errors
    /// The same as [`builtin`].
    pub fn public_skills(&self) -> Result<Vec<Builtin>, Refusal> {
        let mut skills = builtin()?;
        if let Some(given) = self.config.skills.registry() {
            match self.skills_of_registry(given) {
                Ok(found) => skills.extend(found),
                Err(error) => self.note(&format!("cannot use the registry of [skills]: {}", error.message)),
            }
        }
        Ok(skills)
    }

    /// Returns the newest installable release of each skill in a registry.
    fn skills_of_registry(&self, given: Option<&str>) -> Result<Vec<Builtin>, Refusal> {
        let registries = self.registries_at(given).requiring_signatures(self.required_signers()?);
        let registry = registries.default_one()?;
        let names = registry.with_all_lines()?.names()?;
        let release = |name: QualifiedName| {
            let spec = Spec::Qualified { name: name.clone(), request: VersionRequest::newest() };
            match fetch_verified(&registries, &spec, self.home.scanner().reading()) {
                Ok(release) => {
                    let files = release.cleared.bundle().clone();
                    Some(Builtin { name: name.name.clone(), files, qualified: Some(name) })
                }
                Err(error) => {
                    self.note(&format!("{name} is left out: {error}"));
                    None
                }
            }
        };
        Ok(names.into_iter().filter_map(release).collect())
    }

    /// Returns the skills that the actor, or the named agent, may know of, by precedence.
    ///
    /// # Errors
    /// A library or the configuration cannot be read.
    pub fn catalogue(
        &self,
        places: &SkillLocations,
        builtin: Vec<Builtin>,
        agent: Option<&str>,
    ) -> Result<Catalogue, Refusal> {
        self.without_hidden(Catalogue::collect(places, builtin)?, agent)
    }

    fn without_hidden(&self, catalogue: Catalogue, agent: Option<&str>) -> Result<Catalogue, Refusal> {
        match self.is_person() {
            true => Ok(catalogue),
            false => Ok(catalogue.without_hidden(&self.settings()?, &self.agent(agent))),
        }
    }

    /// Returns whether the visible libraries or their groups have a skill, in their histories or as a folder.
    ///
    /// # Errors
    /// A library cannot be read.
    pub fn has_skill(&self, skill: &SkillName) -> Result<bool, Refusal> {
        Ok(self.first_with(skill, |_| true)?.is_some())
    }

    /// Resolves an argument to a skill, by its folder name, or by the name in its `SKILL.md` if that is unique.
    ///
    /// # Errors
    /// The text is not a valid name, or several skills have it.
    pub fn skill_called(&self, text: &str) -> Result<SkillName, Refusal> {
        let parsed = skill_name(text);
        if is_place(text) || matches!(&parsed, Ok(name) if self.has_skill(name)?) {
            return parsed;
        }
        let catalogue = self.without_hidden(Catalogue::inspect(&self.places(true))?, None)?;
        catalogue.called(text, |_| true)?.map_or(parsed, Ok)
    }
}
