//! Conditions of rules that a regular expression cannot state. A rule file names one as `module::function`. Each
//! receives the matched text and returns true if the match counts.

pub(crate) mod agents;
pub(crate) mod credentials;
pub(crate) mod destruction;
pub(crate) mod exfiltration;
pub(crate) mod exploitation;
pub(crate) mod hosts;
pub(crate) mod obfuscation;
pub(crate) mod privileges;
pub(crate) mod remote_code;
pub(crate) mod supply_chain;
