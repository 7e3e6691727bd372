//! Parser of the zip structure: [`read`] returns [`Member`]s that every reader interprets the same way.
//!
//! Zip readers find members in two ways: from the directory at the end, or sequentially from the start. Hostile
//! archives show different files to each. Therefore every byte must belong to exactly one record or member, and the two
//! records of a member must agree.

use super::{
    ArchiveError,
    record::{CENTRAL, DEFLATED, DESCRIPTOR, END, LOCAL, STORED},
};
use crate::Limits;

/// Size of the end record without its comment.
const END_BYTES: usize = 22;
/// Size of a directory record without its three variable texts.
const CENTRAL_BYTES: usize = 46;
/// Size of a local record without its two variable texts.
const LOCAL_BYTES: usize = 30;
/// Longest comment that the format can express, in bytes.
const MAX_COMMENT_BYTES: usize = 65_535;
/// Members allowed per file of a skill. The surplus covers folders and files added by macOS.
const MEMBERS_PER_FILE: usize = 4;

/// Flags of the three kinds of encryption.
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
/// Flag: sizes and checksum follow the data in a descriptor.
const HAS_DESCRIPTOR: u16 = 1 << 3;
/// Flags on which both records must agree: encryption, descriptor, patch data, UTF-8.
const COMPARED_FLAGS: u16 = ENCRYPTED | HAS_DESCRIPTOR | 1 << 5 | 1 << 11;

/// Extra field with 64-bit sizes.
const ZIP64: u16 = 0x0001;
/// Extra field with another spelling of the name.
const UNICODE_NAME: u16 = 0x7075;

/// Compression method of a member's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// Uncompressed data, equal to the content.
    Stored,
    /// Raw deflate stream (RFC 1951).
    Deflated,
}

/// One member, as described by both of its records.
#[derive(Debug)]
pub(super) struct Member<'a> {
    /// Name exactly as written in the archive.
    pub(super) name: &'a str,
    /// Compression method of the data.
    pub(super) method: Method,
    /// Data as stored, compressed if `method` requires it.
    pub(super) packed: &'a [u8],
    /// Declared size of the content, in bytes.
    pub(super) size: u32,
    /// Declared CRC-32 of the content.
    pub(super) crc: u32,
    /// True if the archive was made on a system with Unix modes.
    unix: bool,
    /// Unix mode in the upper half, DOS attributes in the lower.
    attributes: u32,
}

impl Member<'_> {
    /// Returns the type bits of the Unix mode. They are read from archives of every host system, since some readers do
    /// so.
    pub(super) fn file_type(&self) -> u32 {
        (self.attributes >> 16) & 0o170_000
    }

    /// Returns whether any executable bit is set. Setuid, setgid and the rest of the mode are ignored.
    pub(super) fn is_executable(&self) -> bool {
        self.unix && (self.attributes >> 16) & 0o111 != 0
    }

    /// Returns whether the DOS attributes mark a folder.
    pub(super) fn has_folder_attribute(&self) -> bool {
        self.attributes & 0x10 != 0
    }
}

/// Reads the records of an archive and checks that they account for every byte.
///
/// # Errors
/// [`ArchiveError`] for every fault in the structure of the archive.
pub(super) fn read<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Vec<Member<'a>>, ArchiveError> {
    let (len, limit) = (bytes.len() as u64, limits.archive_bytes);
    if len > limit {
        return Err(ArchiveError::TooLarge { bytes: len, limit });
    }
    let end = find_end(bytes)?;
    let directory = Directory::read(bytes, end, limits)?;
    let mut entries = directory.entries()?;
    entries.sort_by_key(|entry| entry.offset);
    let mut at = 0;
    let mut members = Vec::with_capacity(entries.len());
    for entry in &entries {
        if entry.offset < at {
            return Err(ArchiveError::Overlap { member: entry.name.to_owned() });
        }
        if entry.offset > at {
            return Err(ArchiveError::StrayBytes { offset: at as u64 });
        }
        let (member, next) = entry.member(bytes, directory.start)?;
        members.push(member);
        at = next;
    }
    if at < directory.start { Err(ArchiveError::StrayBytes { offset: at as u64 }) } else { Ok(members) }
}

/// Finds the offset of the end record, whose comment must reach to the end of the archive.
fn find_end(bytes: &[u8]) -> Result<usize, ArchiveError> {
    let last = bytes.len().checked_sub(END_BYTES).ok_or(ArchiveError::NotAZip)?;
    let first = last.saturating_sub(MAX_COMMENT_BYTES);
    let mut stray = None;
    for at in (first..=last).rev().filter(|at| Fields(bytes).starts(*at, END)) {
        let comment = Fields(bytes).u16(at + 20).map_or(0, usize::from);
        if at + END_BYTES + comment == bytes.len() {
            return Ok(at);
        }
        stray = Some((at + END_BYTES + comment).min(bytes.len()));
    }
    Err(stray.map_or(ArchiveError::NotAZip, |offset| ArchiveError::StrayBytes { offset: offset as u64 }))
}

