//! [`Crowd`](crowd::Crowd): many writers, readers and an editor on one library at the same time.
//!
//! Half of the writers are command lines, a process for each operation, and half hold the library open
//! as a server does. `SKILLHUB_CROWD_OPERATIONS` sets how much each does; 200 takes some minutes:
//!
//! ```text
//! SKILLHUB_CROWD_OPERATIONS=200 cargo test --test main crowd -- --nocapture
//! ```

mod check;
#[expect(clippy::module_inception, reason = "the crowd itself, beside what it is checked by")]
mod crowd;
mod editor;
mod walker;
mod writer;

use crowd::Crowd;
use editor::Save;

#[test]
fn sixteen_writers_of_one_skill_lose_nothing() {
    Crowd::on_skills(1).run("one skill");
}

#[test]
fn sixteen_writers_of_sixteen_skills_lose_nothing() {
    Crowd::on_skills(16).run("sixteen skills");
}

#[test]
fn concurrent_editor_saves_lose_nothing() {
    Crowd::on_skills(1).with_editor(Save::Rename).run("one skill and an editor");
}

#[test]
fn editor_writing_in_place_loses_nothing() {
    Crowd::on_skills(1).with_editor(Save::InPlace).run("one skill and an editor that writes in place");
}
