//! [`SourceContents`]: discovery and selection of the skills in a source that may contain several.

mod pick_error;

use std::collections::{BTreeMap, BTreeSet};

use cap_std::fs::Dir;
use library::folder::{self, FolderError, SKIPPED};
use skill::{Bundle, Digest, File, Limits, SkillPath, validate};

pub use self::pick_error::PickError;
use crate::{
    plugin_manifest::{MANIFEST, MOST_BYTES, PluginManifest, PluginSource},
    spec::GitSpec,
};

/// Maximum depth below the source's root at which skills are searched for.
pub(crate) const DEEPEST: usize = 10;

/// Maximum number of folders searched, so that a whole disk is not searched by mistake.
const MOST_FOLDERS: usize = 10_000;

/// Maximum number of folders in a warning.
const MOST_PLACES: usize = 3;

/// Folders in which sources usually keep their skills, by preference.
const PLACES: [&str; 3] = ["skills/", ".claude/skills/", ".agents/skills/"];

/// A folder that contains a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiscoveredSkill {
    /// Path below the source's root; empty for the root itself.
    pub folder: String,
    /// Name from the frontmatter, otherwise the folder's name; empty for a root without a name in its frontmatter.
    pub name: String,
    /// Title from the frontmatter, in any script.
    title: Option<String>,
    /// Description from the frontmatter; empty if it cannot be read.
    description: String,
    /// Hash of its `SKILL.md`, to distinguish a copy from another skill of the same name.
    skill_md: Digest,
    /// Its `SKILL.md`, with the parsed frontmatter, if it is the root; empty for the others, as there may be many.
    pub parsed: Bundle,
    /// Plugins of the source's manifest that have it.
    plugins: Vec<String>,
    /// True if the folder is inside another skill.
    is_nested: bool,
}

/// A plugin whose skills are in another repository. It is fetched only when chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForeignPlugin {
    name: String,
    description: String,
    /// Repository and folder that have the plugin.
    pub git: GitSpec,
}

/// Skills and plugins that a source offers.
#[derive(Debug)]
pub(crate) struct SourceContents {
    /// Source as shown to people.
    origin: String,
    /// Folder below which the skills were searched; empty for the root of the source.
    top: String,
    /// Skills by preference. Several may have the same name.
    skills: Vec<DiscoveredSkill>,
    foreign: Vec<ForeignPlugin>,
    /// Parts of the manifest that were ignored, one sentence each.
    pub warnings: Vec<String>,
    /// True if the source has a manifest that lists plugins.
    pub has_manifest: bool,
}

/// Selected skills of a source.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ChosenSkills {
    pub skills: Vec<DiscoveredSkill>,
    /// Plugins in other repositories, all of whose skills are selected.
    pub foreign: Vec<ForeignPlugin>,
    /// Folders of skills that were left out, because a selected skill has the same name.
    left_out: BTreeSet<String>,
    /// True if one of these skills is not a copy of the selected one.
    is_unclear: bool,
    /// Plugins with more skills that have the name of a selected skill.
    plugins: BTreeSet<String>,
    /// Number and names of the skills outside the usual folders, which only their names choose.
    outside: Option<String>,
}

/// A skill that a source offers, or a plugin of another repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedSkill {
    /// Name for `--skill`.
    pub name: String,
    /// Title, in any script.
    pub title: Option<String>,
    /// Description; may be empty.
    pub description: String,
    /// Folder below the root of the source; empty for the root and for a plugin of another repository.
    pub folder: String,
    /// First plugin of the source's manifest that has it.
    pub plugin: Option<String>,
    /// Address of the other repository that has the plugin.
    pub repository: Option<String>,
    /// Version that the source gives, which may be any text.
    pub version: Option<String>,
}

/// The user's selection among the skills of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pick {
    /// Names or folders of the selected skills, names of plugins, `plugin:skill` or `plugin:`; empty if none was named.
    pub skills: Vec<String>,
    /// True to select every skill of the source.
    pub all: bool,
}

/// Formats the sentence about skills outside the usual folders. One with the name of a usual skill is named by its
/// folder. `None` if there are none.
fn outside_of(skills: &[&DiscoveredSkill], usual: &[&DiscoveredSkill]) -> Option<String> {
    let name = |skill: &&DiscoveredSkill| match usual.iter().any(|other| other.name == skill.name) {
        true => skill.folder.clone(),
        false => skill.name.clone(),
    };
    let names: BTreeSet<String> = skills.iter().map(name).collect();
    let example = if let [only] = skills { name(only) } else { "NAME".to_owned() };
    let named = first_of(names.into_iter(), MOST_PLACES);
    (!skills.is_empty())
        .then(|| format!("{} more outside the usual folders: {named} (--skill {example})", skills.len()))
}

