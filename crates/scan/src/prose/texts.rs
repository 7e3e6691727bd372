//! Texts of a finding in prose: its message, its advice and the reasons for its severity.

use std::borrow::Cow;

use super::{Quote, Said, Set, sayings::GUARDS};
use crate::{Evidence, judgement::Why};

/// Reason for evidence below the rule's own.
pub(super) const LESS: Why = Why {
    reason: "its wording alone is ambiguous, or it is a comment, forbids it, describes it or asks the user first",
    harmless_if: "the text forbids this, only describes it, or asks the user first",
};

/// Beginnings of advice to change a sentence, which name no sentence.
const CHANGES: &[&str] = &["remove this; ", "rewrite it: ", "rewrite the sentence: "];

/// Returns the message of a match: the act, and the words by which it was found. That of a weak match calls the act
/// possible.
pub(super) fn message_of(said: &Said, evidence: Evidence) -> String {
    let (message, Quote { words, .. }) = (said.case().message, &said.quote);
    let doubt = if evidence <= Evidence::Weak { "possibly " } else { "" };
    let words = words.trim_start_matches([',', ' ']);
    if words.is_empty() { message.to_owned() } else { format!("{doubt}{message}: {words}") }
}

/// Returns the advice for a match: of a weak one, to rewrite its sentence, and of one that blocks, with the condition
/// under which a person can accept it.
pub(super) fn remedy_of(said: &Said, evidence: Evidence) -> Cow<'static, str> {
    let remedy = said.case().remedy;
    match evidence {
        Evidence::Note | Evidence::Weak => {
            let change = CHANGES.iter().find_map(|start| remedy.strip_prefix(start)).unwrap_or(remedy);
            format!("rewrite this sentence: {change}").into()
        }
        Evidence::Hard | Evidence::Conclusive => {
            format!("{remedy}; a person can accept it if {}", harmless_if(said)).into()
        }
        _ => remedy.into(),
    }
}

/// Returns the condition under which a match needs no change: that the text has the agent do no such act, or that of its
/// case. A sentence found by its words alone may not have the agent do what it resembles.
pub(super) fn harmless_if(said: &Said) -> Cow<'static, str> {
    let case = said.case();
    if !said.is_weighed() {
        return match case.message.strip_prefix("has the agent ") {
            // A condition that denies the act says so itself.
            Some(act) if !case.harmless_if.starts_with("no") => {
                format!("the marked text does not tell the agent to {act}, or if {}", case.harmless_if).into()
            }
            _ => case.harmless_if.into(),
        };
    }
    let act = case.message.strip_prefix("shares words with instructions to ").unwrap_or("work against the user");
    format!("the marked text does not have the agent {act}").into()
}

/// Reason for evidence above the rule's own, by the target that the passage names.
pub(super) fn more(said: Set) -> Why {
    Why::fact(match said & GUARDS.target {
        0 => "its words add up to the wording of known attacks",
        named if named & GUARDS.secret != 0 => {
            "its words add up to the wording of known attacks, and it names a secret"
        }
        named if named & GUARDS.own_file != 0 => {
            "its words add up to the wording of known attacks, and it names an agent's file"
        }
        named if named & GUARDS.away != 0 => {
            "its words add up to the wording of known attacks, and it names a host or mailbox"
        }
        _ => "its words add up to the wording of known attacks, and it names a hidden place",
    })
}
