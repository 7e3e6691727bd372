//! [`Choice`]: the releases to install or update together, so that all requirements are satisfied.
//!
//! The lock file lists the installed skills with their requirements, and which of them are installed only as
//! requirements of others. Installed skills keep their versions, except such requirements and the skills that a command
//! names.

mod solve;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::Path,
};

use library::RegistryRelease;
use registry_index::{Entry, ReleaseSelector, Requirement};
use semver::Version;
use skill::failure::{Fails, Failure, FailureKind};
use skill::{Bundle, QualifiedName};
use thiserror::Error;

use crate::{
    lock_file::{LockFile, LockFileError, LockedSkill},
    registry::{Registries, Registry},
    resolve::ResolveError,
    spec::VersionRequest,
};
use solve::{AllowedReleases, Constraint, Release, Releases, solve};

/// Reasons why no combination of releases was found.
#[derive(Debug, Error)]
pub enum Unsolved {
    /// The requirements contradict each other; the value lists the reasons.
    #[error("no combination of releases works: {}", .0.join("; "))]
    Impossible(Vec<String>),
    /// Skills require each other in a cycle; the first name is repeated at the end.
    #[error("skills require each other in a cycle: {}", cycle(.0))]
    Cycle(Vec<QualifiedName>),
    /// The resolver exceeded this number of steps.
    #[error("no combination of releases was found within {0} steps")]
    TooMany(u32),
    /// A registry cannot be used.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
}

impl Fails for Unsolved {
    fn failure(&self) -> Failure {
        match self {
            Self::Impossible(_) => Failure::new(FailureKind::Conflict, "requirements_conflict").hint(
                "request other releases (owner/name@range), or update or uninstall the conflicting skills; nothing \
                 was changed",
            ),
            Self::Cycle(_) => Failure::new(FailureKind::Conflict, "requirement_cycle")
                .hint("ask one of their owners to remove a requirement; nothing was changed"),
            Self::TooMany(_) => Failure::new(FailureKind::Invalid, "too_large")
                .hint("name the exact versions that you want (owner/name@1.2.0); nothing was changed"),
            Self::Resolve(error) => error.failure(),
        }
    }
}

fn cycle(names: &[QualifiedName]) -> String {
    names.iter().map(QualifiedName::to_string).collect::<Vec<_>>().join(" -> ")
}

/// One skill that the user requested.
pub(crate) struct Requested {
    pub name: QualifiedName,
    pub request: VersionRequest,
    /// Location of its registry.
    pub source: String,
    /// Releases in its registry.
    pub releases: Vec<Entry>,
    /// True for an update: only the installed version or a newer one may be chosen.
    pub is_update: bool,
}

/// Target of an update for an installed skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// The newest release that satisfies the request.
    Free,
    /// The release chosen by the resolver.
    Version(Version),
    /// None: the skill was installed only as a requirement, and no other skill requires it any more.
    Unneeded,
}

/// The compatible releases that the resolver chose.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    versions: BTreeMap<QualifiedName, Version>,
    needs: BTreeMap<QualifiedName, Vec<QualifiedName>>,
    /// Locations of the registries that have them.
    sources: BTreeMap<QualifiedName, String>,
    installed: BTreeMap<QualifiedName, Version>,
}

impl Choice {
    /// Returns the chosen version of a skill.
    pub fn version(&self, name: &QualifiedName) -> Option<&Version> {
        self.versions.get(name)
    }

    /// Returns the location of the registry that has a skill; `None` for a skill that does not change.
    pub fn source(&self, name: &QualifiedName) -> Option<&str> {
        self.sources.get(name).map(String::as_str)
    }

    /// Returns the full names of all chosen skills.
    pub fn names(&self) -> impl Iterator<Item = &QualifiedName> {
        self.versions.keys()
    }

