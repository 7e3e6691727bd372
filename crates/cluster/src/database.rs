//! [`Database`]: the connections to PostgreSQL.
//!
//! A query that fails because the engine cannot be reached is [`DatabaseError::Unreachable`], which becomes a 503 that a
//! client can repeat. Nothing is ever reported as missing for that reason.

use std::{
    error::Error as _,
    io,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use deadpool_postgres::{
    Client, ClientWrapper, GenericClient, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
    Transaction,
};
use jiff::Timestamp;
use server::store::{AccountError, StoreError, Unavailable};
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;
use tokio::time::{sleep, timeout};
use tokio_postgres::{
    Config, NoTls, Row,
    config::{Host, SslMode, TargetSessionAttrs},
    error::SqlState,
    types::ToSql,
};
use tokio_postgres_rustls::MakeRustlsConnect;
use web::ApiError;

use crate::background::Background;

/// Connections of one replica.
const CONNECTIONS: usize = 16;

/// Limit for connecting, and for waiting until a connection is free.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// Limit for one read or transaction. The engine itself ends a statement earlier.
const WORK_TIME: Duration = Duration::from_secs(20);

/// Settings of each session, in milliseconds.
const SESSION: &str = "-c statement_timeout=10000 -c lock_timeout=8000 -c idle_in_transaction_session_timeout=60000";

/// Attempts at a transaction that meets another one, and at one that finds its connection closed.
const TRIES: u32 = 8;
const TRIES_CLOSED: u32 = 3;

/// Pause after the first attempt, which grows with each further one.
const PAUSE: Duration = Duration::from_millis(10);

/// Reasons why the database was not read or changed.
#[derive(Debug, Error)]
pub enum DatabaseError {
    /// The address is not one of PostgreSQL.
    #[error("cannot use the address of the database: {0}")]
    Address(String),
    /// The system has no certificates by which a server of the database could be verified.
    #[error("cannot verify servers of the database: {0}")]
    Certificates(String),
    /// No server can be reached at the moment, or none that accepts changes.
    #[error("cannot reach the database: {0}")]
    Unreachable(String),
    /// The connection was lost while a change was committed, so that its outcome is unknown.
    #[error("the connection was lost while a change was committed: {0}")]
    Undecided(String),
    /// Another transaction was in the way, repeatedly.
    #[error("the database is busy: {0}")]
    Busy(String),
    /// The engine refused a statement.
    #[error("the database failed: {0}")]
    Failed(String),
}

impl DatabaseError {
    /// Returns whether the same request may succeed in a few seconds.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Undecided(_) | Self::Busy(_))
    }
}

impl From<tokio_postgres::Error> for DatabaseError {
    fn from(error: tokio_postgres::Error) -> Self {
        let why = described(&error);
        let is_io = error.source().is_some_and(|source| source.is::<io::Error>());
        match error.code() {
            None if error.is_closed() || is_io => Self::Unreachable(why),
            Some(code) if is_conflict(code) => Self::Busy(why),
            Some(code) if is_of_the_moment(code) => Self::Unreachable(why),
            _ => Self::Failed(why),
        }
    }
}

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> Self {
        if error.may_pass() { Self(Box::new(Unavailable(error.to_string()))) } else { Self(Box::new(error)) }
    }
}

impl From<DatabaseError> for AccountError {
    fn from(error: DatabaseError) -> Self {
        Self::Store(error.into())
    }
}

impl From<DatabaseError> for ApiError {
    fn from(error: DatabaseError) -> Self {
        StoreError::from(error).into()
    }
}

impl Fails for DatabaseError {
    fn failure(&self) -> Failure {
        match self {
            Self::Address(_) => Failure::new(FailureKind::Usage, "invalid_address")
                .hint("give an address such as postgres://skillhub@db1,db2/skillhub"),
            Self::Certificates(_) => {
                Failure::io().hint("install the system's root certificates, or name a file in SSL_CERT_FILE")
            }
            Self::Unreachable(_) | Self::Undecided(_) | Self::Busy(_) => {
                Failure::new(FailureKind::Unreachable, "unavailable").hint("check that PostgreSQL runs, and try again")
            }
            Self::Failed(_) => Failure::io(),
        }
    }
}

