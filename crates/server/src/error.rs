//! Conversions of the marketplace's errors into [`ApiError`].

use axum::http::StatusCode;
pub use web::ApiError;

use crate::{
    access::Denied,
    store::records::{AccountError, StoreError, Unavailable},
};

impl From<Denied> for ApiError {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::SignIn => Self::new(StatusCode::UNAUTHORIZED, "unauthorized", denied.to_string())
                .hint("send a token as `Authorization: Bearer skh_…`, or store one with `skillhub login`"),
            Denied::Scope { .. } => Self::new(StatusCode::FORBIDDEN, "policy_denied", denied.to_string())
                .hint("use a token with that scope"),
            Denied::Namespace { .. } | Denied::NotAdmin(_) => {
                Self::new(StatusCode::FORBIDDEN, "policy_denied", denied.to_string())
                    .hint("ask a maintainer of the namespace or an admin of the server")
            }
        }
    }
}

macro_rules! broken {
    ($($error:ty),+ $(,)?) => { $(
        impl From<$error> for ApiError {
            fn from(error: $error) -> Self {
                Self::broken(&error)
            }
        }
    )+ };
}

broken!(crate::store::embedded::database::DatabaseError);

/// Seconds after which a client repeats a request that a backend could not answer.
const RETRY_SECS: u64 = 5;

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let broken = Self::broken(&error);
        if !error.0.is::<Unavailable>() {
            return broken;
        }
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            code: "unavailable",
            message: "a store of this server does not answer at present".to_owned(),
            retry_after: Some(RETRY_SECS),
            ..broken
        }
        .hint(format!("repeat the request in {RETRY_SECS} seconds"))
    }
}

impl From<AccountError> for ApiError {
    fn from(error: AccountError) -> Self {
        match error {
            AccountError::NoAccount(_) => Self::not_found(error.to_string())
                .hint("create a token for the account first, which creates the account"),
            AccountError::LastMaintainer(_) => Self::new(StatusCode::CONFLICT, "last_maintainer", error.to_string())
                .hint("make another account a maintainer first"),
            AccountError::Store(error) => error.into(),
            AccountError::Random(_) => Self::broken(&error),
        }
    }
}
