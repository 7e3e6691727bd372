//! [`select`], [`newest`], [`next_version`]: choosing among the releases of a skill.

use std::str::FromStr;

use semver::{Version, VersionReq};
use thiserror::Error;

use crate::Entry;

/// A request for one of a skill's releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseSelector {
    /// The newest release that is offered.
    Newest,
    /// Exactly this release, even if it is yanked.
    Exact(Version),
    /// The newest release in this range.
    Range(VersionReq),
}

/// The text is not a valid [`ReleaseSelector`].
#[derive(Debug, Error)]
#[error("{text:?} is neither a version nor a range of versions")]
pub struct ReleaseSelectorError {
    /// Text as given by the caller.
    pub text: String,
    /// Error of the version parser.
    pub source: semver::Error,
}

impl FromStr for ReleaseSelector {
    type Err = ReleaseSelectorError;

    /// Parses the text after the `@`. An empty text is the newest release, `1.2.0` is exact, and everything else
    /// (`^1.2`, `~1.2`, `>=1,<2`, `1.2`) is a range in cargo's notation.
    fn from_str(text: &str) -> Result<Self, ReleaseSelectorError> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Self::Newest);
        }
        if let Ok(version) = Version::parse(text) {
            return Ok(Self::Exact(version));
        }
        VersionReq::parse(text)
            .map(Self::Range)
            .map_err(|source| ReleaseSelectorError { text: text.to_owned(), source })
    }
}

/// Returns the release that a request selects.
///
/// Releases that are not offered ([`Entry::is_offered`]) are selected only by their exact version. Lock files thus
/// continue to work, and errors can give the reason of a withdrawal. Pre-releases are selected by their exact version,
/// by a range with a pre-release tag on the same version, and as the newest if there is no other release.
pub fn select<'a>(entries: &'a [Entry], wanted: &ReleaseSelector) -> Option<&'a Entry> {
    match wanted {
        ReleaseSelector::Newest => newest(entries, false),
        ReleaseSelector::Exact(version) => entries.iter().find(|entry| entry.version.cmp_precedence(version).is_eq()),
        ReleaseSelector::Range(range) => {
            let matching = entries.iter().filter(|entry| is_open(entry, false) && range.matches(&entry.version));
            matching.max_by(|a, b| a.version.cmp(&b.version))
        }
    }
}

/// Returns the release with the highest version. Releases without a pre-release tag are preferred, and withdrawn
/// releases are never returned. Releases that are yanked, under quarantine or on hold count only with `include_yanked`.
pub fn newest(entries: &[Entry], include_yanked: bool) -> Option<&Entry> {
    let open = entries.iter().filter(|entry| is_open(entry, include_yanked));
    open.max_by_key(|entry| (entry.version.pre.is_empty(), &entry.version))
}

fn is_open(entry: &Entry, include_yanked: bool) -> bool {
    if include_yanked { entry.withdrawn.is_none() } else { entry.is_offered() }
}

/// The number of a version that a new release increases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bump {
    /// The first number: the release is incompatible.
    Major,
    /// The second number: the release adds something.
    Minor,
    /// The third number: the release corrects something.
    #[default]
    Patch,
}

