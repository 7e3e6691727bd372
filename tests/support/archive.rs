//! Handmade zip files with properties that our packer would never write.

/// One member of a zip file.
#[derive(Debug, Clone)]
pub struct Member {
    /// Name in the central directory; may be invalid.
    pub name: String,
    /// Stored bytes, compressed or not.
    data: Vec<u8>,
    /// Declared size after unpacking.
    size: u32,
    /// Compression method: 0 for stored, 8 for deflated.
    method: u16,
    crc: u32,
    /// Unix mode, including the file type.
    mode: u32,
    /// Name in the first record, if it differs.
    first_name: Option<String>,
    /// Flags: 1 for encrypted, 0x800 for names in UTF-8.
    flags: u16,
    /// Extra field of both records.
    extra: Vec<u8>,
}

impl Member {
    /// Creates an uncompressed member.
    pub fn stored(name: &str, bytes: &[u8]) -> Self {
        let size = u32::try_from(bytes.len()).unwrap();
        let (name, data, crc) = (name.to_owned(), bytes.to_vec(), crc32(bytes));
        Self { name, data, size, method: 0, crc, mode: 0, first_name: None, flags: 0x0800, extra: Vec::new() }
    }

    /// Sets the mode, such as that of a link.
    pub fn with_mode(self, mode: u32) -> Self {
        Self { mode, ..self }
    }

    /// Sets another name in the local header.
    pub fn first_called(self, name: &str) -> Self {
        Self { first_name: Some(name.to_owned()), ..self }
    }

    /// Marks the member as encrypted.
    pub fn encrypted(self) -> Self {
        Self { flags: self.flags | 1, ..self }
    }

    /// Declares another size after unpacking.
    pub fn said_to_have(self, size: u32) -> Self {
        Self { size, ..self }
    }

    /// Adds an extra field.
    pub fn with_extra(self, extra: &[u8]) -> Self {
        Self { extra: extra.to_vec(), ..self }
    }
}

/// Builds a zip file of these members.
pub fn zip(members: &[Member]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut directory = Vec::new();
    for member in members {
        let offset = u32::try_from(file.len()).unwrap();
        let first_name = member.first_name.as_ref().unwrap_or(&member.name);
        file.extend(b"PK\x03\x04");
        file.extend(common_header(member, first_name));
        file.extend(first_name.as_bytes());
        file.extend(&member.extra);
        file.extend(&member.data);
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(common_header(member, &member.name));
        directory.extend([0; 6]);
        directory.extend((member.mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(member.name.as_bytes());
        directory.extend(&member.extra);
    }
    let count = u16::try_from(members.len()).unwrap().to_le_bytes();
    let offset = u32::try_from(file.len()).unwrap().to_le_bytes();
    let size = u32::try_from(directory.len()).unwrap().to_le_bytes();
    file.extend(directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    for part in [&count[..], &count, &size, &offset, &[0, 0]] {
        file.extend(part);
    }
    file
}

/// Returns the fields that both headers of a member share: version, flags, method, time, checksum, sizes, lengths.
fn common_header(member: &Member, name: &str) -> Vec<u8> {
    let packed = u32::try_from(member.data.len()).unwrap();
    let name = u16::try_from(name.len()).unwrap();
    let mut header = Vec::new();
    for word in [20, member.flags, member.method, 0, 0x21] {
        header.extend(word.to_le_bytes());
    }
    for number in [member.crc, packed, member.size] {
        header.extend(number.to_le_bytes());
    }
    header.extend(name.to_le_bytes());
    header.extend(u16::try_from(member.extra.len()).unwrap().to_le_bytes());
    header
}

/// Builds a zip file with a `SKILL.md` and a member of `size` zeros, compressed to a thousandth.
pub fn zip_bomb(skill_md: &str, size: u32) -> Vec<u8> {
    let zeros = Member::stored("assets/zeros.bin", &deflated_zeros(size));
    let bomb = Member { size, method: 8, crc: 0x1234_5678, ..zeros };
    zip(&[Member::stored("SKILL.md", skill_md.as_bytes()), bomb])
}

/// Compresses zeros with the fixed codes: one literal zero, then copies of 258 bytes from one byte back.
fn deflated_zeros(size: u32) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.push(0b1, 1);
    bits.push(0b01, 2);
    bits.push_code(0b0011_0000, 8);
    for _ in 0..size / 258 {
        bits.push_code(0b1100_0101, 8);
        bits.push_code(0, 5);
    }
    bits.push_code(0, 7);
    bits.bytes
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: usize,
}

impl Bits {
    /// Appends the lowest bits of a value, least significant first.
    fn push(&mut self, value: u32, count: usize) {
        for at in 0..count {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let bit = u8::try_from(value >> at & 1).unwrap() << (self.used % 8);
            *self.bytes.last_mut().unwrap() |= bit;
            self.used += 1;
        }
    }

    /// Appends a Huffman code, most significant bit first.
    fn push_code(&mut self, code: u32, count: usize) {
        (0..count).rev().for_each(|at| self.push(code >> at & 1, 1));
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[test]
fn sample_archives_unpack() {
    let text = super::skill_md("small", "A small skill. Use in tests.", "Text.");
    let files = zip(&[Member::stored("SKILL.md", text.as_bytes()), Member::stored("assets/a.bin", &[0, 1, 255])]);
    let bundle = skill::archive::unpack(&files, &skill::Limits::default()).unwrap();
    assert_eq!(bundle.skill_md(), Some(text.as_str()));
    let small_zeros = skill::archive::unpack(&zip_bomb(&text, 2580), &skill::Limits::default()).unwrap_err();
    assert!(!small_zeros.to_string().is_empty(), "its checksum is wrong, and nothing else: {small_zeros}");
}
