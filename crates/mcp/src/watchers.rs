//! Clients that subscribed to list changes.

use std::sync::{Mutex, PoisonError};

use rmcp::service::{Peer, RoleServer, SubscriptionSink};

/// Subscribed clients: sessions of the older protocol, and subscriptions of the newer.
#[derive(Default)]
pub(crate) struct Watchers {
    known: Mutex<Vec<Watcher>>,
}

#[derive(Clone)]
pub(crate) enum Watcher {
    Session(Peer<RoleServer>),
    Subscription(SubscriptionSink),
}

/// A kind of list that may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    /// The skills, which affect prompts, resources and the tools that read them.
    Skills,
    /// The tools.
    Tools,
}

impl Watchers {
    pub fn add(&self, watcher: Watcher) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).push(watcher);
    }

    pub fn is_empty(&self) -> bool {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Notifies all subscribers, and drops those that are gone.
    pub async fn notify(&self, list: List) {
        let known = std::mem::take(&mut *self.known.lock().unwrap_or_else(PoisonError::into_inner));
        let mut alive = Vec::with_capacity(known.len());
        for watcher in known {
            if watcher.notify(list).await {
                alive.push(watcher);
            }
        }
        self.known.lock().unwrap_or_else(PoisonError::into_inner).append(&mut alive);
    }
}

impl Watcher {
    /// Notifies one client. Returns whether it is still connected.
    pub async fn notify(&self, list: List) -> bool {
        match self {
            Self::Session(peer) => {
                let sent = match list {
                    List::Tools => peer.notify_tool_list_changed().await,
                    List::Skills => match peer.notify_prompt_list_changed().await {
                        Ok(()) => peer.notify_resource_list_changed().await,
                        failed => failed,
                    },
                };
                sent.is_ok() && !peer.is_transport_closed()
            }
            Self::Subscription(sink) => {
                let accepted = sink.accepted();
                let wants = |flag: Option<bool>| flag == Some(true);
                let mut alive = true;
                if list == List::Tools && wants(accepted.tools_list_changed) {
                    alive &= sink.notify_tool_list_changed().await.is_ok();
                }
                if list == List::Skills && wants(accepted.prompts_list_changed) {
                    alive &= sink.notify_prompt_list_changed().await.is_ok();
                }
                if list == List::Skills && wants(accepted.resources_list_changed) {
                    alive &= sink.notify_resource_list_changed().await.is_ok();
                }
                alive
            }
        }
    }
}
