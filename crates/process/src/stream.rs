//! Output of a running program, read up to a limit ([`Stream`]).

use std::{
    io::Read,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

pub(crate) struct Stream {
    bytes: Arc<Mutex<Vec<u8>>>,
    over: Arc<AtomicBool>,
}

impl Stream {
    /// Reads a pipe in a new thread. `open` counts the threads whose pipe is still open.
    pub fn read(from: Option<impl Read + Send + 'static>, limit: usize, open: &Arc<AtomicUsize>) -> Self {
        let stream = Self { bytes: Arc::new(Mutex::new(Vec::new())), over: Arc::new(AtomicBool::new(false)) };
        let Some(mut from) = from else { return stream };
        let (bytes, over, open) = (Arc::clone(&stream.bytes), Arc::clone(&stream.over), Arc::clone(open));
        open.fetch_add(1, Ordering::AcqRel);
        thread::spawn(move || {
            let mut piece = [0; 16 * 1024];
            while let Ok(count @ 1..) = from.read(&mut piece) {
                let mut bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
                let fits = count.min(limit - bytes.len().min(limit));
                bytes.extend_from_slice(piece.get(..fits).unwrap_or_default());
                if fits < count {
                    over.store(true, Ordering::Release);
                    break;
                }
            }
            open.fetch_sub(1, Ordering::AcqRel);
        });
        stream
    }

    /// Returns whether the output exceeded the limit.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