/// Joins the first `most` texts, and counts the others.
fn first_of(mut texts: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let mut named: Vec<String> = texts.by_ref().take(most).collect();
    let more = texts.len();
    named.extend((more > 0).then(|| format!("{more} more")));
    named.join(", ")
}

/// Returns the names that several of the skills have.
pub fn shared_names(skills: &[OfferedSkill]) -> BTreeSet<&str> {
    let mut seen = BTreeSet::new();
    skills.iter().map(|skill| skill.name.as_str()).filter(|name| !seen.insert(*name)).collect()
}

impl DiscoveredSkill {
    /// Creates an entry for a folder whose `SKILL.md` has this content.
    pub fn new(folder: String, skill_md: &[u8]) -> Self {
        let file = File { bytes: skill_md.into(), executable: false };
        let parsed = Bundle::from_files([(SkillPath::skill_md(), file)], &Limits::default()).unwrap_or_default();
        let skill = Self::of(folder, skill_md, &parsed);
        if skill.folder.is_empty() { Self { parsed, ..skill } } else { skill }
    }

    /// Creates an entry for a skill that is read already.
    pub fn of_bundle(bundle: &Bundle) -> Self {
        Self::of(String::new(), bundle.skill_md().unwrap_or_default().as_bytes(), bundle)
    }

    fn of(folder: String, skill_md: &[u8], bundle: &Bundle) -> Self {
        let last = folder.rsplit('/').next().unwrap_or_default().to_owned();
        let loaded = validate::load_bundle(bundle, &last, &Limits::default()).ok();
        let title = loaded.as_ref().and_then(|loaded| loaded.frontmatter.title());
        let (name, description) = loaded.map_or((last, String::new()), |loaded| (loaded.name, loaded.description));
        let (skill_md, parsed) = (Digest::of_bytes(skill_md), Bundle::default());
        Self { folder, name, title, description, skill_md, parsed, plugins: Vec::new(), is_nested: false }
    }

    /// Returns whether a plugin has the skill.
    fn is_in(&self, plugin: &str) -> bool {
        self.plugins.iter().any(|name| name == plugin)
    }

    fn offered(&self, origin: &str) -> OfferedSkill {
        let fallback = || origin.trim_end_matches('/').rsplit('/').next().unwrap_or(origin).to_owned();
        OfferedSkill {
            name: Some(self.name.clone()).filter(|name| !name.is_empty()).unwrap_or_else(fallback),
            title: self.title.clone(),
            description: self.description.clone(),
            folder: self.folder.clone(),
            plugin: self.plugins.first().cloned(),
            repository: None,
            version: None,
        }
    }
}

impl ChosenSkills {
    /// Adds the skills, but only the first of each name.
    fn add<'a>(&mut self, skills: impl IntoIterator<Item = &'a DiscoveredSkill>) {
        let chosen = self.skills.iter().map(|skill| (skill.name.clone(), skill.skill_md));
        let mut chosen: BTreeMap<String, Digest> = chosen.collect();
        for skill in skills {
            if let Some(first) = chosen.get(&skill.name) {
                self.is_unclear |= *first != skill.skill_md;
                self.left_out.insert(skill.folder.clone());
            } else {
                chosen.insert(skill.name.clone(), skill.skill_md);
                self.skills.push(skill.clone());
            }
        }
    }

    /// Returns warnings about skills that were left out.
    pub fn warnings(&self) -> Vec<String> {
        let of_plugin =
            |plugin| format!("{plugin} is also a plugin with more skills; --skill {plugin}: chooses all of them");
        let mut warnings: Vec<String> = self.plugins.iter().map(of_plugin).chain(self.outside.clone()).collect();
        if !self.left_out.is_empty() {
            let folders = first_of(self.left_out.iter().cloned(), MOST_PLACES);
            warnings.push(format!(
                "skills of the same names were left out: {folders}; --list shows how to install each of them"
            ));
        }
        warnings
    }
}

impl ForeignPlugin {
    fn offered(&self) -> OfferedSkill {
        let (name, description) = (self.name.clone(), self.description.clone());
        let repository = Some(self.git.to_string());
        OfferedSkill { name, title: None, description, folder: String::new(), plugin: None, repository, version: None }
    }
}

