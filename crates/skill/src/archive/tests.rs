//! Archives that are taken, and hostile ones, built byte by byte, that are not.

use std::io::{Cursor, Write as _};

use proptest::prelude::*;
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

use super::*;
use crate::Digest;

fn path(text: &str) -> SkillPath {
    SkillPath::parse(text).unwrap()
}

fn skill(files: &[(&str, &[u8], bool)]) -> Bundle {
    let files = files.iter().map(|(at, bytes, executable)| {
        let file = File { bytes: (*bytes).into(), executable: *executable };
        (path(at), file)
    });
    Bundle::from_files(files, &Limits::default()).unwrap()
}

fn open(bytes: &[u8]) -> Result<Bundle, ArchiveError> {
    unpack(bytes, &Limits::default())
}

/// Member with full control over its bytes: the fields shared by both records, then those of each.
#[derive(Clone)]
struct Raw {
    name: Vec<u8>,
    data: Vec<u8>,
    method: u16,
    flags: u16,
    crc: u32,
    size: u32,
    attributes: u32,
    made_by: u16,
    extra: Vec<u8>,
    local_name: Option<Vec<u8>>,
    local_size: Option<u32>,
    local_method: Option<u16>,
    local_extra: Vec<u8>,
    comment: Vec<u8>,
    descriptor: Vec<u8>,
    offset: Option<u32>,
}

fn raw(name: &str, content: &[u8]) -> Raw {
    Raw {
        name: name.into(),
        data: content.into(),
        method: 0,
        flags: 0,
        crc: crc32(content),
        size: content.len() as u32,
        attributes: 0o100_644 << 16,
        made_by: 3 << 8 | 20,
        extra: vec![],
        local_name: None,
        local_size: None,
        local_method: None,
        local_extra: vec![],
        comment: vec![],
        descriptor: vec![],
        offset: None,
    }
}

fn deflated(name: &str, content: &[u8]) -> Raw {
    Raw { data: deflate(content), method: 8, ..raw(name, content) }
}

/// Compresses bytes with the `zip` crate and returns the deflate stream.
fn deflate(content: &[u8]) -> Vec<u8> {
    let archive = written_by_zip(&[("x", content)], CompressionMethod::Deflated);
    let mut reader = ZipArchive::new(Cursor::new(archive)).unwrap();
    let mut packed = Vec::new();
    reader.by_index_raw(0).unwrap().read_to_end(&mut packed).unwrap();
    packed
}

fn written_by_zip(files: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        let options = SimpleFileOptions::default().compression_method(method).unix_permissions(0o644);
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn numbers(bytes: &mut Vec<u8>, short: &[u16], long: &[u32]) {
    short.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    long.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
}

impl Raw {
    fn local(&self) -> Vec<u8> {
        let name = self.local_name.as_ref().unwrap_or(&self.name);
        let mut bytes = b"PK\x03\x04".to_vec();
        numbers(&mut bytes, &[20, self.flags, self.local_method.unwrap_or(self.method), 0, 33], &[]);
        let sizes = match self.descriptor.is_empty() {
            true => [self.crc, self.data.len() as u32, self.local_size.unwrap_or(self.size)],
            false => [0, 0, self.local_size.unwrap_or(0)],
        };
        numbers(&mut bytes, &[], &sizes);
        numbers(&mut bytes, &[name.len() as u16, self.local_extra.len() as u16], &[]);
        [bytes, name.clone(), self.local_extra.clone(), self.data.clone(), self.descriptor.clone()].concat()
    }

    fn central(&self, offset: u32) -> Vec<u8> {
        let mut bytes = b"PK\x01\x02".to_vec();
        numbers(&mut bytes, &[self.made_by, 20, self.flags, self.method, 0, 33], &[]);
        numbers(&mut bytes, &[], &[self.crc, self.data.len() as u32, self.size]);
        let lens = [self.name.len() as u16, self.extra.len() as u16, self.comment.len() as u16, 0, 0];
        numbers(&mut bytes, &lens, &[self.attributes, self.offset.unwrap_or(offset)]);
        [bytes, self.name.clone(), self.extra.clone(), self.comment.clone()].concat()
    }
}

fn build(members: &[Raw]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        directory.extend(member.central(bytes.len() as u32));
        bytes.extend(member.local());
    }
    let (count, size, offset) = (members.len() as u16, directory.len() as u32, bytes.len() as u32);
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06");
    numbers(&mut bytes, &[0, 0, count, count], &[size, offset]);
    numbers(&mut bytes, &[0], &[]);
    bytes
}

