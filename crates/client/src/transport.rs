//! [`Transport`]: trusted certificate authorities, and whether tokens may be sent unencrypted.
//!
//! The settings apply to the whole process, like the certificate store of the system. [`Transport::choose`] is called
//! once, before the first request.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use cap_std::{ambient_authority, fs::Dir};
use library::read_bounded;
use rustls::RootCertStore;
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;
use ureq::{
    http::Uri,
    tls::{Certificate, PemItem, RootCerts, parse_pem},
};

/// Maximum size of a certificate file in bytes. The store of a whole system has about 250 kB.
const MOST_CA_BYTES: u64 = 8 << 20;

/// Environment variable that gives git a file of certificates to trust.
pub const GIT_CA_FILE: &str = "GIT_SSL_CAINFO";

static CHOSEN: OnceLock<Transport> = OnceLock::new();
static ROOTS: OnceLock<Result<RootCerts, TrustError>> = OnceLock::new();

/// Settings for connections to servers.
#[derive(Debug, Clone, Default)]
pub struct Transport {
    /// Absolute path of a PEM file with the authorities to trust instead of the system's store.
    pub ca_file: Option<PathBuf>,
    /// Folder of such files, in OpenSSL's layout.
    pub ca_dir: Option<PathBuf>,
    /// PEM file passed to git for the same purpose. If unset, git's own settings apply.
    pub git_ca_file: Option<PathBuf>,
    /// True if a token may be sent over plain HTTP to another machine.
    pub insecure: bool,
}

/// Reasons why the trusted certificates cannot be read.
#[derive(Debug, Clone, Error)]
#[error("cannot use the certificates in {}: {reason}", path.display())]
pub struct TrustError {
    /// Path of the file or folder.
    pub path: PathBuf,
    /// Description of the problem.
    pub reason: String,
}

impl Fails for TrustError {
    fn failure(&self) -> Failure {
        Failure::new(FailureKind::Usage, "invalid_ca_file")
            .hint("name a PEM file of CA certificates with --ca-file or SSL_CERT_FILE, or use neither")
    }
}

impl Transport {
    /// Sets the transport of this process. Only the first call has an effect.
    pub fn choose(self) {
        let _first_stays = CHOSEN.set(self);
    }

    pub(crate) fn chosen() -> &'static Self {
        CHOSEN.get_or_init(Self::default)
    }

    /// Returns the trusted authorities: those of the file and the folder; without these, those of the system. If the
    /// system does not have any, returns Mozilla's, as compiled into skillhub.
    fn roots(&self) -> Result<RootCerts, TrustError> {
        let mut found = Vec::new();
        if let Some(file) = &self.ca_file {
            found = read_file(file)?;
        }
        let loaded = match (&self.ca_file, &self.ca_dir) {
            (None, None) => rustls_native_certs::load_native_certs(),
            (_, Some(dir)) => rustls_native_certs::load_certs_from_paths(None, Some(dir)),
            (Some(_), None) => rustls_native_certs::CertificateResult::default(),
        };
        found.extend(loaded.certs.iter().map(|der| Certificate::from_der(der).to_owned()));
        match (&self.ca_dir, found.is_empty()) {
            (Some(dir), true) => {
                let reason =
                    loaded.errors.first().map_or_else(|| "it has no certificates".to_owned(), ToString::to_string);
                Err(TrustError { path: dir.clone(), reason })
            }
            (None, true) => Ok(RootCerts::WebPki),
            (_, false) => Ok(RootCerts::new_with_certs(&found)),
        }
    }

    /// Returns whether a token may be sent to a URL.
    pub(crate) fn may_carry_token(&self, url: &str) -> bool {
        self.insecure || url.starts_with("https://") || is_loopback(url)
    }

    /// Configures a git command to trust the same authorities.
    pub(crate) fn apply_to_git(&self, command: &mut Command) {
        if let Some(file) = &self.git_ca_file {
            command.env(GIT_CA_FILE, file);
        }
    }
}

/// Returns the authorities that this process trusts, loaded once.
pub(crate) fn roots() -> Result<RootCerts, TrustError> {
    ROOTS.get_or_init(|| Transport::chosen().roots()).clone()
}

/// Returns whether the host of a URL is this machine, without name resolution.
pub(crate) fn is_loopback(url: &str) -> bool {
    let host = url.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Reads the certificates of a PEM file. A damaged certificate is an error: ignoring it would appear later as an
/// untrusted server.
fn read_file(path: &Path) -> Result<Vec<Certificate<'static>>, TrustError> {
    let fault = |reason: String| TrustError { path: path.to_owned(), reason };
    let io = |error: std::io::Error| fault(error.to_string());
    let resolved = library::resolve(path).map_err(io)?;
    let name = resolved.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let parent = resolved.parent().unwrap_or(Path::new("/"));
    let dir = Dir::open_ambient_dir(parent, ambient_authority()).map_err(io)?;
    let bytes = read_bounded(&dir, name, MOST_CA_BYTES).map_err(io)?;
    let bytes = bytes.ok_or_else(|| fault("the file does not exist".to_owned()))?;
    let mut found = Vec::new();
    for item in parse_pem(&bytes) {
        let PemItem::Certificate(certificate) = item.map_err(|error| fault(error.to_string()))? else { continue };
        let der = certificate.der().to_vec().into();
        let number = found.len() + 1;
        RootCertStore::empty().add(der).map_err(|error| fault(format!("certificate {number}: {error}")))?;
        found.push(certificate);
    }
    if found.is_empty() { Err(fault("it has no certificate in PEM format".to_owned())) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests write files from outside")]

    use super::*;

    #[test]
    fn plain_http_tokens_need_loopback() {
        let plain = Transport::default();
        for url in ["https://a.example", "http://127.0.0.1:1/x", "http://[::1]:8700", "http://localhost:8700"] {
            assert!(plain.may_carry_token(url), "{url}");
        }
        for url in [
            "http://a.example", "http://127.0.0.1@a.example", "http://127.0.0.1.a.example",
            "http://localhost.a.example", "http://10.0.0.1", "HTTPS", "ftp://127.0.0.2.x",
        ] {
            assert!(!plain.may_carry_token(url), "{url}");
        }
        assert!(Transport { insecure: true, ..plain }.may_carry_token("http://a.example"));
    }

    #[test]
    fn invalid_ca_file_is_named() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("ca.pem");
        let of = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Transport { ca_file: Some(path.clone()), ..Transport::default() }.roots().unwrap_err().to_string()
        };
        let begin = "-----BEGIN CERTIFICATE-----\n";
        for text in [
            "",
            "no PEM at all",
            &format!("{begin}AAAA"),
            &format!("{begin}AAAA\n-----END CERTIFICATE-----\n"),
            &format!("{begin}!!!!\n-----END CERTIFICATE-----\n"),
        ] {
            assert!(of(text).contains("ca.pem"), "{text:?}");
        }
        std::fs::remove_file(&path).unwrap();
        let missing = Transport { ca_file: Some(path), ..Transport::default() }.roots().unwrap_err();
        assert_eq!(missing.failure().kind, FailureKind::Usage);
    }
}