impl SourceContents {
    /// Sorts the skills found below `top` by preference: a skill at the top, then those in the usual folders. Skills
    /// inside other skills come last.
    pub fn new(found: Vec<DiscoveredSkill>, top: &str, origin: &str) -> Self {
        let mut contents = Self {
            origin: origin.to_owned(),
            top: top.to_owned(),
            skills: found,
            foreign: Vec::new(),
            warnings: Vec::new(),
            has_manifest: false,
        };
        let folders: BTreeSet<String> = contents.skills.iter().map(|skill| skill.folder.clone()).collect();
        for skill in &mut contents.skills {
            let parents = skill.folder.match_indices('/').filter_map(|(at, _)| skill.folder.get(..at));
            skill.is_nested = parents.into_iter().any(|parent| parent != top && folders.contains(parent));
        }
        contents.skills.sort_by_cached_key(|skill| {
            let below = relative(top, &skill.folder);
            let place = PLACES.iter().position(|place| is_in(below, place)).unwrap_or(PLACES.len());
            (skill.is_nested, !below.is_empty(), place, below.matches('/').count(), below.to_owned())
        });
        contents
    }

    /// Adds what the source's manifest lists. `url` is the repository's own URL, if it has one.
    pub fn with_manifest(mut self, manifest: Option<&[u8]>, url: Option<&str>) -> Self {
        let Some(manifest) = manifest else { return self };
        let manifest = PluginManifest::parse(manifest);
        self.has_manifest = !manifest.plugins.is_empty();
        self.warnings.extend(manifest.warnings);
        let plugins = manifest.plugins.into_iter().map(|plugin| plugin.in_repository(url.unwrap_or_default()));
        let (foreign, here): (Vec<_>, Vec<_>) =
            plugins.partition(|plugin| matches!(plugin.source, PluginSource::Foreign(_)));
        for skill in &mut self.skills {
            let folder = relative(&self.top, &skill.folder);
            skill.plugins = here.iter().filter(|plugin| plugin.has(folder)).map(|plugin| plugin.name.clone()).collect();
        }
        for plugin in foreign {
            if let PluginSource::Foreign(git) = plugin.source {
                self.foreign.push(ForeignPlugin { name: plugin.name, description: plugin.description, git });
            }
        }
        self
    }

    /// Returns all skills, and the plugins of other repositories.
    pub fn offered(&self) -> Vec<OfferedSkill> {
        let skills = self.skills.iter().map(|skill| skill.offered(&self.origin));
        skills.chain(self.foreign.iter().map(ForeignPlugin::offered)).collect()
    }

    /// Selects skills.
    ///
    /// A `SKILL.md` at the top is the skill, unless others are selected by name. Otherwise, if the usual folders or the
    /// plugins of the manifest contain skills, only those count. Skills nested in another skill, and plugins in other
    /// repositories, are selected by name only. Of several with the same name, the first by preference is selected,
    /// unless another is selected by its folder. Without a selection, they have to be copies of each other.
    pub fn choose(&self, pick: &Pick) -> Result<ChosenSkills, PickError> {
        let origin = self.origin.clone();
        if self.skills.is_empty() && self.foreign.is_empty() {
            return Err(PickError::None { origin });
        }
        if !pick.skills.is_empty() {
            let mut chosen = ChosenSkills::default();
            pick.skills.iter().try_for_each(|wanted| self.choose_named(wanted, &mut chosen))?;
            let selected: BTreeSet<&str> = chosen.skills.iter().map(|skill| skill.folder.as_str()).collect();
            chosen.left_out.retain(|folder| !selected.contains(folder.as_str()));
            return Ok(chosen);
        }
        let top = self.skills.first().filter(|first| first.folder == self.top);
        if let Some(top) = top {
            return Ok(ChosenSkills { skills: vec![top.clone()], ..ChosenSkills::default() });
        }
        let is_usual = |skill: &&DiscoveredSkill| {
            !skill.plugins.is_empty()
                || PLACES.iter().any(|place| relative(&self.top, &skill.folder).starts_with(place))
        };
        let (mut skills, mut outside): (Vec<_>, Vec<_>) = self.skills.iter().partition(|skill| !skill.is_nested);
        if skills.iter().any(&is_usual) {
            outside.extend(skills.extract_if(.., |skill| !is_usual(skill)));
        }
        let mut chosen = ChosenSkills { outside: outside_of(&outside, &skills), ..ChosenSkills::default() };
        chosen.add(skills.iter().copied());
        let is_clear = chosen.skills.len() == 1 && !chosen.is_unclear;
        if chosen.skills.is_empty() || !(is_clear || pick.all) {
            let skills = skills.iter().map(|skill| skill.offered(&self.origin));
            let skills = skills.chain(self.foreign.iter().map(ForeignPlugin::offered)).collect();
            return Err(PickError::Several { origin, skills, outside: chosen.outside });
        }
        Ok(chosen)
    }