fn with_skill_md(member: Raw) -> Vec<u8> {
    build(&[raw("SKILL.md", b"x"), member])
}

fn refusal(member: Raw) -> ArchiveError {
    open(&with_skill_md(member)).unwrap_err()
}

#[test]
fn packing_is_the_same_for_ever() {
    let bundle =
        skill(&[("scripts/run.sh", b"#!/bin/sh\n", true), ("SKILL.md", b"text\n", false), ("参考.md", b"", false)]);
    let bytes = pack(&bundle);
    assert_eq!(*bytes, *pack(&bundle));
    assert_eq!((bytes.hash(), bytes.packed()), (Digest::of_bytes(&bytes), Some(bundle.digest())));
    assert_eq!(
        Digest::of_bytes(&bytes).to_string(),
        "sha256:4b8da34951f79342b085dab10915ce31720c483950acf85cd439d58a555ae833",
        "the bytes of an archive are part of every published release: they must never change"
    );
}

#[test]
fn members_are_sorted_stored_and_dated_1980() {
    let bundle = skill(&[("b", b"1", true), ("SKILL.md", b"2", false), ("a/c", b"3", false)]);
    let mut reader = ZipArchive::new(Cursor::new(pack(&bundle).into_bytes())).unwrap();
    let mut seen = Vec::new();
    for index in 0..reader.len() {
        let member = reader.by_index(index).unwrap();
        assert_eq!((member.compression(), member.size()), (CompressionMethod::Stored, 1));
        assert_eq!(member.last_modified().unwrap().to_string(), "1980-01-01 00:00:00");
        assert!(member.extra_data().is_none_or(|extra| extra.is_empty()));
        seen.push((member.name().unwrap().into_owned(), member.unix_mode().unwrap()));
    }
    let expected = [("SKILL.md", 0o100_644), ("a/c", 0o100_644), ("b", 0o100_755)];
    assert_eq!(seen, expected.map(|(name, mode)| (name.to_owned(), mode)));
}

#[test]
fn archives_of_other_tools_are_read_stored_and_deflated() {
    let content = b"line\n".repeat(500);
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let bytes = written_by_zip(&[("SKILL.md", b"x"), ("references/a.md", &content)], method);
        let bundle = open(&bytes).unwrap();
        assert_eq!(&*bundle.get(&path("references/a.md")).unwrap().bytes, content);
    }
}

#[test]
fn a_zipped_folder_loses_its_name() {
    let folder = |name: &str| Raw { attributes: 0o040_755 << 16 | 0x10, ..raw(name, b"") };
    let bytes = build(&[folder("pdf/"), raw("pdf/SKILL.md", b"x"), folder("pdf/a/"), raw("pdf/a/b.md", b"y")]);
    assert_eq!(open(&bytes).unwrap(), skill(&[("SKILL.md", b"x", false), ("a/b.md", b"y", false)]));
    let two = build(&[raw("pdf/SKILL.md", b"x"), raw("other/a.md", b"y")]);
    assert!(matches!(open(&two), Err(ArchiveError::SecondSkillMd { .. })), "two folders are not one skill");
    let none = open(&build(&[raw("references/a.md", b"x")])).unwrap();
    assert_eq!(none.paths().next().unwrap().as_str(), "references/a.md", "no SKILL.md in it: not the skill's folder");
}

