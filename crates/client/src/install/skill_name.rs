//! [`name_of`]: chooses the name of a skill from a source without owners.

use skill::SkillName;

use super::InstallError;
use crate::discovery::DiscoveredSkill;

/// Returns the name from the frontmatter. If that is a title rather than a standard name, returns the folder's name and
/// a warning. A path that leads upwards or to the root is an error.
pub(super) fn name_of(skill: &DiscoveredSkill, fallback: &str) -> Result<(SkillName, Vec<String>), InstallError> {
    match (SkillName::parse_standard(&skill.name), SkillName::parse(fallback)) {
        (Ok(name), _) => Ok((name, Vec::new())),
        (Err(_), Ok(name)) if skill.name.is_empty() => Ok((name, Vec::new())),
        (Err(_), Ok(name)) if is_title(&skill.name) => {
            let warning = format!(
                "its own name is {:?}, which the standard does not allow; it is installed as {name}",
                skill.name
            );
            Ok((name, vec![warning]))
        }
        (Err(_), Err(source)) if skill.name.is_empty() => Err(InstallError::Name { name: fallback.to_owned(), source }),
        (Err(source), _) => Err(InstallError::Name { name: skill.name.clone(), source }),
    }
}

/// Returns whether the text consists of words, spaces and common punctuation.
fn is_title(text: &str) -> bool {
    let is_common = |c: char| c.is_alphanumeric() || " -_&,:()./+'!#".contains(c);
    text.chars().all(is_common) && !text.starts_with(['.', '/']) && !text.contains("..")
}