/// End of a transaction that changes nothing.
#[derive(Debug)]
pub enum Abort<E> {
    /// The database failed; the transaction may be repeated.
    Database(DatabaseError),
    /// The change is refused.
    Refused(E),
}

impl<E> From<tokio_postgres::Error> for Abort<E> {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error.into())
    }
}

impl<E> From<DatabaseError> for Abort<E> {
    fn from(error: DatabaseError) -> Self {
        Self::Database(error)
    }
}

impl From<ApiError> for Abort<ApiError> {
    fn from(error: ApiError) -> Self {
        Self::Refused(error)
    }
}

impl From<AccountError> for Abort<AccountError> {
    fn from(error: AccountError) -> Self {
        Self::Refused(error)
    }
}

/// The connections of a replica to the servers of one database.
pub struct Database {
    background: Arc<Background>,
    pool: Pool,
}

impl Database {
    /// Prepares the connections to a database, such as `postgres://skillhub@db1,db2/skillhub`. Of several hosts, the one
    /// that accepts changes is used. Without `sslmode` in the address, connections to other machines are encrypted, and
    /// their servers verified by the system's certificates. `password` counts if the address has none.
    ///
    /// # Errors
    /// [`DatabaseError::Address`] or [`DatabaseError::Certificates`]. Nothing is connected yet.
    pub fn open(address: &str, password: Option<&str>, background: Arc<Background>) -> Result<Self, DatabaseError> {
        let config = config_of(address, password)?;
        let managed = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = match config.get_ssl_mode() {
            SslMode::Disable => Manager::from_config(config, NoTls, managed),
            _ => Manager::from_config(config, MakeRustlsConnect::new(verifying()?), managed),
        };
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(CONNECT_TIME))
            .create_timeout(Some(CONNECT_TIME))
            .recycle_timeout(Some(CONNECT_TIME))
            .build();
        Ok(Self { background, pool: pool.map_err(|error| DatabaseError::Address(error.to_string()))? })
    }

    /// Waits for a future on the runtime of the connections.
    pub fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.background.wait(work)
    }

    /// Reads with a connection, and again if the connection turns out to be closed.
    ///
    /// # Errors
    /// [`DatabaseError`]
    pub fn read<T>(&self, work: impl AsyncFn(&Client) -> Result<T, DatabaseError>) -> Result<T, DatabaseError> {
        let attempt = async || {
            let client = self.client().await?;
            let done = timeout(WORK_TIME, work(&client)).await;
            done.unwrap_or_else(|_| Err(given_up(client)))
        };
        self.wait(repeated(attempt, |error| error))
    }

    /// Changes the database in one transaction (read committed), again if another one was in the way.
    ///
    /// # Errors
    /// The error of `work`, or [`DatabaseError`]. Nothing has changed then, except perhaps after
    /// [`DatabaseError::Undecided`].
    pub fn transaction<T, E: From<DatabaseError>>(
        &self,
        work: impl AsyncFn(&Transaction<'_>) -> Result<T, Abort<E>>,
    ) -> Result<T, E> {
        self.transaction_within(WORK_TIME, work)
    }

    /// Changes the database as [`Database::transaction`], within a time limit.
    ///
    /// # Errors
    /// As for [`Database::transaction`].
    pub fn transaction_within<T, E: From<DatabaseError>>(
        &self,
        limit: Duration,
        work: impl AsyncFn(&Transaction<'_>) -> Result<T, Abort<E>>,
    ) -> Result<T, E> {
        let attempt = async || {
            let mut client = self.client().await?;
            let done = timeout(limit, changed(&mut client, &work)).await;
            done.unwrap_or_else(|_| Err(Abort::Database(given_up(client))))
        };
        self.wait(repeated(attempt, |abort| match abort {
            Abort::Database(error) => error.into(),
            Abort::Refused(error) => error,
        }))
    }

    /// Returns a connection of its own, outside the pool, for a lock that lasts as long as the session.
    ///
    /// # Errors
    /// [`DatabaseError::Unreachable`]
    pub fn session(&self) -> Result<ClientWrapper, DatabaseError> {
        Ok(Object::take(self.wait(self.client())?))
    }

    async fn client(&self) -> Result<Client, DatabaseError> {
        self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) => DatabaseError::Unreachable(described(&error)),
            other => DatabaseError::Unreachable(other.to_string()),
        })
    }
}