#[test]
fn what_macos_adds_is_left_out() {
    let bytes = build(&[
        raw("pdf/SKILL.md", b"x"),
        raw("__MACOSX/pdf/._SKILL.md", b"\0\x05\x16\x07"),
        raw("pdf/.DS_Store", b"\0\0\0\x01Bud1"),
        raw("pdf/a/.DS_Store", b""),
    ]);
    assert_eq!(open(&bytes).unwrap(), skill(&[("SKILL.md", b"x", false)]));
    assert!(matches!(refusal(raw("__MACOSX/../../x", b"")), ArchiveError::Escapes { .. }));
    let link = Raw { attributes: 0o120_777 << 16, ..raw("__MACOSX/link", b"/etc") };
    assert!(matches!(refusal(link), ArchiveError::NotRegular { .. }));
}

#[test]
fn every_zip_slip_spelling_is_an_escape() {
    for name in [
        "../x", "a/../../x", "..", "a/..", "/etc/passwd", "//h/s", "~/x", "..\\x", "a\\..\\..\\x", "\\x",
        "\\\\h\\s\\x", "C:\\x", "C:/x", "c:x", ".. /x", "a/.. /x", "a/．．/x", "../", "/", "‥/x",
    ] {
        let error = refusal(raw(name, b""));
        assert!(matches!(&error, ArchiveError::Escapes { member } if member == name), "{name}: {error:?}");
    }
}

#[test]
fn encoded_dots_escape_and_encoded_letters_do_not() {
    for name in ["%2e%2e%2fx", "%252e%252e/x", "a/..%2f..%5cx", "%2fx", "a/%43%3Ax"] {
        assert!(matches!(refusal(raw(name, b"y")), ArchiveError::Escapes { .. }), "{name}");
    }
    for name in ["100%.md", "https%3A%2F%2Fexample.org%2Fa.md", "%e4%b8", "a%zz"] {
        let bundle = open(&with_skill_md(raw(name, b"y"))).unwrap();
        assert!(bundle.get(&path(name)).is_some(), "taken as it stands, never decoded: {name}");
    }
}

#[test]
fn names_that_no_skill_path_can_have_are_refused() {
    let long = "a".repeat(201);
    let deep = "a/".repeat(20) + "b";
    for name in [
        "a\0b",
        "a\nb",
        "a\u{202e}b",
        "e\u{301}.md",
        "a.",
        "a ",
        "dir./x",
        "a:b",
        "x:stream",
        "CON",
        "nul.txt",
        "a/COM1",
        "a//b",
        "./a",
        ".git/config",
        ".GIT/hooks/x",
        "",
        long.as_str(),
        deep.as_str(),
        "a\\b",
    ] {
        let error = refusal(raw(name, b""));
        let refused = matches!(error, ArchiveError::BadName { .. } | ArchiveError::Escapes { .. });
        assert!(refused, "{name:?}: {error:?}");
    }
    let latin1 = Raw { name: b"caf\xe9.md".to_vec(), ..raw("", b"") };
    assert!(matches!(refusal(latin1), ArchiveError::NameEncoding { .. }));
}

#[test]
fn clawhub_mistake_one_bad_member_refuses_the_whole_archive() {
    let members = [raw("SKILL.md", b"x"), raw("a.md", b"y"), raw("../z", b"z"), raw("b.md", b"w")];
    let error = open(&build(&members)).unwrap_err();
    assert!(error.to_string().contains("../z"), "{error}");
}

#[test]
fn links_devices_and_pipes_are_refused() {
    for kind in [0o120_777, 0o060_644, 0o020_644, 0o010_644, 0o140_755] {
        for made_by in [3 << 8, 0, 10 << 8, 19 << 8] {
            let member = Raw { attributes: kind << 16, made_by, ..raw("a", b"/etc/passwd") };
            assert!(matches!(refusal(member), ArchiveError::NotRegular { .. }), "{kind:o}");
        }
    }
    let folder = 0o040_755 << 16;
    assert!(matches!(refusal(Raw { attributes: folder, ..raw("a", b"") }), ArchiveError::NotRegular { .. }));
    assert!(matches!(refusal(Raw { attributes: 0x10, ..raw("a", b"") }), ArchiveError::NotRegular { .. }));
    assert!(matches!(refusal(raw("a/", b"")), ArchiveError::NotRegular { .. }), "a file named as a folder");
    let full = Raw { attributes: folder, ..raw("a/", b"x") };
    assert!(matches!(refusal(full), ArchiveError::NotRegular { .. }), "a folder with content");
}

