//! Zip records as written by this crate: [`LocalRecord`], [`CentralRecord`], [`EndRecord`].
//!
//! Fields are little-endian. Names and layout follow PKWARE's APPNOTE.TXT 6.3, sections 4.3.7, 4.3.12 and 4.3.16.

/// Signature of a local record, before a member's data.
pub(super) const LOCAL: &[u8; 4] = b"PK\x03\x04";
/// Signature of a record in the directory.
pub(super) const CENTRAL: &[u8; 4] = b"PK\x01\x02";
/// Signature of the end record.
pub(super) const END: &[u8; 4] = b"PK\x05\x06";
/// Optional signature of the descriptor after a member's data.
pub(super) const DESCRIPTOR: &[u8; 4] = b"PK\x07\x08";

/// Method in which the data is the content itself.
pub(super) const STORED: u16 = 0;
/// Method in which the data is a deflate stream.
pub(super) const DEFLATED: u16 = 8;

/// Flag for names in UTF-8.
const UTF8: u16 = 1 << 11;
/// Version 2.0 of the format, supported by every reader.
const VERSION: u16 = 20;
/// Host system 3 (Unix), so that readers apply the mode.
const MADE_BY: u16 = 3 << 8 | VERSION;
/// 1980-01-01, the earliest date that the format can express.
const DATE: u16 = 1 << 5 | 1;

/// Converts a number to 32 bits, saturating. Real values are far below the maximum.
pub(super) fn fit(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Fields shared by the two records of a member.
pub(super) struct LocalRecord {
    name: String,
    method: u16,
    crc: u32,
    packed: u32,
    size: u32,
}

impl LocalRecord {
    /// Returns the record of a stored (uncompressed) member.
    pub(super) fn stored(name: &str, bytes: &[u8]) -> Self {
        let size = fit(bytes.len());
        Self { name: name.to_owned(), method: STORED, crc: crc32(bytes), packed: size, size }
    }

    /// Returns a nameless record of a deflated member, for inflating it.
    pub(super) fn deflated(packed: usize, size: u32, crc: u32) -> Self {
        Self { name: String::new(), method: DEFLATED, crc, packed: fit(packed), size }
    }

    /// Encodes the local record that precedes the member's data.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        [LOCAL.as_slice(), &self.shared(), self.name.as_bytes()].concat()
    }

    /// Encodes the shared fields, from the required version to the length of the (empty) extra field.
    fn shared(&self) -> Vec<u8> {
        let flags = if self.name.is_ascii() { 0 } else { UTF8 };
        let mut bytes = Vec::new();
        for number in [VERSION, flags, self.method, 0, DATE] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [self.crc, self.packed, self.size] {
            bytes.extend(number.to_le_bytes());
        }
        let name_len = u16::try_from(self.name.len()).unwrap_or(u16::MAX);
        bytes.extend(name_len.to_le_bytes());
        bytes.extend([0; 2]);
        bytes
    }
}

/// Record of a member in the directory.
pub(super) struct CentralRecord {
    /// Fields repeated from the local record.
    pub(super) local: LocalRecord,
    /// Unix mode, including the file type.
    pub(super) mode: u32,
    /// Offset of the local record in the archive.
    pub(super) offset: u32,
}

impl CentralRecord {
    /// Encodes the record, with no comment and no attributes other than the mode.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = [CENTRAL.as_slice(), &MADE_BY.to_le_bytes(), &self.local.shared(), &[0; 6]].concat();
        bytes.extend((self.mode << 16).to_le_bytes());
        bytes.extend(self.offset.to_le_bytes());
        bytes.extend(self.local.name.as_bytes());
        bytes
    }
}

/// End record, which locates the directory.
pub(super) struct EndRecord {
    members: u16,
    directory: u32,
    offset: u32,
}

impl EndRecord {
    /// Returns the record of a directory with the given number of members, size in bytes and offset.
    pub(super) fn new(members: usize, directory: usize, offset: usize) -> Self {
        let members = u16::try_from(members).unwrap_or(u16::MAX);
        Self { members, directory: fit(directory), offset: fit(offset) }
    }

    /// Encodes the record without a comment.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let members = self.members.to_le_bytes();
        let (directory, offset) = (self.directory.to_le_bytes(), self.offset.to_le_bytes());
        [END.as_slice(), &[0; 4], &members, &members, &directory, &offset, &[0; 2]].concat()
    }
}

/// Computes the checksum of zip: CRC-32 with the reversed polynomial 0xEDB88320.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        let index = usize::from(crc.to_le_bytes()[0] ^ byte);
        CRC_TABLE.get(index).copied().unwrap_or_default() ^ (crc >> 8)
    };
    !bytes.iter().fold(!0, step)
}

const CRC_TABLE: [u32; 256] = crc_table();

const fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { 0xEDB8_8320 ^ (crc >> 1) } else { crc >> 1 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_is_standard_crc32() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(crc32(b""), 0);
    }
}