/// An error that may be one of the database.
trait Attempted {
    fn database(&self) -> Option<&DatabaseError>;
}

impl Attempted for DatabaseError {
    fn database(&self) -> Option<&DatabaseError> {
        Some(self)
    }
}

impl<E> Attempted for Abort<E> {
    fn database(&self) -> Option<&DatabaseError> {
        match self {
            Self::Database(error) => Some(error),
            Self::Refused(_) => None,
        }
    }
}

/// Repeats attempts that failed by chance, and converts the last error.
async fn repeated<T, F: Attempted, E>(
    attempt: impl AsyncFn() -> Result<T, F>,
    convert: impl FnOnce(F) -> E,
) -> Result<T, E> {
    let (mut tried, started) = (0, Instant::now());
    loop {
        tried += 1;
        let failed = match attempt().await {
            Ok(done) => return Ok(done),
            Err(failed) => failed,
        };
        let is_repeated = match failed.database() {
            Some(DatabaseError::Busy(_)) => tried < TRIES,
            Some(DatabaseError::Unreachable(_)) => tried < TRIES_CLOSED,
            _ => false,
        };
        if !is_repeated || started.elapsed() > CONNECT_TIME {
            return Err(convert(failed));
        }
        sleep(PAUSE * tried).await;
    }
}

/// Runs one transaction.
async fn changed<T, E>(
    client: &mut Client,
    work: &impl AsyncFn(&Transaction<'_>) -> Result<T, Abort<E>>,
) -> Result<T, Abort<E>> {
    let transaction = client.transaction().await?;
    // Without a commit it is rolled back when it is dropped.
    let done = work(&transaction).await?;
    match transaction.commit().await.map_err(DatabaseError::from) {
        Ok(()) => Ok(done),
        Err(DatabaseError::Unreachable(why)) => Err(DatabaseError::Undecided(why).into()),
        Err(error) => Err(error.into()),
    }
}

/// Closes a connection that did not answer in time.
fn given_up(client: Client) -> DatabaseError {
    drop(Object::take(client));
    DatabaseError::Unreachable("it did not answer in time".to_owned())
}

/// Returns all rows of a query.
///
/// # Errors
/// The error of the engine.
pub async fn rows(
    client: &impl GenericClient,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let statement = client.prepare_cached(sql).await?;
    client.query(&statement, values).await
}

/// Returns the row of a query, if there is one.
///
/// # Errors
/// The error of the engine, or there are several rows.
pub async fn row(
    client: &impl GenericClient,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Option<Row>, tokio_postgres::Error> {
    let statement = client.prepare_cached(sql).await?;
    client.query_opt(&statement, values).await
}

/// Runs a statement and returns the number of rows that it changed.
///
/// # Errors
/// The error of the engine.
pub async fn run(
    client: &impl GenericClient,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<u64, tokio_postgres::Error> {
    let statement = client.prepare_cached(sql).await?;
    client.execute(&statement, values).await
}

/// Returns a time as it is stored, to the second.
pub fn stored_time(at: Timestamp) -> SystemTime {
    Timestamp::from_second(at.as_second()).unwrap_or(at).into()
}

/// Returns a stored time as RFC 3339, to the second.
pub fn time_text(at: SystemTime) -> String {
    let at = Timestamp::try_from(at).unwrap_or(Timestamp::UNIX_EPOCH);
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}

/// Parses an address and completes it with limits and the terms of encryption.
fn config_of(address: &str, password: Option<&str>) -> Result<Config, DatabaseError> {
    let mut config = address.parse::<Config>().map_err(|error| DatabaseError::Address(described(&error)))?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(DatabaseError::Address("it names no host".to_owned()));
    }
    if let (None, Some(password)) = (config.get_password(), password) {
        config.password(password);
    }
    // `prefer`, which is the default, would send everything in the clear to whoever answers.
    if config.get_ssl_mode() == SslMode::Prefer {
        config.ssl_mode(if is_this_machine(&config) { SslMode::Disable } else { SslMode::Require });
    }
    let options = config.get_options().map(|options| format!("{SESSION} {options}"));
    config
        .options(options.unwrap_or_else(|| SESSION.to_owned()))
        .target_session_attrs(TargetSessionAttrs::ReadWrite)
        .application_name("skillhub")
        .keepalives_idle(CONNECT_TIME * 4)
        .tcp_user_timeout(WORK_TIME);
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIME);
    }
    Ok(config)
}

