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
    swept: Option<Instant>,
    summed: Option<Instant>,
}

impl Projection {
    /// Prepares the work. Without `commits`, events are only numbered.
    #[must_use]
    pub fn new(database: Arc<Database>, objects: Arc<Objects>, commits: Option<Commits>) -> Self {
        let has_git = commits.is_some();
        let work = Mutex::new(Work { leader: None, commits, rest_until: None, swept: None, summed: None });
        Self { database, objects, has_git, work, leads: AtomicBool::new(false) }
    }

    /// Does what is due, if this replica leads or can become the leader. It ends early when `go_on` returns false.
    ///
    /// # Errors
    /// An engine or the git repository cannot be used. The next call after a pause continues, perhaps on another
    /// replica.
    pub fn pass(&self, go_on: &dyn Fn() -> bool) -> Result<(), ApiError> {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        if work.rest_until.is_some_and(|until| Instant::now() < until) {
            return Ok(());
        }
        let done = work.pass(self, go_on);
        if done.is_err() {
            work.leader = None;
            work.rest_until = Some(Instant::now() + AFTER_FAILURE);
        }
        self.leads.store(matches!(done, Ok(true)), Ordering::Relaxed);
        done.map(drop)
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
    /// Returns whether this replica leads.
    fn pass(&mut self, shared: &Projection, go_on: &dyn Fn() -> bool) -> Result<bool, ApiError> {
        let database = &shared.database;
        let leader = match &mut self.leader {
            Some(leader) => leader,
            candidate => candidate.insert(Leader::candidate(database)?),
        };
        if !leader.leads(database)? {
            return Ok(false);
        }
        match &mut self.commits {
            None => leader.number(database)?,
            Some(commits) => {
                let done = commits.follow(database, leader, go_on).and_then(|()| commits.pack(go_on));
                done.map_err(|error| ApiError::broken(&error))?;
            }
        }
        if self.swept.is_none_or(|swept| swept.elapsed() >= SWEEP_EACH) {
            sweep::sweep(database, &shared.objects, go_on)?;
            self.swept = Some(Instant::now());
        }
        if self.summed.is_none_or(|summed| summed.elapsed() >= SUM_EACH) {
            sum_downloads(database)?;
            self.summed = Some(Instant::now());
        }
        Ok(true)
    }
}
