//! Installs and updates in a [`Workspace`], shared by all hosts.

use client::{
    InstallError, InstallRequest, Installed, Installer, Prefetch, Progress, SkillToUpdate, UpdateRequest,
    VisibilityOutcome,
};
use evolve::Stats;
use jiff::Timestamp;
use library::{Action, Denied, Library, LibraryError, RevisionId, State};
use serde_json::{Value, json};
use skill::{
    SkillName,
    failure::{Fails, FailureKind, NextStep},
};

use crate::{refusal::Refusal, visibility::FolderVisibility, workspace::Workspace};

/// Formats an operation of a hint for the client of a host.
pub type StepFormat<'a> = &'a dyn Fn(&NextStep) -> String;

/// Callbacks to the user who waits for an install.
pub struct InstallCallbacks<'a> {
    /// Returns the waivers under which blocked skills pass.
    pub accept: &'a client::Accept<'a>,
    /// Receives the progress.
    pub progress: &'a dyn Fn(Progress),
}

impl InstallCallbacks<'_> {
    /// Callbacks for a client of a server, where findings cannot be accepted.
    pub const CLIENT: InstallCallbacks<'static> =
        InstallCallbacks { accept: &client::accept_nothing, progress: &|_| {} };
}

impl Workspace {
    /// Installs skills. Where one is linked, the links of earlier installs follow what agents may see now.
    ///
    /// # Errors
    /// A library, the configuration or the policy cannot be read, or the request fails as a whole.
    pub fn install(&self, request: &InstallRequest, waiting: &InstallCallbacks<'_>) -> Result<Vec<Installed>, Refusal> {
        let mut library = self.library()?;
        let sight = FolderVisibility::new(self)?;
        let mut installed = self.with_installer(&mut library, waiting, |installer| Ok(installer.install(request)?))?;
        let is_known = self.known()?;
        installed.retain(|skill| is_known(skill) || !(request.specs.is_empty() || skill.is_dependency));
        for skill in installed.iter_mut().filter(|skill| !is_known(skill)) {
            if let Some(denied) = denied(skill) {
                *skill = Installed::failed(skill.name.clone(), None, InstallError::Denied(denied));
            }
        }
        let state = library.state();
        let is_linked = |skill: &&mut Installed| !request.dry_run && skill.error.is_none() && !skill.links.is_empty();
        for skill in installed.iter_mut().filter(is_linked) {
            update_earlier_links(&sight, &library, &state, skill);
        }
        Ok(installed)
    }

    /// Updates skills.
    ///
    /// # Errors
    /// The same as [`Workspace::install`].
    pub fn update(&self, request: &UpdateRequest, waiting: &InstallCallbacks<'_>) -> Result<Vec<Installed>, Refusal> {
        let mut library = self.library()?;
        let mut updated = self.with_installer(&mut library, waiting, |installer| Ok(installer.update(request)?))?;
        updated.retain(self.known()?);
        Ok(updated)
    }

    /// Installs skills for a client of a server. Returns the result document, with the operations in hints as given by
    /// `step`.
    ///
    /// # Errors
    /// The skill is not found or blocked, or it conflicts with the current state.
    pub fn install_for_client(&self, request: &InstallRequest, step: StepFormat<'_>) -> Result<Value, Refusal> {
        document_of(&mut self.install(request, &InstallCallbacks::CLIENT)?, step).map(|(document, _)| document)
    }

    /// Updates a skill for a client of a server. Returns the result document, like [`Self::install_for_client`].
    ///
    /// # Errors
    /// The source cannot be read, the new content is blocked, or it conflicts with the current state.
    pub fn update_for_client(&self, name: &SkillName, step: StepFormat<'_>) -> Result<Value, Refusal> {
        let skills = vec![SkillToUpdate { name: name.to_string(), request: None }];
        let request = UpdateRequest { skills, ..UpdateRequest::default() };
        document_of(&mut self.update(&request, &InstallCallbacks::CLIENT)?, step).map(|(document, _)| document)
    }