/// Returns the version of a new release: one number after the highest existing version, including yanked and withdrawn
/// ones. After a pre-release, it is the version that the pre-release leads to, if that increases the number. The first
/// release is 1.0.0.
pub fn next_version(entries: &[Entry], bump: Bump) -> Version {
    let Some(highest) = entries.iter().map(|entry| &entry.version).max() else {
        return Version::new(1, 0, 0);
    };
    let Version { major, minor, patch, .. } = *highest;
    let leads_to = !highest.pre.is_empty();
    match bump {
        Bump::Major if leads_to && (minor, patch) == (0, 0) => Version::new(major, 0, 0),
        Bump::Major => Version::new(major.saturating_add(1), 0, 0),
        Bump::Minor if leads_to && patch == 0 => Version::new(major, minor, 0),
        Bump::Minor => Version::new(major, minor.saturating_add(1), 0),
        Bump::Patch => Version::new(major, minor, patch.saturating_add(u64::from(!leads_to))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Withdrawal, entry::tests::OLD_LINE};

    /// Builds entries from versions. The suffix `-` marks a yanked release, and `!` a withdrawn one.
    fn entries(versions: &str) -> Vec<Entry> {
        let entry = |text: &str| {
            let line = OLD_LINE.replace("1.2.0", text.trim_end_matches(['_', '!']));
            let entry = Entry::parse(&line).unwrap().with_yanked(text.ends_with('_'));
            let at = "2026-11-03T00:00:00Z".parse().unwrap();
            match text.ends_with('!') {
                true => entry.with_withdrawn(Withdrawal { reason: String::new(), at }).unwrap(),
                false => entry,
            }
        };
        versions.split_whitespace().map(entry).collect()
    }

    fn selected(versions: &str, wanted: &str) -> Option<String> {
        select(&entries(versions), &wanted.parse().unwrap()).map(|entry| entry.version.to_string())
    }

    #[test]
    fn wanted_versions_parse_as_documented() {
        assert_eq!("".parse::<ReleaseSelector>().unwrap(), ReleaseSelector::Newest);
        assert_eq!("1.2.0".parse::<ReleaseSelector>().unwrap(), ReleaseSelector::Exact(Version::new(1, 2, 0)));
        for range in ["^1.2", "~1.2", ">=1,<2", "1.2", "=1.2.0", "*"] {
            assert!(matches!(range.parse::<ReleaseSelector>().unwrap(), ReleaseSelector::Range(_)), "{range}");
        }
        assert!("newest".parse::<ReleaseSelector>().is_err());
    }

    #[test]
    fn exact_version_selects_yanked_or_withdrawn() {
        assert_eq!(selected("1.0.0 1.1.0_ 1.2.0!", "").as_deref(), Some("1.0.0"));
        assert_eq!(selected("1.0.0 1.1.0_ 1.2.0!", "^1").as_deref(), Some("1.0.0"));
        assert_eq!(selected("1.0.0 1.1.0_ 1.2.0!", "1.1.0").as_deref(), Some("1.1.0"));
        assert_eq!(selected("1.0.0 1.1.0_ 1.2.0!", "1.2.0").as_deref(), Some("1.2.0"));
        assert_eq!(selected("1.0.0_", ""), None);
        assert_eq!(newest(&entries("1.0.0_ 2.0.0!"), true).unwrap().version, Version::new(1, 0, 0));
    }

    #[test]
    fn newest_means_highest_version() {
        assert_eq!(selected("1.9.0 1.10.0 1.2.0", "").as_deref(), Some("1.10.0"));
        assert_eq!(selected("1.0.0 2.0.0-rc.1", "").as_deref(), Some("1.0.0"));
        assert_eq!(selected("2.0.0-rc.1 2.0.0-rc.2", "").as_deref(), Some("2.0.0-rc.2"));
        assert_eq!(selected("1.2.3 1.2.9 1.3.0", "~1.2").as_deref(), Some("1.2.9"));
        assert_eq!(selected("1.0.0", "^2"), None);
    }

    #[test]
    fn next_version_follows_the_highest() {
        let next = |versions: &str| {
            let entries = entries(versions);
            [Bump::Major, Bump::Minor, Bump::Patch].map(|bump| next_version(&entries, bump).to_string()).join(" ")
        };
        assert_eq!(next(""), "1.0.0 1.0.0 1.0.0");
        assert_eq!(next("1.9.0 1.10.3_ 1.2.0"), "2.0.0 1.11.0 1.10.4", "a yanked version counts");
        assert_eq!(next("1.9.0 2.0.0!"), "3.0.0 2.1.0 2.0.1", "a withdrawn version counts");
        assert_eq!(next("2.0.0-rc.1"), "2.0.0 2.0.0 2.0.0");
        assert_eq!(next("2.1.0-rc.1"), "3.0.0 2.1.0 2.1.0");
        assert_eq!(next("2.1.3-rc.1"), "3.0.0 2.2.0 2.1.3");
    }
}
