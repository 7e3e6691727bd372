//! The actor, the proof that a person acts, and the policy that applies.

use std::path::Path;

use agent::Visibility;
use client::{Config, PolicyFile};
use evolve::GateConfig;
use jiff::Timestamp;
use library::{Actor, ActorKind, Denied, Home, SkillChange, Stamp};
use skill::failure::{Failure, FailureKind};
use skill_manage::{Layer, Policy, Preset, PresetError, Reviewer, ReviewerError, Rule};

use super::Workspace;
use crate::{refusal::Refusal, setup::Setup};

/// Policy file of the administrator, for all users. Except for `[scan]`, it can only tighten the users' settings.
pub(crate) const SYSTEM_POLICY: &str = "/etc/skillhub/policy.toml";

/// Environment variable with the path of an additional policy file.
pub(crate) const POLICY_VARIABLE: &str = "SKILLHUB_POLICY";

/// Environment variable with a reviewer's token.
pub const TOKEN_VARIABLE: &str = "SKILLHUB_REVIEWER_TOKEN";

/// Hint for an actor without proof of being a person.
const PROOF_HINT: &str = "run the command at a terminal, or set SKILLHUB_REVIEWER_TOKEN to a token that a person \
                          created with `skillhub reviewer new`";

/// Hint for a client that asks for decisions while they are not enabled over MCP.
const ELICITATION_HINT: &str = "ask a person to run `skillhub review` in a terminal; a person who trusts this client \
                                can also write `elicitation = true` below `[review]` in config.toml of the skillhub home";

impl Workspace {
    /// Returns the change-management context for `skill_manage`.
    pub fn manage(&self) -> Result<skill_manage::Context<'_>, Refusal> {
        let policy = self.policy_of_actor()?;
        Ok(skill_manage::Context { actor: self.actor.clone(), time: self.now, policy, surroundings: self })
    }

    /// Returns the policy for changes of skills by the acting agent, which may not be allowed any.
    ///
    /// # Errors
    /// The same as [`Workspace::policy`], or part of the configuration is invalid.
    pub fn policy_of_actor(&self) -> Result<Policy, Refusal> {
        let off_in = self.settings()?.evolution_off(&self.agent(None));
        Ok(self.policy()?.with_evolution_off(off_in.as_deref()))
    }

    /// Returns the policy for changes: the user's own, tightened by the system's and by the file that the environment
    /// names.
    ///
    /// # Errors
    /// A file cannot be read or parsed. An invalid file is never skipped.
    pub fn policy(&self) -> Result<Policy, Refusal> {
        if let Some(fault) = self.home_fault.as_ref().or(self.config_fault.as_ref()) {
            return Err(Refusal::new(fault.failure.kind, fault.failure.code, fault.message.clone()));
        }
        read_policy(&self.config, &self.home, &self.setup)
    }

    /// Returns the owners whose releases must be signed, according to the system's policy file or the one that the
    /// environment names.
    ///
    /// # Errors
    /// The same as [`Workspace::policy`].
    pub fn required_signers(&self) -> Result<Vec<String>, Refusal> {
        Ok(tightening(&self.setup)?.into_iter().flat_map(|file| file.require_signatures).collect())
    }

    /// Returns the policy check for installs, updates, adoptions and uninstalls by this actor.
    ///
    /// # Errors
    /// The same as [`Workspace::policy`].
    pub fn permit(&self) -> Result<impl Fn(&SkillChange<'_>) -> Result<(), Denied>, Refusal> {
        let (policy, actor, sight, asks) =
            (self.policy()?, self.actor.clone(), self.visibility_check()?, self.asks_people);
        Ok(move |change: &SkillChange<'_>| {
            let why = match sight(change.skill) {
                Visibility::Denied | Visibility::NotOnList => "the configuration denies it to this agent",
                Visibility::Asked if !asks => "a person must approve its use first",
                _ => return policy.permit(&actor, change),
            };
            Err(Denied { skill: change.skill.clone(), action: change.action, why: why.to_owned() })
        })
    }

    /// Returns the person who decides. `what` describes the operation, such as `waive a finding`.
    ///
    /// # Errors
    /// The flags name another kind of actor, the token is invalid, or there is neither a token nor a terminal.
    pub fn reviewer(&self, what: &str) -> Result<Reviewer, Refusal> {
        let missing = format!("only a person can {what}: there is neither a terminal nor a reviewer's token");
        if self.names_no_person {
            let message = format!("only a person can {what}, and --actor names {}", self.actor);
            return Err(Refusal::new(FailureKind::Refused, "policy_denied", message).hint("leave --actor out"));
        }
        prove(&self.actor.id, &self.home, self.now, &self.setup, &missing)
    }

    /// Checks that the user's configuration lets answers over MCP count as decisions of a person.
    ///
    /// # Errors
    /// It does not.
    pub fn check_elicitation(&self) -> Result<(), Refusal> {
        if self.config.review.elicitation {
            return Ok(());
        }
        let message = "a person decides on changes in a terminal only: decisions over MCP are not enabled";
        Err(Refusal::new(FailureKind::Refused, "policy_denied", message).hint(ELICITATION_HINT))
    }

    /// Returns the person who answered a question of the MCP server, for exactly this answer. `client` is the client
    /// that showed the question.
    ///
    /// # Errors
    /// The same as [`Workspace::check_elicitation`].
    pub fn elicited_reviewer(&self, client: &str) -> Result<Reviewer, Refusal> {
        self.check_elicitation()?;
        Ok(Reviewer::by_elicitation(&self.setup.user, client))
    }

    /// Returns the configured settings for trials of revisions.
    ///
    /// # Errors
    /// The table in the configuration is invalid.
    pub fn gate(&self) -> Result<GateConfig, Refusal> {
        Ok(GateConfig::of(&self.config.gate)?)
    }

    /// Returns a stamp with the current actor and time, without a reason.
    pub fn stamp(&self) -> Stamp {
        Stamp { thread: self.thread.get().cloned(), ..Stamp::new(self.actor.clone(), self.now) }
    }
}