/// Directory, with its position and member count from the end record.
struct Directory<'a> {
    bytes: &'a [u8],
    members: usize,
    start: usize,
    end: usize,
}

impl<'a> Directory<'a> {
    fn read(bytes: &'a [u8], end: usize, limits: &Limits) -> Result<Self, ArchiveError> {
        let fields = Fields(bytes);
        let number = |at| fields.u16(end + at).ok_or(ArchiveError::NotAZip).map(usize::from);
        let offset = |at| fields.u32(end + at).ok_or(ArchiveError::NotAZip);
        let members = number(10)?;
        let (size, start) = (offset(12)?, offset(16)?);
        if number(4)? != 0 || number(6)? != 0 || number(8)? != members {
            return Err(ArchiveError::NotAZip);
        }
        let limit = limits.files_per_skill.saturating_mul(MEMBERS_PER_FILE);
        if members > limit {
            return Err(ArchiveError::TooManyMembers { members, limit });
        }
        let (size, start) = (size as usize, start as usize);
        match start.checked_add(size) {
            Some(found) if found == end => Ok(Self { bytes, members, start, end }),
            Some(found) if found < end => Err(ArchiveError::StrayBytes { offset: found as u64 }),
            _ => Err(ArchiveError::NotAZip),
        }
    }

    fn entries(&self) -> Result<Vec<Entry<'a>>, ArchiveError> {
        let mut at = self.start;
        let mut entries = Vec::with_capacity(self.members);
        for _ in 0..self.members {
            let entry = Entry::read(self.bytes, at)?;
            at = entry.end;
            entries.push(entry);
        }
        let comment = self.bytes.get(self.end + END_BYTES..).unwrap_or_default();
        match at == self.end && !holds_end(comment) {
            true => Ok(entries),
            false => Err(ArchiveError::StrayBytes { offset: at.min(self.end) as u64 }),
        }
    }
}

/// Record of a member in the directory.
struct Entry<'a> {
    name: &'a str,
    method: u16,
    flags: u16,
    crc: u32,
    packed: u32,
    size: u32,
    unix: bool,
    attributes: u32,
    offset: usize,
    end: usize,
}

impl<'a> Entry<'a> {
    fn read(bytes: &'a [u8], at: usize) -> Result<Self, ArchiveError> {
        Self::parse(bytes, at).ok_or(ArchiveError::NotAZip)?
    }

    fn parse(bytes: &'a [u8], at: usize) -> Option<Result<Self, ArchiveError>> {
        let fields = Fields(bytes.get(at..)?);
        if !fields.starts(0, CENTRAL) {
            return None;
        }
        let (name, extra) = fields.texts(28, CENTRAL_BYTES)?;
        let texts = CENTRAL_BYTES + name.len();
        let len = texts + extra.len() + usize::from(fields.u16(32)?);
        if holds_end(fields.0.get(texts..len)?) {
            return Some(Err(ArchiveError::StrayBytes { offset: (at + texts) as u64 }));
        }
        let end = at + len;
        let name = match name_of(name, extra) {
            Ok(name) => name,
            Err(error) => return Some(Err(error)),
        };
        let entry = Self {
            name,
            method: fields.u16(10)?,
            flags: fields.u16(8)?,
            crc: fields.u32(16)?,
            packed: fields.u32(20)?,
            size: fields.u32(24)?,
            unix: matches!(fields.u16(4)? >> 8, 3 | 19),
            attributes: fields.u32(38)?,
            offset: fields.u32(42)? as usize,
            end,
        };
        Some(entry.check_features(extra).map(|()| entry))
    }

    fn check_features(&self, extra: &[u8]) -> Result<(), ArchiveError> {
        if self.flags & ENCRYPTED != 0 {
            return Err(ArchiveError::Encrypted { member: self.name.to_owned() });
        }
        if has_field(extra, ZIP64) || self.packed == u32::MAX || self.size == u32::MAX {
            return Err(self.unsupported("the 64-bit extension"));
        }
        match self.method {
            STORED | DEFLATED => Ok(()),
            other => Err(self.unsupported(&format!("compression method {other}"))),
        }
    }

    fn unsupported(&self, feature: &str) -> ArchiveError {
        ArchiveError::Unsupported { member: self.name.to_owned(), feature: feature.to_owned() }
    }

    /// Returns the member and the offset at which the next one must start.
    fn member(&self, bytes: &'a [u8], limit: usize) -> Result<(Member<'a>, usize), ArchiveError> {
        let differs = |field| ArchiveError::Inconsistent { member: self.name.to_owned(), field };
        let start = self.check_local(bytes)?;
        let end = start.checked_add(self.packed as usize).filter(|end| *end <= limit).ok_or(differs("size"))?;
        let packed = bytes.get(start..end).ok_or(differs("size"))?;
        let next = end + self.descriptor_bytes(bytes, end)?;
        if next > limit || (self.method == STORED && self.packed != self.size) {
            return Err(differs("size"));
        }
        let method = if self.method == STORED { Method::Stored } else { Method::Deflated };
        let Self { name, size, crc, unix, attributes, .. } = *self;
        Ok((Member { name, method, packed, size, crc, unix, attributes }, next))
    }

