//! [`Prefetch`]: prefetches everything that a batch needs over the network, in parallel, before planning; and [`scan()`],
//! which scans the fetched skills in parallel.
//!
//! A failed fetch is reported when its skill is planned, so that every skill has an error of its own. Several skills of
//! one repository share a single fetch.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    num::NonZero,
    rc::Rc,
    sync::{Mutex, PoisonError, mpsc},
    thread,
};

use library::{Home, Origin, RegistryRelease, Verdicts, interrupt};
use registry_index::ReleaseSelector;
use scan::{CapabilityDelta, Reports};
use skill::{Bundle, Limits};

use super::{Candidate, FetchItem, InstallRequest, planned::PlannedSkill};
use crate::{
    cache::Cache,
    git_source::{GitError, Repository},
    http::{self, HttpError},
    lock_file::{LockFile, LockedSkill},
    registry::{PrefetchItem, Registries},
    spec::{GitSpec, Spec},
};

/// Maximum number of parallel fetches.
const AT_A_TIME: usize = 8;

/// Progress of an install, an update or a check of the sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Name of the stage as shown to people: `fetching`, `scanning` or `checking`.
    pub stage: &'static str,
    /// Number of items done so far.
    pub done: usize,
    /// Total number of items.
    pub of: usize,
}

/// Prefetched files and repositories, kept until they are used.
#[derive(Default)]
pub struct Prefetch {
    downloads: RefCell<BTreeMap<String, Result<Vec<u8>, HttpError>>>,
    repositories: RefCell<BTreeMap<Commit, Rc<Repository>>>,
    failures: RefCell<BTreeMap<Commit, GitError>>,
    /// Commits whose fetch error was already returned.
    failed: RefCell<BTreeSet<Commit>>,
}

/// A commit to fetch: a repository, and the commit's id if known.
type Commit = (GitSpec, Option<String>);

/// One fetch in the queue.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Job {
    /// A file by its URL, with a limit in bytes.
    Download(String, u64),
    Git(Commit),
}

/// Result of a fetch.
enum Fetched {
    Download(String, Result<Vec<u8>, HttpError>),
    Git(Commit, Result<Repository, GitError>),
}

impl Prefetch {
    /// Takes the prefetched file of a URL, if there is one. An error is returned only once.
    pub(super) fn download(&self, url: &str) -> Option<Result<Vec<u8>, HttpError>> {
        self.downloads.borrow_mut().remove(url)
    }

    /// Returns the repository of a spec at a commit, and fetches it if it was not prefetched. A fetch that failed is
    /// not retried.
    pub(super) fn repository(
        &self,
        git: &GitSpec,
        commit: Option<&str>,
        cache: &Cache,
    ) -> Result<Rc<Repository>, GitError> {
        let key = key_of(git, commit);
        if let Some(found) = self.repositories.borrow().get(&key) {
            return Ok(Rc::clone(found));
        }
        if self.failed.borrow().contains(&key) {
            return Err(failed_before(git, commit));
        }
        let failed_ahead = self.failures.borrow_mut().remove(&key);
        match failed_ahead.map_or_else(|| Repository::fetch(git, commit, cache), Err) {
            Ok(fetched) => {
                let fetched = Rc::new(fetched);
                self.repositories.borrow_mut().insert(key, Rc::clone(&fetched));
                Ok(fetched)
            }
            Err(error) => {
                self.failed.borrow_mut().insert(key);
                Err(error)
            }
        }
    }

    fn keep(&self, fetched: Fetched) {
        match fetched {
            Fetched::Download(url, file) => drop(self.downloads.borrow_mut().insert(url, file)),
            Fetched::Git(key, Ok(repository)) => {
                drop(self.repositories.borrow_mut().insert(key, Rc::new(repository)));
            }
            Fetched::Git(key, Err(error)) => drop(self.failures.borrow_mut().insert(key, error)),
        }
    }
}

fn failed_before(git: &GitSpec, commit: Option<&str>) -> GitError {
    let reference = commit.or(git.reference.as_deref()).unwrap_or("HEAD").to_owned();
    GitError::Fetch { url: git.url(), reference, message: "an earlier attempt to fetch it failed".to_owned() }
}

impl Prefetch {
    /// Prefetches in parallel what several orders need. A single order gains nothing from it.
    pub(crate) fn fetch(
        &self,
        home: &Home,
        registries: &Registries,
        orders: &[FetchItem],
        request: &InstallRequest,
        lock: &LockFile,
        progress: &dyn Fn(Progress),
    ) {
        if orders.len() < 2 || request.offline {
            return;
        }
        let cache = Cache::of(home);
        let mut jobs: BTreeSet<Job> = orders.iter().filter_map(|order| job_of(order, &cache)).collect();
        let wishes: Vec<_> = orders.iter().filter_map(|order| wish_of(order, lock)).collect();
        let elsewhere = registries.prefetch(&wishes, |archive| cache.has(archive));
        jobs.extend(elsewhere.into_iter().map(|(url, bytes)| Job::Download(url, bytes)));
        let of = jobs.len();
        let mut done = 0;
        side_by_side(
            AT_A_TIME,
            jobs.into_iter().collect(),
            |job| job.run(&cache),
            |fetched| {
                self.keep(fetched);
                done += 1;
                progress(Progress { stage: "fetching", done, of });
            },
        );
    }
}

/// Returns the registry release that an order will request.
fn wish_of(order: &FetchItem, lock: &LockFile) -> Option<PrefetchItem> {
    match order {
        FetchItem::Spec(Spec::Qualified { name, request }) => {
            let source = lock.release_source(&name.to_string()).map(str::to_owned);
            Some(PrefetchItem { name: name.clone(), wanted: request.wanted().clone(), source })
        }
        FetchItem::Locked(locked) => {
            let RegistryRelease { name, version, registry, .. } = locked.origin.as_registry()?.clone();
            Some(PrefetchItem { name, wanted: ReleaseSelector::Exact(version), source: Some(registry) })
        }
        _ => None,
    }
}

