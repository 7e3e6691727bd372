//! Conditions on deletions: missing filters and missing confirmation.

/// Returns true if no name filter limits the deletion, or if the filter selects data that cannot be regenerated.
pub(crate) fn is_unfiltered(matched: &str) -> bool {
    const KEPT: &[&str] = &["-name .git ", "-name '.git'", "-name \".git\"", ".docx", ".jpg", ".pdf", ".xlsx"];
    KEPT.iter().any(|kept| matched.contains(kept))
        || !["-name", "-iname", "-path", "-empty", "-regex", "-wholename"].iter().any(|filter| matched.contains(filter))
}

/// Returns true if the deletion neither asks for confirmation nor selects its targets.
pub(crate) fn is_unasked(matched: &str) -> bool {
    !matched.contains("xargs -p") && !matched.contains(" -l ") && !matched.contains("--interactive")
}

/// Returns true if branches are removed without a limit to merged ones.
pub(crate) fn is_of_all(matched: &str) -> bool {
    !matched.contains("--merged") && !matched.contains("gone]")
}

pub(crate) fn is_unfiltered_here(matched: &str) -> bool {
    !["-Filter", "-Include", "-filter", "-include", "-DevDrive"].iter().any(|filter| matched.contains(filter))
}

pub(crate) fn is_no_device(matched: &str) -> bool {
    !matched.contains("> /dev/null") && !matched.contains(">/dev/null")
}

/// Returns true if the deletion reaches beyond caches, build output and temporary files.
pub(crate) fn is_not_of_the_cache(matched: &str) -> bool {
    !["cache", "/tmp", ".local/share/", "node_modules", "dist", "tempdir", "mkdtemp", "config"]
        .iter()
        .any(|own| matched.contains(own))
}
