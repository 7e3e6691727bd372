//! [`TestDatabase`]: an empty database with the schema of this build, on a server that this process starts.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{background::Background, database::Database, schema};

/// The server of this process. It ends when its standard input does.
struct Server {
    folder: String,
    _child: Child,
}

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let mut command = Command::new("sh");
    command.arg("-c").arg(include_str!("postgres.sh")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut folder = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut folder).unwrap();
    assert!(!folder.is_empty(), "PostgreSQL does not start; it comes with the package postgresql");
    Server { folder: folder.trim_end().to_owned(), _child: child }
});

static BACKGROUND: LazyLock<Arc<Background>> = LazyLock::new(|| Arc::new(Background::start().unwrap()));

/// A database of its own for one test.
pub struct TestDatabase {
    /// The address, as an operator would give it.
    pub address: String,
}

impl TestDatabase {
    /// Creates a database without tables.
    pub fn empty() -> Self {
        static CREATED: AtomicUsize = AtomicUsize::new(0);
        let name = format!("test_{}", CREATED.fetch_add(1, Ordering::Relaxed));
        let address = |name: &str| format!("host={} user=skillhub dbname={name}", SERVER.folder);
        let database = Database::open(&address("postgres"), None, background()).unwrap();
        let created =
            database.read(async |client| Ok(client.batch_execute(&format!("create database {name}")).await?));
        created.unwrap();
        Self { address: address(&name) }
    }

    /// Creates a database with the schema of this build.
    pub fn new() -> Self {
        let new = Self::empty();
        schema::apply(&new.open()).unwrap();
        new
    }

    /// Opens another set of connections, as each replica does.
    pub fn open(&self) -> Arc<Database> {
        Arc::new(Database::open(&self.address, None, background()).unwrap())
    }
}

/// The runtime that all tests share.
pub fn background() -> Arc<Background> {
    Arc::clone(&BACKGROUND)
}