/// Reads the user's policy, tightened by the system's and by the file that the environment names.
///
/// # Errors
/// A file cannot be read or parsed.
pub(super) fn read_policy(config: &Config, home: &Home, setup: &Setup) -> Result<Policy, Refusal> {
    let mut own = layer(&config.policy_file(home))?;
    own.preset = own.preset.or(Some(Preset::default()));
    let others = tightening(setup)?.iter().map(layer).collect::<Result<_, _>>()?;
    Ok(Policy::new(own, others))
}

/// Reads the policy files of the system and of the environment variable.
fn tightening(setup: &Setup) -> Result<Vec<PolicyFile>, Refusal> {
    let mut files: Vec<PolicyFile> = PolicyFile::read(Path::new(SYSTEM_POLICY))?.into_iter().collect();
    if let Some(path) = (setup.variables)(POLICY_VARIABLE) {
        let path = setup.cwd.join(path);
        let file = PolicyFile::read(&path)?.ok_or_else(|| {
            let message = format!("{POLICY_VARIABLE} names {}, which does not exist", path.display());
            Refusal::new(FailureKind::Usage, "invalid_config", message)
                .hint(format!("correct or unset {POLICY_VARIABLE}"))
        })?;
        // The environment is under the control of the caller, which may be an agent.
        if file.scan != scan::Settings::default() {
            let message = format!("{}: [scan] is not allowed in the file of {POLICY_VARIABLE}", path.display());
            return Err(Refusal::new(FailureKind::Usage, "invalid_config", message)
                .hint(format!("move [scan] to config.toml of the home or to {SYSTEM_POLICY}")));
        }
        files.push(file);
    }
    Ok(files)
}

/// Determines the actor: a person at a terminal, else an agent. The flag names an actor without giving rights, so
/// naming a person requires the same proof as a decision.
pub(super) fn actor(setup: &Setup, home: &Home, now: Timestamp) -> Result<Actor, Refusal> {
    let Some(flag) = &setup.actor else {
        return Ok(match Reviewer::at_terminal(&setup.user) {
            Ok(person) => person.actor().clone(),
            Err(_) => Actor::new(ActorKind::Agent, ""),
        });
    };
    let actor: Actor = flag.parse().map_err(|error: library::ActorError| Refusal::usage(error.to_string()))?;
    match actor.kind {
        ActorKind::Person => {
            let missing = "naming a person in --actor requires a terminal or a reviewer's token";
            let reviewer = prove(&actor.id, home, now, setup, missing)?;
            Ok(reviewer.actor().clone())
        }
        ActorKind::External => {
            Err(Refusal::usage("the actor `external` is reserved for hand edits; name agent:ID or person:ID"))
        }
        ActorKind::Optimizer if [library::GATE, evolve::curate::CURATOR].contains(&actor.id.as_str()) => {
            Err(Refusal::usage(format!("{actor} is reserved for skillhub's own use; name another optimizer")))
        }
        ActorKind::Agent | ActorKind::Optimizer => Ok(actor),
    }
}

/// Proves that a person acts: by the token in the environment, which must be valid if it is set, else by the terminal.
fn prove(id: &str, home: &Home, now: Timestamp, setup: &Setup, missing: &str) -> Result<Reviewer, Refusal> {
    match (setup.variables)(TOKEN_VARIABLE) {
        Some(token) => Ok(Reviewer::with_token(home, &token.to_string_lossy(), now)?),
        None => Reviewer::at_terminal(id).map_err(|error| match error {
            ReviewerError::NoTerminal => Refusal::new(FailureKind::Refused, "policy_denied", missing).hint(PROOF_HINT),
            other => other.into(),
        }),
    }
}

/// Parses the policy part of one file.
fn layer(file: &PolicyFile) -> Result<Layer, Refusal> {
    let path = file.path.display().to_string();
    let no_preset = |error: PresetError| Refusal {
        failure: Failure::invalid_config(),
        ..Refusal::usage(format!("{path}: {error}"))
    };
    let preset = file.preset.as_deref().map(str::parse).transpose().map_err(no_preset)?;
    Ok(Layer { rules: file.rules(Rule::check)?, preset, file: path, why: None })
}
