//! Servers over PostgreSQL and an object store: their stores, and what `serve schema`, `serve check` and `serve move` do.

use cluster::{
    EngineSettings, Engines, EnginesError, ObjectSettings,
    check::{self as checking, Repaired},
    moving::{self, At},
    schema as steps,
};
use server::{Moved, store::Stores};

use super::{
    results::{CheckOrder, CheckReport, MoveOrder, SchemaState},
    storage::ServedIndex,
};
use crate::exit::{CliError, failed};

/// Environment variable with the password of the database, as PostgreSQL's own programs read it.
const PASSWORD_VARIABLE: &str = "PGPASSWORD";

/// Opens the stores of a server.
pub fn stores(index: &ServedIndex) -> Result<Stores, CliError> {
    let is_worker = index.storage.worker.unwrap_or(true) && !index.settings.read_only;
    open(index)?.stores(&index.settings.limits, is_worker).map_err(failed)
}

/// Shows the schema, or applies what it lacks.
pub fn schema(index: &ServedIndex, apply: bool) -> Result<SchemaState, CliError> {
    let engines = open(index)?;
    let applied = if apply { steps::apply(&engines.database).map_err(failed)? } else { Vec::new() };
    let missing = steps::missing(&engines.database).map_err(failed)?;
    let names = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    Ok(SchemaState { applied: names(applied), missing: names(missing) })
}

/// Compares rows, archives and the git repository, after releases that a failover lost are taken over and faults repaired.
pub fn check(index: &ServedIndex, order: &CheckOrder) -> Result<CheckReport, CliError> {
    let engines = open(index)?;
    let adopted = if order.adopt { checking::adopt(&engines).map_err(failed)? } else { 0 };
    let Repaired { archives: repaired_archives, skills: repaired_skills } = match order.repair {
        true => {
            let other = order.archives.as_deref().map(|location| engines.other_objects(location)).transpose();
            checking::repair(&engines, other.map_err(failed)?.as_ref()).map_err(failed)?
        }
        false => Repaired::default(),
    };
    let report = checking::check(&engines).map_err(failed)?;
    let checking::Report { releases, archives, files, faults, .. } = report;
    Ok(CheckReport { releases, archives, files, adopted, repaired_archives, repaired_skills, faults })
}

/// Copies an index with its accounts.
pub fn move_index(order: &MoveOrder, at: At<'_>) -> Result<Moved, CliError> {
    let moved = match order {
        MoveOrder::Into { folder, cluster } => moving::move_in(&open(cluster)?, folder, at),
        MoveOrder::OutOf { cluster, folder } => moving::move_out(&open(cluster)?, folder, at),
    };
    moved.map_err(failed)
}

fn open(index: &ServedIndex) -> Result<Engines, CliError> {
    let ServedIndex { settings, storage } = index;
    let settings = EngineSettings {
        database: storage.database.clone().unwrap_or_default(),
        password: std::env::var(PASSWORD_VARIABLE).ok(),
        objects: ObjectSettings {
            location: storage.objects.clone().unwrap_or_default(),
            endpoint: storage.endpoint.clone(),
            region: storage.region.clone(),
            ..ObjectSettings::default()
        },
        index_remote: storage.index_remote.clone(),
        archives_url: storage.archives_url.clone(),
        folder: settings.data.clone(),
    };
    Engines::open(settings).map_err(|error: EnginesError| failed(error))
}
