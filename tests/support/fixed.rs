//! [`Fixed`]: a server on loopback with prepared answers, which notes every request.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// Answers as long as the test process lives.
pub struct Fixed {
    /// Base URL of the server.
    pub url: String,
    seen: Arc<Mutex<String>>,
}

impl Fixed {
    /// Starts a server that answers every request with the same bytes, and then holds the connection for a while.
    pub fn start(answer: Vec<u8>, hold: Duration) -> Self {
        Self::answering(move |_| answer.clone(), hold)
    }

    /// Starts a server whose answer depends on the text of the request.
    pub fn answering(answer: impl Fn(&str) -> Vec<u8> + Send + 'static, hold: Duration) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(String::new()));
        let log = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut bytes = [0; 4096];
                let read = stream.read(&mut bytes).unwrap_or(0);
                let request = String::from_utf8_lossy(&bytes[..read]);
                log.lock().unwrap().push_str(&request);
                let _closed = stream.write_all(&answer(&request));
                thread::sleep(hold);
            }
        });
        Self { url, seen }
    }

    /// Returns the text of all requests.
    pub fn seen(&self) -> String {
        self.seen.lock().unwrap().clone()
    }
}

/// Returns an answer with this body.
pub fn answer_with(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}").into_bytes()
}

/// Returns a redirect to a URL.
pub fn redirect(to: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").into_bytes()
}
