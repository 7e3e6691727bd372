//! Skills that sites offer over HTTP. Every file is compared with the hash that the site lists, as far as its form has
//! hashes.

use library::Origin;
use skill::{Bundle, Digest, File, Limits, SkillPath, uri};

use super::{Candidate, InstallError, Local, Source, folder::with_warnings, unpack};
use crate::{
    discovery::{DiscoveredSkill, OfferedSkill, PickError},
    http::{self, HttpError},
    site_index::{
        INDEXES, IndexedContent, IndexedSkill, ListedFile, MOST_BYTES, SiteError, SiteIndex, newest_version,
        version_files,
    },
    spec::{SiteApi, SiteSpec},
};

/// File that ClawHub adds to the archive of a skill. It is not one of the skill's files.
const CLAWHUB_META: &str = "_meta.json";

/// Number of skills that ClawHub is asked for at once.
const CLAWHUB_PAGE: usize = 100;

/// Files of one skill of a site.
struct Fetched {
    bundle: Bundle,
    version: Option<String>,
}

impl Source<'_> {
    pub(super) fn of_site(&self, site: &SiteSpec) -> Result<Vec<Candidate>, InstallError> {
        if let (SiteApi::ClawHub, Some(slug)) = (site.api, &site.skill) {
            let version = match &site.version {
                Some(version) => version.clone(),
                None => self.newest_on_clawhub(site, slug)?,
            };
            let bundle = self.of_clawhub(site, slug, &version)?;
            let fetched = Fetched { bundle, version: Some(version) };
            return Ok(vec![self.candidate_of(site, site, slug, fetched)?]);
        }
        let index = self.site_index(site, "")?;
        let mut candidates = Vec::new();
        for skill in self.chosen(site, &index)? {
            let address = site.with_skill(&skill.name);
            if site.api == SiteApi::ClawHub {
                candidates.extend(self.of_site(&address)?);
                continue;
            }
            let bundle = self.of_content(&address, skill)?;
            let fetched = Fetched { bundle, version: skill.version.clone() };
            candidates.push(self.candidate_of(&address, &address, &skill.name, fetched)?);
        }
        Ok(with_warnings(candidates, index.warnings))
    }

    /// Selects skills of an index: the one that the address names, otherwise as the request says.
    fn chosen<'i>(&self, site: &SiteSpec, index: &'i SiteIndex) -> Result<Vec<&'i IndexedSkill>, InstallError> {
        let origin = site.to_string();
        let wanted: Vec<&String> = match &site.skill {
            Some(skill) => vec![skill],
            None => self.request.pick.skills.iter().collect(),
        };
        let offered = || index.skills.iter().map(offered).collect();
        if wanted.is_empty() {
            return match index.skills.as_slice() {
                [] => Err(PickError::None { origin }.into()),
                [_, _, ..] if !self.request.pick.all => {
                    Err(PickError::Several { origin, skills: offered(), outside: None }.into())
                }
                all => Ok(all.iter().collect()),
            };
        }
        let find = |wanted: &String| {
            let missing = || PickError::Missing { origin: origin.clone(), wanted: wanted.clone(), skills: offered() };
            index.skills.iter().find(|skill| skill.name == *wanted).ok_or_else(missing)
        };
        Ok(wanted.into_iter().map(find).collect::<Result<_, _>>()?)
    }

    /// Reads the skills that a site offers. Only ClawHub searches for the query, which may be empty.
    pub(super) fn site_index(&self, site: &SiteSpec, query: &str) -> Result<SiteIndex, InstallError> {
        let refused = |url: &str, fault| InstallError::from(SiteError { origin: url.to_owned(), fault });
        if site.api == SiteApi::ClawHub {
            let url = match query {
                "" => format!("{}/api/v1/skills?limit={CLAWHUB_PAGE}&sort=downloads", site.base),
                query => format!("{}/api/v1/search?q={}&limit={CLAWHUB_PAGE}", site.base, uri::component(query)),
            };
            return SiteIndex::of_clawhub(&self.get(&url, MOST_BYTES)?).map_err(|fault| refused(&url, fault));
        }
        let [newer, older] = INDEXES.map(|index| format!("{}{index}", site.base));
        let (url, bytes) = match self.get(&newer, MOST_BYTES) {
            Err(InstallError::Http(HttpError::NotFound { .. })) => (&older, self.get(&older, MOST_BYTES)?),
            answer => (&newer, answer?),
        };
        SiteIndex::parse(&bytes, url).map_err(|fault| refused(url, fault))
    }

    pub(super) fn site_offers(
        &self,
        site: &SiteSpec,
        query: &str,
    ) -> Result<(Vec<OfferedSkill>, Vec<String>), InstallError> {
        let index = self.site_index(site, query)?;
        Ok((index.skills.iter().map(offered).collect(), index.warnings))
    }

    fn get(&self, url: &str, limit: u64) -> Result<Vec<u8>, InstallError> {
        if self.request.offline {
            return Err(InstallError::Offline { origin: url.to_owned() });
        }
        library::interrupt::check()?;
        Ok(http::get(url, limit)?)
    }

    /// Creates the candidate of a skill. The origin has the exact address, and the request the one that was given.
    fn candidate_of(
        &self,
        requested: &SiteSpec,
        site: &SiteSpec,
        fallback: &str,
        fetched: Fetched,
    ) -> Result<Candidate, InstallError> {
        let Fetched { bundle, version } = fetched;
        let exact = match site.api {
            SiteApi::ClawHub => SiteSpec { version: version.clone(), ..site.clone() },
            SiteApi::WellKnown => site.clone(),
        };
        let place = exact.to_string();
        let skill = DiscoveredSkill::of_bundle(&bundle);
        let local = Local { requested: requested.to_string(), local: false };
        self.candidate(&skill, fallback, bundle, local, |skill| {
            let version = version.or_else(|| skill.version.clone());
            Origin::Archive { place, skill: library::SourceSkill { version, ..skill } }
        })
    }

    fn of_content(&self, address: &SiteSpec, skill: &IndexedSkill) -> Result<Bundle, InstallError> {
        let limits = Limits::default();
        match &skill.content {
            IndexedContent::Hashed { url, digest, is_archive } => {
                let limit = if *is_archive { limits.archive_bytes } else { limits.text_file_bytes };
                let bytes = self.get(url, limit)?;
                check_hash(&skill.name, digest, &bytes)?;
                if *is_archive { unpack(&bytes, url) } else { self.bundle(address, vec![("SKILL.md", bytes)]) }
            }
            IndexedContent::Files { base, paths } => self.of_files(address, base, paths),
            IndexedContent::ClawHub => Err(PickError::None { origin: address.to_string() }.into()),
        }
    }

    fn of_files(&self, address: &SiteSpec, base: &str, paths: &[String]) -> Result<Bundle, InstallError> {
        let limits = Limits::default();
        if paths.len() > limits.files_per_skill {
            let fault = format!("lists {} files, more than the limit of {}", paths.len(), limits.files_per_skill);
            return Err(SiteError { origin: address.to_string(), fault }.into());
        }
        let (mut files, mut left) = (Vec::new(), limits.skill_bytes);
        for path in paths {
            SkillPath::parse(path).map_err(crate::spec::SpecError::from)?;
        }
        for path in paths {
            let bytes = self.get(&format!("{base}/{}", uri::path(path)), left)?;
            left -= bytes.len() as u64;
            files.push((path.as_str(), bytes));
        }
        self.bundle(address, files)
    }

    fn bundle(&self, address: &SiteSpec, files: Vec<(&str, Vec<u8>)>) -> Result<Bundle, InstallError> {
        let fault = |error: &dyn std::fmt::Display| SiteError { origin: address.to_string(), fault: error.to_string() };
        let file = |(path, bytes): (&str, Vec<u8>)| {
            let path = SkillPath::parse(path).map_err(crate::spec::SpecError::from)?;
            Ok((path, File { bytes: bytes.into(), executable: false }))
        };
        let files = files.into_iter().map(file).collect::<Result<Vec<_>, InstallError>>()?;
        let bundle = Bundle::from_files(files, &Limits::default()).map_err(|error| fault(&error))?;
        skill::archive::check_content(&bundle).map_err(|error| fault(&error))?;
        Ok(bundle)
    }

    /// Returns the URL of an operation on a skill of ClawHub.
    fn clawhub_url(&self, site: &SiteSpec, path: &str, query: &str) -> String {
        let owner =
            site.owner.iter().map(|owner| format!("&ownerHandle={}", uri::component(owner))).collect::<String>();
        let query = format!("{query}{owner}");
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}/api/v1/{path}{mark}{}", site.base, query.trim_start_matches('&'))
    }

    fn newest_on_clawhub(&self, site: &SiteSpec, slug: &str) -> Result<String, InstallError> {
        let url = self.clawhub_url(site, &format!("skills/{}", uri::component(slug)), "");
        let none = || SiteError { origin: url.clone(), fault: "names no newest version".to_owned() };
        Ok(newest_version(&self.get(&url, MOST_BYTES)?).ok_or_else(none)?)
    }

    /// Downloads a version from ClawHub. Its files must be exactly those that ClawHub lists, with their hashes.
    fn of_clawhub(&self, site: &SiteSpec, slug: &str, version: &str) -> Result<Bundle, InstallError> {
        let (slug_part, version_part) = (uri::component(slug), uri::component(version));
        let list = self.clawhub_url(site, &format!("skills/{slug_part}/versions/{version_part}"), "");
        let none = || SiteError { origin: list.clone(), fault: "lists no files with their hashes".to_owned() };
        let files = version_files(&self.get(&list, MOST_BYTES)?).ok_or_else(none)?;
        let download = self.clawhub_url(site, "download", &format!("slug={slug_part}&version={version_part}"));
        let bundle = unpack(&self.get(&download, Limits::default().archive_bytes)?, &download)?;
        listed_only(slug, bundle, &files)
    }
}

