//! [`Builtin`]: a skill inside the program, or of a registry that is read only.

use skill::{Bundle, Limits, QualifiedName, SkillName, validate::load};

/// A skill inside the program, or of a registry. It cannot be changed, and any other of its name goes before it.
#[derive(Debug, Clone)]
pub struct Builtin {
    /// Its name.
    pub name: SkillName,
    /// Its files.
    pub files: Bundle,
    /// Its name in the registry that it is of.
    pub qualified: Option<QualifiedName>,
}

impl Builtin {
    /// The skill of these files.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn of(files: Bundle) -> Result<Self, String> {
        let text = files.skill_md().unwrap_or_default();
        let loaded = load(text.as_bytes(), "", &Limits::default()).map_err(|problems| format!("{problems:?}"))?;
        let name = SkillName::parse(&loaded.name).map_err(|fault| fault.to_string())?;
        Ok(Self { name, files, qualified: None })
    }
}