/// Returns whether all hosts are this machine.
fn is_this_machine(config: &Config) -> bool {
    let is_local = |host: &Host| match host {
        Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(is_local) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

/// Returns a TLS configuration that verifies servers by the system's certificates.
fn verifying() -> Result<rustls::ClientConfig, DatabaseError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = rustls::RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let why = found.errors.first().map_or_else(|| "the system has none".to_owned(), ToString::to_string);
        return Err(DatabaseError::Certificates(why));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = versions.map_err(|error| DatabaseError::Certificates(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// Returns whether another transaction was in the way.
fn is_conflict(code: &SqlState) -> bool {
    [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED, SqlState::LOCK_NOT_AVAILABLE].contains(code)
}

/// Returns whether the engine refuses everything for a while: it starts, ends, follows another one or is full.
fn is_of_the_moment(code: &SqlState) -> bool {
    let passing = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::QUERY_CANCELED,
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        SqlState::DISK_FULL,
        SqlState::OUT_OF_MEMORY,
    ];
    passing.contains(code) || code.code().starts_with("08")
}

/// Describes an error with those causes that it does not quote itself, which say what the engine answered.
fn described(error: &dyn std::error::Error) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(error) = cause {
        let why = error.to_string();
        if !text.contains(&why) {
            text = format!("{text}: {why}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_are_asked_for_encryption() {
        let mode = |address: &str| config_of(address, None).map(|config| config.get_ssl_mode()).ok();
        for own in ["postgres://a@localhost/b", "postgres://a@127.0.0.1,[::1]/b", "host=/run/postgresql dbname=b"] {
            assert_eq!(mode(own), Some(SslMode::Disable), "{own}");
        }
        for other in [
            "postgres://a@db1/b",
            "postgres://a@localhost,db1/b",
            "host=localhost hostaddr=10.0.0.1 dbname=b",
            "postgres://a@db1/b?sslmode=prefer",
            "postgres://a@127.0.0.1.example.org/b",
        ] {
            assert_eq!(mode(other), Some(SslMode::Require), "{other}");
        }
        assert_eq!(mode("postgres://a@db1/b?sslmode=disable"), Some(SslMode::Disable), "as it says");
        for bad in ["", "dbname=b", "mysql://a@b/c", "postgres://a@db1/b?sslmode=maybe", "postgres://a@db1:x/b"] {
            assert_eq!(mode(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn addresses_are_completed_and_never_shown() {
        let config = config_of("postgres://a@db1,db2:5433/b?options=-c%20geqo%3Doff", Some("secret")).unwrap();
        assert_eq!(config.get_password(), Some(b"secret".as_slice()));
        assert_eq!(config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        assert_eq!(config.get_options(), Some(format!("{SESSION} -c geqo=off").as_str()));
        let own = config_of("postgres://a:own@db1/b?connect_timeout=2", Some("secret")).unwrap();
        assert_eq!(own.get_password(), Some(b"own".as_slice()));
        assert_eq!(own.get_connect_timeout(), Some(&Duration::from_secs(2)));
        let refused = config_of("postgres://a:hush@db1/b?sslmode=maybe", None).unwrap_err();
        assert!(!refused.to_string().contains("hush"), "{refused}");
    }
}
