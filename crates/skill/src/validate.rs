//! [`validate()`]: a check against the Agent Skills standard that returns all [`Problem`]s at once.
//!
//! [`load`] is the lenient alternative for clients that read skills of other authors: it accepts every skill with a
//! description and returns the remaining problems as diagnostics.

mod advice;
mod fields;

use std::sync::Arc;

use crate::{
    Bundle, Limits, Problem, SkillPath, check_collisions,
    frontmatter::{self, Frontmatter, FrontmatterError, Reading},
    problem::Severity,
};

/// Strictness of the validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Default for authors: unknown keys, nested metadata and values that had to be quoted are warnings.
    Standard,
    /// Mode of the standard's reference library, in which these are errors.
    Strict,
}

impl Strictness {
    /// Returns the severity of problems that only strict validation refuses.
    fn tolerated(self) -> Severity {
        match self {
            Self::Standard => Severity::Warning,
            Self::Strict => Severity::Error,
        }
    }
}

/// Code of the warning about a line that is unchanged from the template of `skillhub new`.
pub const TEMPLATE_LINE: &str = advice::TEMPLATE_LINE;

/// Input of the validation. It needs no file contents except `SKILL.md` and the texts that it names.
#[derive(Debug, Clone, Copy)]
pub struct Listing<'a> {
    /// Name of the folder, which the skill's name must equal. `None` if there is no folder.
    pub folder: Option<&'a str>,
    /// Bytes of `SKILL.md`. `None` if the file is missing.
    pub skill_md: Option<&'a [u8]>,
    /// Paths of all files of the skill.
    pub paths: &'a [SkillPath],
    /// Texts of the Markdown files that `SKILL.md` names ([`named_texts`]).
    pub texts: &'a [(&'a SkillPath, &'a str)],
}

/// Result of the validation, with the skill's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// Name in the frontmatter, valid or not.
    pub name: Option<String>,
    /// Every problem, errors first, then by file and line.
    pub problems: Vec<Problem>,
}

/// Validates a skill against the standard and returns every problem, errors first, then by file and line.
#[must_use]
pub fn validate(listing: &Listing<'_>, strictness: Strictness, limits: &Limits) -> Vec<Problem> {
    examine(listing, strictness, limits).problems
}

/// Like [`validate()`], but also returns the name.
#[must_use]
pub fn examine(listing: &Listing<'_>, strictness: Strictness, limits: &Limits) -> Examined {
    examine_read(listing, strictness, limits, |text| frontmatter::read(text, limits))
}

fn examine_read<'a>(
    listing: &Listing<'a>,
    strictness: Strictness,
    limits: &Limits,
    read: impl FnOnce(&'a str) -> Result<Reading<'a>, FrontmatterError>,
) -> Examined {
    let mut problems = shape(listing);
    let mut name = None;
    match read_skill_md(listing, limits) {
        Ok(text) => match read(text) {
            Ok(reading) => {
                problems.extend(quoted(&reading, strictness));
                problems.extend(fields::check(&reading.frontmatter, listing.folder, text, strictness, limits));
                problems.extend(advice::check(&reading, listing.paths, limits));
                problems.extend(advice::chains(reading.body, listing.paths, listing.texts));
                problems.extend(advice::placeholders(text));
                problems.extend(fields::unpublishable(&reading.frontmatter, text));
                name.clone_from(&reading.frontmatter.name);
            }
            Err(error) => problems.push(unreadable(&error)),
        },
        Err(problem) => problems.push(problem),
    }
    problems.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| (&a.path, a.line).cmp(&(&b.path, b.line))));
    Examined { name, problems }
}

/// Runs [`validate()`] on a bundle whose folder is called `folder`.
#[must_use]
pub fn validate_bundle(bundle: &Bundle, folder: Option<&str>, strictness: Strictness, limits: &Limits) -> Vec<Problem> {
    examine_bundle(bundle, folder, strictness, limits).problems
}

