//! [`Watcher`]: who is told at once what becomes of proposals.

use std::{fmt, path::Path, sync::Arc};

use crate::events::Event;

/// Told of events about proposals once they are true, after the library's lock was let go. It may take its time, but
/// whoever made the change waits for it; whether it fails nobody asks.
#[derive(Clone)]
pub struct Watcher(Arc<Tell>);

/// Gets the library's path and the events.
type Tell = dyn Fn(&Path, &[Event]) + Send + Sync;

impl Watcher {
    /// One that calls this.
    #[must_use]
    pub fn new(tell: impl Fn(&Path, &[Event]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// Tells of events, if there are any.
    pub(crate) fn tell(&self, library: &Path, events: &[Event]) {
        if !events.is_empty() {
            (self.0)(library, events);
        }
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}
