//! What is destroyed without a filter or a question.

/// Whether no name limits what is found, other than that of what cannot be made again.
pub(crate) fn is_unfiltered(matched: &str) -> bool {
    const KEPT: &[&str] = &["-name .git ", "-name '.git'", "-name \".git\"", ".docx", ".jpg", ".pdf", ".xlsx"];
    KEPT.iter().any(|kept| matched.contains(kept))
        || !["-name", "-iname", "-path", "-empty", "-regex", "-wholename"].iter().any(|filter| matched.contains(filter))
}

/// Whether nobody is asked about each of the things that are deleted, and nothing chooses them.
pub(crate) fn is_unasked(matched: &str) -> bool {
    !matched.contains("xargs -p") && !matched.contains(" -l ") && !matched.contains("--interactive")
}

/// Whether not only branches are removed that were merged.
pub(crate) fn is_of_all(matched: &str) -> bool {
    !matched.contains("--merged") && !matched.contains("gone]")
}

pub(crate) fn is_unfiltered_here(matched: &str) -> bool {
    !["-Filter", "-Include", "-filter", "-include", "-DevDrive"].iter().any(|filter| matched.contains(filter))
}

pub(crate) fn is_no_device(matched: &str) -> bool {
    !matched.contains("> /dev/null") && !matched.contains(">/dev/null")
}

/// Whether what is removed is more than what a tool keeps for itself.
pub(crate) fn is_not_of_the_cache(matched: &str) -> bool {
    !["cache", "/tmp", ".local/share/", "node_modules", "dist", "tempdir", "mkdtemp", "config"]
        .iter()
        .any(|own| matched.contains(own))
}
