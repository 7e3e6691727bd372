//! Building blocks of skillhub's HTTP servers: the marketplace and the gateway to a library.
//!
//! - [`serve_until_signal`] serves connections within [`ServerLimits`].
//! - [`guard`] checks a request before a handler sees it; [`Client`] is its sender, behind [`TrustedProxies`].
//! - [`ApiError`] is a failure as a document for programs, and [`pages`] has the HTML for people.

mod bearer;
mod blocking;
mod connections;
mod descriptors;
mod error;
pub mod extract;
pub mod guard;
mod limits;
pub mod pages;
mod proxies;
mod random;
mod serve;

pub use bearer::{Token, TokenError, bearer};
pub use blocking::{on_thread, shut_down};
pub use error::{ApiError, ErrorBody, ErrorCause, ErrorDocument};
pub use extract::Parameters;
pub use limits::ServerLimits;
pub use pages::shown_bytes;
pub use proxies::{AddressBlock, AddressBlockError, Client, TrustedProxies};
pub use random::random;
pub use serve::{ServeError, asked_to_end, runtime, serve_until_signal};
