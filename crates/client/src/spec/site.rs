//! [`SiteSpec`]: the address of skills that a site offers over HTTP.

use std::fmt;

use skill::uri::{authority, without_user};

use super::{SpecError, check_url};

/// The public ClawHub, for addresses that name no other server with its API.
pub(crate) const CLAWHUB: &str = "https://clawhub.ai";

/// Prefix of the addresses of ClawHub.
const CLAWHUB_PREFIX: &str = "clawhub:";

/// Folder of a site below which indexes are published (RFC 8615).
const WELL_KNOWN: &str = "/.well-known/";

/// Addresses of indexes below [`WELL_KNOWN`] that people paste.
const INDEXES: [&str; 6] =
    ["agent-skills/index.json", "agent-skills/", "agent-skills", "skills/index.json", "skills/", "skills"];

/// A site that offers skills over HTTP, and optionally one of its skills: `https://host/.well-known/agent-skills#name`
/// or `clawhub:owner/slug@version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteSpec {
    /// The API that the site has.
    pub api: SiteApi,
    /// Base URL of the site, without a slash at its end.
    pub base: String,
    /// Name or slug of one skill; `None` for all skills of the site.
    pub skill: Option<String>,
    /// Handle of the skill's owner on ClawHub, which is needed if several owners have the slug.
    pub owner: Option<String>,
    /// Exact version on ClawHub; `None` for the newest.
    pub version: Option<String>,
}

/// APIs by which sites offer skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiteApi {
    /// An index below `/.well-known/`: Agent Skills Discovery 0.2 or its predecessor.
    WellKnown,
    /// The API of ClawHub.
    ClawHub,
}

impl SiteSpec {
    /// Returns the site itself, without a skill.
    pub(crate) fn of_site(api: SiteApi, base: &str) -> Self {
        Self { api, base: base.trim_end_matches('/').to_owned(), skill: None, owner: None, version: None }
    }

    /// Parses the URL of a site with a known API, or the address of such a site.
    ///
    /// # Errors
    /// As for [`of_site`], or the text is not an HTTP URL.
    pub(crate) fn at(api: SiteApi, text: &str) -> Result<Self, SpecError> {
        let base = of_site(text)?.map_or_else(|| text.to_owned(), |site| site.base);
        checked_base(&base)?;
        Ok(Self::of_site(api, &base))
    }

    /// Returns the address of one skill of the site.
    pub(crate) fn with_skill(&self, name: &str) -> Self {
        let (owner, skill) = match (self.api, name.split_once('/')) {
            (SiteApi::ClawHub, Some((owner, slug))) => (Some(owner.to_owned()), slug),
            _ => (None, name),
        };
        Self { skill: Some(skill.to_owned()), owner, version: None, ..self.clone() }
    }
}

/// Parses the address of a site. Returns `None` for other addresses. The URL of a host alone is that of its well-known
/// index.
///
/// # Errors
/// The URL has credentials or characters that are not allowed, or the name or version is invalid.
pub(super) fn of_site(text: &str) -> Result<Option<SiteSpec>, SpecError> {
    if let Some(rest) = text.strip_prefix(CLAWHUB_PREFIX) {
        let (base, skill) =
            if rest.contains("://") { rest.split_once('#').unwrap_or((rest, "")) } else { (CLAWHUB, rest) };
        return of_clawhub(base, skill).map(Some);
    }
    let (url, skill) = text.split_once('#').unwrap_or((text, ""));
    let Some(base) = base_of(url) else { return Ok(None) };
    checked_base(base)?;
    let site = SiteSpec::of_site(SiteApi::WellKnown, base);
    match skill {
        "" => Ok(Some(site)),
        skill if is_word(skill) => Ok(Some(site.with_skill(skill))),
        _ => Err(SpecError::BadUrl(text.to_owned())),
    }
}

/// Returns the base URL of a well-known index; `None` if the URL is not that of one.
fn base_of(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    if !matches!(scheme, "https" | "http") {
        return None;
    }
    match url.split_once(WELL_KNOWN) {
        Some((base, index)) => INDEXES.contains(&index).then_some(base),
        None => (!rest.trim_end_matches('/').contains(['/', '?', '@'])).then_some(url),
    }
}

