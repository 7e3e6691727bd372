//! Packs without recompression: [`pack_of`] writes objects without deltas, [`concat`] joins packs at the cost of
//! copying.
//!
//! A pack consists of a header, compressed entries and a SHA-1. An entry refers to the base of its delta by id or by
//! distance, and both remain valid when whole packs are concatenated. The index of the result is derived from theirs.
//! Only garbage collection recompresses objects.

use std::io::Write;

use flate2::{Compression, write::ZlibEncoder};
use git2::Oid;
use sha1::{Digest, Sha1};

const PACK_MAGIC: &[u8; 8] = b"PACK\0\0\0\x02";
const PACK_HEAD: usize = 12;
const INDEX_MAGIC: &[u8; 8] = b"\xfftOc\0\0\0\x02";
const SUM: usize = 20;
const FANOUT: usize = 256 * 4;

/// A pack and its index, in git's file formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pack {
    pub pack: Vec<u8>,
    pub index: Vec<u8>,
}

/// One object in an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub id: [u8; SUM],
    crc: [u8; 4],
    offset: u32,
}

impl Pack {
    /// Returns the checksum at the end of the pack, which is part of its name.
    pub fn name(&self) -> String {
        let sum = self.pack.len().checked_sub(SUM).and_then(|at| self.pack.get(at..)).unwrap_or_default();
        sum.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Type of a pack entry that holds a complete blob.
const BLOB: u8 = 3;

/// An object as a pack entry without a delta.
pub(super) struct Whole {
    id: [u8; SUM],
    entry: Vec<u8>,
}

impl Whole {
    /// Compresses a file; `None` if that fails.
    pub fn blob(id: Oid, bytes: &[u8]) -> Option<Self> {
        let mut head = vec![BLOB << 4 | (bytes.len() & 0xf) as u8];
        let mut rest = bytes.len() >> 4;
        while rest > 0 {
            *head.last_mut()? |= 0x80;
            head.push((rest & 0x7f) as u8);
            rest >>= 7;
        }
        let mut encoder = ZlibEncoder::new(head, Compression::fast());
        encoder.write_all(bytes).ok()?;
        Some(Self { id: id.as_bytes().try_into().ok()?, entry: encoder.finish().ok()? })
    }
}

/// Builds a pack of these objects, whose ids must be distinct. `None` if the pack would exceed 2 GiB.
pub(super) fn pack_of(objects: Vec<Whole>) -> Option<Pack> {
    let mut bytes = [PACK_MAGIC.as_slice(), &u32::try_from(objects.len()).ok()?.to_be_bytes()].concat();
    let mut entries = Vec::new();
    for Whole { id, entry } in objects {
        let offset = u32::try_from(bytes.len()).ok().filter(|offset| *offset < 1 << 31)?;
        entries.push(Entry { id, crc: crc32fast::hash(&entry).to_be_bytes(), offset });
        bytes.extend(entry);
    }
    entries.sort();
    let sum = Sha1::digest(&bytes);
    bytes.extend(sum);
    let index = index_of(&entries, &sum)?;
    Some(Pack { pack: bytes, index })
}

/// Concatenates packs. Returns `None` if one of them is damaged, if the result would exceed 2 GiB, or if two packs
/// contain the same object.
pub(super) fn concat(packs: &[Pack]) -> Option<Pack> {
    let mut bytes = PACK_MAGIC.to_vec();
    bytes.extend([0; 4]);
    let mut entries = Vec::new();
    for pack in packs {
        let (objects, body) = (whole(&pack.pack, &pack.index)?, pack.pack.get(PACK_HEAD..pack.pack.len() - SUM)?);
        let shift = u32::try_from(bytes.len() - PACK_HEAD).ok()?;
        for entry in objects {
            let offset = entry.offset.checked_add(shift).filter(|offset| *offset < 1 << 31)?;
            entries.push(Entry { offset, ..entry });
        }
        bytes.extend(body);
    }
    entries.sort();
    if entries.windows(2).any(|pair| pair[0].id == pair[1].id) {
        return None;
    }
    bytes.splice(8..PACK_HEAD, u32::try_from(entries.len()).ok()?.to_be_bytes());
    let sum = Sha1::digest(&bytes);
    bytes.extend(sum);
    let index = index_of(&entries, &sum)?;
    Some(Pack { pack: bytes, index })
}

fn index_of(entries: &[Entry], pack_sum: &[u8]) -> Option<Vec<u8>> {
    let mut index = INDEX_MAGIC.to_vec();
    for first in 0..=u8::MAX {
        let count = entries.partition_point(|entry| entry.id[0] <= first);
        index.extend(u32::try_from(count).ok()?.to_be_bytes());
    }
    index.extend(entries.iter().flat_map(|entry| entry.id));
    index.extend(entries.iter().flat_map(|entry| entry.crc));
    index.extend(entries.iter().flat_map(|entry| entry.offset.to_be_bytes()));
    index.extend(pack_sum);
    let sum = Sha1::digest(&index);
    index.extend(sum);
    Some(index)
}

/// Returns the objects of a pack, if pack and index are intact and belong together.
fn whole(pack: &[u8], index: &[u8]) -> Option<Vec<Entry>> {
    let (content, sum) = pack.split_at_checked(pack.len().checked_sub(SUM)?)?;
    let entries = entries(index)?;
    let count = content.strip_prefix(PACK_MAGIC)?.first_chunk().map(|count| u32::from_be_bytes(*count))?;
    let named = index.get(index.len() - 2 * SUM..index.len() - SUM)?;
    let belongs = named == sum && count as usize == entries.len();
    (belongs && Sha1::digest(content).as_slice() == sum).then_some(entries)
}

/// Parses the objects of a version 2 index. `None` if it is damaged or for a pack over 2 GiB.
pub(super) fn entries(index: &[u8]) -> Option<Vec<Entry>> {
    let (content, sum) = index.split_at_checked(index.len().checked_sub(SUM)?)?;
    if Sha1::digest(content).as_slice() != sum {
        return None;
    }
    let (fanout, rest) = content.strip_prefix(INDEX_MAGIC)?.split_at_checked(FANOUT)?;
    let count = u32::from_be_bytes(*fanout.last_chunk()?) as usize;
    let (ids, rest) = rest.split_at_checked(count.checked_mul(SUM)?)?;
    let (crcs, rest) = rest.split_at_checked(count * 4)?;
    let (offsets, rest) = rest.split_at_checked(count * 4)?;
    if rest.len() != SUM {
        return None;
    }
    let rows = ids.as_chunks::<SUM>().0.iter().zip(crcs.as_chunks::<4>().0).zip(offsets.as_chunks::<4>().0);
    Some(rows.map(|((id, crc), offset)| Entry { id: *id, crc: *crc, offset: u32::from_be_bytes(*offset) }).collect())
}