#[test]
fn writing_through_a_link_is_refused_at_the_link() {
    let link = Raw { attributes: 0o120_777 << 16, ..raw("out", b"/tmp") };
    let bytes = build(&[raw("SKILL.md", b"x"), link, raw("out/evil", b"y")]);
    assert!(matches!(open(&bytes), Err(ArchiveError::NotRegular { member }) if member == "out"));
}

#[test]
fn only_the_executable_bit_of_a_mode_is_kept() {
    for (mode, executable) in [(0o104_755, true), (0o102_644, false), (0o101_777, true), (0o100_001, true), (0, false)]
    {
        let bundle = open(&with_skill_md(Raw { attributes: mode << 16, ..raw("a", b"") })).unwrap();
        assert_eq!(bundle.get(&path("a")).unwrap().executable, executable, "{mode:o}");
    }
    let dos = Raw { attributes: 0o100_755 << 16, made_by: 20, ..raw("a", b"") };
    assert!(!open(&with_skill_md(dos)).unwrap().get(&path("a")).unwrap().executable);
}

#[test]
fn doubled_members_are_refused_also_after_folding() {
    for (first, second) in
        [("a", "a"), ("a", "A"), ("ﬁle", "file"), ("D/a", "d/b"), ("a", "a/b"), ("SKILL.md", "skill.md")]
    {
        let bytes = build(&[raw("SKILL.md", b"x"), raw(first, b"1"), raw(second, b"2")]);
        assert!(matches!(open(&bytes), Err(ArchiveError::Duplicate { .. })), "{first} {second}");
    }
    let folder = Raw { attributes: 0o040_755 << 16, ..raw("A/", b"") };
    let bytes = build(&[raw("SKILL.md", b"x"), raw("a", b"1"), folder]);
    assert!(matches!(open(&bytes), Err(ArchiveError::Duplicate { .. })), "a file and a folder");
}

#[test]
fn records_that_differ_are_refused() {
    let base = raw("a", b"hello");
    let differ = [
        ("name", Raw { local_name: Some(b"b".to_vec()), ..base.clone() }),
        ("name", Raw { local_name: Some(b"longer".to_vec()), ..base.clone() }),
        ("size", Raw { local_size: Some(4), ..base.clone() }),
        ("method", Raw { local_method: Some(8), ..base.clone() }),
        ("size", Raw { size: 6, ..base.clone() }),
        ("name", Raw { extra: b"\x75\x70\x06\0\x01abcdb".to_vec(), ..base.clone() }),
        ("name", Raw { extra: b"\x75\x70\x06\0\x01abcda\x75\x70\x06\0\x01abcdb".to_vec(), ..base.clone() }),
        ("extra", Raw { extra: b"\x75\x70\x07\0\x01abcd".to_vec(), ..base.clone() }),
        ("extra", Raw { local_extra: b"\0".to_vec(), ..base.clone() }),
        ("size", Raw { flags: 8, descriptor: b"not a descriptor".to_vec(), ..base.clone() }),
        ("size", Raw { flags: 8, descriptor: vec![0; 12], local_size: Some(3), ..base.clone() }),
    ];
    for (expected, member) in differ {
        let error = refusal(member);
        assert!(
            matches!(&error, ArchiveError::Inconsistent { field, .. } if *field == expected),
            "{expected}: {error:?}"
        );
    }
    let mut flags = with_skill_md(base);
    flags[6] = 2;
    assert!(open(&flags).is_ok(), "a hint about compression is nobody's business");
    flags[7] = 8;
    assert!(matches!(open(&flags), Err(ArchiveError::Inconsistent { field: "flags", .. })));
}

#[test]
fn sizes_may_stand_after_the_data() {
    let content = b"streamed content";
    let mut numbers_only = Vec::new();
    let member = deflated("a", content);
    numbers(&mut numbers_only, &[], &[member.crc, member.data.len() as u32, member.size]);
    for descriptor in [numbers_only.clone(), [b"PK\x07\x08".to_vec(), numbers_only].concat()] {
        let bundle = open(&with_skill_md(Raw { flags: 8, descriptor, ..member.clone() })).unwrap();
        assert_eq!(&*bundle.get(&path("a")).unwrap().bytes, content);
    }
}