    /// Returns the update target of an installed skill.
    pub fn target(&self, name: &str) -> Target {
        let name = name.parse().ok();
        match name.and_then(|name: QualifiedName| self.versions.get(&name)) {
            Some(version) => Target::Version(version.clone()),
            None => Target::Unneeded,
        }
    }

    /// Returns the chosen releases that are not installed yet.
    pub fn changes(&self) -> impl Iterator<Item = (&QualifiedName, &Version)> {
        self.versions.iter().filter(|(name, version)| self.installed.get(*name) != Some(*version))
    }

    /// Returns the full names of a skill's requirements.
    pub fn needs(&self, name: &str) -> impl Iterator<Item = String> {
        let name = name.parse::<QualifiedName>().ok();
        let needs = name.and_then(|name| self.needs.get(&name)).into_iter().flatten();
        needs.map(QualifiedName::to_string)
    }

    fn check_cycles(&self) -> Result<(), Unsolved> {
        let mut done = BTreeSet::new();
        for name in self.needs.keys() {
            self.follow(name, &mut Vec::new(), &mut done)?;
        }
        Ok(())
    }

    fn follow(
        &self,
        name: &QualifiedName,
        path: &mut Vec<QualifiedName>,
        done: &mut BTreeSet<QualifiedName>,
    ) -> Result<(), Unsolved> {
        if let Some(at) = path.iter().position(|above| above == name) {
            let mut ring = path.split_off(at);
            ring.push(name.clone());
            return Err(Unsolved::Cycle(ring));
        }
        if done.contains(name) {
            return Ok(());
        }
        path.push(name.clone());
        for needed in self.needs.get(name).into_iter().flatten() {
            self.follow(needed, path, done)?;
        }
        path.pop();
        done.insert(name.clone());
        Ok(())
    }
}

/// The installed state of a skill.
struct InstalledVersion {
    version: Version,
    requires: Result<Vec<Requirement>, String>,
    source: String,
    /// True if the resolver may change its version.
    may_move: bool,
    is_dependency: bool,
}

/// Chooses releases for the requested skills and for the requirements of skills from other sources (`more`, as pairs of
/// a skill and its requirement). Returns `None` if no skill involved has requirements, so that each can be installed
/// independently. `may_merge` allows changing the version of a skill that was changed here.
///
/// # Errors
/// [`Unsolved`]
pub(crate) fn choose(
    registries: &Registries,
    lock: &LockFile,
    asked: &[Requested],
    more: &[(String, Requirement)],
    may_merge: bool,
) -> Result<Option<Choice>, Unsolved> {
    let is_asked = |name: &QualifiedName| asked.iter().any(|asked| asked.name == *name);
    let requires_here = lock.skills().any(|skill| !skill.requires.is_empty());
    let requires_there = asked.iter().any(|asked| asked.releases.iter().any(|entry| !entry.requires.is_empty()));
    if !requires_here && !requires_there && more.is_empty() {
        return Ok(None);
    }
    let here: BTreeMap<QualifiedName, InstalledVersion> =
        lock.skills().filter_map(|skill| InstalledVersion::of(skill, may_merge)).collect();
    let mut wishes: Vec<Constraint> =
        asked.iter().filter_map(|asked| asked.constraint(here.get(&asked.name))).collect();
    for (name, here) in here.iter().filter(|(name, here)| !here.is_dependency && !is_asked(name)) {
        let why = format!("{name} {} is installed", here.version);
        wishes.push(Constraint {
            name: name.clone(),
            takes: AllowedReleases::Versions([here.version.clone()].into()),
            why,
        });
    }
    let elsewhere = lock.skills().filter(|skill| skill.origin.as_registry().is_none()).flat_map(|skill| {
        let required = skill.requires.iter().filter_map(|text| text.parse().ok());
        required.map(|required| (skill.name(), required))
    });
    let is_again = |who: &String| more.iter().any(|(other, _)| other == who);
    for (who, required) in elsewhere.filter(|(who, _)| !is_again(who)).chain(more.iter().cloned()) {
        let why = format!("{who} requires {required}");
        wishes.push(Constraint {
            name: required.name.clone(),
            takes: AllowedReleases::Required(required.clone()),
            why,
        });
    }
    let world = ReleaseProvider { registries, asked, here, sources: RefCell::default(), requirers: RefCell::default() };
    let versions = solve(&wishes, &world)?;
    let choice = world.choice(versions)?;
    choice.check_cycles()?;
    Ok(Some(choice))
}

