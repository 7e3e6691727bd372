//! Loads a release with its files and scan result, for a page ([`opened`]).

use std::sync::Arc;

use registry_index::Entry;
use skill::Bundle;
use web::pages::Judgement;

use crate::{
    access::{Action, Caller},
    api::{Shared, run},
    contents,
    error::ApiError,
    hub::Hub,
};

/// A release whose files are available.
pub struct Opened {
    /// The release's entry in the index.
    pub entry: Entry,
    /// Unpacked files of the release.
    pub bundle: Bundle,
    /// Scan result of the files.
    pub judgement: Arc<Judgement>,
}

/// Loads the release that `find` returns, if the caller may read its files.
///
/// # Errors
/// [`ApiError`] if the release does not exist, or its files are not available.
pub async fn opened(
    hub: &Shared,
    caller: &Caller,
    find: impl FnOnce(&Hub) -> Result<Entry, ApiError> + Send + 'static,
) -> Result<Opened, ApiError> {
    let caller = caller.clone();
    let entry = run(hub, move |hub| {
        hub.check(&caller, Action::Read)?;
        let entry = find(hub)?;
        hub.check_readable(&caller, &entry).map(|()| entry)
    });
    let entry = entry.await?;
    let bundle = contents::files(hub, &entry).await?;
    let judgement = contents::judgement(hub, &bundle).await?;
    Ok(Opened { entry, bundle, judgement })
}
