//! Log messages to the client, filtered by the level that the client requested.

#![expect(deprecated, reason = "logging has gone from the newer protocol, and clients of the older show it")]

use std::sync::{Mutex, PoisonError};

use rmcp::{
    model::{LoggingLevel, LoggingMessageNotificationParam},
    service::{Peer, RoleServer},
};
use serde_json::{Value, json};

/// Log level of one connection. Nothing is sent until the client sets a level.
#[derive(Default)]
pub(crate) struct Log {
    level: Mutex<Option<LoggingLevel>>,
}

/// Severity of a log message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Info,
    Warning,
}

impl Log {
    pub fn set(&self, level: LoggingLevel) {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// Sends a one-line summary of a result document. A client that does not listen is not an error.
    pub async fn write(&self, peer: &Peer<RoleServer>, weight: Weight, document: &Value) {
        let level = match weight {
            Weight::Info => LoggingLevel::Info,
            Weight::Warning => LoggingLevel::Warning,
        };
        let from = *self.level.lock().unwrap_or_else(PoisonError::into_inner);
        if from.is_none_or(|from| rank(&level) < rank(&from)) {
            return;
        }
        let error = &document["error"];
        let data = match error["code"].as_str() {
            Some(code) => json!({"code": code, "message": error["message"]}),
            None => json!({
                "name": document["name"], "action": document["action"], "status": document["status"],
                "revision": document["revision"],
            }),
        };
        let message = LoggingMessageNotificationParam::new(level, data).with_logger("skillhub");
        let _not_heard = peer.notify_logging_message(message).await;
    }
}

fn rank(level: &LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}
