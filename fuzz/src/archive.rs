//! [`run`]: any bytes unpacked, and what unpacks held to what was promised of it.

use std::{
    collections::BTreeMap,
    io::{Cursor, Read},
};

use arbitrary::{Result, Unstructured};
use skill::{Bundle, Limits, SkillPath, archive};

/// Names that stand for every rule about names.
const NAMES: [&str; 24] = [
    "SKILL.md", "a", "A", "a/b", "top/SKILL.md", "top/a", "../x", "/x", "a\\..\\x", "C:x", "con", "a:b", "a/",
    ".git/config", "__MACOSX/a", ".DS_Store", "e\u{301}", "\u{e9}", "\u{fb01}", "fi", "a/../b", "a\u{202e}b", "./a",
    "docs/SKILL.md",
];

/// Takes the bytes as an archive, or, when they begin so, as the plan of one whose checksums fit.
pub fn run(bytes: &[u8]) {
    match bytes.strip_prefix(b"plan") {
        Some(plan) => check(&planned(plan).unwrap_or_default()),
        None => check(bytes),
    }
}

fn check(bytes: &[u8]) {
    let limits = Limits::default();
    let Ok(bundle) = archive::unpack(bytes, &limits) else { return };
    assert!(bundle.len() <= limits.files_per_skill && bundle.total_bytes() <= limits.skill_bytes);
    for (path, file) in bundle.files() {
        assert_eq!(SkillPath::parse(path.as_str()).as_ref(), Ok(path));
        assert!(file.text().is_none() || file.bytes.len() as u64 <= limits.text_file_bytes);
    }
    let packed = archive::pack(&bundle);
    let again = archive::unpack(&packed, &limits).expect("what we pack unpacks");
    assert_eq!((&again, again.digest()), (&bundle, bundle.digest()));
    assert_eq!(*archive::pack(&again), *packed, "one form only");
    assert_another_reader_agrees(bytes, &bundle);
}

/// Holds the bundle to what another reader finds in the same bytes.
fn assert_another_reader_agrees(bytes: &[u8], bundle: &Bundle) {
    let mut other = zip::ZipArchive::new(Cursor::new(bytes)).expect("another reader opens it");
    let mut contents = BTreeMap::<Vec<u8>, usize>::new();
    for (_, file) in bundle.files() {
        *contents.entry(file.bytes.to_vec()).or_default() += 1;
    }
    for index in 0..other.len() {
        let mut member = other.by_index(index).expect("another reader opens each member");
        let name = String::from_utf8(member.name_raw().to_vec()).expect("names are UTF-8");
        if name.ends_with('/') || name.starts_with("__MACOSX/") || name.rsplit('/').next() == Some(".DS_Store") {
            continue;
        }
        let mut content = Vec::new();
        member.read_to_end(&mut content).expect("another reader reads each member");
        let fits = |path: &SkillPath| name == path.as_str() || name.ends_with(&format!("/{path}"));
        assert!(bundle.files().any(|(path, file)| fits(path) && *file.bytes == *content), "{name} differs");
        let left = contents.get_mut(&content).expect("a content that is in the bundle");
        *left = left.checked_sub(1).expect("as often as in the bundle");
    }
    assert!(contents.values().all(|left| *left == 0), "another reader sees fewer files");
}

/// An archive made by a plan: good records by default, and any field of any record may be off.
fn planned(plan: &[u8]) -> Result<Vec<u8>> {
    let mut plan = Unstructured::new(plan);
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    let count = plan.int_in_range(0..=6)?;
    for index in 0..count {
        add_member(&mut plan, index == 0, &mut archive, &mut directory)?;
    }
    let start = archive.len() as u32;
    archive.extend(&directory);
    let comment: Vec<u8> = if plan.ratio(1, 8)? { plan.arbitrary()? } else { Vec::new() };
    archive.extend(b"PK\x05\x06\0\0\0\0");
    for number in [count as u16, count as u16] {
        archive.extend(off_by_chance(&mut plan, u32::from(number))?.to_le_bytes()[..2].iter());
    }
    for number in [directory.len() as u32, start] {
        archive.extend(off_by_chance(&mut plan, number)?.to_le_bytes());
    }
    archive.extend((comment.len() as u16).to_le_bytes());
    archive.extend(comment);
    for _ in 0..plan.int_in_range(0..=2)? {
        if let (Ok(at), Ok(byte)) = (plan.choose_index(archive.len()), plan.arbitrary()) {
            archive[at] = byte;
        }
    }
    Ok(archive)
}

