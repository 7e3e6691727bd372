//! [`seeds`]: the first-party skills of a new registry; [`seed`]: publishing them.

use jiff::Timestamp;
use scan::Baseline;
use semver::Version;
use skill::{
    Bundle, BundleError, File, Limits, NameError, Owner, OwnerError, PathError, QualifiedName, SkillName, SkillPath,
    archive,
};
use thiserror::Error;

use crate::{AppendError, Appended, Index, NewRelease, Stamp};

/// Owner of the first-party skills.
const OWNER: &str = "skillhub";

/// A skill in `seed/`: its folder, and its files.
type Seed = (&'static str, &'static [(&'static str, &'static [u8])]);

/// Embeds the named files of `seed/`.
macro_rules! embedded {
    ($($folder:literal: [$($path:literal),+ $(,)?]),+ $(,)?) => {
        &[$(($folder, &[$(($path, include_bytes!(concat!("../seed/", $folder, "/", $path)))),+])),+]
    };
}

/// All files in `seed/`. A test compares the list with the folder.
const SEEDS: &[Seed] = embedded![
    "page-check": ["SKILL.md"],
    "site-monitor": ["SKILL.md"],
    "skillhub-evolving-skills": ["SKILL.md", "references/errors.md", "references/requests.md"],
    "skillhub-reviewing-skills": ["SKILL.md", "references/checklist.md"],
    "skillhub-writing-skills": ["SKILL.md", "references/descriptions.md", "references/evals.md"],
    "topic-notes": ["SKILL.md"],
];