fn checked_base(base: &str) -> Result<(), SpecError> {
    check_url(base)?;
    match authority(base) {
        "" => Err(SpecError::BadUrl(base.to_owned())),
        authority if authority.contains('@') => Err(SpecError::Credentials(without_user(base))),
        _ if !base.starts_with("https://") && !base.starts_with("http://") => Err(SpecError::Scheme(base.to_owned())),
        _ => Ok(()),
    }
}

fn of_clawhub(base: &str, skill: &str) -> Result<SiteSpec, SpecError> {
    checked_base(base)?;
    let site = SiteSpec::of_site(SiteApi::ClawHub, base);
    let skill = skill.strip_prefix('@').unwrap_or(skill);
    if skill.is_empty() {
        return Ok(site);
    }
    let (name, version) = skill.split_once('@').map_or((skill, None), |(name, version)| (name, Some(version)));
    if !name.split('/').all(is_word) || name.matches('/').count() > 1 || version.is_some_and(|text| !is_word(text)) {
        return Err(SpecError::ClawHub(skill.to_owned()));
    }
    Ok(SiteSpec { version: version.map(str::to_owned), ..site.with_skill(name) })
}

/// Returns whether a text can be a name, slug or version in a URL.
fn is_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    !text.is_empty() && text.len() <= 256 && !text.starts_with(['.', '-']) && text.chars().all(is_plain)
}

impl fmt::Display for SiteSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let skill = self.skill.as_deref().unwrap_or_default();
        match self.api {
            SiteApi::WellKnown => {
                let hash = if skill.is_empty() { "" } else { "#" };
                write!(f, "{}{WELL_KNOWN}{}{hash}{skill}", self.base, INDEXES[0])
            }
            SiteApi::ClawHub => {
                f.write_str(CLAWHUB_PREFIX)?;
                if self.base != CLAWHUB {
                    write!(f, "{}{}", self.base, if skill.is_empty() { "" } else { "#" })?;
                }
                let owner = self.owner.iter().map(|owner| format!("{owner}/")).collect::<String>();
                let version = self.version.iter().map(|version| format!("@{version}")).collect::<String>();
                write!(f, "{owner}{skill}{version}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::spec::{Spec, SpecError};

    #[test]
    fn addresses_of_sites_are_read_and_written() {
        for (text, written) in [
            ("https://h.example", "https://h.example/.well-known/agent-skills/index.json"),
            ("https://h.example/", "https://h.example/.well-known/agent-skills/index.json"),
            ("https://h.example/.well-known/skills#pdf", "https://h.example/.well-known/agent-skills/index.json#pdf"),
            (
                "http://127.0.0.1:8700/acme/.well-known/agent-skills/index.json#pdf",
                "http://127.0.0.1:8700/acme/.well-known/agent-skills/index.json#pdf",
            ),
            ("clawhub:pdf", "clawhub:pdf"),
            ("clawhub:@acme/pdf@1.2.0", "clawhub:acme/pdf@1.2.0"),
            ("clawhub:http://127.0.0.1:8700#pdf@1.0.0", "clawhub:http://127.0.0.1:8700#pdf@1.0.0"),
            ("clawhub:", "clawhub:"),
        ] {
            let spec: Spec = text.parse().unwrap();
            assert!(matches!(spec, Spec::Site(_)), "{text}");
            assert_eq!(spec.to_string(), written, "{text}");
            assert_eq!(written.parse::<Spec>().unwrap(), spec, "{written}");
        }
        for git in ["https://h.example/team/skills", "https://h.example/o/r.git#.well-known/x", "ssh://git@h/x"] {
            assert!(matches!(git.parse::<Spec>().unwrap(), Spec::Git(_)), "{git}");
        }
    }

    #[test]
    fn unsafe_addresses_of_sites_are_refused() {
        for text in [
            "clawhub:../x",
            "clawhub:a/b/c",
            "clawhub:pdf@",
            "clawhub:pdf?x=1",
            "clawhub:file:///etc#pdf",
            "https://h.example/.well-known/skills#../x",
        ] {
            assert!(text.parse::<Spec>().is_err(), "{text}");
        }
        let error = "https://me:secret@h.example/.well-known/skills#pdf".parse::<Spec>().unwrap_err();
        assert!(matches!(error, SpecError::Credentials(_)) && !error.to_string().contains("secret"), "{error}");
    }
}