/// All skills that the resolver may query.
struct ReleaseProvider<'a> {
    registries: &'a Registries,
    asked: &'a [Requested],
    here: BTreeMap<QualifiedName, InstalledVersion>,
    /// Location of the registry in which each skill was looked up.
    sources: RefCell<BTreeMap<QualifiedName, String>>,
    /// Registry of the first skill that was found to require a skill.
    requirers: RefCell<BTreeMap<QualifiedName, String>>,
}

impl ReleaseProvider<'_> {
    /// Opens the registry of a skill that was not requested: its own if it is installed, otherwise that of the skill
    /// requiring it.
    fn registry_of(&self, name: &QualifiedName) -> Result<Registry, ResolveError> {
        if let Some(here) = self.here.get(name) {
            return Ok(self.registries.of_installed(&name.owner, &here.source)?);
        }
        let requirer = self.requirers.borrow().get(name).cloned();
        let route = self.registries.route_of_requirement(&name.owner, requirer.as_deref());
        Ok(self.registries.follow(&route)?)
    }

    /// Records the registry of a skill, which is also the default registry of its requirements.
    fn note_source(&self, name: &QualifiedName, source: &str, entries: &[Entry]) {
        self.sources.borrow_mut().insert(name.clone(), source.to_owned());
        let mut requirers = self.requirers.borrow_mut();
        let required = entries.iter().flat_map(|entry| parsed(&entry.requires).unwrap_or_default());
        for required in required {
            requirers.entry(required.name).or_insert_with(|| source.to_owned());
        }
    }

    fn asked(&self, name: &QualifiedName) -> Option<&Requested> {
        self.asked.iter().find(|asked| asked.name == *name)
    }

    fn choice(self, versions: BTreeMap<QualifiedName, Version>) -> Result<Choice, Unsolved> {
        let mut needs = BTreeMap::new();
        for (name, version) in &versions {
            let release = self.of(name)?.into_iter().find(|release| release.version == *version);
            let required = release.and_then(|release| release.requires.ok()).unwrap_or_default();
            needs.insert(name.clone(), required.into_iter().map(|required| required.name).collect());
        }
        let sources = self.sources.into_inner();
        let installed = self.here.into_iter().map(|(name, here)| (name, here.version)).collect();
        Ok(Choice { versions, needs, sources, installed })
    }
}

impl Releases for ReleaseProvider<'_> {
    fn of(&self, name: &QualifiedName) -> Result<Vec<Release>, ResolveError> {
        let here = self.here.get(name);
        let as_here = here.map(InstalledVersion::release);
        let asked = self.asked(name);
        if asked.is_none() && here.is_some_and(|here| !here.may_move) {
            return Ok(as_here.into_iter().collect());
        }
        let entries = match asked {
            Some(asked) => {
                self.note_source(name, &asked.source, &asked.releases);
                asked.releases.clone()
            }
            None => {
                let registry = self.registry_of(name)?;
                if here.is_some_and(|here| here.source != registry.location()) {
                    return Ok(as_here.into_iter().collect());
                }
                let entries = registry.with_skill(name)?.releases(name)?;
                self.note_source(name, registry.location(), &entries);
                entries
            }
        };
        let is_other = |entry: &&Entry| here.is_none_or(|here| here.version != entry.version);
        let open = entries.iter().filter(is_other).filter(|entry| entry.withdrawn.is_none());
        Ok(open.map(Release::of).chain(as_here).collect())
    }

    fn preferred(&self, name: &QualifiedName) -> Option<Version> {
        let here = self.here.get(name).filter(|_| self.asked(name).is_none());
        here.map(|here| here.version.clone())
    }
}

