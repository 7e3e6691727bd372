//! Times and paths as people read them at a terminal. In pipes they stay exact.

use std::{
    env,
    io::{self, IsTerminal},
};

use jiff::{Timestamp, Unit};
use skill::counted;
use skill_manage::documents::time;

use super::visible;

/// Formats a time in the past: "2 minutes ago" at a terminal, RFC 3339 otherwise.
pub fn past_time(at: Timestamp) -> String {
    if io::stdout().is_terminal() { ago(at, Timestamp::now()) } else { time(at) }
}

/// Formats a stored time in the past as [`past_time`] does. Text that is not a time is escaped.
pub fn stored_past_time(text: &str) -> String {
    text.parse().map_or_else(|_| visible(text), past_time)
}

/// Returns the word for an action. Several edits in one change are stored as `operations`.
pub fn action_word(action: &str) -> &str {
    if action == "operations" { "edits" } else { action }
}

/// Writes `~` for the user's home in a message on stderr, if that is a terminal.
pub fn shorten_home(message: &str) -> String {
    let home = env::home_dir().filter(|home| home.components().count() > 1 && io::stderr().is_terminal());
    home.map_or_else(|| message.to_owned(), |home| message.replace(&format!("{}/", home.display()), "~/"))
}

fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.since((Unit::Second, at)).map_or(0, |span| span.get_seconds()).max(0);
    let (count, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        86_400..2_592_000 => (seconds / 86_400, "day"),
        2_592_000..31_536_000 => (seconds / 2_592_000, "month"),
        _ => (seconds / 31_536_000, "year"),
    };
    format!("{} ago", counted(count, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_times_are_relative_to_now() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let shown = |at: &str| ago(at.parse().unwrap(), now);
        assert_eq!(shown("2026-03-01T11:59:30Z"), "just now");
        assert_eq!(shown("2026-03-01T11:59:00Z"), "1 minute ago");
        assert_eq!(shown("2026-02-27T12:00:00Z"), "2 days ago");
        assert_eq!(shown("2024-02-27T12:00:00Z"), "2 years ago");
        assert_eq!(shown("2026-03-02T12:00:00Z"), "just now");
    }
}
