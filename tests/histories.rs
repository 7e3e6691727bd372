//! Random histories of a skill, compared with a simple model.
//!
//! A history is a row of edits, rollbacks, deletions, hand edits, proposals and crashes. Afterwards
//! every revision reads back byte for byte, with its modes, and some are restored. The seeds are the
//! numbers from 0 on; `SKILLHUB_HISTORIES` says how many:
//!
//! ```text
//! SKILLHUB_HISTORIES=10000 cargo test --release --test main histories -- --nocapture
//! ```

mod model;
mod run;

/// Default number of histories.
const HISTORIES: u64 = 40;

/// Steps of each history.
const STEPS: usize = 16;

#[test]
fn every_history_reads_back_unchanged() {
    let asked = std::env::var("SKILLHUB_HISTORIES").ok().map(|text| text.parse().unwrap());
    let (mut revisions, mut crashes, mut proposals) = (0, 0, 0);
    for seed in 0..asked.unwrap_or(HISTORIES) {
        let mut run = run::Run::new(seed);
        (0..STEPS).for_each(|_| run.step());
        let made = run.check();
        revisions += made.revisions;
        crashes += made.crashes;
        proposals += made.proposals;
    }
    println!("{revisions} revisions, {proposals} proposals and {crashes} crashes read back as they were made");
}
