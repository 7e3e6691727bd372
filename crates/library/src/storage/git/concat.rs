//! [`pack_of`]: objects as a pack, each whole, and [`concat`]: several packs as one, entry by entry as they are, so that it costs no more than copying.
//!
//! A pack is a head, compressed entries and a sha1; an entry names the base of its delta by id or by
//! the distance to it, and both stay true when whole packs are put one after the other. The index of
//! the result is made from theirs. Nothing is compressed anew; that is what a collection of garbage
//! does.

use std::io::Write;

use flate2::{Compression, write::ZlibEncoder};
use git2::Oid;
use sha1::{Digest, Sha1};

const PACK_MAGIC: &[u8; 8] = b"PACK\0\0\0\x02";
const PACK_HEAD: usize = 12;
const INDEX_MAGIC: &[u8; 8] = b"\xfftOc\0\0\0\x02";
const SUM: usize = 20;
const FANOUT: usize = 256 * 4;

/// A pack and its index, as git has them on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pack {
    pub pack: Vec<u8>,
    pub index: Vec<u8>,
}

/// One object of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub id: [u8; SUM],
    crc: [u8; 4],
    offset: u32,
}

impl Pack {
    /// The sum at the end of the pack, which is its name.
    pub fn name(&self) -> String {
        let sum = self.pack.len().checked_sub(SUM).and_then(|at| self.pack.get(at..)).unwrap_or_default();
        sum.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The kind of an entry that holds a whole blob.
const BLOB: u8 = 3;

/// An object as an entry of a pack: not as what differs from another.
pub(super) struct Whole {
    id: [u8; SUM],
    entry: Vec<u8>,
}

impl Whole {
    /// A file; `None` where it cannot be deflated.
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

/// A pack of these objects, each id once; `None` where it is larger than what this knows.
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

/// Puts packs together; `None` when one of them is damaged or larger than what this knows, or when two
/// hold the same object.
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

/// The objects of a pack, if pack and index are whole and belong together.
fn whole(pack: &[u8], index: &[u8]) -> Option<Vec<Entry>> {
    let (content, sum) = pack.split_at_checked(pack.len().checked_sub(SUM)?)?;
    let entries = entries(index)?;
    let count = content.strip_prefix(PACK_MAGIC)?.first_chunk().map(|count| u32::from_be_bytes(*count))?;
    let named = index.get(index.len() - 2 * SUM..index.len() - SUM)?;
    let belongs = named == sum && count as usize == entries.len();
    (belongs && Sha1::digest(content).as_slice() == sum).then_some(entries)
}

/// The objects of an index of the second format; `None` when it is damaged or for packs over 2 GiB.
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