fn job_of(order: &FetchItem, cache: &Cache) -> Option<Job> {
    match order {
        FetchItem::Spec(spec) => job_of_spec(spec, None),
        FetchItem::Chosen { .. } => None,
        FetchItem::Locked(locked) => {
            let job = match &locked.origin {
                Origin::Git { commit, .. } => {
                    job_of_spec(&locked.requested.parse().ok()?, Some(commit.as_ref()?.as_str()))
                }
                Origin::Archive { place, .. } => job_of_spec(&place.parse().ok()?, None),
                _ => None,
            };
            job.filter(|_| !is_cached(locked, cache))
        }
    }
}

fn job_of_spec(spec: &Spec, commit: Option<&str>) -> Option<Job> {
    match spec {
        Spec::ArchiveUrl(url) => Some(Job::Download(url.clone(), Limits::default().archive_bytes)),
        Spec::Git(git) => Some(Job::Git(key_of(git, commit))),
        _ => None,
    }
}

fn is_cached(locked: &LockedSkill, cache: &Cache) -> bool {
    locked.archive.is_some_and(|archive| cache.has(&archive))
}

/// Returns the key of a commit. A full commit id identifies the same commit on every branch, so the branch is left out.
fn key_of(git: &GitSpec, commit: Option<&str>) -> Commit {
    let reference = git.reference.clone().filter(|_| commit.is_none());
    (GitSpec { path: None, reference, ..git.clone() }, commit.map(str::to_owned))
}

impl Job {
    fn run(self, cache: &Cache) -> Fetched {
        match self {
            Self::Download(url, limit) => {
                let file = http::get(&url, limit);
                Fetched::Download(url, file)
            }
            Self::Git((git, commit)) => {
                let fetched = Repository::fetch(&git, commit.as_deref(), cache);
                Fetched::Git((git, commit), fetched)
            }
        }
    }
}

/// Scans several skills in parallel on all processors, and stores the verdicts in `reports`.
pub(super) fn scan<'c>(
    reports: &Verdicts,
    candidates: impl Iterator<Item = &'c Candidate>,
    progress: impl Fn(Progress),
) {
    let files: Vec<&Bundle> = candidates.map(|candidate| &candidate.bundle).collect();
    let (mut done, of) = (0, files.len());
    if of < 2 {
        return;
    }
    let look = |files: &Bundle| drop(reports.report(files));
    side_by_side(processors(), files, look, |()| {
        done += 1;
        progress(Progress { stage: "scanning", done, of });
    });
}

/// Computes the capabilities of each skill and their delta, in parallel on all processors.
pub(super) fn add_capabilities(planned: &mut [PlannedSkill]) {
    let mut all: Vec<_> = planned.iter().map(|_| Default::default()).collect();
    let files = planned.iter().map(|planned| [planned.cleared.bundle(), &planned.before, planned.after()]);
    let sum_up = |(place, [seen, before, after]): (usize, [&Bundle; 3])| {
        (place, (scan::capabilities(seen), CapabilityDelta::between(before, after)))
    };
    side_by_side(processors(), files.enumerate().collect(), sum_up, |(place, sum)| {
        if let Some(slot) = all.get_mut(place) {
            *slot = sum;
        }
    });
    planned.iter_mut().zip(all).for_each(|(planned, sum)| (planned.capabilities, planned.delta) = sum);
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Runs jobs on at most `at_a_time` threads. Results are passed to `done` on the calling thread in the order of
/// completion.
pub(crate) fn side_by_side<J: Send, R: Send>(
    at_a_time: usize,
    jobs: Vec<J>,
    work: impl Fn(J) -> R + Sync,
    mut done: impl FnMut(R),
) {
    let threads = jobs.len().min(at_a_time);
    let jobs = Mutex::new(jobs.into_iter());
    let (sender, results) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, jobs, work) = (sender.clone(), &jobs, &work);
            scope.spawn(move || {
                let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
                while !interrupt::is_raised()
                    && let Some(job) = next()
                {
                    if sender.send(work(job)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        results.into_iter().for_each(&mut done);
    });
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        sync::{Barrier, atomic::AtomicUsize, atomic::Ordering},
    };

    use super::*;

    #[test]
    fn parallel_jobs_run_once_each() {
        let (most, at_work) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let together = Barrier::new(AT_A_TIME);
        let mut done = BTreeSet::new();
        let work = |job: usize| {
            most.fetch_max(at_work.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            if job < AT_A_TIME {
                together.wait();
            }
            at_work.fetch_sub(1, Ordering::SeqCst);
            job
        };
        side_by_side(AT_A_TIME, (0..100).collect(), work, |job| assert!(done.insert(job)));
        assert_eq!((done.len(), most.into_inner()), (100, AT_A_TIME));
        side_by_side(1, Vec::<usize>::new(), |job| job, |_| unreachable!());
    }

    #[test]
    fn same_reference_is_fetched_once() {
        let key = |text: &str, commit| key_of(&text.parse().unwrap(), commit);
        assert_eq!(key("github:a/b#x", None), key("github:a/b#y", None));
        assert_ne!(key("github:a/b@v1", None), key("github:a/b", None));
        assert_eq!(key("github:a/b@v1#x", Some("1")), key("github:a/b", Some("1")));
        assert_ne!(key("github:a/b", Some("1")), key("github:a/b", None));
    }
}
