//! [`name_of`]: what a skill from a source without owners is called here.

use skill::SkillName;

use super::InstallError;
use crate::found::Found;

/// What the skill is called: as it says, or as its folder where what it says is a title and no standard name. What is
/// neither, such as a path, is not taken for a slip.
pub(super) fn name_of(skill: &Found, fallback: &str) -> Result<(SkillName, Vec<String>), InstallError> {
    match (SkillName::parse_standard(&skill.name), SkillName::parse(fallback)) {
        (Ok(name), _) => Ok((name, Vec::new())),
        (Err(_), Ok(name)) if skill.name.is_empty() => Ok((name, Vec::new())),
        (Err(_), Ok(name)) if is_title(&skill.name) => {
            let warning =
                format!("it calls itself {:?}, which the standard does not allow; it is {name} here", skill.name);
            Ok((name, vec![warning]))
        }
        (Err(_), Err(source)) if skill.name.is_empty() => Err(InstallError::Name { name: fallback.to_owned(), source }),
        (Err(source), _) => Err(InstallError::Name { name: skill.name.clone(), source }),
    }
}

/// Words with spaces between them.
fn is_title(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '&' | ',' | ':' | '(' | ')'))
}

pub(super) fn parse_name(text: &str) -> Result<SkillName, InstallError> {
    SkillName::parse(text).map_err(|source| InstallError::Name { name: text.to_owned(), source })
}