#[test]
fn overlapping_members_are_refused() {
    let twice = build(&[raw("SKILL.md", b"x"), raw("a", b"1"), Raw { offset: Some(39), ..raw("a", b"1") }]);
    assert!(matches!(open(&twice), Err(ArchiveError::Overlap { .. } | ArchiveError::StrayBytes { .. })));
    let inner = raw("b", b"deep").local();
    let outer = raw("a", &inner);
    let start = raw("SKILL.md", b"x").local().len() + 31;
    let mut bytes = build(&[raw("SKILL.md", b"x"), outer.clone()]);
    let end = bytes.len() - 22;
    let quoted = Raw { offset: Some(start as u32), ..raw("b", b"deep") }.central(0);
    bytes.splice(end..end, quoted.iter().copied());
    let end = bytes.len() - 22;
    bytes[end + 8] = 3;
    bytes[end + 10] = 3;
    let directory = u32::from_le_bytes(bytes[end + 12..end + 16].try_into().unwrap()) + quoted.len() as u32;
    bytes[end + 12..end + 16].copy_from_slice(&directory.to_le_bytes());
    assert!(matches!(open(&bytes), Err(ArchiveError::Overlap { member }) if member == "b"), "a quoted member");
}

#[test]
fn bytes_that_belong_to_no_member_are_refused() {
    let good = with_skill_md(raw("a", b"1"));
    let stray = |bytes: &[u8]| matches!(open(bytes), Err(ArchiveError::StrayBytes { .. }));
    assert!(stray(&[b"#!/bin/sh\n".as_slice(), &good].concat()), "before");
    assert!(stray(&[good.as_slice(), b"more"].concat()), "after");
    assert!(stray(&[good.as_slice(), &good].concat()), "another archive before");
    let shifted = Raw { offset: Some(48), ..raw("a", b"1") };
    let hidden = Raw { data: b"1".to_vec(), ..raw("hidden", b"1") };
    let mut bytes = build(&[raw("SKILL.md", b"x"), hidden.clone(), shifted]);
    assert!(open(&bytes).is_err());
    let hidden_record = hidden.central(0);
    let at =
        bytes.windows(hidden_record.len() - 4).position(|w| w.ends_with(b"hidden") && w.starts_with(b"PK\x01\x02"));
    bytes.truncate(at.unwrap_or(bytes.len()));
    assert!(open(&bytes).is_err(), "a directory cut short");
}

#[test]
fn a_member_that_the_directory_leaves_out_is_refused() {
    let hidden = raw("hidden.md", b"unlisted").local();
    let listed = raw("SKILL.md", b"x");
    let bytes = [listed.local(), hidden.clone()].concat();
    let directory = listed.central(0);
    let mut end = b"PK\x05\x06".to_vec();
    numbers(&mut end, &[0, 0, 1, 1], &[directory.len() as u32, bytes.len() as u32]);
    numbers(&mut end, &[0], &[]);
    let error = open(&[bytes, directory, end].concat()).unwrap_err();
    assert_eq!(error, ArchiveError::StrayBytes { offset: listed.local().len() as u64 });
}

#[test]
fn comment_is_skipped_unless_it_hides_an_end() {
    let mut bytes = with_skill_md(raw("a", b"1"));
    let at = bytes.len() - 2;
    bytes[at..].copy_from_slice(&7u16.to_le_bytes());
    assert!(open(&[bytes.as_slice(), b"release"].concat()).is_ok());
    assert!(matches!(open(&[bytes.as_slice(), b"PK\x05\x06..."].concat()), Err(ArchiveError::StrayBytes { .. })));
    let member = Raw { comment: b"PK\x05\x06".to_vec(), ..raw("a", b"1") };
    assert!(matches!(refusal(member), ArchiveError::StrayBytes { .. }));
}