    /// Adds the skill in a folder, or else the first of a name, or else all skills of the plugin with that name, or else
    /// the skill in a folder that is called so. `plugin:skill` means one skill of a plugin, and `plugin:` all of them.
    fn choose_named(&self, wanted: &str, chosen: &mut ChosenSkills) -> Result<(), PickError> {
        let in_folder = self.skills.iter().filter(|skill| skill.folder.rsplit('/').next() == Some(wanted));
        let mut named: Vec<&DiscoveredSkill> = self.skills.iter().filter(|skill| skill.name == wanted).collect();
        named.sort_by_key(|skill| skill.folder != wanted);
        let at_path = self.skills.iter().find(|skill| wanted.contains('/') && skill.folder == wanted);
        let is_found = if let Some(skill) = at_path {
            chosen.skills.push(skill.clone());
            true
        } else if !named.is_empty() {
            chosen.add(named);
            let more = |skill: &DiscoveredSkill| skill.is_in(wanted) && skill.name != wanted;
            chosen.plugins.extend(self.skills.iter().any(more).then(|| wanted.to_owned()));
            true
        } else if let Some((plugin, skill)) = wanted.split_once(':') {
            self.choose_of_plugin(plugin, Some(skill).filter(|skill| !skill.is_empty()), chosen)
        } else {
            let in_folder = in_folder.min_by_key(|skill| skill.folder != wanted);
            self.choose_of_plugin(wanted, None, chosen) || in_folder.map(|skill| chosen.add([skill])).is_some()
        };
        if !is_found {
            let (origin, wanted) = (self.origin.clone(), wanted.to_owned());
            return Err(PickError::Missing { origin, wanted, skills: self.offered() });
        }
        Ok(())
    }

    /// Adds the skill of a plugin, or all of them. Returns whether there is such a plugin.
    fn choose_of_plugin(&self, plugin: &str, skill: Option<&str>, chosen: &mut ChosenSkills) -> bool {
        let is_meant = |found: &&DiscoveredSkill| found.is_in(plugin) && skill.is_none_or(|name| found.name == name);
        let skills: Vec<&DiscoveredSkill> = self.skills.iter().filter(is_meant).collect();
        let is_foreign = |found: &&ForeignPlugin| found.name == plugin && skill.is_none();
        let foreign: Vec<&ForeignPlugin> = self.foreign.iter().filter(is_foreign).collect();
        let is_found = !skills.is_empty() || !foreign.is_empty();
        chosen.add(skills);
        chosen.foreign.extend(foreign.into_iter().cloned());
        is_found
    }
}

fn is_in(folder: &str, place: &str) -> bool {
    folder.strip_prefix(place).is_some_and(|rest| !rest.contains('/'))
}

fn relative<'a>(top: &str, folder: &'a str) -> &'a str {
    folder.strip_prefix(top).map_or(folder, |rest| rest.trim_start_matches('/'))
}

/// Reads the manifest of an open folder. `None` if the folder has no manifest.
pub(crate) fn manifest_in(top: &Dir) -> Option<Vec<u8>> {
    let (folder, file) = MANIFEST.split_once('/')?;
    folder::read_file(&folder::open(top, folder).ok()?, file, MOST_BYTES).ok().flatten()
}

/// Finds the skills in and below an open folder, with their paths. Nested skills are included, and links are not
/// followed.
pub(crate) fn in_folder(top: &Dir) -> Result<Vec<DiscoveredSkill>, FolderError> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), top.try_clone().map_err(|source| io(".", source))?)];
    let mut looked_into = 0;
    while let Some((place, dir)) = open.pop() {
        looked_into += 1;
        if looked_into > MOST_FOLDERS {
            return Err(skill::BundleError::TooManyFiles { files: looked_into, limit: MOST_FOLDERS }.into());
        }
        if let Some(skill_md) = skill_md_of(&dir)? {
            found.push(DiscoveredSkill::new(place.clone(), &skill_md));
        }
        if place.split('/').count() >= DEEPEST {
            continue;
        }
        for entry in dir.entries().map_err(|source| io(&place, source))? {
            let entry = entry.map_err(|source| io(&place, source))?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !SKIPPED.contains(name)) else { continue };
            if entry.file_type().is_ok_and(|kind| kind.is_dir())
                && let Ok(child) = folder::open(&dir, name)
            {
                let below = if place.is_empty() { name.to_owned() } else { format!("{place}/{name}") };
                open.push((below, child));
            }
        }
    }
    Ok(found)
}

/// Reads the `SKILL.md` in a folder. Returns `None` unless it is a regular file. One that is too large for a text
/// file is read too, so that the skill is found and refused for that reason.
pub(crate) fn skill_md_of(dir: &Dir) -> Result<Option<Vec<u8>>, FolderError> {
    let limit = Limits::default().skill_bytes;
    folder::read_file(dir, SkillPath::SKILL_MD, limit).map_err(|source| io(SkillPath::SKILL_MD, source))
}

fn io(path: &str, source: std::io::Error) -> FolderError {
    FolderError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests;
