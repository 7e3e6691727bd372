//! Byte limits on a server's output.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};

/// Maximum size of one message, in bytes.
pub(super) const MESSAGE_BYTES: u64 = 8 << 20;

/// Bytes that a server may send between two requests.
const BYTES_A_REQUEST: u64 = 64 << 20;

/// Remaining byte budget, shared by the reader and the requesting side.
#[derive(Debug)]
pub(super) struct ByteBudget {
    left: AtomicU64,
    is_over: AtomicBool,
}

impl ByteBudget {
    /// Creates a meter with a full budget.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { left: AtomicU64::new(BYTES_A_REQUEST), is_over: AtomicBool::new(false) })
    }

    /// Restores the full budget. Called before each request.
    pub(super) fn refill(&self) {
        self.left.store(BYTES_A_REQUEST, Ordering::Relaxed);
    }

    /// Returns whether the server exceeded its budget. Nothing more is read from it then.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: u64) -> bool {
        let enough = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        enough.is_ok()
    }
}

/// A line-based stream that fails once the server exceeds a limit.
pub(super) struct Metered<R> {
    stream: R,
    meter: Arc<ByteBudget>,
    line: u64,
}

impl<R> Metered<R> {
    /// Wraps a stream, charging its bytes to the meter.
    pub(super) fn new(stream: R, meter: Arc<ByteBudget>) -> Self {
        Self { stream, meter, line: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Metered<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = buffer.filled().get(before..).unwrap_or_default();
        let bytes = read.len() as u64;
        self.line = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => bytes - at as u64 - 1,
            None => self.line + bytes,
        };
        match self.meter.take(bytes) && self.line <= MESSAGE_BYTES {
            true => Poll::Ready(Ok(())),
            false => {
                self.meter.is_over.store(true, Ordering::Relaxed);
                Poll::Ready(Err(io::Error::other("it sent too much data")))
            }
        }
    }
}
