//! [`FaultyBucket`]: a bucket of an emulated object store, behind a proxy that fails on demand.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// The emulator of this process. It ends when its standard input does.
struct Server {
    address: SocketAddr,
    _child: Child,
}

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let mut command = Command::new("python3");
    command
        .arg("-c")
        .arg(include_str!("buckets.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut port = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let port: u16 = port.trim().parse().expect("moto does not start; install it with `pip install 'moto[server]'`");
    Server { address: SocketAddr::from(([127, 0, 0, 1], port)), _child: child }
});

/// A failure of the proxy, for one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The answer is 500, without asking the store.
    Broken,
    /// The answer is 404, although the store may have the object.
    Lost,
    /// There is no answer.
    Hangs,
    /// The connection ends before the answer.
    Cut,
    /// The store is asked, and the connection ends in the middle of its answer.
    CutAnswer,
    /// The store is asked, and the last byte of its answer is changed.
    Garbled,
}

/// A new bucket, and the proxy before it.
pub struct FaultyBucket {
    /// Name of the bucket.
    pub name: String,
    /// URL of the proxy.
    pub endpoint: String,
    faults: Arc<Mutex<VecDeque<Fault>>>,
    asked: Arc<AtomicUsize>,
}

impl FaultyBucket {
    /// Creates the bucket. The proxy ends with the process.
    pub fn new() -> Self {
        static CREATED: AtomicUsize = AtomicUsize::new(0);
        let name = format!("bucket-{}", CREATED.fetch_add(1, Ordering::Relaxed));
        let created = forwarded(format!("PUT /{name} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").as_bytes());
        assert!(created.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&created));
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let (faults, asked) = (Arc::<Mutex<VecDeque<Fault>>>::default(), Arc::<AtomicUsize>::default());
        thread::spawn({
            let (faults, asked) = (Arc::clone(&faults), Arc::clone(&asked));
            move || {
                for stream in listener.incoming().flatten() {
                    let (faults, asked) = (Arc::clone(&faults), Arc::clone(&asked));
                    thread::spawn(move || serve(stream, &faults, &asked));
                }
            }
        });
        Self { name, endpoint, faults, asked }
    }

    /// Lets the next requests fail, each in one way.
    pub fn fail(&self, faults: &[Fault]) {
        *self.faults.lock().unwrap() = faults.iter().copied().collect();
        self.asked.store(0, Ordering::SeqCst);
    }

    /// Returns the number of requests since the last call of `fail`.
    pub fn requests(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// Answers one request, and closes the connection.
fn serve(mut stream: TcpStream, faults: &Mutex<VecDeque<Fault>>, asked: &AtomicUsize) {
    let Some(request) = read_message(&mut stream) else { return };
    asked.fetch_add(1, Ordering::SeqCst);
    let fault = faults.lock().unwrap().pop_front();
    let short =
        |status: &str| format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").into_bytes();
    let answer = match fault {
        Some(Fault::Cut) => Vec::new(),
        Some(Fault::Hangs) => {
            thread::sleep(Duration::from_secs(3));
            Vec::new()
        }
        Some(Fault::Broken) => short("500 Internal Server Error"),
        Some(Fault::Lost) => short("404 Not Found"),
        Some(Fault::CutAnswer) => {
            let answer = forwarded(&request);
            answer[..answer.len() - answer.len() / 4].to_vec()
        }
        Some(Fault::Garbled) => {
            let mut answer = forwarded(&request);
            *answer.last_mut().unwrap() ^= 1;
            answer
        }
        None => forwarded(&request),
    };
    // A client that gave up has closed the connection.
    let _ = stream.write_all(&answer).and_then(|()| stream.shutdown(Shutdown::Both));
}

/// Reads the head and the body of a request; `None` if the client sends none.
fn read_message(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let (mut reader, mut message, mut length) = (BufReader::new(stream), Vec::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        let is_end = line == "\r\n";
        if is_end {
            message.extend_from_slice(b"Connection: close\r\n");
        }
        message.extend_from_slice(line.as_bytes());
        if is_end {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    message.extend(body);
    Some(message)
}

/// Sends a request to the store and returns its answer.
fn forwarded(request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(SERVER.address).unwrap();
    stream.write_all(request).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}
