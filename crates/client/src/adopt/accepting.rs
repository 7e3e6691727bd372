//! [`accept_blocked`]: asks a person about the folders that the scan blocks, during `adopt`.

use library::{Library, Permit, Stamp, StoredWaiver};
use scan::Waivers;
use skill::SkillName;

use super::{AdoptError, AdoptStatus, Adopted, Passed, is_other, permit_adopting};
use crate::accept::{self, Accept, BlockedSkill};

/// Asks about all blocked skills at once and adds the accepted ones to the commits. Returns their names.
pub(super) fn accept_blocked(
    library: &Library,
    results: &mut [Adopted],
    commits: &mut Vec<Passed>,
    stamp: &Stamp,
    permit: &Permit<'_>,
    accept: &Accept<'_>,
) -> Result<Vec<SkillName>, AdoptError> {
    let waiting: Vec<&mut Adopted> = results.iter_mut().filter(|result| result.as_blocked().is_some()).collect();
    let asked: Vec<BlockedSkill<'_>> = waiting.iter().filter_map(|result| result.as_blocked()).collect();
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let waivers = accept(&asked);
    let mut names = Vec::new();
    for (result, waivers) in waiting.into_iter().zip(waivers).filter(|(_, waivers)| !waivers.is_empty()) {
        match accepted(library, result, &waivers, stamp, permit) {
            Ok(commit) if is_other(commits, &commit) => result.fail(AdoptError::Exists(commit.0)),
            Ok(commit) => {
                accept::store_waivers(library, &commit.0, &waivers, stamp)?;
                result.status = AdoptStatus::Adopted;
                names.push(commit.0.clone());
                if !commits.iter().any(|known| known.0 == commit.0) {
                    commits.push(commit);
                }
            }
            Err(error) => result.fail(error),
        }
    }
    Ok(names)
}

/// Builds the commit for a blocked skill whose findings a person accepted.
fn accepted(
    library: &Library,
    result: &mut Adopted,
    waivers: &[StoredWaiver],
    stamp: &Stamp,
    permit: &Permit<'_>,
) -> Result<Passed, AdoptError> {
    let (Some(AdoptError::Blocked(blocked)), Some(name)) = (result.error.take(), result.name.clone()) else {
        return Err(AdoptError::NoSkill { path: result.source.clone() });
    };
    let waivers = Waivers::new(waivers.iter().filter_map(|waiver| waiver.at(stamp.time)));
    let cleared = scan::waive(Err(blocked), &waivers)?;
    result.report = Some(cleared.report().clone());
    permit_adopting(&name, cleared.bundle(), cleared.report().verdict(), permit)?;
    let tombstone = library.head(&name)?.map(|head| head.id);
    Ok((name, tombstone, cleared, !result.copied))
}
