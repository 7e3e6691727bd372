//! [`Builtin`]: a read-only skill, from the program or a registry.

use skill::{Bundle, Limits, QualifiedName, SkillName, validate::load};

/// Read-only skill from the program or a registry. Any other skill of its name takes precedence.
#[derive(Debug, Clone)]
pub struct Builtin {
    /// Name of the skill.
    pub name: SkillName,
    /// All files of the skill.
    pub files: Bundle,
    /// Full name in its registry. `None` for a skill of the program.
    pub qualified: Option<QualifiedName>,
}

impl Builtin {
    /// Builds a skill from its files.
    ///
    /// # Errors
    /// A description of the faults in the files.
    pub fn of(files: Bundle) -> Result<Self, String> {
        let text = files.skill_md().unwrap_or_default();
        let loaded = load(text.as_bytes(), "", &Limits::default()).map_err(|problems| format!("{problems:?}"))?;
        let name = SkillName::parse(&loaded.name).map_err(|fault| fault.to_string())?;
        Ok(Self { name, files, qualified: None })
    }
}
