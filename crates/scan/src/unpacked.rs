//! [`of_file`] and [`of_value`]: decompression of gzip, zlib and xz.
//!
//! The result is a stream, so that each caller stops it at its own limit.

use std::io::{self, Read};

use flate2::read::{MultiGzDecoder, ZlibDecoder};
use lzma_rust2::XzReader;

/// Maximum memory of a decoder in KiB. The strongest compression of the `xz` program needs 65 MiB.
const MEMORY: u32 = 68 << 10;

/// Maximum number of reads of an xz stream. Its pieces take up to 64 KiB each, and a few reads. A block without content
/// takes 16 bytes, and as much time as such a piece.
const READS: usize = 1 << 16;

/// Returns the decompressed content of a file that begins with the signature of gzip or xz.
pub(crate) fn of_file(bytes: &[u8]) -> Option<Box<dyn Read + '_>> {
    match bytes {
        [0x1F, 0x8B, 8, ..] => Some(Box::new(MultiGzDecoder::new(bytes))),
        [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => {
            let input = Input { rest: bytes, reads: READS };
            Some(Box::new(XzReader::new_mem_limit(input, true, MEMORY)))
        }
        _ => None,
    }
}

/// Returns the decompressed content of a decoded value. Zlib counts here: its signature is too short for files, and
/// programs pack values with it.
pub(crate) fn of_value(bytes: &[u8]) -> Option<Box<dyn Read + '_>> {
    match bytes {
        [0x78, 0x01 | 0x5E | 0x9C | 0xDA, ..] => Some(Box::new(ZlibDecoder::new(bytes))),
        _ => of_file(bytes),
    }
}

/// Compressed bytes that can be read in a limited number of pieces.
struct Input<'a> {
    rest: &'a [u8],
    reads: usize,
}

impl Read for Input<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.reads = self.reads.checked_sub(1).ok_or_else(|| io::Error::other("it has too many compressed blocks"))?;
        self.rest.read(to)
    }
}
