//! [`GateConfig`]: the configuration of trials.

use library::TrialTerms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::failure::{Fails, Failure};
use thiserror::Error;
use toml::Table;

use crate::gate::{RULES, WHOLE};

/// Largest probability that a revision which is not worse is rolled back, if the previous rate is known.
pub const KNOWN_RATE_ALPHA: f64 = 0.01;

/// Largest probability that a revision which is not worse is rolled back, if both revisions run side by side.
pub const UNKNOWN_RATE_ALPHA: f64 = 0.025;

/// Table `[gate]` of the user's configuration.
///
/// ```toml
/// [gate]
/// share = 0.2             # share of the runs that get the revision on trial
/// rollback_alpha = 0.025  # largest probability of a false rollback; 0.01 with a known rate
/// promote_alpha = 0.05    # largest probability of promoting a revision that is worse by the margin
/// margin = 0.1            # tolerated drop of the success rate
/// min_runs = 50           # runs of the revision on trial before it may be promoted
/// max_runs = 400          # runs after which an inconclusive trial ends
/// max_days = 30           # days after which an inconclusive trial ends
/// cooldown_days = 14      # days for which rolled-back content is refused
/// known_rate = 0.9        # previous success rate, if known
/// decline = "notify"      # on a decline since the last revision that a person kept; or "roll-back", "off"
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GateConfig {
    /// Share of the runs that get the revision on trial, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    share: f64,
    /// Largest probability of a false rollback; 0.025 by default, 0.01 with a known rate.
    #[schemars(range(min = 0.0001, max = 0.5))]
    rollback_alpha: Option<f64>,
    /// Largest probability of promoting a revision that is worse by the margin.
    #[schemars(range(min = 0.0001, max = 0.5))]
    promote_alpha: f64,
    /// Tolerated drop of the success rate.
    #[schemars(range(min = 0.0001, max = 0.5))]
    margin: f64,
    /// Number of runs of the revision on trial before it may be promoted.
    #[schemars(range(min = 1))]
    min_runs: u32,
    /// Number of runs after which an inconclusive trial ends, at least `min_runs`.
    #[schemars(range(min = 1))]
    max_runs: u32,
    /// Number of days after which an inconclusive trial ends.
    #[schemars(range(min = 1))]
    max_days: u32,
    /// Number of days for which rolled-back content is refused.
    cooldown_days: u32,
    /// Previous success rate, if known.
    #[schemars(range(min = 0.01, max = 0.999))]
    known_rate: Option<f64>,
    /// Reaction to a decline since the last revision that a person kept.
    decline: OnDecline,
}

/// Reaction to a decline of the success rate since the review checkpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnDecline {
    /// A person is notified.
    #[default]
    Notify,
    /// The files of the review checkpoint are restored.
    RollBack,
    /// It is not tested.
    Off,
}

impl Default for GateConfig {
    fn default() -> Self {
        Self {
            share: 0.2,
            rollback_alpha: None,
            promote_alpha: 0.05,
            margin: 0.1,
            min_runs: 50,
            max_runs: 400,
            max_days: 30,
            cooldown_days: 14,
            known_rate: None,
            decline: OnDecline::default(),
        }
    }
}

/// Error in the `[gate]` table.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("[gate] in config.toml is invalid: {0}")]
pub struct GateConfigError(pub String);

impl Fails for GateConfigError {
    fn failure(&self) -> Failure {
        Failure::invalid_config()
    }
}

impl GateConfig {
    /// Parses the table.
    ///
    /// # Errors
    /// A key is unknown, or a value is out of range.
    pub fn of(table: &Table) -> Result<Self, GateConfigError> {
        let config: Self =
            table.clone().try_into().map_err(|error: toml::de::Error| GateConfigError(error.message().to_owned()))?;
        let shares = [
            ("share", config.share, 0.0, 1.0),
            ("rollback_alpha", config.rollback_alpha.unwrap_or(KNOWN_RATE_ALPHA), 0.0001, 0.5),
            ("promote_alpha", config.promote_alpha, 0.0001, 0.5),
            ("margin", config.margin, 0.0001, 0.5),
            ("known_rate", config.known_rate.unwrap_or(0.5), 0.01, 0.999),
        ];
        if let Some((name, _, low, high)) =
            shares.into_iter().find(|(_, value, low, high)| !(low..=high).contains(&value))
        {
            return Err(GateConfigError(format!("{name} must be from {low} to {high}")));
        }
        if config.min_runs == 0 || config.max_runs < config.min_runs || config.max_days == 0 {
            return Err(GateConfigError(
                "min_runs, max_runs and max_days must be at least 1, and max_runs at least min_runs".to_owned(),
            ));
        }
        Ok(config)
    }

    /// Returns the reaction to a decline since the review checkpoint.
    pub fn on_decline(&self) -> OnDecline {
        self.decline
    }

    /// Returns the terms of a trial, optionally with another share.
    ///
    /// # Errors
    /// The share is not between 0 and 1.
    pub fn terms(&self, share: Option<f64>) -> Result<TrialTerms, GateConfigError> {
        let share = share.unwrap_or(self.share);
        if !(0.0..=1.0).contains(&share) {
            return Err(GateConfigError("the share must be a number from 0 to 1, such as 0.2".to_owned()));
        }
        let alpha = if self.known_rate.is_some() { KNOWN_RATE_ALPHA } else { UNKNOWN_RATE_ALPHA };
        Ok(TrialTerms {
            rules: RULES,
            share: parts(share),
            rollback_alpha: parts(self.rollback_alpha.unwrap_or(alpha)),
            promote_alpha: parts(self.promote_alpha),
            margin: parts(self.margin),
            min_runs: self.min_runs,
            max_runs: self.max_runs,
            max_days: self.max_days,
            cooldown_days: self.cooldown_days,
            known_rate: self.known_rate.map(parts),
        })
    }
}

/// Converts a number from 0 to 1 to parts of [`WHOLE`].
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 0 and 10,000")]
fn parts(share: f64) -> u32 {
    (share.clamp(0.0, 1.0) * f64::from(WHOLE)).round() as u32
}
