//! [`actor`]: who acts, what shows that it is a person, and under which policy.

use std::path::Path;

use agent::Sight;
use client::{Config, PolicyFile};
use evolve::GateConfig;
use jiff::Timestamp;
use library::{Actor, ActorKind, Denied, Home, Stamp, WholeChange};
use skill::failure::FailureKind;
use skill_manage::{Elsewhere, Layer, Policy, Preset, PresetError, Reviewer, ReviewerError, Rule};

use super::Workplace;
use crate::{refusal::Refusal, setup::Setup};

/// What an administrator sets for all users; but for `[scan]` it can only tighten what they set.
pub(super) const SYSTEM_POLICY: &str = "/etc/skillhub/policy.toml";

/// The variable that names a further such file.
const POLICY_VARIABLE: &str = "SKILLHUB_POLICY";

/// The variable that holds a reviewer's token.
pub const TOKEN_VARIABLE: &str = "SKILLHUB_REVIEWER_TOKEN";

/// The way on for who could not prove to be a person.
const PROOF_HINT: &str = "run the command at a terminal, or with the token that a person made there with \
                          `skillhub reviewer new` in SKILLHUB_REVIEWER_TOKEN";

impl Workplace {
    /// The change-management context for `skill_manage`.
    pub fn manage<'a>(&self, elsewhere: &'a [Elsewhere]) -> Result<skill_manage::Context<'a>, Refusal> {
        let policy = self.policy()?.with_evolution(self.settings()?.tells_of_evolution(&self.agent(None)));
        Ok(skill_manage::Context { actor: self.actor.clone(), time: self.now, policy, elsewhere })
    }

    /// What holds for changes: the user's own policy, tightened by that of the system and by one that
    /// the environment names.
    ///
    /// # Errors
    /// One of the files cannot be read or understood. It is never passed over.
    pub fn policy(&self) -> Result<Policy, Refusal> {
        if let Some(fault) = self.home_fault.as_ref().or(self.config_fault.as_ref()) {
            return Err(Refusal::new(fault.failure.kind, fault.failure.code, fault.message.clone()));
        }
        read_policy(&self.config, &self.home, &self.setup)
    }

    /// The owners of whom those who set up the machine, or this command, take nothing without a signature.
    ///
    /// # Errors
    /// As [`Workplace::policy`].
    pub fn required_signers(&self) -> Result<Vec<String>, Refusal> {
        Ok(tightening(&self.setup)?.into_iter().flat_map(|file| file.require_signatures).collect())
    }

    /// What the policy says of installs, updates, adoptions and uninstalls by who acts here.
    ///
    /// # Errors
    /// As [`Workplace::policy`].
    pub fn permit(&self) -> Result<impl Fn(&WholeChange<'_>) -> Result<(), Denied>, Refusal> {
        let (policy, actor, sight, asks) = (self.policy()?, self.actor.clone(), self.sights()?, self.asks_people);
        Ok(move |change: &WholeChange<'_>| {
            let why = match sight(change.skill) {
                Sight::Denied | Sight::NotOnList => "the configuration denies it to this agent",
                Sight::Asked if !asks => "it may be used only after a person agreed",
                _ => return policy.permit(&actor, change),
            };
            Err(Denied { skill: change.skill.clone(), action: change.action, why: why.to_owned() })
        })
    }

    /// The person who decides; `what` says what only people do, as in `waiving a finding`.
    ///
    /// # Errors
    /// The flags name somebody else, the token is not a good one, or there is neither a token nor a
    /// terminal.
    pub fn reviewer(&self, what: &str) -> Result<Reviewer, Refusal> {
        let missing = format!("{what} is for people, and nothing shows that a person acts");
        if self.names_no_person {
            return Err(Refusal::new(FailureKind::Refused, "policy_denied", format!("{what} is for people"))
                .hint(format!("--actor names {}; leave the flag out", self.actor)));
        }
        prove(&self.actor.id, (&self.home, self.now), &self.setup, &missing)
    }

    /// How revisions are tried out, as the configuration says.
    ///
    /// # Errors
    /// The table cannot be used.
    pub fn gate(&self) -> Result<GateConfig, Refusal> {
        Ok(GateConfig::of(&self.config.gate)?)
    }

    /// Who acts now, without a reason.
    pub fn stamp(&self) -> Stamp {
        Stamp { thread: self.thread.get().cloned(), ..Stamp::new(self.actor.clone(), self.now) }
    }
}