impl Release {
    fn of(entry: &Entry) -> Self {
        Self { version: entry.version.clone(), requires: parsed(&entry.requires), is_yanked: !entry.is_offered() }
    }
}

impl InstalledVersion {
    fn of(skill: &LockedSkill, may_merge: bool) -> Option<(QualifiedName, Self)> {
        let RegistryRelease { registry, name, version, .. } = skill.origin.as_registry()?.clone();
        let here = Self {
            version,
            requires: parsed(&skill.requires),
            source: registry,
            may_move: skill.dependency && (may_merge || !skill.is_evolved()),
            is_dependency: skill.dependency,
        };
        Some((name, here))
    }

    fn release(&self) -> Release {
        Release { version: self.version.clone(), requires: self.requires.clone(), is_yanked: false }
    }
}

impl Requested {
    /// Converts the request to a constraint for the resolver. In an update, a skill that is only a requirement of
    /// others has no constraint of its own.
    fn constraint(&self, here: Option<&InstalledVersion>) -> Option<Constraint> {
        let wanted = self.request.wanted();
        let is_open = |entry: &&Entry| entry.is_offered();
        let does = |entry: &&Entry| match wanted {
            ReleaseSelector::Newest => is_open(entry),
            ReleaseSelector::Exact(version) => entry.version.cmp_precedence(version).is_eq(),
            ReleaseSelector::Range(range) => is_open(entry) && range.matches(&entry.version),
        };
        let mut versions: BTreeSet<Version> =
            self.releases.iter().filter(does).map(|entry| entry.version.clone()).collect();
        if let Some(here) = here.filter(|_| self.is_update) {
            if here.is_dependency && *wanted == ReleaseSelector::Newest {
                return None;
            }
            versions.retain(|version| *version >= here.version);
            versions.insert(here.version.clone());
        }
        let range =
            if self.request.as_str().is_empty() { String::new() } else { format!("@{}", self.request.as_str()) };
        let why = format!("you asked for {}{range}", self.name);
        Some(Constraint { name: self.name.clone(), takes: AllowedReleases::Versions(versions), why })
    }
}

impl fmt::Debug for Requested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.request.as_str())
    }
}

fn parsed(texts: &[String]) -> Result<Vec<Requirement>, String> {
    texts.iter().map(|text| text.parse::<Requirement>().map_err(|error| error.to_string())).collect()
}

/// Returns the requirements in a skill's frontmatter.
pub(crate) fn of_bundle(bundle: &Bundle) -> Vec<String> {
    bundle.frontmatter().map(|front| front.requires.clone()).unwrap_or_default()
}

/// The skills that require an installed skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requirers {
    /// True if it is installed only as a requirement of other skills.
    pub is_dependency: bool,
    /// Full names of the skills that require it, sorted.
    pub by: Vec<String>,
}

/// Returns the requiring skills for each skill in a lock file, by bare name. Skills that are not requirements are left
/// out.
///
/// # Errors
/// [`LockFileError`]
pub fn requirers_of(lock_path: &Path) -> Result<BTreeMap<String, Requirers>, LockFileError> {
    let lock = LockFile::read(lock_path)?;
    let of = |skill: &LockedSkill| {
        let by = requirers(&lock, &skill.name(), &BTreeSet::new());
        (skill.bare_name().to_string(), Requirers { is_dependency: skill.dependency, by })
    };
    let all = lock.skills().map(of);
    Ok(all.filter(|(_, requirers)| requirers.is_dependency || !requirers.by.is_empty()).collect())
}

/// Returns the full names of the skills in a lock file that require this one, sorted. Skills in `without` are ignored.
pub(crate) fn requirers(lock: &LockFile, name: &str, without: &BTreeSet<String>) -> Vec<String> {
    let requires = |skill: &&LockedSkill| {
        let mut required = skill.requires.iter().filter_map(|text| text.parse::<Requirement>().ok());
        !without.contains(&skill.name()) && required.any(|required| required.name.to_string() == name)
    };
    lock.skills().filter(requires).map(LockedSkill::name).collect()
}

