//! Parsing of [`GitSpec`]: addresses of repositories as people paste them from a browser or type them.

use std::str::FromStr;

use skill::{SkillPath, uri};

use super::{BrowserLink, GitSpec, SpecError, check_reference};

/// Maximum length of an address in bytes.
pub(crate) const LONGEST: usize = 8 << 10;

/// Hosts that people name without `https://`.
const HOSTS: [&str; 4] = ["github.com", "gitlab.com", "codeberg.org", "bitbucket.org"];

impl FromStr for GitSpec {
    type Err = SpecError;
    fn from_str(text: &str) -> Result<Self, SpecError> {
        if text.len() > LONGEST {
            return Err(SpecError::TooLong);
        }
        if let Some(git) = of_link(text)? {
            return Ok(git);
        }
        let (left, right) = text.split_once('#').unwrap_or((text, ""));
        let (left, before) = cut_reference_of_url(left);
        let (path, after) = cut_reference_of_path(right);
        if path.contains(':') {
            return Err(SpecError::Plugin { address: left.to_owned(), text: path.to_owned() });
        }
        let reference = after.or(before).map(str::to_owned);
        let (written, folder) = of_short_form(left)?;
        if !folder.is_empty() && !path.is_empty() {
            return Err(SpecError::GitHub(text.to_owned()));
        }
        let path = path_of(if folder.is_empty() { path } else { folder })?;
        Self { written, path, reference, link: None }.checked()
    }
}

/// Returns the URL of `gitlab:group/repo`, and the repository and folder of `github:owner/repo/path`. Any other text is
/// returned as it is.
fn of_short_form(text: &str) -> Result<(String, &str), SpecError> {
    if let Some(repository) = text.strip_prefix("gitlab:") {
        return Ok((of_gitlab(repository)?, ""));
    }
    let Some(rest) = text.strip_prefix("github:") else { return Ok((text.to_owned(), "")) };
    let (repository, folder) = split_repository(rest);
    Ok((format!("github:{}", repository.strip_suffix(".git").unwrap_or(repository)), folder))
}

/// Splits `…/repo.git@ref` or `…/repo@ref`. An `@` before the last slash belongs to a user name.
fn cut_reference_of_url(text: &str) -> (&str, Option<&str>) {
    if text.starts_with("github:") || text.starts_with("gitlab:") {
        return text.split_once('@').map_or((text, None), |(repository, reference)| (repository, Some(reference)));
    }
    if let Some((url, reference)) = text.split_once(".git@") {
        let end = url.len() + ".git".len();
        return (text.get(..end).unwrap_or(text), Some(reference));
    }
    let start = text.rfind('/').unwrap_or(0);
    match text.get(start..).and_then(|last| last.split_once('@')) {
        Some((_, reference)) if start > 0 => {
            (text.get(..text.len() - reference.len() - 1).unwrap_or(text), Some(reference))
        }
        _ => (text, None),
    }
}

/// Splits `path@ref`. An `@` at the start of a folder's name belongs to the name, but an `@` at the very start begins
/// the reference.
fn cut_reference_of_path(text: &str) -> (&str, Option<&str>) {
    let is_cut = |at: &usize| *at == 0 || !text.get(..*at).is_some_and(|before| before.ends_with('/'));
    match text.match_indices('@').map(|(at, _)| at).find(is_cut) {
        Some(at) => (text.get(..at).unwrap_or(text), text.get(at + 1..)),
        None => (text, None),
    }
}

/// Parts of a link: the repository's own path, and its reference and folder.
struct LinkParts<'a> {
    repository: &'a [&'a str],
    tail: &'a [&'a str],
}

