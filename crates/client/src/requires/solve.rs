//! [`solve`]: dependency resolution with the PubGrub algorithm.
//!
//! The resolver works on existing versions only: a version range is the set of releases that satisfy it. [`Releases`]
//! provides the releases on demand.

use std::{
    cell::{Cell, RefCell},
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
};

use pubgrub::{
    Dependencies, DependencyProvider, DerivationTree, External, PackageResolutionStatistics, PubGrubError, Ranges,
};
use registry_index::Requirement;
use semver::Version;
use skill::QualifiedName;

use super::Unsolved;
use crate::resolve::ResolveError;

/// Maximum number of resolver steps. Real requirements need a few dozen.
const MOST_STEPS: u32 = 100_000;

/// Source of the releases for the resolver.
pub(super) trait Releases {
    /// Returns the releases of a skill that may be chosen.
    fn of(&self, name: &QualifiedName) -> Result<Vec<Release>, ResolveError>;

    /// Returns the release to prefer if it satisfies the constraints, such as the installed one.
    fn preferred(&self, name: &QualifiedName) -> Option<Version>;
}

/// A release as the resolver sees it.
#[derive(Debug, Clone)]
pub(super) struct Release {
    pub version: Version,
    /// Requirements, or the reason why they cannot be parsed.
    pub requires: Result<Vec<Requirement>, String>,
    /// True if it may be chosen only when requested by this exact version.
    pub is_yanked: bool,
}

/// An initial constraint.
#[derive(Debug, Clone)]
pub(super) struct Constraint {
    pub name: QualifiedName,
    /// Releases that satisfy the constraint.
    pub takes: AllowedReleases,
    /// Reason for the constraint, as the beginning of a sentence: `you asked for acme/pdf@^1`.
    pub why: String,
}

/// The releases that satisfy a constraint.
#[derive(Debug, Clone)]
pub(super) enum AllowedReleases {
    /// Exactly these versions.
    Versions(BTreeSet<Version>),
    /// The versions that satisfy a requirement.
    Required(Requirement),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Package {
    Root,
    Skill(QualifiedName),
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("what you asked for"),
            Self::Skill(name) => name.fmt(f),
        }
    }
}

/// Reasons why the resolver stopped early.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    #[error("more than {MOST_STEPS} steps")]
    Steps,
}

/// Returns the newest compatible releases by skill, or the reason why there are none.
pub(super) fn solve(
    wishes: &[Constraint],
    releases: &dyn Releases,
) -> Result<BTreeMap<QualifiedName, Version>, Unsolved> {
    let search = Search { wishes, releases, known: RefCell::default(), steps: Cell::new(0) };
    match pubgrub::resolve(&search, Package::Root, Version::new(0, 0, 0)) {
        Ok(chosen) => Ok(chosen
            .into_iter()
            .filter_map(|(package, version)| match package {
                Package::Root => None,
                Package::Skill(name) => Some((name, version)),
            })
            .collect()),
        Err(PubGrubError::NoSolution(tree)) => Err(Unsolved::Impossible(search.reasons(&tree))),
        Err(
            PubGrubError::ErrorRetrievingDependencies { source, .. }
            | PubGrubError::ErrorChoosingVersion { source, .. }
            | PubGrubError::ErrorInShouldCancel(source),
        ) => Err(match source {
            Stopped::Resolve(error) => Unsolved::Resolve(error),
            Stopped::Steps => Unsolved::TooMany(MOST_STEPS),
        }),
    }
}

struct Search<'a> {
    wishes: &'a [Constraint],
    releases: &'a dyn Releases,
    known: RefCell<HashMap<QualifiedName, Vec<Release>>>,
    steps: Cell<u32>,
}

