//! Trust in the hosts that a sentence names: [`is_foreign`], [`is_foreign_at`] and [`is_strangers`].

use crate::hosts::{self, Trust};

/// Returns true if a host is neither well known, nor local, nor a placeholder used in samples.
pub(super) fn is_foreign(host: &str) -> bool {
    !hosts::is_near(host) && !hosts::is_sample(host) && !hosts::trust_of(host).is_known()
}

/// Like [`is_foreign`], for a host with its path. Webhook addresses at shared services, where the path decides who
/// receives the data, are not foreign.
pub(super) fn is_foreign_at(host: &str, path: &str) -> bool {
    is_foreign(host) && !hosts::is_users_hook(host, path)
}

/// Returns true if anybody can have a mailbox at a domain: foreign hosts and public mail services.
pub(super) fn is_strangers(domain: &str) -> bool {
    is_foreign(domain) || hosts::trust_of(domain) == Trust::Service
}
