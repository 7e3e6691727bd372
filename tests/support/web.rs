//! [`Web`]: a static web server on loopback for one folder.

use std::{
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Longest wait of requests for others that are expected at the same time.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves a folder as long as the test process lives.
pub struct Web {
    port: u16,
    most: Arc<AtomicUsize>,
}

impl Web {
    /// Starts a server without delays.
    pub fn start(folder: PathBuf) -> Self {
        Self::for_groups(folder, 1)
    }

    /// Starts a server that answers once this many requests have come, or after [`PATIENCE`].
    pub fn for_groups(folder: PathBuf, together: usize) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let most = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&most);
        listener.set_nonblocking(true).unwrap();
        thread::spawn(move || {
            let (mut waiting, mut since) = (Vec::new(), Instant::now());
            loop {
                match listener.accept() {
                    Ok((stream, _)) => {
                        since = if waiting.is_empty() { Instant::now() } else { since };
                        waiting.push(stream);
                        seen.fetch_max(waiting.len(), Ordering::SeqCst);
                    }
                    Err(_) => thread::sleep(Duration::from_millis(2)),
                }
                if waiting.len() == together || since.elapsed() > PATIENCE {
                    waiting.drain(..).for_each(|stream| answer(stream, &folder));
                }
            }
        });
        Self { port, most }
    }

    /// Returns the URL of a file.
    pub fn url(&self, file: &str) -> String {
        format!("http://127.0.0.1:{}/{file}", self.port)
    }

    /// Returns the largest number of requests that waited at the same time.
    pub fn most_at_once(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

fn answer(mut stream: TcpStream, folder: &Path) {
    stream.set_nonblocking(false).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let request = lines.next().and_then(Result::ok).unwrap_or_default();
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
    let (status, body) = match std::fs::read(folder.join(path)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
    let _closed_early = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
}
