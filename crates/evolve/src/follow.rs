//! [`follow_trials`]: leads the links of a host to the revisions on trial that its new session gets.

use std::path::Path;

use library::{AgentLinkError, Library, LibraryError, RevisionId, StoredTrial};
use skill::SkillName;

use crate::import::is_distinguishable;

/// Decides for each skill on trial which revision a session gets, as for any run, and makes the links of its host lead
/// there. `is_of_host` selects these links.
///
/// A revision whose text looks like the former one in a transcript is not linked: the outcome of the session
/// would count for the wrong one. A link that cannot be changed is left as it is.
///
/// # Errors
/// The state of the library cannot be read.
pub fn follow_trials(library: &Library, run: &str, is_of_host: impl Fn(&Path) -> bool) -> Result<(), LibraryError> {
    for (name, set) in library.state()?.skills() {
        if let (Some(trial), Ok(skill)) = (&set.trial, SkillName::parse(name)) {
            let _left_to_next_session = follow(library, &skill, trial, run, &is_of_host);
        }
    }
    Ok(())
}

/// Returns whether a transcript shows which side of a trial a session read. Otherwise no link follows the trial.
///
/// # Errors
/// The history cannot be read.
pub fn can_follow(library: &Library, trial: &StoredTrial) -> Result<bool, LibraryError> {
    let text = |id: &RevisionId| -> Result<Option<String>, LibraryError> {
        Ok(library.bundle(id)?.skill_md().map(str::to_owned))
    };
    let texts = text(&trial.base)?.zip(text(&trial.candidate)?);
    Ok(texts.is_some_and(|(base, candidate)| is_distinguishable(&base, &candidate)))
}

fn follow(
    library: &Library,
    skill: &SkillName,
    trial: &StoredTrial,
    run: &str,
    is_of_host: impl Fn(&Path) -> bool,
) -> Result<(), AgentLinkError> {
    let gets_candidate =
        || -> Result<bool, LibraryError> { Ok(library.served(skill, run)?.is_some() && can_follow(library, trial)?) };
    // The link returns if that cannot be decided.
    library.point_links(skill, trial, gets_candidate().unwrap_or(false), is_of_host)
}
