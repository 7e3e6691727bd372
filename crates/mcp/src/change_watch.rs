//! Notification of clients when another program changes the skills or tools that they have listed.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use agent::{Catalogue, CatalogueCache, Settings};
use compose::Store;
use library::{Actor, ActorKind};

use crate::{shared::Shared, watchers::List};
use ops::Refusal;

/// Polls for changes while there are subscribed clients, and immediately after [`Shared::changed`] is notified.
pub(crate) async fn watch(shared: Arc<Shared>) {
    let mut pause = CatalogueCache::pause_after(Duration::ZERO);
    let settling = Arc::clone(&shared);
    let mut composed = None;
    let mut known = tokio::task::spawn_blocking(move || settings(&settling).ok()).await.unwrap_or_default();
    loop {
        let at_once = tokio::time::timeout(pause, shared.changed.notified()).await.is_ok();
        if shared.watchers.is_empty() {
            continue;
        }
        let began = Instant::now();
        let looking = Arc::clone(&shared);
        let Ok(Ok((changed, settings, tools))) = tokio::task::spawn_blocking(move || look(&looking)).await else {
            // The error reaches the client with its next list request.
            continue;
        };
        let resettled = known.replace(settings.clone()).is_some_and(|known| known != settings);
        if changed || resettled {
            shared.watchers.notify(List::Skills).await;
        }
        let retooled = tools != composed || changed && tools.is_some();
        composed = tools;
        let is_followed = shared.options.catalogue || shared.has_joined.load(Ordering::Relaxed);
        if resettled || retooled || changed && is_followed {
            shared.watchers.notify(List::Tools).await;
        }
        if !at_once {
            pause = CatalogueCache::pause_after(began.elapsed());
        }
    }
}

/// Returns whether skills changed, the current settings, and the version mark of the stored composed tools.
fn look(shared: &Shared) -> Result<(bool, Settings, Option<u64>), Refusal> {
    let settings = settings(shared)?;
    let changed = shared.live.refresh()?;
    let mark = |catalogue: &Catalogue| catalogue.libraries().first().and_then(|library| Store::of(library).mark());
    Ok((changed, settings, shared.live.with(mark)?))
}

fn settings(shared: &Shared) -> Result<Settings, Refusal> {
    (shared.open)(Actor::new(ActorKind::Agent, "mcp"))?.settings()
}
