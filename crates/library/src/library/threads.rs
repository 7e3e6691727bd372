//! Parallel map over a slice ([`in_threads`]).

use std::thread;

/// Maximum number of threads. They read folders, so that more of them would wait for the same disk.
const THREADS: usize = 4;

/// Applies a function to each item on several threads. Returns the results in order.
pub(super) fn in_threads<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    let work = &work;
    thread::scope(|scope| {
        let parts: Vec<_> = items
            .chunks(items.len().div_ceil(threads).max(1))
            .map(|part| (part, scope.spawn(move || part.iter().map(work).collect::<Vec<_>>())))
            .collect();
        let join = |(part, done): (&[T], thread::ScopedJoinHandle<'_, Vec<R>>)| {
            done.join().unwrap_or_else(|_| part.iter().map(work).collect())
        };
        parts.into_iter().flat_map(join).collect()
    })
}
