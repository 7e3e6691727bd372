//! Policy checks of hand edits, for the libraries of a home.

use client::Config;
use library::{EditPolicy, EditRules, HandEdit, Home};
use skill_manage::Policy;

use super::acting::read_policy;
use crate::{refusal::Refusal, setup::Setup};

/// Policy that is re-read from its files for every check, because a server runs for a long time.
struct PolicyFiles {
    home: Home,
    setup: Setup,
}

/// Returns the policy for hand edits in the libraries of a home.
pub(super) fn edit_policy(home: Home, setup: &Setup) -> EditPolicy {
    EditPolicy::new(PolicyFiles { home, setup: setup.clone() })
}

impl PolicyFiles {
    fn policy(&self) -> Result<Policy, Refusal> {
        read_policy(&Config::read(&self.home)?, &self.home, &self.setup)
    }
}

impl EditRules for PolicyFiles {
    fn objection(&self, edit: &HandEdit<'_>) -> Option<String> {
        match self.policy() {
            Ok(policy) => policy.objection(edit),
            Err(error) => Some(format!("cannot read the policy: {}", error.message)),
        }
    }

    fn fingerprint(&self) -> String {
        match self.policy() {
            Ok(policy) => format!("{policy:?}"),
            Err(error) => error.message,
        }
    }
}
