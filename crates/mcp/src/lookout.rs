//! [`watch`]: clients are told when another program changed what they list.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use agent::{Catalogue, RECHECK_MILLIS, Settings};
use compose::Store;
use library::{Actor, ActorKind};

use crate::{refusal::Refusal, server::Shared, watchers::List};

/// How long nothing is looked at after a look, so that requests find what they need in memory.
const PAUSE: Duration = Duration::from_millis(RECHECK_MILLIS / 2);

/// The same for many skills, in times of how long the look took: no more than a twentieth of one core is used.
const PAUSE_FACTOR: u32 = 20;

/// Looks from time to time, and at once when told to, as long as there are clients that want to know.
pub(crate) async fn watch(shared: Arc<Shared>) {
    let mut pause = PAUSE;
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
            // Whoever asks for a list is told what is wrong.
            continue;
        };
        let resettled = known.replace(settings.clone()).is_some_and(|known| known != settings);
        if changed || resettled {
            shared.watchers.tell(List::Skills).await;
        }
        let retooled = tools != composed || changed && tools.is_some();
        composed = tools;
        let is_followed = shared.options.catalogue || shared.has_joined.load(Ordering::Relaxed);
        if resettled || retooled || changed && is_followed {
            shared.watchers.tell(List::Tools).await;
        }
        if !at_once {
            pause = PAUSE.max(began.elapsed() * PAUSE_FACTOR);
        }
    }
}

/// Whether skills changed, what agents may see of them, and a mark of the composed tools that are kept.
fn look(shared: &Shared) -> Result<(bool, Settings, Option<u64>), Refusal> {
    let settings = settings(shared)?;
    let changed = shared.live.refresh()?;
    let mark = |catalogue: &Catalogue| catalogue.libraries().first().and_then(|library| Store::of(library).mark());
    Ok((changed, settings, shared.live.with(mark)?))
}

fn settings(shared: &Shared) -> Result<Settings, Refusal> {
    (shared.open)(Actor::new(ActorKind::Agent, "mcp"))?.settings()
}