/// Parses a browser link to a repository or to a folder in it. Returns `None` for any other text, such as a URL for
/// git.
pub(crate) fn of_link(text: &str) -> Result<Option<GitSpec>, SpecError> {
    let text = with_scheme(text);
    let Some((scheme @ ("https" | "http"), rest)) = text.split_once("://") else { return Ok(None) };
    let link = text.split(['?', '#']).next().unwrap_or(&text).trim_end_matches('/');
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let mut segments = rest.split('/').filter(|segment| !segment.is_empty());
    let host = segments.next().unwrap_or_default().to_ascii_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    let segments: Vec<&str> = segments.collect();
    let Some(parts) = parts_of(host, &segments) else {
        // A query is never part of a repository's URL. Without one, the fragment is the folder, as in any git URL.
        let is_page = text.contains('?') && HOSTS.contains(&host) && segments.len() == 2;
        return if is_page { spec_of(scheme, host, &segments).map(Some) } else { not_a_page(host, &segments, link) };
    };
    let spec = spec_of(scheme, host, parts.repository)?;
    let bad = || SpecError::BadUrl(text.clone());
    let tail = String::from_utf8(uri::decoded(parts.tail.join("/").as_bytes()).into_owned()).map_err(|_| bad())?;
    let tail = folder_of(tail.trim_matches('/'));
    let (first, path) = tail.split_once('/').unwrap_or((tail, ""));
    if path.is_empty() || is_commit(first) {
        return Ok(Some(GitSpec { path: path_of(path)?, reference: Some(first.to_owned()), ..spec }.checked()?));
    }
    check_reference(first)?;
    // The whole tail obeys the rules of a path, so that no choice of the reference leaves the repository.
    SkillPath::parse(tail)?;
    let link = BrowserLink { text: link.to_owned(), tail: tail.to_owned() };
    Ok(Some(GitSpec { link: Some(link), ..spec }.checked()?))
}

/// Adds `https://` to an address that begins with the name of a known host.
fn with_scheme(text: &str) -> String {
    let is_known = HOSTS.iter().any(|host| text.strip_prefix(host).is_some_and(|rest| rest.starts_with('/')));
    if is_known { format!("https://{text}") } else { text.to_owned() }
}

