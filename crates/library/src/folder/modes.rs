//! Executable bits on systems whose files have none: the recorded ones count ([`with_recorded_modes`]).

use skill::Bundle;

use crate::system::System;

/// Completes files that were read from a folder by the executable bits of recorded files with the same paths, where
/// the system has none.
pub fn with_recorded_modes(found: Bundle, recorded: &Bundle) -> Bundle {
    completed(System::this(), found, recorded)
}

/// Returns whether files that were read from a folder are recorded ones, ignoring line ends and, where the system has
/// none, executable bits.
pub fn has_content(found: &Bundle, recorded: &Bundle) -> bool {
    is_content(System::this(), found, recorded)
}

fn completed(system: System, found: Bundle, recorded: &Bundle) -> Bundle {
    if system.has_executable_bits() { found } else { found.with_modes_of(recorded) }
}

fn is_content(system: System, found: &Bundle, recorded: &Bundle) -> bool {
    found.same_but_line_ends(recorded)
        || (!system.has_executable_bits() && found.with_modes_of(recorded).same_but_line_ends(recorded))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(files: &[(&str, bool)]) -> Bundle {
        testkit::bundle_with_modes(&files.iter().map(|(path, executable)| (path, "x", *executable)).collect::<Vec<_>>())
    }

    #[test]
    fn recorded_modes_count_on_windows_only() {
        let recorded = bundle(&[("SKILL.md", false), ("run.sh", true)]);
        let found = bundle(&[("SKILL.md", false), ("run.sh", false)]);
        let edited = bundle(&[("SKILL.md", false), ("new.sh", false), ("run.sh", false)]);
        for (system, is_same) in [(System::Linux, false), (System::MacOs, false), (System::Windows, true)] {
            assert_eq!(is_content(system, &found, &recorded), is_same, "{system:?}");
            assert_eq!(completed(system, found.clone(), &recorded) == recorded, is_same, "{system:?}");
            assert!(!is_content(system, &edited, &recorded), "{system:?}");
        }
        let completed = completed(System::Windows, edited, &recorded);
        assert_eq!(completed, bundle(&[("SKILL.md", false), ("new.sh", false), ("run.sh", true)]));
    }
}