#[test]
fn encryption_other_methods_and_64_bit_sizes_are_refused() {
    for flags in [1, 1 | 1 << 6, 1 << 13] {
        assert!(matches!(refusal(Raw { flags, ..raw("a", b"1") }), ArchiveError::Encrypted { .. }));
    }
    for method in [1, 6, 9, 12, 14, 93, 95, 99] {
        assert!(matches!(refusal(Raw { method, ..raw("a", b"1") }), ArchiveError::Unsupported { .. }), "{method}");
    }
    let zip64 = b"\x01\0\x08\0\x01\0\0\0\0\0\0\0".to_vec();
    for member in [
        Raw { extra: zip64.clone(), ..raw("a", b"1") },
        Raw { local_extra: zip64, ..raw("a", b"1") },
        Raw { size: u32::MAX, ..raw("a", b"1") },
    ] {
        assert!(matches!(refusal(member), ArchiveError::Unsupported { .. }));
    }
}

#[test]
fn content_must_be_what_is_declared() {
    let wrong = Raw { crc: 1, ..raw("a", b"1") };
    assert!(matches!(refusal(wrong), ArchiveError::WrongChecksum { .. }));
    let wrong = Raw { crc: 1, ..deflated("a", b"1234") };
    assert!(matches!(refusal(wrong), ArchiveError::WrongChecksum { .. }));
    for size in [3, 5, 0] {
        let wrong = Raw { size, ..deflated("a", b"1234") };
        assert!(matches!(refusal(wrong), ArchiveError::WrongSize { .. }), "{size}");
    }
    let garbage = Raw { data: vec![0xff; 20], ..deflated("a", b"1234") };
    assert!(matches!(refusal(garbage), ArchiveError::Damaged { .. }));
    let mut cut = deflated("a", &(0..=255).collect::<Vec<u8>>());
    cut.data.truncate(20);
    assert!(matches!(refusal(cut), ArchiveError::Damaged { .. } | ArchiveError::WrongSize { .. }));
}

#[test]
fn bombs_are_refused_by_ratio_and_output() {
    let zeros = vec![0; 1 << 20];
    assert!(matches!(refusal(deflated("a", &zeros)), ArchiveError::Bomb { .. }));
    let lying = Raw { size: 100, ..deflated("a", &zeros) };
    assert!(matches!(refusal(lying), ArchiveError::WrongSize { declared: 100, .. }), "declared small");
    assert!(open(&with_skill_md(deflated("a", &vec![b'-'; 4096]))).is_ok(), "a short run is no bomb");
    let limits = Limits { skill_bytes: 1000, ..Limits::default() };
    let many: Vec<Raw> = (0..11).map(|n| deflated(&format!("a{n}"), &[b'x'; 100])).collect();
    assert!(matches!(unpack(&build(&many), &limits), Err(ArchiveError::Bundle(BundleError::TooManyBytes { .. }))));
}

#[test]
fn nested_archive_stays_packed_and_bounded() {
    let inner = build(&[raw("SKILL.md", b"x"), deflated("a", &vec![0; 100_000])]);
    let bundle = open(&with_skill_md(raw("assets/inner.zip", &inner))).unwrap();
    assert_eq!(&*bundle.get(&path("assets/inner.zip")).unwrap().bytes, inner);
    let bomb = build(&vec![deflated("a", &vec![0; 1 << 20]); 50]);
    let bundle = open(&with_skill_md(deflated("assets/bomb.zip", &bomb))).unwrap();
    assert_eq!(bundle.total_bytes(), bomb.len() as u64 + 1, "what it would unpack to is nobody's business here");
}

#[test]
fn thousands_of_members_are_refused_before_they_are_read() {
    let member = |n| raw(&format!("m{n}"), b"");
    let many: Vec<Raw> = (0..5000).map(member).collect();
    assert!(matches!(open(&build(&many)), Err(ArchiveError::TooManyMembers { members: 5000, .. })));
    let some: Vec<Raw> = (0..513).map(member).collect();
    assert!(matches!(open(&build(&some)), Err(ArchiveError::Bundle(BundleError::TooManyFiles { files: 513, .. }))));
    let mut lying = build(&many);
    let end = lying.len() - 22;
    lying[end + 8..end + 10].copy_from_slice(&2u16.to_le_bytes());
    lying[end + 10..end + 12].copy_from_slice(&2u16.to_le_bytes());
    assert!(open(&lying).is_err());
    let limits = Limits { archive_bytes: 100, ..Limits::default() };
    assert!(matches!(unpack(&build(&some), &limits), Err(ArchiveError::TooLarge { limit: 100, .. })));
}

