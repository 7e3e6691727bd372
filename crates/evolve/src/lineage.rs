//! [`Lineage`]: what a skill was made from, what it took in, and what took it in.
//!
//! It is read from the trailers of the revisions: the release that one derives from, those that were merged in,
//! and the skill that took another one's content in. What a release was itself made from only its registry knows;
//! whoever asks adds that with [`Lineage::forked_from`].

mod dot;

use std::collections::BTreeSet;

use library::{FindError, Library, Origin, Revision, RevisionId};
use serde::Serialize;
use skill::SkillName;
use skill_manage::{ManageError, documents};

/// How many skills are followed through one another.
const SKILLS: usize = 200;

/// How one thing comes from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The skill is the release, or was changed from it.
    DerivedFrom,
    /// The release was merged into what the skill was.
    MergedFrom,
    /// The skill was deleted, and the other one has its content.
    AbsorbedInto,
    /// The release was made from another one and published under another owner.
    ForkedFrom,
}

impl Relation {
    /// The relation's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DerivedFrom => "derived_from",
            Self::MergedFrom => "merged_from",
            Self::AbsorbedInto => "absorbed_into",
            Self::ForkedFrom => "forked_from",
        }
    }
}

/// A release somewhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Release {
    /// The registry, git URL or path; unknown of what only a registry names.
    pub registry: Option<String>,
    /// `owner/name`, or the bare name from other sources.
    pub name: String,
    /// Its version, or the commit.
    pub version: Option<String>,
    /// The digest of its files.
    pub digest: String,
}

impl Release {
    fn of(origin: &Origin) -> Self {
        Self {
            registry: Some(origin.source.clone()),
            name: origin.name.clone(),
            version: origin.version.clone().or_else(|| origin.commit.clone()),
            digest: origin.digest.clone(),
        }
    }

    /// The release as people call it.
    #[must_use]
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
    /// A skill of the library.
    Skill(String),
    /// A release.
    Release(Release),
}

/// That one thing comes from another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    /// How.
    pub relation: Relation,
    /// What came of it: of an absorbed skill, that skill.
    pub from: Node,
    /// What it came from: of an absorbed skill, the one that took it in.
    pub to: Node,
    /// The number of the revision that says so.
    pub number: Option<u64>,
    /// The revision.
    pub revision: Option<RevisionId>,
    /// When, RFC 3339 in UTC.
    pub time: Option<String>,
    /// Who, `kind:id`.
    pub actor: Option<String>,
}

/// Where a skill comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lineage {
    ok: bool,
    /// The skill.
    pub name: String,
    /// Whether it was deleted or uninstalled.
    pub deleted: bool,
    /// The number of its newest revision.
    pub number: u64,
    /// What it comes from, oldest first; of the skills that it absorbed as well.
    pub links: Vec<Link>,
}

/// Where a skill of a library comes from.
///
/// # Errors
/// The library never had the skill, or cannot be read.
pub fn lineage(library: &Library, name: &SkillName) -> Result<Lineage, ManageError> {
    let head = library.head(name)?.ok_or_else(|| FindError::NoSkill(name.clone()))?;
    let absorbed = absorbed(library)?;
    let mut links = Vec::new();
    let (mut seen, mut next) = (BTreeSet::new(), vec![name.clone()]);
    while let Some(skill) = next.pop().filter(|_| seen.len() < SKILLS) {
        if !seen.insert(skill.clone()) {
            continue;
        }
        links.extend(links_of(&skill, &library.revisions(&skill, usize::MAX)?));
        next.extend(absorbed.iter().filter(|(_, into)| *into == skill).map(|(from, _)| from.clone()));
    }
    Ok(Lineage { ok: true, name: name.to_string(), deleted: head.tombstone, number: head.number, links })
}

/// What a skill's revisions say, these newest first.
fn links_of(skill: &SkillName, revisions: &[Revision]) -> Vec<Link> {
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
    }
    links
}

/// The skills that were deleted because others took their content in, with these.
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
    /// The releases that are named, each once.
    #[must_use]
    pub fn releases(&self) -> Vec<Release> {
        let ends = self.links.iter().flat_map(|link| [&link.from, &link.to]);
        let releases = ends.filter_map(|node| match node {
            Node::Release(release) => Some(release.clone()),
            Node::Skill(_) => None,
        });
        releases.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Adds what a registry says that a release was made from.
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

    /// The lineage as a graph in the language of Graphviz.
    #[must_use]
    pub fn dot(&self) -> String {
        dot::graph(self)
    }
}