/// Separates the repository from the reference and the folder. The words between them depend on the host's software:
/// `/-/tree/` for GitLab, `/src/branch/` for Gitea, `/src/` for Bitbucket, `/tree/` and `/blob/` for GitHub. Text with
/// `.git` or `@` is a URL for git.
fn parts_of<'a>(host: &str, segments: &'a [&'a str]) -> Option<LinkParts<'a>> {
    let parts = |repository: usize, words: usize| {
        let tail = segments.get(repository + words..).filter(|tail| !tail.is_empty())?;
        Some(LinkParts { repository: segments.get(..repository)?, tail })
    };
    if segments.iter().take(3).any(|segment| segment.contains('@')) || segments.last()?.ends_with(".git") {
        return None;
    }
    if let Some(at) = segments.iter().position(|segment| *segment == "-")
        && at >= 2
    {
        return matches!(segments.get(at + 1), Some(&("tree" | "blob" | "raw"))).then(|| parts(at, 2)).flatten();
    }
    match (segments.get(2), segments.get(3)) {
        (Some(&("tree" | "blob")), _) => parts(2, 1),
        (Some(&"src"), _) if host == "bitbucket.org" => parts(2, 1),
        (Some(&"src"), Some(&("branch" | "tag" | "commit"))) => parts(2, 2),
        _ => None,
    }
}

/// Refuses a page of a known host that does not show a repository or folder, such as an issue.
fn not_a_page(host: &str, segments: &[&str], link: &str) -> Result<Option<GitSpec>, SpecError> {
    let most = if host == "gitlab.com" { usize::MAX } else { 2 };
    let is_other_page = segments.contains(&"-") || segments.len() > most || segments.len() < 2;
    if HOSTS.contains(&host) && is_other_page && !link.contains('@') {
        return Err(SpecError::Page(link.to_owned()));
    }
    Ok(None)
}

fn spec_of(scheme: &str, host: &str, repository: &[&str]) -> Result<GitSpec, SpecError> {
    let path = repository.join("/");
    let path = path.strip_suffix(".git").unwrap_or(&path);
    let written = if host == "github.com" { format!("github:{path}") } else { format!("{scheme}://{host}/{path}.git") };
    if !is_repository(path) {
        return Err(SpecError::BadUrl(written));
    }
    GitSpec { written, path: None, reference: None, link: None }.checked()
}

/// Parses `gitlab:group/…/repo` into the URL of the repository.
fn of_gitlab(repository: &str) -> Result<String, SpecError> {
    let path = repository.strip_suffix(".git").unwrap_or(repository);
    if !path.contains('/') || !is_repository(path) {
        return Err(SpecError::GitLab(format!("gitlab:{repository}")));
    }
    Ok(format!("https://gitlab.com/{path}.git"))
}

/// Splits `owner/repo/path` into the repository and the path, which may be empty.
fn split_repository(text: &str) -> (&str, &str) {
    match text.match_indices('/').nth(1) {
        Some((at, _)) => (text.get(..at).unwrap_or(text), text.get(at + 1..).unwrap_or_default()),
        None => (text, ""),
    }
}

/// Returns whether each segment can be the name of an account, a group or a repository.
pub(crate) fn is_repository(path: &str) -> bool {
    let word = |part: &str| {
        let plain = part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
        plain && !part.is_empty() && !part.starts_with(['-', '.'])
    };
    path.split('/').all(word)
}

/// Parses the path of a folder; a path of its `SKILL.md` stands for the folder.
fn path_of(text: &str) -> Result<Option<SkillPath>, SpecError> {
    let path = folder_of(text.trim_start_matches("./").trim_end_matches('/'));
    Ok(if path.is_empty() { None } else { Some(SkillPath::parse(path)?) })
}

fn folder_of(path: &str) -> &str {
    match path.strip_suffix(SkillPath::SKILL_MD) {
        Some("") => "",
        Some(folder) if folder.ends_with('/') => folder.trim_end_matches('/'),
        _ => path,
    }
}

/// Returns whether a text is a full commit id.
fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.chars().all(|c| c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::{super::Spec, *};

    /// URL, path, reference and unseparated tail of an address.
    fn parsed(text: &str) -> [String; 4] {
        let Ok(Spec::Git(git)) = text.parse::<Spec>() else { panic!("{text}: {:?}", text.parse::<Spec>()) };
        let tail = git.link.as_ref().map(|link| link.tail.clone());
        let path = git.path.as_ref().map(ToString::to_string);
        [git.url(), path.unwrap_or_default(), git.reference.clone().unwrap_or_default(), tail.unwrap_or_default()]
    }

    const GITHUB: &str = "https://github.com/o/r.git";

    #[test]
    fn typed_addresses_are_parsed() {
        assert_eq!(parsed("github:o/r/skills/pdf"), [GITHUB, "skills/pdf", "", ""]);
        assert_eq!(parsed("github:o/r/skills/pdf/SKILL.md@v1"), [GITHUB, "skills/pdf", "v1", ""]);
        assert_eq!(parsed("github:o/r.git"), [GITHUB, "", "", ""]);
        assert_eq!(parsed("gitlab:a/b/c#x@v1"), ["https://gitlab.com/a/b/c.git", "x", "v1", ""]);
        assert_eq!(parsed("gitlab:a/b@feature/x"), ["https://gitlab.com/a/b.git", "", "feature/x", ""]);
        assert_eq!(parsed("github.com/o/r/tree/main"), [GITHUB, "", "main", ""]);
    }

    #[test]
    fn browser_links_are_parsed() {
        let tail = "main/skills/pdf";
        for link in [
            "https://github.com/o/r/tree/main/skills/pdf",
            "https://github.com/o/r/tree/main/skills/pdf/?tab=readme-ov-file#usage",
            "https://www.github.com/o/r/blob/main/skills/pdf/SKILL.md?plain=1#L3-L9",
            "github.com/o/r/blob/main/skills/pdf/SKILL.md",
            "https://github.com/o/r/tree/main/skills%2Fpdf",
        ] {
            assert_eq!(parsed(link), [GITHUB, "", "", tail], "{link}");
        }
        let lab = "https://gitlab.com/g/s/r.git";
        assert_eq!(parsed("https://gitlab.com/g/s/r/-/tree/main/skills/pdf?ref_type=heads"), [lab, "", "", tail]);
        assert_eq!(parsed("https://gitlab.com/g/s/r/-/blob/v1/SKILL.md"), [lab, "", "v1", ""]);
        let berg = "https://codeberg.org/o/r.git";
        assert_eq!(parsed("https://codeberg.org/o/r/src/branch/main/skills/pdf"), [berg, "", "", tail]);
        assert_eq!(parsed("https://codeberg.org/o/r/src/tag/v1"), [berg, "", "v1", ""]);
        let bucket = "https://bitbucket.org/o/r.git";
        assert_eq!(parsed("https://bitbucket.org/o/r/src/main/skills/pdf/?at=main"), [bucket, "", "", tail]);
        assert_eq!(parsed("https://bitbucket.org/o/r/src/branch/pdf"), [bucket, "", "", "branch/pdf"]);
        let other = "https://git.example.org/o/r.git";
        assert_eq!(parsed("https://git.example.org/o/r/src/branch/main/skills/pdf"), [other, "", "", tail]);
        assert_eq!(parsed("https://github.com/o/r?tab=readme-ov-file#install"), [GITHUB, "", "", ""]);
    }

    #[test]
    fn commit_in_link_needs_no_lookup() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(parsed(&format!("https://github.com/o/r/tree/{commit}/a/b")), [GITHUB, "a/b", commit, ""]);
    }

    #[test]
    fn unsafe_addresses_are_refused() {
        let huge = format!("https://github.com/o/r/tree/main/{}", "a/".repeat(LONGEST));
        for bad in [
            "https://ann:secret@github.com/o/r/tree/main/x",
            "https://github.com/o/r/tree/main/../x",
            "https://github.com/o/r/tree/main/%2e%2e%2fx",
            "https://github.com/o/r/tree/main/a%2f..%2f..%2fx",
            "https://github.com/o/r/tree/main/a%5c..%5cx",
            "https://github.com/o/r/tree/main/a%00b",
            "https://github.com/o/r/tree/main/%ff/x",
            "https://github.com/o/r/tree/--upload-pack=x",
            "https://github.com/-o/r/tree/main/x",
            "https://github.com/../r/tree/main/x",
            "https://github.com/o/r/tree/main/.git/hooks",
            "https://github.com/o/r/issues/4",
            "https://github.com/o",
            "https://gitlab.com/g/r/-/issues/4",
            "github:o/r/../x",
            "github:o/r/a#b",
            "github:o/r/%2e%2e/x/..",
            "gitlab:a",
            "gitlab:a/../b",
            "gitlab:-a/b",
            "bitbucket:o/r",
            huge.as_str(),
        ] {
            assert!(bad.parse::<Spec>().is_err(), "{bad}");
        }
    }

    #[test]
    fn errors_name_an_address_that_works() {
        use skill::failure::Fails;
        for bad in ["bitbucket:o/r", "https://github.com/o/r/issues/4", "gitlab:a"] {
            let hint = bad.parse::<Spec>().unwrap_err().failure().hint.unwrap().to_string();
            let example = hint.split(' ').find(|word| word.contains("gitlab:") || word.contains("://")).unwrap();
            assert!(example.parse::<Spec>().is_ok(), "{hint}");
        }
        let error = "https://ann:secret@github.com/o/r/tree/main/x".parse::<Spec>().unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
