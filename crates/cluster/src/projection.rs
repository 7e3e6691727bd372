//! [`Projection`]: the background work of the replica that leads.
//!
//! All replicas try to lead, once a second. The one that holds the lock numbers the events of the log, lets the git
//! repository follow them (`commits`), and removes archives that nobody needs (`sweep`). Two leaders for a moment do no
//! harm: they make equal commits, push without force, and lock the rows of archives.

pub mod commits;
mod leader;
pub mod log;
mod sweep;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use server::store::Gauge;
use web::ApiError;

use self::{commits::Commits, leader::Leader};
use crate::{activity::sum_downloads, database::Database, objects::Objects};

/// Pause after a failure, so that an unreachable git host is not asked each second.
const AFTER_FAILURE: Duration = Duration::from_secs(10);

/// Failures in a row after which another replica may try, whose way to the git host may be open.
const GIVES_UP_AFTER: u32 = 6;

/// Time between two sweeps of archives.
const SWEEP_EACH: Duration = Duration::from_secs(3600);

/// Time between two sums of downloads.
const SUM_EACH: Duration = Duration::from_secs(60);

/// The background work of one replica.
pub struct Projection {
    database: Arc<Database>,
    objects: Arc<Objects>,
    has_git: bool,
    work: Mutex<Work>,
    leads: AtomicBool,
}

/// State of the work, which one thread does at a time.
struct Work {
    leader: Option<Leader>,
    commits: Option<Commits>,
    rest_until: Option<Instant>,
    /// Failures since the last pass without one.
    failures: u32,
    swept: Option<Instant>,
    summed: Option<Instant>,
}

impl Projection {
    /// Prepares the work. Without `commits`, events are only numbered.
    pub fn new(database: Arc<Database>, objects: Arc<Objects>, commits: Option<Commits>) -> Self {
        let has_git = commits.is_some();
        let work = Mutex::new(Work { leader: None, commits, rest_until: None, failures: 0, swept: None, summed: None });
        Self { database, objects, has_git, work, leads: AtomicBool::new(false) }
    }

    /// Does what is due, if this replica leads or can become the leader. It ends early when `go_on` returns false.
    ///
    /// # Errors
    /// An engine or the git repository cannot be used. The next call after a pause continues. This replica then still
    /// leads if the database can be reached, for some failures in a row.
    pub fn pass(&self, go_on: &dyn Fn() -> bool) -> Result<(), ApiError> {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        if work.rest_until.is_some_and(|until| Instant::now() < until) {
            return Ok(());
        }
        let done = work.pass(self, go_on);
        work.conclude(&self.database, done.is_ok());
        self.leads.store(work.leader.as_ref().is_some_and(Leader::has_lock), Ordering::Relaxed);
        done
    }

    /// Returns measurements for the metrics.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn gauges(&self) -> Result<Vec<Gauge>, ApiError> {
        let (lag, newest) = log::lag(&self.database, log::cursor(&self.database)?.seq)?;
        let leads = f64::from(u8::from(self.leads.load(Ordering::Relaxed)));
        let help = ["1 on the replica that does the background work.", "Numbered changes of the index."];
        let mut gauges = vec![
            Gauge { name: "skillhub_projection_leader", help: help[0], value: leads },
            Gauge { name: "skillhub_events", help: help[1], value: newest as f64 },
        ];
        if self.has_git {
            let help = "Age of the oldest change that the git repository lacks.";
            gauges.push(Gauge { name: "skillhub_projection_lag_seconds", help, value: lag });
        }
        Ok(gauges)
    }
}

impl Work {
    /// Does what is due, if this replica leads or can become the leader.
    fn pass(&mut self, shared: &Projection, go_on: &dyn Fn() -> bool) -> Result<(), ApiError> {
        let database = &shared.database;
        let leader = match &mut self.leader {
            Some(leader) => leader,
            candidate => candidate.insert(Leader::candidate(database)?),
        };
        if !leader.leads(database)? {
            return Ok(());
        }
        if self.summed.is_none_or(|summed| summed.elapsed() >= SUM_EACH) {
            sum_downloads(database)?;
            self.summed = Some(Instant::now());
        }
        match &mut self.commits {
            None => leader.number(database)?,
            Some(commits) => {
                let done = commits.follow(database, leader, go_on).and_then(|()| commits.pack(go_on));
                done.map_err(|error| ApiError::broken(&error))?;
            }
        }
        // Only now: a git repository that is ahead has releases whose archives no row needs.
        if self.swept.is_none_or(|swept| swept.elapsed() >= SWEEP_EACH) {
            sweep::sweep(database, &shared.objects, go_on)?;
            self.swept = Some(Instant::now());
        }
        Ok(())
    }

    /// Rests after a failure. This replica stops leading if its session ended, or after some failures in a row.
    fn conclude(&mut self, database: &Database, is_ok: bool) {
        if is_ok {
            self.failures = 0;
            return;
        }
        self.failures += 1;
        self.rest_until = Some(Instant::now() + AFTER_FAILURE);
        let is_patient = !self.failures.is_multiple_of(GIVES_UP_AFTER);
        self.leader = self.leader.take().filter(|leader| is_patient && leader.is_alive(database));
    }
}
