//! Changes of skills, from the request to the report: [`Workspace::change`].

use library::Library;
use serde_json::{Value, json};
use skill::{Limits, SkillName};
use skill_manage::{
    ChangeRequest, Context, ManageError, Report, RequestError, Status, documents,
    review::{self, ProposalRef},
};

use crate::{refusal::Refusal, workspace::Workspace};

/// Parses a skill's name from a request, without an owner.
///
/// # Errors
/// The text is not a valid name.
pub fn exact_name(text: &str) -> Result<SkillName, Refusal> {
    SkillName::parse(text)
        .map_err(|fault| ManageError::from(RequestError::Name { name: text.to_owned(), fault }).into())
}

impl Workspace {
    /// Parses the JSON form of a change. A request that cannot be read is logged.
    ///
    /// # Errors
    /// The request violates the documented form.
    pub fn change_request(&self, json: &[u8]) -> Result<ChangeRequest, Refusal> {
        let request = ChangeRequest::from_json(json, &Limits::default()).map_err(ManageError::from);
        Ok(request.inspect_err(|error| {
            if let Ok(library) = self.library() {
                skill_manage::note_unreadable(&library, &self.stamp(), error);
            }
        })?)
    }

    /// Opens the library of a change: for a new skill the selected one, else the one that has the skill.
    ///
    /// # Errors
    /// A library cannot be read.
    pub fn library_to_change(&self, request: &ChangeRequest) -> Result<Library, Refusal> {
        if request.creates() { self.library_of(&request.skill) } else { self.library_for(&request.skill) }
    }

    /// Makes a change and updates the lock file. Returns the report, and the warning if the latter fails.
    ///
    /// # Errors
    /// The change failed; nothing was changed then.
    pub fn change(
        &self,
        library: &mut Library,
        run: impl FnOnce(&mut Library, &Context<'_>) -> Result<Report, ManageError>,
    ) -> Result<(Report, Option<String>), Refusal> {
        let report = run(library, &self.manage()?)?;
        let skill = SkillName::parse(&report.name).ok().filter(|_| report.status == Status::Applied);
        let warning = skill.and_then(|skill| self.lock_warning(library, &skill));
        Ok((report, warning))
    }

    /// Returns the document of a proposal with its difference, to the head or to its base.
    ///
    /// # Errors
    /// The library has no such proposal, or cannot be read.
    pub fn proposal_document(
        &self,
        library: &Library,
        target: &ProposalRef,
        onto_head: bool,
    ) -> Result<Value, Refusal> {
        let mut document = documents::proposal(library, target)?.document(self.now);
        // A decided or damaged proposal may have nothing left to compare.
        let difference = review::difference(library, target, onto_head).ok();
        if let Some(difference) = &difference {
            document["proposal"]["reviewed"] = json!(difference.reviewed.to_string());
        }
        document["diff"] = json!(difference.as_ref().map(|difference| &difference.text));
        document["conflicts"] = json!(difference.map(|difference| difference.conflicts).unwrap_or_default());
        Ok(document)
    }
}