/// Reasons why the first-party skills were not published.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum SeedError {
    /// A path in the list is invalid.
    Path(#[from] PathError),
    /// The files are not a valid bundle.
    Bundle(#[from] BundleError),
    /// The owner's name is invalid.
    Owner(#[from] OwnerError),
    /// The name of a folder is invalid.
    Name(#[from] NameError),
    /// The frontmatter does not have a valid version.
    #[error("the skill {0} has no readable version")]
    Version(String),
    /// The scanner blocks a skill.
    Blocked(#[from] Box<scan::Blocked>),
    /// The index rejected a skill.
    Append(#[from] AppendError),
}

/// Name prefix of the built-in skills. These explain skillhub and are visible to every agent. The other first-party
/// skills must be installed.
const BUILT_IN: &str = "skillhub-";

/// Returns the names of the built-in first-party skills, sorted.
pub fn builtin_names() -> impl Iterator<Item = SkillName> {
    let built_in = SEEDS.iter().filter(|(folder, _)| folder.starts_with(BUILT_IN));
    built_in.filter_map(|(folder, _)| SkillName::parse_standard(folder).ok())
}

/// Returns the built-in first-party skills, sorted by name.
///
/// # Errors
/// Same as [`seeds`].
pub fn builtins() -> Result<Vec<Bundle>, SeedError> {
    SEEDS.iter().filter(|(folder, _)| folder.starts_with(BUILT_IN)).map(|(_, files)| bundle_of(files)).collect()
}

/// Returns the first-party skills, sorted by name. They are embedded in the program.
///
/// # Errors
/// [`SeedError`] if an embedded file is invalid. A test checks that none is.
pub fn seeds() -> Result<Vec<Bundle>, SeedError> {
    SEEDS.iter().map(|(_, files)| bundle_of(files)).collect()
}

/// Publishes the first-party skills under the owner `skillhub`, each with the version in its frontmatter, and returns
/// the outcomes. Existing releases are left unchanged.
///
/// # Errors
/// [`SeedError`] if the index rejects a skill. Skills published before it remain.
pub fn seed(index: &Index, at: Timestamp) -> Result<Vec<Appended>, SeedError> {
    SEEDS.iter().map(|(folder, files)| publish(index, folder, bundle_of(files)?, at)).collect()
}

fn publish(index: &Index, folder: &str, bundle: Bundle, at: Timestamp) -> Result<Appended, SeedError> {
    let release = NewRelease {
        name: QualifiedName { owner: Owner::parse(OWNER)?, name: SkillName::parse_standard(folder)? },
        version: version_of(&bundle).ok_or_else(|| SeedError::Version(folder.to_owned()))?,
        signature: None,
        changelog: String::new(),
        forked_from: None,
        stamp: Stamp { by: OWNER.to_owned(), at },
    };
    let cleared = scan::clear(bundle, Baseline::None)?;
    Ok(index.append(&release, &cleared, &archive::pack(cleared.bundle()))?)
}

fn version_of(bundle: &Bundle) -> Option<Version> {
    Version::parse(&bundle.frontmatter()?.version()?).ok()
}

fn bundle_of(files: &[(&str, &[u8])]) -> Result<Bundle, SeedError> {
    let file = |bytes: &[u8]| File { bytes: bytes.into(), executable: false };
    let files: Result<Vec<_>, PathError> =
        files.iter().map(|(path, bytes)| Ok((SkillPath::parse(path)?, file(bytes)))).collect();
    Ok(Bundle::from_files(files?, &Limits::default())?)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use scan::Verdict;
    use skill::{Strictness, validate::validate_bundle};

    use super::*;

    /// Lists the files below a folder as `folder/path`.
    #[expect(clippy::disallowed_methods, reason = "the test reads the folder that the list must equal")]
    fn on_disk(dir: &Path, prefix: &str, found: &mut BTreeSet<String>) {
        for child in dir.read_dir().unwrap() {
            let child = child.unwrap();
            let name = format!("{prefix}{}", child.file_name().to_str().unwrap());
            match child.file_type().unwrap().is_dir() {
                true => on_disk(&child.path(), &format!("{name}/"), found),
                false => drop(found.insert(name)),
            }
        }
    }

    #[test]
    fn all_seed_files_are_embedded() {
        let mut found = BTreeSet::new();
        on_disk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("seed"), "", &mut found);
        let listed =
            SEEDS.iter().flat_map(|(folder, files)| files.iter().map(move |(path, _)| format!("{folder}/{path}")));
        assert_eq!(listed.collect::<BTreeSet<_>>(), found);
    }

    /// The only exception is the key that declares a tool.
    #[test]
    fn seeds_pass_strict_validation() {
        let mut problems = Vec::new();
        for ((folder, _), bundle) in SEEDS.iter().zip(seeds().unwrap()) {
            let found = validate_bundle(&bundle, Some(folder), Strictness::Strict, &Limits::default());
            let declares =
                |problem: &&skill::Problem| problem.code == "unknown_key" && problem.message.contains("`tool_schema`");
            let is_tool = found.iter().any(|problem| declares(&problem));
            assert_eq!(is_tool, !builtin_names().any(|name| name.as_str() == *folder), "{folder}");
            problems.extend(found.into_iter().filter(|problem| !declares(&problem)));
            assert_eq!(version_of(&bundle), Some(Version::new(1, 0, 0)));
        }
        assert_eq!(problems, []);
    }

    #[test]
    fn scanner_allows_the_seeds() {
        for ((folder, _), bundle) in SEEDS.iter().zip(seeds().unwrap()) {
            let report = scan::scan(&bundle);
            assert_eq!(report.verdict(), Verdict::Allow, "{folder}: {:#?}", report.findings);
        }
    }

    #[test]
    fn example_requests_follow_the_contract() {
        let known = "action name content content_base64 path find replace expected_count replace_all expected_revision \
                     reason run thread dry_run executable operations";
        let known: BTreeSet<&str> = known.split_whitespace().collect();
        let (_, files) = SEEDS.iter().find(|(folder, _)| *folder == "skillhub-evolving-skills").unwrap();
        let mut seen = 0;
        for (path, bytes) in files.iter() {
            let text = std::str::from_utf8(bytes).unwrap();
            for block in text.split("```json\n").skip(1) {
                let json = block.split("```").next().unwrap();
                let request: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).unwrap();
                assert!(request.keys().all(|key| known.contains(key.as_str())), "{path}: {json}");
                seen += 1;
            }
        }
        assert!(seen >= 5);
    }
}
