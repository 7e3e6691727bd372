//! [`Builtin`]: a skill inside the program.

use skill::{Bundle, Limits, SkillName, validate::load};

/// A skill inside the program. It cannot be changed, and any other of its name goes before it.
#[derive(Debug, Clone)]
pub struct Builtin {
    /// Its name.
    pub name: SkillName,
    /// Its files.
    pub files: Bundle,
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
        Ok(Self { name, files })
    }
}
