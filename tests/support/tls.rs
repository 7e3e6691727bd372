//! [`TlsFront`]: a TLS proxy on loopback in front of a plain server.
//!
//! Its certificate is for 127.0.0.1 and localhost, from a CA made for tests only. Both are in `tests/data/tls` and
//! expire in a hundred years.

use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::PathBuf,
    sync::Arc,
    thread,
};

use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

/// Proxies as long as the test process lives.
pub struct TlsFront {
    port: u16,
}

/// Returns the certificate of the CA in PEM format.
pub fn test_ca() -> PathBuf {
    file("ca.pem")
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls").join(name)
}

impl TlsFront {
    /// Starts a proxy in front of the server at a plain URL.
    pub fn before(url: &str) -> Self {
        let behind = url.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
        let chain = vec![CertificateDer::from_pem_file(file("server.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
        let config = Arc::new(ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let (config, behind) = (Arc::clone(&config), behind.clone());
                thread::spawn(move || {
                    let _client_that_left = answer(stream, config, &behind);
                });
            }
        });
        Self { port }
    }

    /// Returns the URL of a path behind the proxy.
    pub fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.port)
    }
}

/// Handles one request.
fn answer(stream: TcpStream, config: Arc<ServerConfig>, behind: &str) -> io::Result<()> {
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut client = StreamOwned::new(connection, stream);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.extend(byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let is_named = |line: &str, name: &str| line.to_ascii_lowercase().starts_with(&format!("{name}:"));
    let length = head.lines().find(|line| is_named(line, "content-length"));
    let length: usize = length.and_then(|line| line.split(':').nth(1)?.trim().parse().ok()).unwrap_or_default();
    let mut body = vec![0; length];
    client.read_exact(&mut body)?;
    let kept = head.lines().filter(|line| !line.is_empty() && !is_named(line, "connection"));
    let request: String = kept.map(|line| format!("{line}\r\n")).collect();
    let mut server = TcpStream::connect(behind)?;
    server.write_all(format!("{request}Connection: close\r\n\r\n").as_bytes())?;
    server.write_all(&body)?;
    let mut bytes = Vec::new();
    server.read_to_end(&mut bytes)?;
    client.write_all(&bytes)?;
    client.conn.send_close_notify();
    client.flush()
}