fn add_member(plan: &mut Unstructured<'_>, first: bool, archive: &mut Vec<u8>, directory: &mut Vec<u8>) -> Result<()> {
    let name: Vec<u8> = match plan.ratio(1, 8)? {
        true => plan.arbitrary()?,
        false if first => NAMES[0].into(),
        false => plan.choose(&NAMES)?.as_bytes().into(),
    };
    let content: Vec<u8> = plan.arbitrary()?;
    let content = content.repeat(if plan.ratio(1, 8)? { plan.int_in_range(1..=3000)? } else { 1 });
    let deflated = plan.ratio(1, 3)?;
    let data = if deflated { deflate_stored(&content) } else { content.clone() };
    let flags: u16 = *plan.choose(&[0, 0, 0, 0x800, 8, 1, 2])?;
    let mode: u32 = *plan.choose(&[0o100_644, 0o100_755, 0o120_777, 0o040_755, 0o010_644, 0, 0o104_755])?;
    let numbers = [crc32(&content), data.len() as u32, content.len() as u32];
    let extra: Vec<u8> = if plan.ratio(1, 8)? { plan.arbitrary()? } else { Vec::new() };
    let offset = archive.len() as u32;
    archive.extend(b"PK\x03\x04");
    archive.extend(header(plan, flags, deflated, numbers, [name.len(), extra.len()])?);
    archive.extend(&name);
    archive.extend(&extra);
    archive.extend(&data);
    if flags & 8 != 0 {
        archive.extend(b"PK\x07\x08");
        numbers.iter().for_each(|number| archive.extend(number.to_le_bytes()));
    }
    directory.extend(b"PK\x01\x02\x14\x03");
    directory.extend(header(plan, flags, deflated, numbers, [name.len(), extra.len()])?);
    // No comment, the first disk, no attributes of content, then the mode.
    directory.extend([0; 6]);
    directory.extend((mode << 16).to_le_bytes());
    directory.extend(off_by_chance(plan, offset)?.to_le_bytes());
    directory.extend(&name);
    directory.extend(&extra);
    Ok(())
}

/// What the two records of a member share: version, flags, method, time, checksum, sizes, lengths.
fn header(
    plan: &mut Unstructured<'_>,
    flags: u16,
    deflated: bool,
    numbers: [u32; 3],
    lengths: [usize; 2],
) -> Result<Vec<u8>> {
    let mut header = Vec::new();
    for word in [20, flags, if deflated { 8 } else { 0 }, 0, 0x21] {
        header.extend(word.to_le_bytes());
    }
    for number in numbers {
        header.extend(off_by_chance(plan, number)?.to_le_bytes());
    }
    lengths.iter().for_each(|length| header.extend((*length as u16).to_le_bytes()));
    Ok(header)
}

/// The number, or rarely another one.
fn off_by_chance(plan: &mut Unstructured<'_>, number: u32) -> Result<u32> {
    Ok(if plan.ratio(1, 60)? { plan.arbitrary()? } else { number })
}

/// A deflate stream that packs nothing: blocks of bytes as they are.
fn deflate_stored(content: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    for block in content.chunks(0xffff) {
        let length = block.len() as u16;
        stream.push(0);
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
    }
    stream.extend([1, 0, 0, 0xff, 0xff]);
    stream
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}