/// Runs [`examine`] on a bundle whose folder is called `folder`.
#[must_use]
pub fn examine_bundle(bundle: &Bundle, folder: Option<&str>, strictness: Strictness, limits: &Limits) -> Examined {
    let paths: Vec<SkillPath> = bundle.paths().cloned().collect();
    let skill_md = bundle.get(&SkillPath::skill_md()).map(|file| &*file.bytes);
    let named = named_texts(skill_md.unwrap_or_default(), &paths);
    let texts: Vec<_> = named.into_iter().filter_map(|path| Some((path, bundle.get(path)?.text()?))).collect();
    let listing = Listing { folder, skill_md, paths: &paths, texts: &texts };
    examine_read(&listing, strictness, limits, |_| bundle.reading(limits))
}

/// Returns the Markdown files that a `SKILL.md` names.
pub fn named_texts<'a>(skill_md: &[u8], paths: &'a [SkillPath]) -> Vec<&'a SkillPath> {
    std::str::from_utf8(skill_md).map_or_else(|_| Vec::new(), |text| advice::named_texts(text, paths))
}

/// Skill as loaded leniently by a client.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Name in the frontmatter, or else of the folder.
    pub name: String,
    /// Description, cut to the length in the standard.
    pub description: String,
    /// All fields of the frontmatter.
    pub frontmatter: Arc<Frontmatter>,
    /// Instructions without the frontmatter.
    pub body: String,
    /// Deviations from the standard that were tolerated.
    pub problems: Vec<Problem>,
}

/// Loads a skill as the standard's guide for clients recommends.
///
/// It tolerates and reports an invalid or missing name, a name that differs from the folder, a description that is too
/// long, and a value with an unquoted colon.
///
/// # Errors
/// The problems of an unusable skill: no `SKILL.md`, no readable frontmatter, or no description.
pub fn load(skill_md: &[u8], folder: &str, limits: &Limits) -> Result<Loaded, Vec<Problem>> {
    load_read(skill_md, folder, limits, |text| frontmatter::read(text, limits))
}

/// Loads like [`load`] the skill in a bundle. A missing `SKILL.md` counts as empty.
///
/// # Errors
/// As for [`load`].
pub fn load_bundle(bundle: &Bundle, folder: &str, limits: &Limits) -> Result<Loaded, Vec<Problem>> {
    let skill_md = bundle.get(&SkillPath::skill_md()).map_or(&[][..], |file| &file.bytes);
    load_read(skill_md, folder, limits, |_| bundle.reading(limits))
}

fn load_read<'a>(
    skill_md: &'a [u8],
    folder: &'a str,
    limits: &Limits,
    read: impl FnOnce(&'a str) -> Result<Reading<'a>, FrontmatterError>,
) -> Result<Loaded, Vec<Problem>> {
    let listing = Listing { folder: Some(folder), skill_md: Some(skill_md), paths: &[], texts: &[] };
    let text = read_skill_md(&listing, limits).map_err(|problem| vec![problem])?;
    let reading = read(text).map_err(|error| vec![unreadable(&error)])?;
    let mut problems: Vec<Problem> = quoted(&reading, Strictness::Standard).into_iter().collect();
    problems.extend(fields::check(&reading.frontmatter, Some(folder), text, Strictness::Standard, limits));
    let description = reading.frontmatter.description.clone().unwrap_or_default();
    if description.trim().is_empty() {
        return Err(problems);
    }
    for problem in &mut problems {
        problem.severity = Severity::Warning;
    }
    Ok(Loaded {
        name: reading.frontmatter.name.clone().unwrap_or_else(|| folder.to_owned()),
        description: description.trim().chars().take(limits.description_chars).collect(),
        body: reading.body.to_owned(),
        frontmatter: reading.frontmatter,
        problems,
    })
}

fn read_skill_md<'a>(listing: &Listing<'a>, limits: &Limits) -> Result<&'a str, Problem> {
    let error = |code, message: String| Problem::of_skill_md(code, Severity::Error, message, None);
    let bytes = listing.skill_md.ok_or_else(|| {
        let other_case = listing.paths.iter().find(|path| path.as_str().eq_ignore_ascii_case(SkillPath::SKILL_MD));
        match other_case {
            Some(path) => error("skill_md_case", format!("rename {path} to SKILL.md: the name is case-sensitive")),
            None => {
                error("skill_md_missing", "SKILL.md is missing; start a new skill with `skillhub new NAME`".to_owned())
            }
        }
    })?;
    let text = std::str::from_utf8(bytes).map_err(|fault| {
        let line = 1 + bytes[..fault.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        let message = "SKILL.md is not UTF-8; save it as UTF-8".to_owned();
        Problem::of_skill_md("not_utf8", Severity::Error, message, Some(line))
    })?;
    if let Some(at) = memchr::memchr(0, bytes) {
        let line = 1 + text[..at].matches('\n').count();
        let message = "SKILL.md contains a NUL character; remove it".to_owned();
        return Err(Problem::of_skill_md("nul_character", Severity::Error, message, Some(line)));
    }
    let limit = limits.skill_md_chars;
    // A text has at least as many bytes as characters.
    let chars = if bytes.len() > limit { text.chars().count() } else { 0 };
    if chars > limit {
        let message = format!("SKILL.md has {chars} characters, but the limit is {limit}; move parts to references/");
        return Err(error("skill_md_too_large", message));
    }
    Ok(text)
}

