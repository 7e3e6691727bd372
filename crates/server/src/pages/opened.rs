//! [`opened`]: a release with its files and what the scanner says of them, for a page.

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

/// A release whose files may be read.
pub struct Opened {
    /// Its line in the index.
    pub entry: Entry,
    /// Its files.
    pub bundle: Bundle,
    /// What the scanner says of them.
    pub judgement: Arc<Judgement>,
}

/// Opens the release that `find` gives, if the caller may read its files.
///
/// # Errors
/// [`ApiError`] when there is no such release, or its files are not handed out.
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