    /// Compares the local record with this one and returns the offset of the data.
    fn check_local(&self, bytes: &'a [u8]) -> Result<usize, ArchiveError> {
        let differs = |field| ArchiveError::Inconsistent { member: self.name.to_owned(), field };
        let fields = Fields(bytes.get(self.offset..).unwrap_or_default());
        if !fields.starts(0, LOCAL) {
            return Err(differs("place"));
        }
        let (name, extra) = fields.texts(26, LOCAL_BYTES).ok_or(differs("name"))?;
        if name_of(name, extra)? != self.name {
            return Err(differs("name"));
        }
        if fields.u16(6).is_none_or(|flags| (flags ^ self.flags) & COMPARED_FLAGS != 0) {
            return Err(differs("flags"));
        }
        if fields.u16(8) != Some(self.method) {
            return Err(differs("method"));
        }
        let numbers = (fields.u32(14), fields.u32(18), fields.u32(22));
        let left_open = self.flags & HAS_DESCRIPTOR != 0 && numbers == (Some(0), Some(0), Some(0));
        if !left_open && numbers != (Some(self.crc), Some(self.packed), Some(self.size)) {
            return Err(differs("size"));
        }
        if has_field(extra, ZIP64) {
            return Err(self.unsupported("the 64-bit extension"));
        }
        Ok(self.offset + LOCAL_BYTES + name.len() + extra.len())
    }

    /// Returns the size of the data descriptor, which must repeat the values of the directory.
    fn descriptor_bytes(&self, bytes: &[u8], at: usize) -> Result<usize, ArchiveError> {
        if self.flags & HAS_DESCRIPTOR == 0 {
            return Ok(0);
        }
        let fields = Fields(bytes);
        let repeats = |at| {
            let numbers = (fields.u32(at), fields.u32(at + 4), fields.u32(at + 8));
            numbers == (Some(self.crc), Some(self.packed), Some(self.size))
        };
        if fields.starts(at, DESCRIPTOR) && repeats(at + 4) {
            return Ok(16);
        }
        if repeats(at) {
            return Ok(12);
        }
        Err(ArchiveError::Inconsistent { member: self.name.to_owned(), field: "size" })
    }
}

/// Returns whether a free text contains a signature that a reader could take for the end record.
fn holds_end(text: &[u8]) -> bool {
    text.windows(END.len()).any(|window| window == END)
}

/// Returns a member's name, which must be UTF-8 and agree with every other spelling in the extra fields.
fn name_of<'a>(name: &'a [u8], extra: &[u8]) -> Result<&'a str, ArchiveError> {
    let lossy = || String::from_utf8_lossy(name).into_owned();
    let differs = |field| ArchiveError::Inconsistent { member: lossy(), field };
    let fields = extra_fields(extra).ok_or_else(|| differs("extra"))?;
    if fields.iter().any(|(id, field)| *id == UNICODE_NAME && field.get(5..) != Some(name)) {
        return Err(differs("name"));
    }
    std::str::from_utf8(name).map_err(|_| ArchiveError::NameEncoding { member: lossy() })
}

fn has_field(extra: &[u8], id: u16) -> bool {
    extra_fields(extra).is_none_or(|fields| fields.iter().any(|(found, _)| *found == id))
}

/// Splits the extra fields by id. Returns `None` if their lengths do not add up.
fn extra_fields(mut extra: &[u8]) -> Option<Vec<(u16, &[u8])>> {
    let mut fields = Vec::new();
    while !extra.is_empty() {
        let (id, len) = (Fields(extra).u16(0)?, Fields(extra).u16(2)?);
        let end = 4 + usize::from(len);
        fields.push((id, extra.get(4..end)?));
        extra = extra.get(end..)?;
    }
    Some(fields)
}

/// Reader of little-endian numbers at offsets.
#[derive(Clone, Copy)]
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn chunk<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..).and_then(<[u8]>::first_chunk).copied()
    }

    fn u16(self, at: usize) -> Option<u16> {
        self.chunk(at).map(u16::from_le_bytes)
    }

    fn u32(self, at: usize) -> Option<u32> {
        self.chunk(at).map(u32::from_le_bytes)
    }

    fn starts(self, at: usize, signature: &[u8; 4]) -> bool {
        self.chunk(at) == Some(*signature)
    }

    /// Returns the name and the extra field. Their lengths are at `at`, and the name starts at `start`.
    fn texts(self, at: usize, start: usize) -> Option<(&'a [u8], &'a [u8])> {
        let name_end = start + usize::from(self.u16(at)?);
        let extra_end = name_end + usize::from(self.u16(at + 2)?);
        Some((self.0.get(start..name_end)?, self.0.get(name_end..extra_end)?))
    }
}