fn unreadable(error: &FrontmatterError) -> Problem {
    Problem::of_skill_md(error.code(), Severity::Error, error.to_string(), error.line())
}

fn quoted(reading: &Reading<'_>, strictness: Strictness) -> Option<Problem> {
    let line = reading.frontmatter.quoted_line?;
    let message =
        "the frontmatter is not valid YAML unless the value on this line is quoted; put it in quotes".to_owned();
    Some(Problem::of_skill_md("yaml_unquoted", strictness.tolerated(), message, Some(line)))
}

/// Returns the problems that are visible in the list of files alone.
fn shape(listing: &Listing<'_>) -> Vec<Problem> {
    let mut problems: Vec<Problem> = listing
        .paths
        .iter()
        .filter(|path| is_second_skill_md(path))
        .map(|path| Problem {
            code: "second_skill_md",
            severity: Severity::Error,
            message: format!(
                "{path} is a second SKILL.md; a skill has only one, in its top folder (put fixtures under evals/)"
            ),
            path: path.to_string(),
            line: None,
        })
        .collect();
    if let Err(collision) = check_collisions(listing.paths.iter()) {
        let message = collision.to_string();
        problems.push(Problem::of_skill_md("path_collision", Severity::Error, message, None));
    }
    problems
}

/// Returns whether a path is a `SKILL.md`, in any case, in a folder other than `evals/`.
pub fn is_second_skill_md(path: &SkillPath) -> bool {
    path.top_folder().is_some_and(|top| top != "evals") && path.file_name().eq_ignore_ascii_case(SkillPath::SKILL_MD)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(skill_md: &str, strictness: Strictness) -> Vec<&'static str> {
        let listing = Listing {
            folder: Some("a"),
            skill_md: Some(skill_md.as_bytes()),
            paths: &[SkillPath::skill_md()],
            texts: &[],
        };
        validate(&listing, strictness, &Limits::default()).iter().map(|p| p.code).collect()
    }

    #[test]
    fn good_skill_has_no_problems() {
        assert_eq!(codes("---\nname: a\ndescription: Does a.\n---\n# A\n", Strictness::Strict), Vec::<&str>::new());
    }

    #[test]
    fn every_problem_is_reported_at_once() {
        let long = "x".repeat(1025);
        let text = format!("---\nname: B--b\ndescription: {long}\ncompatibility: ''\nmetadata: 3\ncolour: red\n---\n");
        let found = codes(&text, Strictness::Standard);
        for code in [
            "name_invalid", "name_mismatch", "description_too_long", "compatibility_empty", "field_type", "unknown_key",
        ] {
            assert!(found.contains(&code), "{code} in {found:?}");
        }
    }

    #[test]
    fn strict_reading_turns_warnings_into_errors() {
        let text = "---\nname: a\ndescription: Use when: x\ncolour: red\nmetadata:\n  k: [1]\n---\n";
        for (strictness, severity) in [(Strictness::Standard, Severity::Warning), (Strictness::Strict, Severity::Error)]
        {
            let listing = Listing { folder: Some("a"), skill_md: Some(text.as_bytes()), paths: &[], texts: &[] };
            let problems = validate(&listing, strictness, &Limits::default());
            for code in ["yaml_unquoted", "unknown_key", "metadata_nested"] {
                assert!(problems.iter().any(|p| p.code == code && p.severity == severity), "{code} {problems:?}");
            }
        }
    }

    #[test]
    fn problems_name_their_line() {
        let listing = Listing {
            folder: Some("a"),
            skill_md: Some(b"---\nname: a\n\nlicense: [x]\n---\n"),
            paths: &[],
            texts: &[],
        };
        let problems = validate(&listing, Strictness::Standard, &Limits::default());
        assert_eq!(problems.iter().find(|p| p.code == "field_type").unwrap().line, Some(4));
        assert!(problems.iter().any(|p| p.code == "description_missing"));
    }

    #[test]
    fn template_lines_are_warnings() {
        let text = crate::template::skill_md("a", None, None);
        assert_eq!(codes(&text, Strictness::Strict), [TEMPLATE_LINE; 4]);
    }

    #[test]
    fn own_keys_need_lenient_reading() {
        let text = "---\nname: a\ndescription: x\ntool_schema: {}\nrequires: [b/c]\n---\n";
        assert_eq!(codes(text, Strictness::Standard), Vec::<&str>::new());
        assert_eq!(codes(text, Strictness::Strict), ["unknown_key"; 2], "the reference library refuses them");
    }

    #[test]
    fn metadata_lists_are_reported() {
        let text = |requires: &str| format!("---\nname: a\ndescription: x\nmetadata:\n  requires: {requires}\n---\n");
        let strict = |requires: &str| codes(&text(requires), Strictness::Strict);
        assert_eq!(strict("[b/c]"), ["metadata_nested"], "the reference library refuses them");
        assert_eq!(codes(&text("[b/c]"), Strictness::Standard), Vec::<&str>::new());
        assert_eq!(codes(&text("{b: c}"), Strictness::Standard), ["metadata_nested", "requires_type"]);
    }

    #[test]
    fn unreadable_files_have_distinct_codes() {
        let limits = Limits::default();
        let code = |bytes: Option<&[u8]>, paths: &[SkillPath]| {
            validate(&Listing { folder: None, skill_md: bytes, paths, texts: &[] }, Strictness::Standard, &limits)[0]
                .code
        };
        let lower = [SkillPath::parse("skill.md").unwrap()];
        assert_eq!(code(None, &[]), "skill_md_missing");
        assert_eq!(code(None, &lower), "skill_md_case");
        assert_eq!(code(Some(b"---\nname: \xff\n---"), &[]), "not_utf8");
        assert_eq!(code(Some(b"---\n\0---"), &[]), "nul_character");
        assert_eq!(code(Some("é".repeat(100_001).as_bytes()), &[]), "skill_md_too_large");
        assert_eq!(code(Some(b"# no frontmatter"), &[]), "frontmatter_missing");
    }

    #[test]
    fn second_skill_md_is_refused() {
        let paths = ["SKILL.md", "sub/skill.md", "evals/x/SKILL.md"].map(|p| SkillPath::parse(p).unwrap());
        let text = b"---\nname: a\ndescription: x\n---\n";
        let problems = validate(
            &Listing { folder: None, skill_md: Some(text), paths: &paths, texts: &[] },
            Strictness::Standard,
            &Limits::default(),
        );
        assert_eq!(
            problems.iter().map(|p| (p.code, p.path.as_str())).collect::<Vec<_>>(),
            [("second_skill_md", "sub/skill.md")]
        );
    }

    #[test]
    fn clients_load_skills_with_description() {
        let limits = Limits::default();
        let text = format!("---\nname: Other Name\ndescription: Use when: {}\n---\nbody", "é".repeat(2000));
        let loaded = load(text.as_bytes(), "a", &limits).unwrap();
        assert_eq!((loaded.name.as_str(), loaded.description.chars().count()), ("Other Name", 1024));
        assert!(loaded.problems.iter().all(|p| !p.is_error()));
        assert!(
            ["name_invalid", "name_mismatch", "description_too_long", "yaml_unquoted"]
                .iter()
                .all(|code| loaded.problems.iter().any(|p| p.code == *code))
        );
        assert_eq!(load(b"---\ndescription: x\n---\n", "folder", &limits).unwrap().name, "folder");
        assert_eq!(load(b"---\nname: a\n---\n", "a", &limits).unwrap_err()[0].code, "description_missing");
        assert_eq!(load(b"---\nname: [\n---\n", "a", &limits).unwrap_err()[0].code, "yaml_syntax");
    }
}
