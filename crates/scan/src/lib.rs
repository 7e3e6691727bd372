//! Scanner for harmful or unexpected behaviour of a skill.
//!
//! The principal types are [`Report`], the result of [`scan`] on a [`skill::Bundle`], and [`Cleared`], which [`clear`]
//! returns if no new finding blocks. Only a cleared skill may be checked out, indexed or installed.
//!
//! A scan reads every byte of every file. One pass for the literals of all [`rules`] finds candidate regions, and a
//! rule's expression runs only near them. The work is bounded by a count of steps, never by a clock. A scan that fails
//! or runs out of steps blocks. No file inside a skill can switch a rule off; a [`Scanner`] with [`Settings`] of a user
//! or a company can.
//!
//! Nothing here accesses a disk, a clock, the environment or the network.

mod acceptance;
mod apart;
mod capabilities;
mod cause;
pub mod characters;
mod clear;
mod conditions;
mod direct;
mod egress;
mod encoded;
mod engine;
mod evidence;
mod excerpt;
mod finder;
mod finding;
mod followed;
mod harm;
mod hidden;
mod hosts;
mod judge;
mod judgement;
mod level;
mod local;
mod lookalike;
mod matcher;
mod media;
mod normal;
mod opened;
mod pattern;
mod prose;
mod purpose;
mod reading;
mod report;
mod role;
mod rule;
mod rule_file;
mod rules;
mod scanner;
mod settings;
pub mod shape;
mod source;
mod started;
mod unpacked;
mod values;
mod waiver;
mod wording;

pub use acceptance::{Acceptance, can_be_waived};
pub use capabilities::{Capabilities, Capability, CapabilityDelta, Part, Place, Undeclared, Use, capabilities};
pub use cause::{Cause, causes};
pub use clear::{Baseline, Blocked, Captured, Cleared, Reports, capture, clear, clear_by, waive};
pub use evidence::Evidence;
pub use excerpt::EXCERPT_CHARS;
pub use finding::{Finding, Related};
pub use judge::{Answer, JudgeSettings, Question, QuestionFile};
pub use level::{LevelError, Severity, Verdict};
pub use report::Report;
pub use rule::{Case, Role, Rule, Scope};
pub use rules::{rule, rules, ruleset};
pub use scanner::{Scanner, scan};
#[doc(hidden)]
pub use scanner::{features_of, steps_of};
pub use settings::{Accepted, RuleText, Settings, SettingsError, Weight};
pub use waiver::{Waiver, Waivers};