/// Compares the files of a bundle with the list of them, and drops ClawHub's own file.
fn listed_only(name: &str, bundle: Bundle, listed: &[ListedFile]) -> Result<Bundle, InstallError> {
    let is_listed = |path: &SkillPath| listed.iter().any(|file| file.path == path.as_str());
    let added: Vec<SkillPath> = bundle.paths().filter(|path| !is_listed(path)).cloned().collect();
    let differs = |expected: &str, found: String| InstallError::Digest {
        name: name.to_owned(),
        promised_by: "ClawHub's list of files",
        expected: expected.to_owned(),
        found,
    };
    if let Some(path) = added.iter().find(|path| path.as_str() != CLAWHUB_META) {
        return Err(differs("no other files", path.to_string()));
    }
    for ListedFile { path, sha256 } in listed {
        let path = SkillPath::parse(path).map_err(crate::spec::SpecError::from)?;
        let found = bundle.get(&path).map(|file| Digest::of_bytes(&file.bytes).hex());
        if found.as_ref().is_none_or(|found| !found.eq_ignore_ascii_case(sha256)) {
            return Err(differs(&format!("{path} {sha256}"), found.unwrap_or_else(|| "no such file".to_owned())));
        }
    }
    Ok(added.iter().fold(bundle, |bundle, path| bundle.without_file(path)))
}

fn check_hash(name: &str, expected: &Digest, bytes: &[u8]) -> Result<(), InstallError> {
    let found = Digest::of_bytes(bytes);
    if found == *expected {
        return Ok(());
    }
    let (expected, found) = (expected.to_string(), found.to_string());
    Err(InstallError::Digest { name: name.to_owned(), promised_by: "the index of the site", expected, found })
}

fn offered(skill: &IndexedSkill) -> OfferedSkill {
    OfferedSkill {
        name: skill.name.clone(),
        title: None,
        description: skill.description.clone(),
        folder: String::new(),
        plugin: None,
        repository: None,
        version: skill.version.clone(),
    }
}
