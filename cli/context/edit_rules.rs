//! [`edit_policy`]: the policy as libraries ask it about edits of skills' folders.

use std::path::PathBuf;

use client::Config;
use library::{EditPolicy, EditRules, HandEdit, Home};
use skill_manage::Policy;

use super::acting::read_policy;
use crate::exit::{CliError, failed};

/// The policy in the files, which are read for every question: a server runs for long.
struct PolicyFiles {
    home: Home,
    cwd: PathBuf,
}

/// The rules for hand edits in libraries of a home.
pub fn edit_policy(home: Home, cwd: PathBuf) -> EditPolicy {
    EditPolicy::new(PolicyFiles { home, cwd })
}

impl PolicyFiles {
    fn policy(&self) -> Result<Policy, CliError> {
        read_policy(&Config::read(&self.home).map_err(failed)?, &self.home, &self.cwd)
    }
}

impl EditRules for PolicyFiles {
    fn objection(&self, edit: &HandEdit<'_>) -> Option<String> {
        match self.policy() {
            Ok(policy) => policy.objection(edit),
            Err(error) => Some(format!("the policy cannot be read: {}", error.message)),
        }
    }

    fn fingerprint(&self) -> String {
        match self.policy() {
            Ok(policy) => format!("{policy:?}"),
            Err(error) => error.message,
        }
    }
}
