//! [`Lineage`]: the sources of a skill, the releases it merged, and the skill that absorbed it.
//!
//! It is read from the trailers of the revisions: the release from which a revision derives, merged releases, and the
//! skill that absorbed the content. The source of a release itself is known only to its registry, and callers add it
//! with [`Lineage::forked_from`].

mod dot;

use std::collections::BTreeSet;

use library::{FindError, Library, Origin, Revision, RevisionId};
use serde::Serialize;
use skill::SkillName;
use skill_manage::{ManageError, documents};

/// Largest number of skills to follow.
const SKILLS: usize = 200;

/// Relation of a skill or release to its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The skill is the release, or was derived from it.
    DerivedFrom,
    /// The release was merged into the skill.
    MergedFrom,
    /// The skill was deleted, and the other one has its content.
    AbsorbedInto,
    /// The release was derived from another one and published under another owner.
    ForkedFrom,
}

impl Relation {
    /// Returns the name of the relation in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DerivedFrom => "derived_from",
            Self::MergedFrom => "merged_from",
            Self::AbsorbedInto => "absorbed_into",
            Self::ForkedFrom => "forked_from",
        }
    }
}

/// Release from any source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Release {
    /// Registry, git URL or path. `None` if only a registry's entry names the release.
    pub registry: Option<String>,
    /// Name as `owner/name`, or the bare name from other sources.
    pub name: String,
    /// Version, or the commit of other sources.
    pub version: Option<String>,
    /// Digest of its files.
    pub digest: String,
}

impl Release {
    fn of(origin: &Origin) -> Self {
        Self {
            registry: Some(origin.location().to_owned()),
            name: origin.name(),
            version: origin.version().or_else(|| origin.commit().map(ToString::to_string)),
            digest: origin.digest().to_string(),
        }
    }

    /// Returns the release as displayed to people.
    pub fn title(&self) -> String {
        let short = |text: &str| text.trim_start_matches("sha256:").chars().take(12).collect::<String>();
        match &self.version {
            Some(version) if version.len() == 40 => format!("{} {}", self.name, short(version)),
            Some(version) => format!("{} {version}", self.name),
            None => format!("{} {}", self.name, short(&self.digest)),
        }
    }
}

/// One end of a link.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Node {
    /// Skill of the library.
    Skill(String),
    /// Release from any source.
    Release(Release),
}

/// Derivation of one skill or release from another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Kind of derivation.
    pub relation: Relation,
    /// Derived end. For an absorbed skill, that skill.
    pub from: Node,
    /// Source. For an absorbed skill, the one that absorbed it.
    pub to: Node,
    /// Number of the revision with the trailer.
    pub number: Option<u64>,
    /// Revision with the trailer.
    pub revision: Option<RevisionId>,
    /// Time of that revision, RFC 3339 in UTC.
    pub time: Option<String>,
    /// Actor of that revision, as `kind:id`.
    pub actor: Option<String>,
}

/// Lineage of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lineage {
    ok: bool,
    /// Name of the skill.
    pub name: String,
    /// True if it was deleted or uninstalled.
    pub deleted: bool,
    /// Number of its newest revision.
    pub number: u64,
    /// Links to sources, oldest first, including those of absorbed skills.
    pub links: Vec<Link>,
}

/// Returns the lineage of a skill of a library.
///
/// # Errors
/// The library has never had the skill, or cannot be read.
pub fn lineage(library: &Library, name: &SkillName) -> Result<Lineage, ManageError> {
    let head = library.head(name)?.ok_or_else(|| FindError::NoSkill(name.clone()))?;
    let absorbed = absorbed(library)?;
    let mut links = Vec::new();
    let (mut seen, mut next) = (BTreeSet::new(), vec![name.clone()]);
    while let Some(skill) = next.pop().filter(|_| seen.len() < SKILLS) {
        if !seen.insert(skill.clone()) {
            continue;
        }
        links.extend(links_of(library, &skill, &library.revisions(&skill, usize::MAX)?));
        next.extend(absorbed.iter().filter(|(_, into)| *into == skill).map(|(from, _)| from.clone()));
    }
    Ok(Lineage { ok: true, name: name.to_string(), deleted: head.tombstone, number: head.number, links })
}

/// Extracts the links from a skill's revisions, which are newest first.
fn links_of(library: &Library, skill: &SkillName, revisions: &[Revision]) -> Vec<Link> {
    let mut links = Vec::new();
    let mut before: Option<&Origin> = None;
    for revision in revisions.iter().rev() {
        let link = |relation, to| Link {
            relation,
            from: Node::Skill(skill.to_string()),
            to,
            number: Some(revision.number),
            revision: Some(revision.id.clone()),
            time: Some(documents::time(revision.stamp.time)),
            actor: Some(revision.stamp.actor.to_string()),
        };
        if let Some(into) = &revision.absorbed_into {
            links.push(link(Relation::AbsorbedInto, Node::Skill(into.clone())));
        }
        let origin = revision.origin.as_ref().filter(|_| !revision.tombstone);
        if let Some(origin) = origin.filter(|origin| Some(*origin) != before) {
            let merged = revision.upstream.is_some();
            let relation = if merged { Relation::MergedFrom } else { Relation::DerivedFrom };
            links.push(link(relation, Node::Release(Release::of(origin))));
        }
        before = origin;
        let fork = library.merged_fork(revision);
        links.extend(fork.map(|fork| link(Relation::MergedFrom, Node::Release(Release::of(&fork)))));
    }
    links
}

/// Returns the skills that were deleted because others absorbed them, as (absorbed, absorbing).
fn absorbed(library: &Library) -> Result<Vec<(SkillName, SkillName)>, ManageError> {
    let (events, _) = library.events()?;
    let deleted: BTreeSet<&str> =
        events.iter().filter(|event| event.action == "delete").map(|event| event.skill.as_str()).collect();
    let mut absorbed = Vec::new();
    for name in deleted.into_iter().filter_map(|name| SkillName::parse(name).ok()) {
        let into = library.head(&name)?.and_then(|head| head.absorbed_into);
        absorbed.extend(into.and_then(|into| SkillName::parse(&into).ok()).map(|into| (name, into)));
    }
    Ok(absorbed)
}

impl Lineage {
    /// Returns the releases in the links, without duplicates.
    pub fn releases(&self) -> Vec<Release> {
        let ends = self.links.iter().flat_map(|link| [&link.from, &link.to]);
        let releases = ends.filter_map(|node| match node {
            Node::Release(release) => Some(release.clone()),
            Node::Skill(_) => None,
        });
        releases.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Adds the source of a release, as given by its registry.
    pub fn forked_from(&mut self, release: Release, source: Release) {
        let (from, to) = (Node::Release(release), Node::Release(source));
        if self.links.iter().any(|link| link.from == from && link.to == to) {
            return;
        }
        self.links.push(Link {
            relation: Relation::ForkedFrom,
            from,
            to,
            number: None,
            revision: None,
            time: None,
            actor: None,
        });
    }

    /// Returns the lineage as a Graphviz graph.
    pub fn dot(&self) -> String {
        dot::graph(self)
    }
}
