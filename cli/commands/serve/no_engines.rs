//! In a build without the feature `cluster`: every use of PostgreSQL and an object store is refused.

use serde_json::json;
use server::{Moved, store::Stores};

use super::{
    results::{CheckOrder, CheckReport, MoveOrder, SchemaState},
    storage::ServedIndex,
};
use crate::exit::{CliError, Exit};

pub fn stores(_: &ServedIndex) -> Result<Stores, CliError> {
    Err(absent())
}

pub fn schema(_: &ServedIndex, _apply: bool) -> Result<SchemaState, CliError> {
    Err(absent())
}

pub fn check(index: &ServedIndex, order: &CheckOrder) -> Result<CheckReport, CliError> {
    let CheckOrder { adopt, repair, archives } = order;
    let asked = json!({"storage": index.place(), "adopt": adopt, "repair": repair, "archives": archives});
    Err(absent().details(asked))
}

pub fn move_index(order: &MoveOrder, _at: &dyn Fn(&'static str, u64, u64)) -> Result<Moved, CliError> {
    let (MoveOrder::Into { folder, cluster } | MoveOrder::OutOf { cluster, folder }) = order;
    Err(absent().details(json!({"folder": folder.display().to_string(), "storage": cluster.place()})))
}

fn absent() -> CliError {
    CliError::new("unsupported", Exit::Usage, "this build of skillhub has no storage of kind \"cluster\"")
        .hint("build it with that feature: cargo build --profile dist --features cluster")
}
