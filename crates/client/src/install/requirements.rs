//! [`Item`]: the skills that an install fetches, including requirements.

use std::collections::BTreeSet;

use registry_index::{Requirement, select};
use skill::{QualifiedName, SkillName};

use super::{
    Batch, InstallError, InstallRequest, Installed,
    candidate::Candidate,
    fetch_item::FetchItem,
    planned::{PlannedChange, PlannedSkill},
    source::{Inputs, fetch_each},
};
use crate::{
    lock_file::LockFile,
    requires::{self, Choice, Requested},
    resolve::{self, Located, Resolved},
    spec::{Spec, VersionRequest},
};

/// One item of an install.
pub(super) enum Item {
    /// An item still to be fetched.
    Order(FetchItem),
    /// A release that the registry has for the user's request, still to be fetched.
    Found(Box<Resolved>, VersionRequest),
    /// An item already fetched, because its requirements are listed only in its files. The text is a label for errors.
    Fetched(String, Result<Vec<Candidate>, InstallError>),
}

/// Pairs of full names in a batch: a skill and a skill that it requires.
#[derive(Debug, Default)]
pub(crate) struct Needs(Vec<(String, String)>);

impl Needs {
    /// Collects the requirements among the skills of a resolver's choice.
    pub fn of(choice: &Choice) -> Self {
        let needs = |name: &QualifiedName| {
            let name = name.to_string();
            choice.needs(&name).map(|needed| (name.clone(), needed)).collect::<Vec<_>>()
        };
        Self(choice.names().flat_map(needs).collect())
    }
}

/// Returns the items of an install: the requested skills in compatible releases, followed by missing requirements.
pub(super) fn items(
    by: Inputs<'_>,
    orders: Vec<FetchItem>,
    request: &InstallRequest,
    lock: &LockFile,
) -> Result<(Vec<Item>, Needs), InstallError> {
    if request.frozen || request.specs.is_empty() {
        return Ok((orders.into_iter().map(Item::Order).collect(), Needs::default()));
    }
    let registries = by.registries.offline_if(request.offline);
    let (mut items, mut asked, mut more) = (Vec::new(), Vec::new(), Vec::new());
    for order in orders {
        let FetchItem::Spec(spec @ (Spec::Qualified { .. } | Spec::Bare { .. })) = &order else {
            for (label, found) in fetch_each(by, &order, request) {
                let found = found.and_then(|found| {
                    more.extend(required_by(&found)?);
                    Ok(found)
                });
                items.push((Item::Fetched(label, found), None));
            }
            continue;
        };
        let of_spec = resolve::locate_known(&registries, spec, lock).and_then(|located| {
            let Located { registry, name, request } = located;
            let releases = resolve::releases(&registry, &name)?;
            let source = registry.location().to_owned();
            Ok((registry, Requested { name, request, source, releases, is_update: false }))
        });
        // An error here occurs again when the item is fetched, and is reported then.
        let Ok((registry, of_spec)) = of_spec else {
            items.push((Item::Order(order), None));
            continue;
        };
        let (name, request) = (of_spec.name.clone(), of_spec.request.clone());
        let item = match select(&of_spec.releases, request.wanted()).cloned() {
            Some(entry) => Item::Found(Box::new(Resolved { registry, name: name.clone(), entry }), request),
            None => {
                items.push((Item::Order(order), None));
                continue;
            }
        };
        items.push((item, Some(name)));
        asked.push(of_spec);
    }
    let Some(choice) = requires::choose(&registries, lock, &asked, &more, false)? else {
        return Ok((items.into_iter().map(|(item, _)| item).collect(), Needs::default()));
    };
    let mut needs = Needs::of(&choice);
    needs.0.extend(more.into_iter().map(|(who, required)| (who, required.name.to_string())));
    let mut chosen: Vec<Item> =
        items.into_iter().map(|(item, name)| with_version(item, name, &asked, &choice)).collect();
    let is_asked = |name: &QualifiedName| asked.iter().any(|asked| asked.name == *name);
    chosen.extend(choice.changes().filter(|(name, _)| !is_asked(name)).map(|(name, version)| {
        let source = choice.source(name).map(str::to_owned);
        let (name, version, request) = (name.clone(), version.clone(), VersionRequest::newest());
        Item::Order(FetchItem::Chosen { name, request, version, source, is_dependency: true })
    }));
    Ok((chosen, needs))
}

/// Replaces the item with the release that the resolver chose.
fn with_version(item: Item, name: Option<QualifiedName>, asked: &[Requested], choice: &Choice) -> Item {
    let asked = name.and_then(|name| asked.iter().find(|asked| asked.name == name));
    match asked.and_then(|asked| Some((asked, choice.version(&asked.name)?))) {
        Some((asked, version)) => {
            let (name, request, version) = (asked.name.clone(), asked.request.clone(), version.clone());
            let source = Some(asked.source.clone());
            Item::Order(FetchItem::Chosen { name, request, version, source, is_dependency: false })
        }
        None => item,
    }
}

/// Returns the requirements of skills from sources other than a registry, each with the skill's name.
fn required_by(candidates: &[Candidate]) -> Result<Vec<(String, Requirement)>, InstallError> {
    let mut all = Vec::new();
    for candidate in candidates {
        for text in requires::of_bundle(&candidate.bundle) {
            all.push((candidate.origin.name(), text.parse()?));
        }
    }
    Ok(all)
}

impl Batch {
    /// Fails skills whose requirements failed, and new requirements that are no longer needed because all skills
    /// requiring them failed.
    pub fn drop_unmet(&mut self, needs: &Needs) {
        while let Some((at, other)) = self.first_unmet(needs) {
            let planned = self.planned.remove(at);
            self.turns.remove(at);
            let (name, version) = (planned.candidate.origin.name(), planned.candidate.origin.version());
            self.settle(Installed::failed(name.clone(), version, InstallError::Unmet { name, other }));
        }
    }

    fn first_unmet(&self, needs: &Needs) -> Option<(usize, String)> {
        let failed: BTreeSet<String> = self
            .settled
            .iter()
            .filter(|(_, result)| result.error.is_some())
            .map(|(_, result)| result.name.clone())
            .chain(self.planned.iter().filter(|planned| planned.is_held()).map(PlannedSkill::full_name))
            .collect();
        let unmet = |planned: &PlannedSkill| {
            let name = planned.full_name();
            let needed = needs.0.iter().filter(|(who, _)| *who == name).find(|(_, needed)| failed.contains(needed));
            if let Some((_, needed)) = needed {
                return Some(needed.clone());
            }
            let requirers: Vec<&String> = needs.0.iter().filter(|(_, it)| *it == name).map(|(who, _)| who).collect();
            let is_idle = planned.candidate.is_dependency
                && planned.head.is_none()
                && requirers.iter().all(|who| failed.contains(*who));
            requirers.first().filter(|_| is_idle).map(|who| (*who).clone())
        };
        let open = self.planned.iter().enumerate().filter(|(_, planned)| !planned.is_held());
        open.into_iter().find_map(|(at, planned)| Some((at, unmet(planned)?)))
    }
}

impl PlannedSkill {
    fn full_name(&self) -> String {
        self.candidate.full_name()
    }

    /// Returns whether a person has to decide before the skill changes.
    fn is_held(&self) -> bool {
        matches!(self.step, PlannedChange::Propose { .. })
    }
}

/// Returns the bare name within a full name.
pub(crate) fn bare(name: &str) -> Option<SkillName> {
    SkillName::parse(name.rsplit('/').next().unwrap_or(name)).ok()
}
