//! [`is_foreign`], [`is_foreign_at`] and [`is_strangers`]: whether a host in a sentence belongs to somebody whom nobody
//! knows.

use crate::hosts::{self, Trust};

/// Whether a host is not well known, nor near, nor a sample.
pub(super) fn is_foreign(host: &str) -> bool {
    !hosts::is_near(host) && !hosts::is_sample(host) && !hosts::trust_of(host).is_known()
}

/// The same of an address, the path of which may leave open whose it is.
pub(super) fn is_foreign_at(host: &str, path: &str) -> bool {
    is_foreign(host) && !hosts::is_users_hook(host, path)
}

/// Whether whoever has mail at a domain may be anybody: at a service, as at a foreign host.
pub(super) fn is_strangers(domain: &str) -> bool {
    is_foreign(domain) || hosts::trust_of(domain) == Trust::Service
}
