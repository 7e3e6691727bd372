//! [`of`]: the expected exit codes of an offered command.

use super::found::Offer;

/// Treatment of an offered command.
pub enum Expected {
    /// Runs with its placeholders filled, and ends with one of these codes.
    Run { command: String, exits: Vec<i32> },
    /// Not run, for a reason listed in [`UNRUN`].
    Unrun,
}

/// Commands that report a state by their exit code.
const RESULTS: [(&str, &[i32]); 8] = [
    // Faults of the configuration.
    ("check", &[0, 2]),
    // Faults were found.
    ("doctor", &[0, 1, 8]),
    // Invalid skills, the reason why the command is offered.
    ("validate", &[0, 3]),
    // Findings.
    ("scan", &[0, 4]),
    // Files differ from the lock file.
    ("verify", &[0, 8]),
    // Blocked edits, or hosts that read other content.
    ("status", &[0, 4, 8]),
    // Problems in a skill's evals.
    ("lint", &[0, 3]),
    // The editor was closed without a change.
    ("edit", &[0, 2]),
];

/// Placeholders that only the user can fill, with their values here. The skill `own` is in the folder for temporary
/// files.
const PLACEHOLDERS: [(&str, &str); 11] = [
    // A skill of the user, or the name of a new one.
    ("DIR", "$TMPDIR/own"),
    ("FILE", "$TMPDIR/own/SKILL.md"),
    ("NAME", "own"),
    ("PATH", "$TMPDIR/own"),
    // The user's signing key.
    ("KEY.pub", "$TMPDIR/own-key.pub"),
    // Search words, and the owner under which a user publishes.
    ("WORD", "pdf"),
    ("OWNER", "acme"),
    (OTHERS_SKILL, "acme/none"),
    // The user's reason.
    ("TEXT", "'as agreed'"),
    ("WHY", "'as agreed'"),
    // The revision that a user chooses from the history.
    ("REV", "1"),
];

/// A skill of a registry. The example name that replaces it here does not exist.
const OTHERS_SKILL: &str = "OWNER/NAME";

/// Offers that are not run: the test, the beginning of the command, and the reason.
const UNRUN: [(&str, &str, &str); 13] = [
    ("cli::setting_up::lines_of_setup_and_adopt_fit", "skillhub adopt ", "another skill beside it is invalid"),
    (
        "cli::doctor::outdated_lock_file_is_updated",
        "skillhub install",
        "the lock file names a release that no registry ever had",
    ),
    (
        "cli::importing::offline_import_adopts_local_skills",
        "skillhub update",
        "the repository is on a host that tests do not reach",
    ),
    (
        "cli::addresses::near_files_install_or_get_exact_hints",
        "skillhub install ./x",
        "the command before it unpacks the archive",
    ),
    (
        "cli::doctor::foreign_library_note_is_kept",
        "skillhub doctor --relocate",
        "the note names a library that never was",
    ),
    (
        "cli::evals::held_change_needs_its_own_comparison",
        "skillhub eval compare",
        "only the user has a runner, and the test runs the command with its own",
    ),
    (
        "cli::triggers::description_is_compared_by_its_queries",
        "skillhub eval compare",
        "only the user has a runner, and the test runs the command with its own",
    ),
    (
        "cli::agent_attacks::forged_or_expired_token_is_refused",
        "skillhub reviewer new",
        "the file of tokens is damaged on purpose",
    ),
    (
        "cli::git_registries::registry_errors_have_hints",
        "skillhub index init",
        "the hint is about an empty repository, and this one has files",
    ),
    (
        "cli::registry_routes::unknown_lock_source_needs_confirmation",
        "skillhub install",
        "the sources wait for a person's word, which the test looks at",
    ),
    (
        "cli::registry_routes::foreign_lock_host_is_never_contacted",
        "skillhub",
        "the test counts what its host is asked",
    ),
    (
        "cli::scanning::lock_file_lists_current_waivers",
        "skillhub install",
        "a folder of the same name is in the way as well, which is told once the findings are settled",
    ),
    (
        "cli::accepting::clone_shows_and_asks_again",
        "skillhub --registry",
        "a person has to accept what blocks, which the test looks at",
    ),
];

/// Address in offers that are not run, because the repository is on a host that tests do not reach.
const ELSEWHERE: &str = " github:";

/// Returns the treatment of an offer in a test.
///
/// # Errors
/// The offer has an unknown placeholder, or consists of several shell commands.
pub fn of(offer: &Offer, test: &str) -> Result<Expected, String> {
    if UNRUN.iter().any(|(in_test, command, _)| test == *in_test && offer.command.starts_with(command)) {
        return Ok(Expected::Unrun);
    }
    if offer.command.starts_with("skillhub") && offer.command.contains(ELSEWHERE) {
        return Ok(Expected::Unrun);
    }
    let command = filled(&offer.command);
    if let Some(word) = words(&command).find(|word| is_placeholder(word)) {
        return Err(format!("has the placeholder {word}"));
    }
    let single =
        command.strip_prefix("cd ").and_then(|rest| rest.split_once(" && ")).map_or(&*command, |(_, rest)| rest);
    if single.contains(['`', ';', '|', '&', '\n']) || single.contains("$(") {
        return Err("is more than one command".to_owned());
    }
    let verb = words(single).skip(1).find(|word| RESULTS.iter().any(|(verb, _)| verb == word));
    if offer.command.ends_with(OTHERS_SKILL) {
        return Ok(Expected::Run { exits: vec![7], command });
    }
    let exits = RESULTS.iter().find(|(name, _)| Some(*name) == verb).map_or(&[0][..], |(_, exits)| exits);
    Ok(Expected::Run { exits: exits.to_vec(), command })
}

/// Returns whether a text addresses its command to a person.
pub fn is_for_people(text: &str) -> bool {
    ["person", "people", "terminal"].into_iter().any(|word| text.contains(word))
}

/// Returns whether a command runs until it is stopped.
pub fn is_server(command: &str) -> bool {
    command.starts_with("skillhub serve") || command.starts_with("skillhub mcp")
}

fn filled(command: &str) -> String {
    let fill = |word: &str| {
        let known = PLACEHOLDERS.iter().find(|(name, _)| *name == word);
        known.map_or_else(|| word.to_owned(), |(_, value)| (*value).to_owned())
    };
    command.split(' ').map(fill).collect::<Vec<_>>().join(" ")
}

fn words(command: &str) -> impl Iterator<Item = &str> {
    command.split(' ')
}

/// Returns whether a word is a placeholder, such as `NAME`, `OWNER/NAME`, `<id>` or `…`.
fn is_placeholder(word: &str) -> bool {
    let is_upper = |c: char| c.is_ascii_uppercase() || "/_@-".contains(c);
    let has_letters = word.chars().any(|c| c.is_ascii_uppercase());
    if word.starts_with("SKILLHUB_") || word.starts_with('-') {
        return false;
    }
    word.contains('…')
        || (word.len() > 1 && word.contains('<'))
        || word == "owner/name"
        || (has_letters && word.chars().all(is_upper))
}
