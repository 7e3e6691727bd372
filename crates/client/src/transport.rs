//! [`Transport`]: whose certificates servers are held to, and whether tokens may travel unencrypted.
//!
//! It holds for the whole process, as the certificate store of the system does: [`Transport::choose`] is called once,
//! before the first request.

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

/// Bytes of a file of certificates; the store of a whole system has about 250 kB.
const MOST_CA_BYTES: u64 = 8 << 20;

/// The variable by which git is given a file of certificates to trust.
pub const GIT_CA_FILE: &str = "GIT_SSL_CAINFO";

static CHOSEN: OnceLock<Transport> = OnceLock::new();
static ROOTS: OnceLock<Result<RootCerts, TrustError>> = OnceLock::new();

/// How servers are reached.
#[derive(Debug, Clone, Default)]
pub struct Transport {
    /// A PEM file of the authorities to trust in place of the system's store, absolute.
    pub ca_file: Option<PathBuf>,
    /// A folder of such files, as OpenSSL has them.
    pub ca_dir: Option<PathBuf>,
    /// The file that git is given for the same purpose; git's own settings hold without one.
    pub git_ca_file: Option<PathBuf>,
    /// Whether a token may go over plain HTTP to a host that is not this machine.
    pub insecure: bool,
}

/// Why the certificates to trust are not known.
#[derive(Debug, Clone, Error)]
#[error("cannot use the certificates in {}: {reason}", path.display())]
pub struct TrustError {
    /// The file or folder.
    pub path: PathBuf,
    /// Why not.
    pub reason: String,
}

impl Fails for TrustError {
    fn failure(&self) -> Failure {
        Failure::new(FailureKind::Usage, "invalid_ca_file")
            .hint("name a PEM file of CA certificates with --ca-file or SSL_CERT_FILE, or leave both out")
    }
}

impl Transport {
    /// Makes it that of the process. The first one stays.
    pub fn choose(self) {
        let _first_stays = CHOSEN.set(self);
    }

    pub(crate) fn chosen() -> &'static Self {
        CHOSEN.get_or_init(Self::default)
    }

    /// The authorities to trust: those of the file and the folder, else the system's, else, where the system has
    /// none, Mozilla's as they were when skillhub was built.
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
                let reason = loaded.errors.first().map_or_else(|| "it holds none".to_owned(), ToString::to_string);
                Err(TrustError { path: dir.clone(), reason })
            }
            (None, true) => Ok(RootCerts::WebPki),
            (_, false) => Ok(RootCerts::new_with_certs(&found)),
        }
    }

    /// Whether a token may be sent to a URL.
    pub(crate) fn may_carry_token(&self, url: &str) -> bool {
        self.insecure || url.starts_with("https://") || is_loopback(url)
    }

    /// Has a git trust the same authorities.
    pub(crate) fn apply_to_git(&self, command: &mut Command) {
        if let Some(file) = &self.git_ca_file {
            command.env(GIT_CA_FILE, file);
        }
    }
}

/// The authorities that this process trusts, read once.
pub(crate) fn roots() -> Result<RootCerts, TrustError> {
    ROOTS.get_or_init(|| Transport::chosen().roots()).clone()
}

/// Whether a URL leads to this machine, by its host alone.
pub(crate) fn is_loopback(url: &str) -> bool {
    let host = url.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// The certificates of a PEM file. One that is damaged is an error: to trust fewer than the file names would show as a
/// server that cannot be trusted.
fn read_file(path: &Path) -> Result<Vec<Certificate<'static>>, TrustError> {
    let fault = |reason: String| TrustError { path: path.to_owned(), reason };
    let io = |error: std::io::Error| fault(error.to_string());
    let resolved = library::resolve(path).map_err(io)?;
    let name = resolved.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let parent = resolved.parent().unwrap_or(Path::new("/"));
    let dir = Dir::open_ambient_dir(parent, ambient_authority()).map_err(io)?;
    let bytes = read_bounded(&dir, name, MOST_CA_BYTES).map_err(io)?;
    let bytes = bytes.ok_or_else(|| fault("there is no such file".to_owned()))?;
    let mut found = Vec::new();
    for item in parse_pem(&bytes) {
        let PemItem::Certificate(certificate) = item.map_err(|error| fault(error.to_string()))? else { continue };
        let der = certificate.der().to_vec().into();
        let number = found.len() + 1;
        RootCertStore::empty().add(der).map_err(|error| fault(format!("certificate {number}: {error}")))?;
        found.push(certificate);
    }
    if found.is_empty() { Err(fault("it holds no certificate in PEM form".to_owned())) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests write files from outside")]

    use super::*;

    #[test]
    fn only_loopback_takes_tokens_in_the_clear() {
        let plain = Transport::default();
        for url in ["https://a.example", "http://127.0.0.1:1/x", "http://[::1]:8700", "http://localhost:8700"] {
            assert!(plain.may_carry_token(url), "{url}");
        }
        for url in [
            "http://a.example",
            "http://127.0.0.1@a.example",
            "http://127.0.0.1.a.example",
            "http://localhost.a.example",
            "http://10.0.0.1",
            "HTTPS",
            "ftp://127.0.0.2.x",
        ] {
            assert!(!plain.may_carry_token(url), "{url}");
        }
        assert!(Transport { insecure: true, ..plain }.may_carry_token("http://a.example"));
    }

    #[test]
    fn damaged_files_are_named() {
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