/// Returns the requirements that are no longer needed once the given skills are removed. A requirement that was changed
/// here is in the result, but its own requirements are kept.
pub(crate) fn left_behind<'a>(lock: &'a LockFile, leaving: &BTreeSet<String>) -> Vec<&'a LockedSkill> {
    let (mut gone, nobody) = (leaving.clone(), BTreeSet::new());
    let mut found: Vec<&LockedSkill> = Vec::new();
    loop {
        let is_left = |skill: &&LockedSkill| {
            let name = skill.name();
            let is_known = gone.contains(&name) || found.iter().any(|known| known.origin == skill.origin);
            skill.dependency
                && !is_known
                && requirers(lock, &name, &gone).is_empty()
                && requirers(lock, &name, &nobody).iter().any(|requirer| gone.contains(requirer))
        };
        let Some(next) = lock.skills().find(is_left) else { return found };
        if !next.is_evolved() {
            gone.insert(next.name());
        }
        found.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a lock file from lines such as `acme/a: acme/b`. The prefix `+` marks requirements of others and `~`
    /// marks changed skills.
    fn lock(text: &str) -> LockFile {
        let mut file = LockFile::parse("format = 1\n", Path::new("skillhub.lock")).unwrap();
        for line in text.lines().map(str::trim) {
            let (name, requires) = line.split_once(':').unwrap_or((line, ""));
            let content = if name.contains('~') { "f" } else { "0" };
            let entry = format!(
                "format = 1\n[[skill]]\nname = \"{}\"\nkind = \"registry\"\nversion = \"1.0.0\"\narchive = \"\"\n\
                 digest = \"sha256:{}\"\ncontent = \"sha256:{}\"\nrequires = {:?}\ndependency = {}\n",
                name.trim_start_matches(['+', '~']),
                "0".repeat(64),
                content.repeat(64),
                requires.split_whitespace().collect::<Vec<_>>(),
                name.contains('+')
            );
            let one = LockFile::parse(&entry, Path::new("skillhub.lock")).unwrap();
            one.skills().for_each(|skill| file.insert(skill.clone()));
        }
        file
    }

    fn left(text: &str, leaving: &[&str]) -> String {
        let leaving = leaving.iter().map(|name| (*name).to_owned()).collect();
        let lock = lock(text);
        let mut names: Vec<String> = left_behind(&lock, &leaving).iter().map(|skill| skill.name()).collect();
        names.sort_unstable();
        names.join(" ")
    }

    #[test]
    fn unneeded_requirements_are_removed() {
        let all = "x/a: x/b@^1 x/c\n+x/b: x/d\n+x/c\n+x/d\nx/e: x/c\n+x/idle";
        assert_eq!(left(all, &["x/a"]), "x/b x/d");
        assert_eq!(left(all, &["x/a", "x/e"]), "x/b x/c x/d");
        assert_eq!(left(all, &["x/e"]), "");
        assert_eq!(left("x/a: x/b\nx/b", &["x/a"]), "", "what was asked for stays");
        assert_eq!(
            left("x/a: x/b\n+~x/b: x/c\n+x/c", &["x/a"]),
            "x/b",
            "what was changed is told, and keeps what it requires"
        );
    }

    #[test]
    fn requirers_come_from_lock_file() {
        let lock = lock("x/a: x/b@^1\nx/c: x/b\nx/d\nx/b");
        let none = BTreeSet::new();
        assert_eq!(requirers(&lock, "x/b", &none), ["x/a", "x/c"]);
        assert_eq!(requirers(&lock, "x/b", &["x/a".to_owned()].into()), ["x/c"]);
        assert!(requirers(&lock, "x/d", &none).is_empty());
    }
}
