//! What every server of skillhub is made of, whether it serves an index or a library.
//!
//! - [`until_asked_to_end`] answers connections within [`ServerLimits`].
//! - [`guard`] is what is asked of a request before a handler sees it; [`Client`] is who sent it, behind [`TrustedProxies`].
//! - [`ApiError`] is a failure as programs are told it, and [`pages`] are what people are shown.

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
pub use blocking::on_thread;
pub use error::{ApiError, ErrorBody, ErrorDocument, Why};
pub use extract::Parameters;
pub use limits::ServerLimits;
pub use pages::shown_bytes;
pub use proxies::{AddressBlock, AddressBlockError, Client, TrustedProxies};
pub use random::random;
pub use serve::{ServeError, runtime, until_asked_to_end};