impl Search<'_> {
    fn of(&self, name: &QualifiedName) -> Result<Vec<Release>, Stopped> {
        if let Some(known) = self.known.borrow().get(name) {
            return Ok(known.clone());
        }
        let found = self.releases.of(name)?;
        self.known.borrow_mut().insert(name.clone(), found.clone());
        Ok(found)
    }

    /// Converts a constraint to the set of versions that satisfy it.
    fn range(&self, name: &QualifiedName, takes: &AllowedReleases) -> Result<Ranges<Version>, Stopped> {
        let releases = self.of(name)?;
        let does = |release: &&Release| match takes {
            AllowedReleases::Versions(versions) => versions.contains(&release.version),
            AllowedReleases::Required(required) => {
                let is_named = required.range().trim_start_matches('=').trim() == release.version.to_string();
                required.takes(&release.version) && (!release.is_yanked || is_named)
            }
        };
        let one = |all: Ranges<Version>, release: &Release| all.union(&Ranges::singleton(release.version.clone()));
        Ok(releases.iter().filter(does).fold(Ranges::empty(), one))
    }

    fn wanted(&self) -> Result<Vec<(Package, Ranges<Version>)>, Stopped> {
        let mut ranges: BTreeMap<&QualifiedName, Ranges<Version>> = BTreeMap::new();
        for wish in self.wishes {
            let range = self.range(&wish.name, &wish.takes)?;
            let all = ranges.entry(&wish.name).or_insert_with(Ranges::full);
            *all = all.intersection(&range);
        }
        Ok(ranges.into_iter().map(|(name, range)| (Package::Skill(name.clone()), range)).collect())
    }

    /// Lists the contradicting facts without duplicates, in the order of derivation.
    fn reasons(&self, tree: &DerivationTree<Package, Ranges<Version>, String>) -> Vec<String> {
        let mut reasons = Vec::new();
        self.collect(tree, &mut reasons);
        let mut seen = BTreeSet::new();
        reasons.retain(|reason| seen.insert(reason.clone()));
        reasons
    }

    fn collect(&self, tree: &DerivationTree<Package, Ranges<Version>, String>, reasons: &mut Vec<String>) {
        match tree {
            DerivationTree::Derived(derived) => {
                self.collect(&derived.cause1, reasons);
                self.collect(&derived.cause2, reasons);
            }
            DerivationTree::External(External::FromDependencyOf(Package::Root, _, Package::Skill(name), range)) => {
                reasons.extend(self.wishes.iter().filter(|wish| wish.name == *name).map(|wish| wish.why.clone()));
                reasons.extend(self.choice_of(name, range));
            }
            DerivationTree::External(External::FromDependencyOf(Package::Skill(name), versions, needed, range)) => {
                reasons.extend(self.requirement(name, versions, needed));
                if let Package::Skill(needed) = needed {
                    reasons.extend(self.choice_of(needed, range));
                }
            }
            DerivationTree::External(External::Custom(package, versions, why)) => {
                reasons.push(format!("{package} {} cannot be used: {why}", self.written(package, versions)));
            }
            DerivationTree::External(_) => {}
        }
    }

    /// Describes a requirement: `acme/a 1.0.0, 1.1.0 requires acme/b@^2`.
    fn requirement(&self, name: &QualifiedName, versions: &Ranges<Version>, needed: &Package) -> Option<String> {
        let known = self.known.borrow();
        let has = |release: &&Release| versions.contains(&release.version);
        let release = known.get(name)?.iter().filter(has).max_by_key(|release| &release.version)?;
        let required = release.requires.as_ref().ok()?.iter();
        let required = required.filter(|r| Package::Skill(r.name.clone()) == *needed).map(Requirement::to_string);
        let package = Package::Skill(name.clone());
        let required = required.collect::<Vec<_>>().join(" and ");
        Some(format!("{name} {} requires {required}", self.written(&package, versions)))
    }

    /// Describes the available releases, unless all of them satisfy the constraint.
    fn choice_of(&self, name: &QualifiedName, range: &Ranges<Version>) -> Option<String> {
        let known = self.known.borrow();
        let releases = known.get(name)?;
        let mut versions: Vec<&Version> = releases.iter().filter(|r| !r.is_yanked).map(|r| &r.version).collect();
        versions.sort();
        if !versions.is_empty() && versions.iter().all(|version| range.contains(*version)) {
            return None;
        }
        let list = versions.iter().rev().take(5).map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let more = if versions.len() > 5 { " and older ones" } else { "" };
        Some(match versions.len() {
            0 => format!("{name} has no release that can be installed"),
            _ => format!("available releases of {name}: {list}{more}"),
        })
    }

    /// Formats the versions in a range, newest first, at most five.
    fn written(&self, package: &Package, versions: &Ranges<Version>) -> String {
        let Package::Skill(name) = package else { return String::new() };
        let known = self.known.borrow();
        let mut found: Vec<&Version> = known.get(name).into_iter().flatten().map(|release| &release.version).collect();
        found.retain(|version| versions.contains(*version));
        found.sort();
        found.iter().rev().take(5).map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

impl DependencyProvider for Search<'_> {
    type P = Package;
    type V = Version;
    type VS = Ranges<Version>;
    type M = String;
    type Err = Stopped;
    type Priority = (u32, Reverse<usize>);

    fn prioritize(&self, package: &Package, range: &Self::VS, met: &PackageResolutionStatistics) -> Self::Priority {
        let Package::Skill(name) = package else { return (u32::MAX, Reverse(0)) };
        let count = self
            .known
            .borrow()
            .get(name)
            .map_or(0, |known| known.iter().filter(|release| range.contains(&release.version)).count());
        (met.conflict_count(), Reverse(count))
    }

    fn choose_version(&self, package: &Package, range: &Self::VS) -> Result<Option<Version>, Stopped> {
        let Package::Skill(name) = package else { return Ok(Some(Version::new(0, 0, 0))) };
        if let Some(preferred) = self.releases.preferred(name).filter(|version| range.contains(version)) {
            return Ok(Some(preferred));
        }
        let releases = self.of(name)?;
        let does = releases.into_iter().map(|release| release.version).filter(|version| range.contains(version));
        Ok(does.max_by_key(|version| (version.pre.is_empty(), version.clone())))
    }

    fn get_dependencies(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<Dependencies<Package, Self::VS, String>, Stopped> {
        let Package::Skill(name) = package else {
            return Ok(Dependencies::Available(self.wanted()?.into_iter().collect()));
        };
        let release = self.of(name)?.into_iter().find(|release| release.version == *version);
        let required = match release.map(|release| release.requires) {
            Some(Ok(required)) => required,
            Some(Err(why)) => return Ok(Dependencies::Unavailable(why)),
            None => return Ok(Dependencies::Unavailable("it no longer exists".to_owned())),
        };
        let mut ranges: Vec<(Package, Self::VS)> = Vec::new();
        for required in required {
            if required.name == *name {
                return Ok(Dependencies::Unavailable("it requires itself".to_owned()));
            }
            let (package, takes) = (Package::Skill(required.name.clone()), AllowedReleases::Required(required.clone()));
            let range = self.range(&required.name, &takes)?;
            match ranges.iter_mut().find(|(known, _)| *known == package) {
                Some((_, known)) => *known = known.intersection(&range),
                None => ranges.push((package, range)),
            }
        }
        Ok(Dependencies::Available(ranges.into_iter().collect()))
    }

    fn should_cancel(&self) -> Result<(), Stopped> {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > MOST_STEPS { Err(Stopped::Steps) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Releases written as `acme/a 1.0.0: acme/b@^1 acme/c`, one on each line. `!` before a version marks it as yanked.
    struct Table(BTreeMap<QualifiedName, Vec<Release>>, Vec<(QualifiedName, Version)>);

    impl Table {
        fn new(text: &str) -> Self {
            let mut table = BTreeMap::<QualifiedName, Vec<Release>>::new();
            for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
                let (release, requires) = line.split_once(':').unwrap_or((line, ""));
                let (name, version) = release.trim().split_once(' ').unwrap();
                let is_yanked = version.starts_with('!');
                let version = version.trim_start_matches('!').parse().unwrap();
                let requires = Ok(requires.split_whitespace().map(|text| text.parse().unwrap()).collect());
                table.entry(name.parse().unwrap()).or_default().push(Release { version, requires, is_yanked });
            }
            Self(table, Vec::new())
        }

        fn preferring(mut self, name: &str, version: &str) -> Self {
            self.1.push((name.parse().unwrap(), version.parse().unwrap()));
            self
        }

        fn solve(&self, wishes: &[&str]) -> Result<String, Vec<String>> {
            let wish = |text: &&str| {
                let required: Requirement = text.parse().unwrap();
                Constraint {
                    name: required.name.clone(),
                    takes: AllowedReleases::Required(required),
                    why: format!("you asked for {text}"),
                }
            };
            match solve(&wishes.iter().map(wish).collect::<Vec<_>>(), self) {
                Ok(chosen) => {
                    let chosen = chosen.iter().map(|(name, version)| format!("{} {version}", name.name));
                    Ok(chosen.collect::<Vec<_>>().join(", "))
                }
                Err(Unsolved::Impossible(reasons)) => Err(reasons),
                Err(other) => panic!("{other}"),
            }
        }
    }

    impl Releases for Table {
        fn of(&self, name: &QualifiedName) -> Result<Vec<Release>, ResolveError> {
            Ok(self.0.get(name).cloned().unwrap_or_default())
        }

        fn preferred(&self, name: &QualifiedName) -> Option<Version> {
            self.1.iter().find(|(known, _)| known == name).map(|(_, version)| version.clone())
        }
    }

    #[test]
    fn newest_compatible_releases_are_chosen() {
        let table = Table::new(
            "acme/a 1.0.0: x/b@^1\nacme/a 1.1.0: x/b@^1 x/c\nx/b 1.0.0\nx/b 1.4.0: x/c@<2\nx/b 2.0.0\n\
             x/c 1.0.0\nx/c 2.0.0\nx/c !1.9.0",
        );
        assert_eq!(table.solve(&["acme/a"]).unwrap(), "a 1.1.0, b 1.4.0, c 1.0.0");
        assert_eq!(table.solve(&["acme/a@1.0.0", "x/c@2.0.0", "x/b@<1.4"]).unwrap(), "a 1.0.0, b 1.0.0, c 2.0.0");
        assert_eq!(table.solve(&["x/c@1.9.0"]).unwrap(), "c 1.9.0", "a yanked one by its exact version");
    }

    #[test]
    fn older_release_resolves_a_conflict() {
        let table = Table::new("x/a 2.0.0: x/b@^2\nx/a 1.0.0: x/b@^1\nx/b 1.0.0\nx/c 1.0.0: x/b@1\nx/b 2.0.0");
        assert_eq!(table.solve(&["x/a"]).unwrap(), "a 2.0.0, b 2.0.0");
        assert_eq!(table.solve(&["x/a", "x/c"]).unwrap(), "a 1.0.0, b 1.0.0, c 1.0.0");
    }

    #[test]
    fn installed_version_is_preferred() {
        let table = Table::new("x/a 1.0.0: x/b@^1\nx/b 1.0.0\nx/b 1.5.0\nx/b 2.0.0").preferring("x/b", "1.0.0");
        assert_eq!(table.solve(&["x/a"]).unwrap(), "a 1.0.0, b 1.0.0");
        assert_eq!(table.solve(&["x/a", "x/b@>=1.1"]).unwrap(), "a 1.0.0, b 1.5.0");
    }

    /// Only the facts that exclude each other are named.
    #[test]
    fn unsolvable_request_is_explained() {
        let table = Table::new("x/a 1.0.0: x/b@^2\nx/c 1.0.0: x/b@^1\nx/b 1.0.0\nx/b 2.0.0\nx/d 1.0.0: x/none@^1");
        let reasons = table.solve(&["x/a", "x/c"]).unwrap_err().join("\n");
        for fact in ["you asked for x/a", "x/a 1.0.0 requires x/b@^2", "x/c 1.0.0 requires x/b@^1", "2.0.0, 1.0.0"] {
            assert!(reasons.contains(fact), "{fact} in:\n{reasons}");
        }
        assert!(!reasons.contains("x/d"), "{reasons}");
        let reasons = table.solve(&["x/d"]).unwrap_err().join("\n");
        assert!(reasons.contains("x/d 1.0.0 requires x/none@^1"), "{reasons}");
        assert!(reasons.contains("x/none has no release"), "{reasons}");
        let reasons = table.solve(&["x/b@^1", "x/b@^2"]).unwrap_err().join("\n");
        assert!(reasons.contains("you asked for x/b@^1") && reasons.contains("you asked for x/b@^2"), "{reasons}");
    }

    #[test]
    fn unusable_release_is_skipped() {
        let mut table = Table::new("x/a 1.0.0\nx/a 2.0.0: x/a@^1\nx/a 3.0.0");
        let name: QualifiedName = "x/a".parse().unwrap();
        table.0.get_mut(&name).unwrap()[2].requires = Err("its requirement \"y\" is none".to_owned());
        assert_eq!(table.solve(&["x/a"]).unwrap(), "a 1.0.0");
        let reasons = table.solve(&["x/a@>=2"]).unwrap_err().join("\n");
        assert!(reasons.contains("requires itself") && reasons.contains("is none"), "{reasons}");
    }

    #[test]
    fn solver_agrees_with_exhaustive_search() {
        let mut random = 7u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        for round in 0..300 {
            let mut text = String::new();
            for name in ["a", "b", "c", "d"] {
                for version in 1..=3 {
                    text.push_str(&format!("x/{name} {version}.0.0:"));
                    for other in ["a", "b", "c", "d"].iter().filter(|other| **other > name) {
                        if next(3) == 0 {
                            text.push_str(&format!(" x/{other}@{}.0.0", 1 + next(3)));
                        }
                    }
                    text.push('\n');
                }
            }
            let table = Table::new(&text);
            let found = table.solve(&["x/a", "x/b"]);
            assert_eq!(found.is_ok(), table.has_solution(), "round {round}:\n{text}{found:?}");
            if let Ok(chosen) = found {
                table.check(&chosen);
            }
        }
    }

    impl Table {
        /// Returns whether any combination of releases of the four skills, including none, satisfies all requirements.
        fn has_solution(&self) -> bool {
            let names: Vec<&QualifiedName> = self.0.keys().collect();
            let choices = 4u32.pow(names.len() as u32);
            (0..choices).any(|choice| {
                let version = |at: usize| (choice / 4u32.pow(at as u32)) % 4;
                let chosen: BTreeMap<_, _> = names
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| version(*at) > 0)
                    .map(|(at, name)| ((*name).clone(), Version::new(u64::from(version(at)), 0, 0)))
                    .collect();
                let wanted = ["x/a", "x/b"].iter().all(|name| chosen.contains_key(&name.parse().unwrap()));
                wanted && self.keeps(&chosen)
            })
        }

        fn keeps(&self, chosen: &BTreeMap<QualifiedName, Version>) -> bool {
            chosen.iter().all(|(name, version)| {
                let release = self.0[name].iter().find(|release| release.version == *version).unwrap();
                let does = |required: &Requirement| chosen.get(&required.name).is_some_and(|v| required.takes(v));
                release.requires.as_ref().unwrap().iter().all(does)
            })
        }

        fn check(&self, chosen: &str) {
            let chosen = chosen.split(", ").map(|release| {
                let (name, version) = release.split_once(' ').unwrap();
                (format!("x/{name}").parse().unwrap(), version.parse().unwrap())
            });
            assert!(self.keeps(&chosen.collect()));
        }
    }
}
