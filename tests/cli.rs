//! The `skillhub` command as used by people: the real binary in a [`Sandbox`](crate::support::Sandbox).

#[cfg(unix)]
mod accepting;
mod addresses;
mod adopting;
#[cfg(unix)]
mod agent_attacks;
mod agents_view;
mod authors;
mod bad_input;
#[cfg(unix)]
mod behind;
mod branches;
#[cfg(unix)]
mod completing;
mod composing;
mod configuring;
mod containment;
mod crab_claw;
mod curating;
#[cfg(unix)]
mod decision_cells;
#[cfg(unix)]
mod decisions;
#[cfg(unix)]
mod decisions_held;
#[cfg(unix)]
mod declining;
pub mod delicate_changes;
mod doctor;
mod documents;
mod downloads;
#[cfg(unix)]
mod evals;
mod every_source;
mod failing_closed;
#[cfg(unix)]
mod following_trials;
mod foreign_user;
mod forking;
mod formats;
#[cfg(unix)]
mod frozen_formats;
mod gating;
mod git_registries;
mod hand_edits;
mod healing;
mod hostile_archives;
#[cfg(unix)]
mod hosts_layout;
mod hosts_listing;
mod importing;
mod inbox;
mod installing;
#[cfg(target_os = "linux")]
mod interrupting;
mod journey;
#[cfg(unix)]
mod judging;
mod layouts;
mod lineage;
mod lookalikes;
mod main_job;
mod manage;
mod merging;
mod mirrors;
#[cfg(target_os = "linux")]
mod mounted;
mod naming;
#[cfg(unix)]
mod new_rules;
#[cfg(unix)]
mod notifying;
#[cfg(unix)]
mod optimisers;
mod own_skills;
#[cfg(unix)]
mod people;
#[cfg(unix)]
mod permits;
#[cfg(unix)]
mod policy_attacks;
mod publishing;
mod pull_requests;
mod real_skills;
mod registries;
mod registry_routes;
mod relocating;
mod requests;
mod requiring;
mod restarting;
#[cfg(unix)]
mod review;
#[cfg(unix)]
mod scan_rules;
#[cfg(unix)]
mod scanning;
#[cfg(unix)]
mod secrets;
#[cfg(unix)]
mod setting_up;
mod sharing;
mod signing;
mod smart_http;
mod source_kinds;
mod story;
mod suggesting;
mod surface;
#[cfg(unix)]
mod sync;
mod tls;
mod together;
mod triggers;
mod undoing;
#[cfg(unix)]
mod untrusted_home;
mod updating;
mod verifying;
