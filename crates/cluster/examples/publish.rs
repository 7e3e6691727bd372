//! Times publishing at the stores, without HTTP and with scanned and packed releases.
//!
//!     cargo run --release -p skillhub-cluster --example publish -- DATABASE ARCHIVES CLIENTS RELEASES
//!
//! Each client is an account that publishes skills of three files and 6 KB in a namespace of its own. The schema is applied
//! already, and ARCHIVES is a folder or an `s3://` location.

use std::{error::Error, path::PathBuf, thread, time::Instant};

use cluster::{EngineSettings, Engines, ObjectSettings};
use jiff::Timestamp;
use registry_index::{ClearedRelease, NewRelease, Stamp};
use scan::{Baseline, Cleared};
use server::{Scope, store::NewToken};
use skill::{
    Bundle, File, Limits, Owner, SkillPath,
    archive::{self, Archive},
};
use web::ServerLimits;

struct Prepared {
    release: NewRelease,
    cleared: Cleared,
    packed: Archive,
}

impl Prepared {
    fn new(owner: &str, number: usize) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let name = format!("made-{number}");
        let line = "Read the table that is named first, then write each row with its heading.\n\n";
        let files = [
            (
                "SKILL.md",
                format!("---\nname: {name}\ndescription: Reads tables. Use in benchmarks.\n---\n\n{}", line.repeat(50)),
            ),
            ("references/columns.md", line.repeat(20)),
            ("scripts/count.py", format!("print({number})\n").repeat(40)),
        ];
        let mut bundle = Vec::new();
        for (path, text) in files {
            bundle.push((SkillPath::parse(path)?, File { bytes: text.as_bytes().into(), executable: false }));
        }
        let cleared = scan::clear(Bundle::from_files(bundle, &Limits::default())?, Baseline::None)?;
        let packed = archive::pack(cleared.bundle());
        let release = NewRelease {
            name: format!("{owner}/{name}").parse()?,
            version: "1.0.0".parse()?,
            changelog: String::new(),
            signature: None,
            forked_from: None,
            stamp: Stamp { by: owner.to_owned(), at: Timestamp::now() },
        };
        Ok(Self { release, cleared, packed })
    }
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [database, archives, clients, releases] = arguments.as_slice() else {
        return Err("usage: publish DATABASE ARCHIVES CLIENTS RELEASES".into());
    };
    let (clients, releases): (usize, usize) = (clients.parse()?, releases.parse()?);
    let objects = ObjectSettings { location: archives.clone(), ..ObjectSettings::default() };
    let settings = EngineSettings {
        database: database.clone(),
        objects,
        folder: PathBuf::from(archives),
        ..EngineSettings::default()
    };
    let stores = Engines::open(settings)?.stores(&ServerLimits::default(), false)?;
    let run = Timestamp::now().as_second();
    let mut prepared = Vec::new();
    for client in 0..clients {
        let account = Owner::parse(&format!("bench-{run}-{client}"))?;
        let token =
            NewToken { account: account.clone(), scope: Scope::Publish, label: String::new(), expires_at: None };
        stores.people.add_token(&token, false, &account, Timestamp::now()).map_err(|error| format!("{error:?}"))?;
        let all = (0..=releases / clients).map(|number| Prepared::new(account.as_str(), number));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        prepared.push((account, all));
    }
    let publish = |account: &Owner, all: &[Prepared]| {
        all.iter().try_for_each(|made| -> Result<(), String> {
            let new =
                ClearedRelease::new(&made.release, &made.cleared, &made.packed).map_err(|error| error.to_string())?;
            stores.releases.publish(&new, account, &|_| Ok(())).map(|_| ()).map_err(|error| format!("{error:?}"))
        })
    };
    // The first release opens the namespace.
    for (account, all) in &prepared {
        publish(account, all.get(..1).unwrap_or_default())?;
    }
    let began = Instant::now();
    thread::scope(|scope| {
        let threads: Vec<_> = prepared
            .iter()
            .map(|(account, all)| scope.spawn(move || publish(account, all.get(1..).unwrap_or_default())))
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("a client panicked".to_owned())))
    })?;
    let made: usize = prepared.iter().map(|(_, all)| all.len() - 1).sum();
    let rate = made as f64 / began.elapsed().as_secs_f64();
    println!("{clients} clients publish {rate:.0} releases a second");
    Ok(())
}
