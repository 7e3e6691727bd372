//! One module a command: its flags, and how its answer is shown.

pub mod completions;
pub mod diff;
pub mod doctor;
pub mod enable;
mod found;
pub mod history;
pub mod index;
pub mod info;
pub mod log;
pub mod manage;
pub mod new;
pub mod pack;
pub mod place;
pub mod prompt;
pub mod publish;
pub mod read;
pub mod rollback;
pub mod scan;
pub mod search;
pub mod show;
pub mod status;
pub mod tour;
pub mod validate;
pub mod yank;
