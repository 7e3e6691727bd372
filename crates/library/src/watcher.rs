//! Observer of changes to proposals and of the gate's decisions ([`Watcher`]).

use std::{fmt, path::Path, sync::Arc};

use crate::events::Event;

/// Callback for events about proposals and decisions of the gate, called after they are stored and the library's lock is released. It may be
/// slow, but the caller of the commit waits for it. Its failures are ignored.
#[derive(Clone)]
pub struct Watcher(Arc<EventListener>);

/// Function that receives the library's path and the events.
type EventListener = dyn Fn(&Path, &[Event]) + Send + Sync;

impl Watcher {
    /// Creates a watcher that calls this function.
    pub fn new(tell: impl Fn(&Path, &[Event]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// Passes on events, if there are any.
    pub(crate) fn notify(&self, library: &Path, events: &[Event]) {
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