#[test]
fn what_is_no_zip_is_told_so() {
    for bytes in [b"".as_slice(), b"PK", b"# SKILL.md\n", &[0x1f, 0x8b, 8, 0], &[0; 4000]] {
        assert_eq!(open(bytes), Err(ArchiveError::NotAZip));
    }
    assert_eq!(open(&build(&[])), Err(ArchiveError::Empty));
    let good = with_skill_md(raw("a", b"1"));
    for len in 0..good.len() {
        assert!(open(&good[..len]).is_err(), "cut at {len}");
    }
}

#[test]
fn native_binaries_are_refused() {
    for content in
        [b"\x7fELF\x02\x01\x01\0".as_slice(), b"MZ\x90\0\x03\0", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe\0\0\0\x02"]
    {
        assert!(matches!(refusal(raw("assets/tool", content)), ArchiveError::NativeBinary { .. }));
    }
    assert!(open(&with_skill_md(raw("assets/A.class", b"\xca\xfe\xba\xbe\0\0\0\x34"))).is_ok(), "a Java class");
}

#[test]
fn a_second_skill_md_is_refused_outside_evals() {
    for name in ["docs/SKILL.md", "docs/skill.md", "references/a/Skill.MD"] {
        assert!(matches!(refusal(raw(name, b"y")), ArchiveError::SecondSkillMd { .. }), "{name}");
    }
    assert!(open(&with_skill_md(raw("evals/case/SKILL.md", b"y"))).is_ok());
}

#[test]
fn the_public_skills_come_back_as_they_were() {
    for folder in testkit::skills() {
        let files = testkit::files(&folder).into_iter();
        let files = files.map(|(name, bytes)| (path(&name), File { bytes: bytes.into(), executable: false }));
        let bundle = Bundle::from_files(files, &Limits::default()).unwrap();
        assert_eq!(open(&pack(&bundle)).as_ref(), Ok(&bundle), "{}", folder.display());
    }
}

fn any_bundle() -> impl Strategy<Value = Bundle> {
    let file = ("[a-cé]{1,3}(/[a-c .]{0,3}[d-f]){0,2}", proptest::collection::vec(any::<u8>(), 0..200), any::<bool>());
    proptest::collection::vec(file, 0..8).prop_map(|files| {
        let start = skill(&[("SKILL.md", b"x", false)]);
        files.into_iter().fold(start, |bundle, (at, bytes, executable)| {
            let Ok(at) = SkillPath::parse(&at) else { return bundle };
            let file = File { bytes: bytes.into(), executable };
            if native::format_of(&file).is_some() {
                return bundle;
            }
            bundle.clone().with_file(at, file, &Limits::default()).unwrap_or(bundle)
        })
    })
}

proptest! {
    #[test]
    fn what_is_packed_comes_back(bundle in any_bundle()) {
        let bytes = pack(&bundle);
        prop_assert_eq!(open(&bytes), Ok(bundle));
    }

    /// A flipped bit is detected or harmless. It never yields different content under the same name.
    #[test]
    fn a_flipped_byte_changes_no_content(bundle in any_bundle(), at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let mut bytes = pack(&bundle).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        if let Ok(other) = open(&bytes) {
            let contents = |bundle: &Bundle| bundle.files().map(|(_, file)| file.bytes.clone()).collect::<Vec<_>>();
            prop_assert_eq!(contents(&other), contents(&bundle));
        }
    }

    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let archive = [b"PK\x03\x04".as_slice(), &bytes, b"PK\x01\x02", &bytes, b"PK\x05\x06", &bytes].concat();
        prop_assert!(open(&archive).is_err());
    }
}
