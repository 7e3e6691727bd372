//! The rules as data, by category.

pub(crate) mod obfuscation;
pub(crate) mod package;
pub(crate) mod unicode;

use crate::Rule;

/// The rules of all categories.
pub(crate) const ALL: &[&[Rule]] = &[obfuscation::RULES, package::RULES, unicode::RULES];
