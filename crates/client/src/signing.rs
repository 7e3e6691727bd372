//! [`SigningKey`]: the user's SSH key, with which `publish` signs.
//!
//! A key in a file without a passphrase is used directly. Any other key is used through `ssh-keygen`, which asks the
//! user's SSH agent or, at a terminal, for the passphrase.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use cap_std::{ambient_authority, fs::Dir};
use library::{interrupt, read_bounded};
use process::{BoundedCommand, ExitReason, Membership, child};
use registry_index::{KeyError, PublicKey, SecretKey, SignatureError, namespace_of, signed_with};
use skill::Limits;
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

/// Maximum length of an error message of `ssh-keygen`, in characters.
const MOST_WORDS: usize = 400;

/// Maximum size of what `ssh-keygen` prints, in bytes. A signature has less than 4 KB.
const MOST_OUTPUT: usize = 1 << 20;

/// Timeout for `ssh-keygen`, which may wait for a person to enter a passphrase or to touch a key.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// A key for signing.
#[derive(Debug)]
pub struct SigningKey {
    path: PathBuf,
    key: Key,
    may_ask: bool,
}

#[derive(Debug)]
enum Key {
    /// Secret key, used directly.
    Here(Box<SecretKey>),
    /// Public key whose secret half only `ssh-keygen` can use.
    Elsewhere(PublicKey),
}

/// Reasons why signing failed.
#[derive(Debug, Error)]
pub enum SigningError {
    /// The key file does not exist.
    #[error("the key {} does not exist", .0.display())]
    NotFound(PathBuf),
    /// The file is not a usable key.
    #[error("cannot use the key {}: {reason}", path.display())]
    Key {
        /// Path of the key file.
        path: PathBuf,
        /// Problem with the key.
        reason: KeyError,
    },
    /// `ssh-keygen` failed to sign.
    #[error("cannot sign with the key {}: {message}", path.display())]
    NotSigned {
        /// Path of the key file.
        path: PathBuf,
        /// Error message of `ssh-keygen`.
        message: String,
    },
    /// The signature does not verify, or was made with another key.
    #[error("the signature made with {} is invalid: {reason}", path.display())]
    Signature {
        /// Path of the key file.
        path: PathBuf,
        /// Problem with the signature.
        reason: SignatureError,
    },
    /// An I/O operation failed.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// Path of the key file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl Fails for SigningError {
    fn failure(&self) -> Failure {
        match self {
            Self::NotFound(_) => Failure::new(FailureKind::NotFound, "no_key").hint(
                "create a key with `ssh-keygen -t ed25519`, or name yours: --sign=PATH, or key = \"PATH\" under \
                 [signing] in config.toml",
            ),
            Self::Key { .. } => Failure::new(FailureKind::Usage, "invalid_key")
                .hint("name another key with --sign=PATH, or create one with `ssh-keygen -t ed25519`"),
            Self::NotSigned { path, .. } => Failure::new(FailureKind::Failed, "not_signed")
                .hint(format!("add the key to your SSH agent, then run the command again: ssh-add {}", path.display())),
            Self::Signature { .. } => Failure::new(FailureKind::Failed, "not_signed"),
            Self::Io { .. } => Failure::io(),
        }
    }
}

impl SigningKey {
    /// Reads a secret key, or the public half of a key in an agent. `may_ask` is true if a user can enter a passphrase.
    ///
    /// # Errors
    /// [`SigningError`]
    pub fn read(path: &Path, may_ask: bool) -> Result<Self, SigningError> {
        let bad = |reason| SigningError::Key { path: path.to_owned(), reason };
        let text = read_key(path)?;
        let key = match SecretKey::parse(&text) {
            Ok(key) => Key::Here(Box::new(key)),
            Err(KeyError::Protected(public)) => Key::Elsewhere(public),
            Err(KeyError::Damaged(_)) if text.starts_with("ssh-") => Key::Elsewhere(text.parse().map_err(bad)?),
            Err(reason) => return Err(bad(reason)),
        };
        Ok(Self { path: path.to_owned(), key, may_ask })
    }

    /// Returns the public half of the key.
    pub fn public(&self) -> PublicKey {
        match &self.key {
            Key::Here(key) => key.public(),
            Key::Elsewhere(public) => *public,
        }
    }

    /// Signs a statement and verifies the signature.
    ///
    /// # Errors
    /// [`SigningError`]
    pub fn sign(&self, statement: &str) -> Result<String, SigningError> {
        let bad = |reason| SigningError::Signature { path: self.path.clone(), reason };
        let signature = match &self.key {
            Key::Here(key) => key.sign(statement).map_err(bad)?,
            Key::Elsewhere(_) => self.by_program(statement)?,
        };
        match signed_with(&signature, statement).map_err(bad)? {
            key if key == self.public() => Ok(signature),
            _ => Err(bad(SignatureError::Other)),
        }
    }

    fn by_program(&self, statement: &str) -> Result<String, SigningError> {
        let io = |source| SigningError::Io { path: self.path.clone(), source };
        let failed = |message: String| SigningError::NotSigned { path: self.path.clone(), message };
        let mut command = child::command("ssh-keygen");
        command.args(["-Y", "sign", "-n", namespace_of(statement), "-f"]).arg(&self.path);
        if !self.may_ask {
            command.env("SSH_ASKPASS", "false").env("SSH_ASKPASS_REQUIRE", "force");
        }
        let (input, output_bytes) = (statement.as_bytes().to_vec(), Some(MOST_OUTPUT));
        let order = BoundedCommand {
            input,
            output_bytes,
            membership: Membership::Ours,
            ..BoundedCommand::new(command, TIME_LIMIT)
        };
        let done = process::run(order, interrupt::is_raised).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => failed("ssh-keygen was not found on the PATH".to_owned()),
            _ => io(source),
        })?;
        match (done.ended, done.exit) {
            (ExitReason::Exited, Some(0)) => return Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
            (ExitReason::TimedOut, _) => {
                return Err(failed(format!("ssh-keygen took more than {} seconds", TIME_LIMIT.as_secs())));
            }
            _ => {}
        }
        let words = String::from_utf8_lossy(&done.stderr);
        let words = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
        Err(failed(words.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST_WORDS).collect()))
    }
}

/// Reads a public key, or the public half of a secret key.
///
/// # Errors
/// [`SigningError`]
pub fn read_public_key(path: &Path) -> Result<PublicKey, SigningError> {
    SigningKey::read(path, false).map(|key| key.public())
}

fn read_key(path: &Path) -> Result<String, SigningError> {
    let io = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => SigningError::NotFound(path.to_owned()),
        _ => SigningError::Io { path: path.to_owned(), source },
    };
    let resolved = library::resolve(path).map_err(io)?;
    let parent = resolved.parent().unwrap_or(Path::new("/"));
    let dir = Dir::open_ambient_dir(parent, ambient_authority()).map_err(io)?;
    let name = resolved.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let bytes = read_bounded(&dir, name, Limits::default().settings_bytes).map_err(io)?;
    let bytes = bytes.ok_or_else(|| SigningError::NotFound(path.to_owned()))?;
    let not_text =
        |_| SigningError::Key { path: path.to_owned(), reason: KeyError::Damaged("it is not UTF-8".to_owned()) };
    String::from_utf8(bytes).map_err(not_text)
}