/// The user's own policy, tightened by that of the system and by one that the environment names.
///
/// # Errors
/// One of the files cannot be read or understood.
pub(super) fn read_policy(config: &Config, home: &Home, setup: &Setup) -> Result<Policy, Refusal> {
    let mut own = layer(&config.policy_file(home))?;
    own.preset = own.preset.or(Some(Preset::default()));
    let others = tightening(setup)?.iter().map(layer).collect::<Result<_, _>>()?;
    Ok(Policy::new(own, others))
}

/// The policy of the system, and the one that the environment names.
fn tightening(setup: &Setup) -> Result<Vec<PolicyFile>, Refusal> {
    let mut files: Vec<PolicyFile> = PolicyFile::read(Path::new(SYSTEM_POLICY))?.into_iter().collect();
    if let Some(path) = (setup.variables)(POLICY_VARIABLE) {
        let path = setup.cwd.join(path);
        let file = PolicyFile::read(&path)?.ok_or_else(|| {
            Refusal::new(FailureKind::Usage, "invalid_config", format!("there is no {}", path.display()))
                .hint(format!("{POLICY_VARIABLE} names a file that has to be there"))
        })?;
        // Whoever gives a command sets the environment, agents included.
        if file.scan != scan::Settings::default() {
            let message = format!("{} has [scan], and {POLICY_VARIABLE} can only tighten", path.display());
            return Err(Refusal::new(FailureKind::Usage, "invalid_config", message)
                .hint(format!("[scan] is read from config.toml of the home and from {SYSTEM_POLICY}")));
        }
        files.push(file);
    }
    Ok(files)
}

/// Who acts: a person at a terminal, else an agent; a flag names one without giving it rights, so that
/// `person` takes the same proof as a decision.
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
            let reviewer = prove(&actor.id, (home, now), setup, "only a terminal or a token shows that a person acts")?;
            Ok(reviewer.actor().clone())
        }
        ActorKind::External => {
            Err(Refusal::usage("`external` is what hand edits are recorded as; name agent or person"))
        }
        ActorKind::Optimizer if actor.id == library::GATE => {
            Err(Refusal::usage(format!("{actor} is the gate of skillhub itself; name another optimizer")))
        }
        ActorKind::Agent | ActorKind::Optimizer => Ok(actor),
    }
}

/// The proof that a person acts: the token of the environment, which has to be a good one where there
/// is any, else the terminal.
fn prove(id: &str, (home, now): (&Home, Timestamp), setup: &Setup, missing: &str) -> Result<Reviewer, Refusal> {
    match (setup.variables)(TOKEN_VARIABLE) {
        Some(token) => Ok(Reviewer::with_token(home, &token.to_string_lossy(), now)?),
        None => Reviewer::at_terminal(id).map_err(|error| match error {
            ReviewerError::NoTerminal => Refusal::new(FailureKind::Refused, "policy_denied", missing).hint(PROOF_HINT),
            other => other.into(),
        }),
    }
}

/// One file's part of the policy.
fn layer(file: &PolicyFile) -> Result<Layer, Refusal> {
    let path = file.path.display().to_string();
    let no_preset = |error: PresetError| {
        Refusal::new(FailureKind::Usage, "invalid_config", format!("{path}: {error}")).hint(format!("mend {path}"))
    };
    let preset = file.preset.as_deref().map(str::parse).transpose().map_err(no_preset)?;
    Ok(Layer { rules: file.rules(Rule::check)?, preset, file: path })
}