    /// Runs `work` with an installer for a library.
    ///
    /// # Errors
    /// The errors of `work`, or a policy that cannot be read.
    pub fn with_installer<T>(
        &self,
        library: &mut Library,
        waiting: &InstallCallbacks<'_>,
        work: impl FnOnce(&mut Installer<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let lock_path = self.lock_path(library);
        let registries = self.registries_of(library)?.requiring_signatures(self.required_signers()?);
        let sight = FolderVisibility::new(self)?;
        let mut installer = Installer {
            library,
            home: &self.home,
            registries: &registries,
            agent_folders: &self.agent_folders().with_on_machine(self.agents_on_machine()),
            lock_path: &lock_path,
            user_home: Some(&self.user_home),
            stamp: &self.stamp(),
            permit: &self.permit()?,
            hides: &|library, skill, origin, folder| sight.hides_installed(library, skill, origin, folder),
            outcomes: &|library, name, revision| how_it_went(library, name, revision, self.now),
            accept: waiting.accept,
            progress: waiting.progress,
            program: self.setup().program.as_deref(),
            prefetch: Prefetch::default(),
        };
        work(&mut installer)
    }

    /// Returns a predicate for results about skills that the actor may know of.
    ///
    /// # Errors
    /// Part of the configuration is invalid.
    fn known(&self) -> Result<impl Fn(&Installed) -> bool + use<>, Refusal> {
        let is_seen = self.seen()?;
        Ok(move |skill: &Installed| is_seen(skill.name.rsplit('/').next().unwrap_or_default()))
    }
}

/// Returns the refusal for a skill that is hidden from the actor, the same whether or not the library has it.
fn denied(skill: &Installed) -> Option<Denied> {
    let name = SkillName::parse(skill.name.rsplit('/').next()?).ok()?;
    Some(Denied { skill: name, action: Action::Install, why: "the configuration denies it to this agent".to_owned() })
}

/// Summarises the outcomes of a revision. Returns `None` if there are none or they cannot be read.
fn how_it_went(library: &Library, name: &SkillName, revision: &RevisionId, now: Timestamp) -> Option<String> {
    let stats = Stats::of(library, name, now).ok()?;
    let of_revision = stats.revisions.iter().find(|stats| stats.revision.id == *revision)?;
    Some(of_revision.sentence())
}

/// Updates the links of a skill that earlier installs recorded, also in folders that this one did not ask for. The
/// installer has already left out folders whose agents may not see the skill. A failure does not affect the install.
fn update_earlier_links(
    sight: &FolderVisibility,
    library: &Library,
    state: &Result<State, LibraryError>,
    installed: &mut Installed,
) {
    let name = installed.path.as_ref().and_then(|path| path.file_name()?.to_str()).map(SkillName::parse);
    let Some(Ok(name)) = name else { return };
    let outcomes = match state {
        Ok(state) => sight.apply(library, &name, &state.of(&name)),
        Err(error) => {
            installed.warnings.push(format!("agents that must not see {name} may still see it: {error}"));
            Vec::new()
        }
    };
    for outcome in outcomes {
        match outcome {
            VisibilityOutcome::Hidden(path) => {
                installed.links.retain(|link| *link != path);
                let path = path.display();
                installed.warnings.push(format!("not linked at {path}: the skill is hidden from agents there"));
            }
            VisibilityOutcome::Left(path, why) => {
                let path = path.display();
                installed.warnings.push(format!("hidden from agents, but still at {path}: {why}"));
            }
            VisibilityOutcome::Shown(_) => {}
        }
    }
}

/// Builds the document with the result of each skill and the most severe error, whose hints have operations as given by
/// `step`. Also returns the kind of that error.
pub fn whole_document(installed: &[Installed], step: StepFormat<'_>) -> (Value, Option<FailureKind>) {
    let kind_of = |skill: &&Installed| skill.error.as_ref().map(|error| error.failure().kind);
    let kind = installed.iter().filter_map(|skill| kind_of(&skill)).max();
    let skills: Vec<Value> = installed.iter().map(|skill| document(skill, step)).collect();
    let mut document = json!({"ok": kind.is_none(), "skills": skills});
    let gravest = installed.iter().filter(|skill| skill.error.is_some()).max_by_key(kind_of);
    if let Some(error) = gravest.and_then(|skill| skill.error.as_ref()) {
        document["error"] = error_of_one(error, step);
        document["error"]["details"] = error.details();
    }
    (document, kind)
}

/// Builds the document with the result of each skill. If there is only one skill, its error is returned as the error of
/// the whole operation.
///
/// # Errors
/// The error of the only skill.
pub fn document_of(
    installed: &mut Vec<Installed>,
    step: StepFormat<'_>,
) -> Result<(Value, Option<FailureKind>), Refusal> {
    if let [Installed { error: Some(_), .. }] = installed.as_slice() {
        let skills: Vec<Value> = installed.iter().map(|skill| document(skill, step)).collect();
        if let Some(error) = installed.pop().and_then(|only| only.error) {
            let mut failure = Refusal::from(error);
            failure.details["skills"] = json!(skills);
            return Err(failure);
        }
    }
    Ok(whole_document(installed, step))
}

/// Formats the error of one skill in a batch document.
fn error_of_one(error: &impl Fails, step: StepFormat<'_>) -> Value {
    let failure = error.failure();
    json!({"code": failure.code, "message": error.to_string(), "hint": failure.hint.map(|hint| hint.with(step))})
}

fn document(skill: &Installed, step: StepFormat<'_>) -> Value {
    let mut document = json!({
        "name": skill.name,
        "version": skill.version,
        "path": skill.path,
        "links": skill.links,
        "digest": skill.digest.map(|digest| digest.to_string()),
        "status": skill.status.as_str(),
        "revision": skill.revision,
        "previous": skill.previous,
        "proposal": skill.proposal.as_ref().map(library::ProposalId::as_str),
        "files": skill.change.as_ref().map(|change| &change.files),
        "diff": skill.change.as_ref().filter(|_| skill.previous.is_some()).map(|change| &change.text),
        "touched": skill.touched.iter().map(skill::SkillPath::as_str).collect::<Vec<_>>(),
        "conflicts": skill.conflicts,
        "origin": skill.origin,
        "signer": skill.signer,
        "dependency": skill.is_dependency,
        "verdict": skill.report.as_ref().map(scan::Report::verdict),
        "findings": skill.report.as_ref().map(|report| &report.findings),
        "causes": skill.report.as_ref().map(|report| scan::causes(&report.findings)),
        "capabilities": skill.capabilities,
        "changelog": skill.notes,
        "warnings": skill.warnings,
        "checkout": if skill.checkout_pending.is_some() { "pending" } else { "done" },
        "error": skill.error.as_ref().map(|error| error_of_one(error, step)),
    });
    if let (Some(document), Value::Object(delta)) = (document.as_object_mut(), json!(skill.delta)) {
        document.extend(delta);
    }
    document
}
