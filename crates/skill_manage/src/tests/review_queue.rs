//! Tests of many proposals against a moving base. Each must be accounted for, and none applied in a wrong position.

use std::{collections::BTreeMap, slice};

use library::ProposalState;

use super::*;
use crate::review::list;

/// Number of proposals in an ordinary run, which this environment variable overrides.
const PROPOSALS: usize = 36;
const VARIABLE: &str = "SKILLHUB_TEST_PROPOSALS";
/// Number of proposals pending at the same time.
const ROUND: usize = 12;

/// Deterministic pseudorandom numbers.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

fn section(number: usize) -> String {
    let (tool, unit) = (["hammer", "saw", "lathe", "drill", "file"][number % 5], ["inch", "metre", "yard"][number % 3]);
    format!(
        "## Section {number}\n\nFor case {number} take the {tool} and measure in the {unit} of plan {number}.\nThen note the \
         result of step {number} on its sheet.\n\n"
    )
}

/// Returns a request for one kind of proposal: a changed line of a section, two lines, an added line, or a separate
/// file.
fn request(kind: usize, number: usize, place: usize) -> Value {
    let line = format!("Then note the result of step {place} on its sheet.");
    match kind {
        0 => patch(&line, &format!("Then note the mark-{number} result of step {place} on its sheet.")),
        1 => patch(&line, &format!("Write mark-{number} down,\nthen rest.")),
        2 => patch(&line, &format!("{line}\nAnd mark-{number} as well.")),
        _ => json!({"action": "write_file", "name": "s", "path": format!("references/note-{number}.md"),
            "content": format!("## Section {place}\nmark-{number}\n")}),
    }
}

/// Returns the marks in a text by the section that contains them.
fn marks(text: &str) -> BTreeMap<usize, usize> {
    let mut found = BTreeMap::new();
    let mut place = usize::MAX;
    for line in text.lines() {
        place = line.strip_prefix("## Section ").map_or(place, |number| number.parse().unwrap());
        for (at, _) in line.match_indices("mark-") {
            let digits: String = line[at + 5..].chars().take_while(char::is_ascii_digit).collect();
            assert!(found.insert(digits.parse().unwrap(), place).is_none(), "{line} stands twice");
        }
    }
    found
}

#[test]
fn proposals_land_only_as_intended() {
    let all = std::env::var(VARIABLE).ok().and_then(|number| number.parse().ok()).unwrap_or(PROPOSALS);
    let (mut place, mut draw) = (Fixture::new(), Draw(7));
    let sections = (2 * all).min(400);
    let body: String = (0..sections).map(section).collect();
    place.applied(json!({"action": "create", "name": "s", "content": skill_md("s", &body)}));
    place.policy = Preset::Strict;
    let (mut meant, mut ends) = (BTreeMap::new(), BTreeMap::new());
    // Every proposal has its own section, and people change the others in the meantime.
    let own = |number: usize| number * 2 % sections;
    for round in (0..all).step_by(ROUND) {
        let mut waiting = Vec::new();
        for number in round..(round + ROUND).min(all) {
            place.actor.id = format!("a{number}");
            let text = place.read("SKILL.md");
            let line = format!("Then note the result of step {} on its sheet.", own(number));
            let kind = if text.contains(&line) { draw.below(4) } else { 3 };
            waiting.push((number, place.proposed(request(kind, number, own(number)))));
        }
        for _ in 0..1 + draw.below(6) {
            let other = draw.below(sections / 2) * 2 + 1;
            let text = format!("plan {other}.");
            if place.read("SKILL.md").contains(&text) {
                place.by_person(patch(&text, &format!("plan {other}, edited.")));
            }
        }
        while !waiting.is_empty() {
            let (number, id) = waiting.swap_remove(draw.below(waiting.len()));
            let end = match draw.below(10) {
                0 => place.reject(&id).map(|_| "rejected").unwrap(),
                1 => {
                    let late = time() + jiff::SignedDuration::from_hours(24 * 31);
                    assert_eq!(place.accept_at(&id, late).unwrap_err().code(), "proposal_expired");
                    "expired"
                }
                _ => match place.accept(&id) {
                    Ok(report) => {
                        assert_eq!(report.status, Status::Applied, "{}", report.message);
                        meant.insert(number, own(number));
                        "accepted"
                    }
                    Err(error) => {
                        assert_eq!(error.code(), "merge_conflict", "{error}");
                        "stale"
                    }
                },
            };
            ends.insert(id, end);
        }
    }
    let mut found = marks(&place.read("SKILL.md"));
    for number in meant.keys() {
        let file = place.path(&format!("references/note-{number}.md"));
        file.exists().then(|| found.extend(marks(&fs::read_to_string(file).unwrap())));
    }
    assert_eq!(found, meant, "nothing lost, nothing at a wrong place, nothing that nobody accepted");
    let listed = list(slice::from_ref(&place.library), true, None).unwrap();
    let states: BTreeMap<_, _> = listed.into_iter().map(|entry| (entry.id().to_string(), entry)).collect();
    assert_eq!(states.len(), all);
    for (id, entry) in states {
        let state = entry.into_whole().unwrap().state;
        assert_eq!(state.as_str(), ends[&id], "{id}");
        assert_ne!(state, ProposalState::Pending);
    }
    let dead = ends.values().filter(|end| **end == "stale").count();
    println!("{all} proposals: {} accepted, {dead} stale", meant.len());
    assert!(dead * 50 <= all, "{dead} of {all} proposals died though they touch places of their own");
}
