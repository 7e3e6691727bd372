//! Tests of the schema and its history.

use std::thread;

use super::postgres::TestDatabase;
use crate::{
    database::{Database, run},
    schema::{SchemaError, apply, check, missing},
};

fn execute(database: &Database, sql: &str) {
    database.read(async |client| Ok(run(client, sql, &[]).await?)).unwrap();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn each_step_is_applied_once() {
    let empty = TestDatabase::empty();
    let steps = missing(&empty.open()).unwrap();
    assert!(
        matches!(check(&empty.open()), Err(SchemaError::Missing(names)) if names == steps && names[0] == "0001-tables")
    );
    let mut applied: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(|| apply(&empty.open()).unwrap())).collect();
        all.into_iter().flat_map(|one| one.join().unwrap()).collect()
    });
    applied.sort_unstable();
    assert_eq!(applied, steps, "each by one of several at once");
    check(&empty.open()).unwrap();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn schemas_of_other_builds_are_refused() {
    let database = TestDatabase::new().open();
    execute(&database, "insert into schema_history (number, name, sha256) values (99, '0099-later', '00')");
    assert!(matches!(check(&database), Err(SchemaError::Newer(name)) if name == "0099-later"));
    execute(&database, "delete from schema_history where number = 99");
    execute(&database, "update schema_history set sha256 = '00' where number = 1");
    assert!(matches!(apply(&database), Err(SchemaError::Altered(name)) if name == "0001-tables"));
}
