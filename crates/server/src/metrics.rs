//! [`Metrics`]: request counters, served at `/metrics`.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::store::Gauge;

/// Upper bounds of the buckets of request durations, in milliseconds.
const BOUNDS_MS: [u64; 10] = [1, 2, 5, 10, 25, 50, 100, 500, 2000, 10_000];

/// Counters since the start of the process.
#[derive(Debug, Default)]
pub struct Metrics {
    requests: Mutex<BTreeMap<(String, u16), u64>>,
    took: [AtomicU64; BOUNDS_MS.len()],
    took_in_all: AtomicU64,
    count: AtomicU64,
    unpacked: AtomicU64,
    scanned: AtomicU64,
}

impl Metrics {
    /// Counts an answered request and its duration.
    pub fn count(&self, method: &str, status: u16, took: Duration) {
        *self
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry((method.to_owned(), status))
            .or_default() += 1;
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        for (bound, bucket) in BOUNDS_MS.iter().zip(&self.took) {
            if took <= bound * 1000 {
                bucket.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.took_in_all.fetch_add(took, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the unpacking of a release.
    pub fn unpacked(&self) {
        self.unpacked.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the scan of a release.
    pub fn scanned(&self) {
        self.scanned.fetch_add(1, Ordering::Relaxed);
    }

    /// Formats the counters, and the measurements of the stores, for Prometheus, text format 0.0.4.
    #[must_use]
    pub fn text(&self, skills: u64, gauges: &[Gauge]) -> String {
        let mut out =
            String::from("# HELP skillhub_requests_total Answered requests.\n# TYPE skillhub_requests_total counter\n");
        for ((method, status), count) in self.requests.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _never = writeln!(out, "skillhub_requests_total{{method=\"{method}\",status=\"{status}\"}} {count}");
        }
        out.push_str(
            "# HELP skillhub_request_seconds Duration of requests.\n# TYPE skillhub_request_seconds histogram\n",
        );
        for (bound, bucket) in BOUNDS_MS.iter().zip(&self.took) {
            let (seconds, count) = (*bound as f64 / 1000.0, bucket.load(Ordering::Relaxed));
            let _never = writeln!(out, "skillhub_request_seconds_bucket{{le=\"{seconds}\"}} {count}");
        }
        let (count, sum) = (self.count.load(Ordering::Relaxed), self.took_in_all.load(Ordering::Relaxed) as f64 / 1e6);
        let _never = writeln!(
            out,
            "skillhub_request_seconds_bucket{{le=\"+Inf\"}} {count}\nskillhub_request_seconds_sum {sum}\n\
             skillhub_request_seconds_count {count}\n# HELP skillhub_skills Skills that can be installed.\n\
             # TYPE skillhub_skills gauge\nskillhub_skills {skills}"
        );
        for (name, help, count) in [
            ("skillhub_unpacked_total", "Releases unpacked for reading.", &self.unpacked),
            ("skillhub_scanned_total", "Releases scanned for reading.", &self.scanned),
        ] {
            let count = count.load(Ordering::Relaxed);
            let _never = writeln!(out, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {count}");
        }
        for Gauge { name, help, value } in gauges {
            let _never = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
        out
    }
}
