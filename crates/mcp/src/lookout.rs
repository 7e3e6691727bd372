//! [`watch`]: clients are told when another program changed what they list.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use agent::{RECHECK_MILLIS, Settings};
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
    let mut known = tokio::task::spawn_blocking(move || settings(&settling).ok()).await.unwrap_or_default();
    loop {
        let at_once = tokio::time::timeout(pause, shared.changed.notified()).await.is_ok();
        if shared.watchers.is_empty() {
            continue;
        }
        let began = Instant::now();
        let looking = Arc::clone(&shared);
        let Ok(Ok((changed, settings))) = tokio::task::spawn_blocking(move || look(&looking)).await else {
            // Whoever asks for a list is told what is wrong.
            continue;
        };
        let resettled = known.replace(settings.clone()).is_some_and(|known| known != settings);
        if changed || resettled {
            shared.watchers.tell(List::Skills).await;
        }
        if resettled || changed && shared.options.catalogue {
            shared.watchers.tell(List::Tools).await;
        }
        if !at_once {
            pause = PAUSE.max(began.elapsed() * PAUSE_FACTOR);
        }
    }
}

/// Whether skills changed, and what agents may see of them.
fn look(shared: &Shared) -> Result<(bool, Settings), Refusal> {
    let settings = settings(shared)?;
    Ok((shared.live.refresh()?, settings))
}

fn settings(shared: &Shared) -> Result<Settings, Refusal> {
    (shared.open)(Actor::new(ActorKind::Agent, "mcp"))?.settings()
}
