//! The journal after whole, cut, damaged and oversized records.

use std::io::Write;

use super::*;
use crate::revision::RevisionId;

fn record(text: &str) -> Record {
    Record {
        heads: vec![HeadChange { skill: text.into(), old: None, new: RevisionId::new("0".repeat(40)) }],
        events: vec![],
        objects: vec![Object { id: "1".into(), kind: "blob".into(), bytes: text.as_bytes().to_vec() }],
        temporary: vec![Temporary { skill: text.into(), name: format!(".{text}") }],
        proposals: vec![],
        links: vec![],
        lock_lines: None,
    }
}

fn journal() -> (tempfile::TempDir, Journal) {
    let temp = tempfile::tempdir().unwrap();
    let dir = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
    (temp, Journal::open(&dir).unwrap())
}

#[test]
fn records_read_back_in_order() {
    let (_temp, mut journal) = journal();
    let proposals = ["two", ""].map(|text| ProposalFile { id: "p".into(), is_open: true, bytes: text.into() });
    let records = [record("a"), Record { proposals: proposals.into(), ..record("b") }, record("")];
    for record in &records {
        journal.append(record).unwrap();
    }
    let contents = journal.read(0).unwrap();
    assert_eq!((contents.records.as_slice(), contents.cut_bytes), (records.as_slice(), 0));
}

#[test]
fn damaged_tail_is_ignored() {
    let (_temp, mut journal) = journal();
    journal.append(&record("a")).unwrap();
    let first = journal.len().unwrap();
    journal.append(&record("b")).unwrap();
    let whole = journal.len().unwrap();
    for len in first..whole {
        journal.file.set_len(len).unwrap();
        let contents = journal.read(0).unwrap();
        assert_eq!((contents.records.len(), contents.cut_bytes), (1, len - first));
    }
    journal.file.set_len(first).unwrap();
    let mut damaged = frame(&record("b"), RECORD_BYTES).unwrap();
    *damaged.last_mut().unwrap() ^= 1;
    journal.file.write_all(&damaged).unwrap();
    assert_eq!(journal.read(0).unwrap().records.len(), 1);
}

#[test]
fn damage_before_whole_record_is_refused() {
    let (temp, mut journal) = journal();
    for text in ["a", "b", "c"] {
        journal.append(&record(text)).unwrap();
    }
    let mut bytes = journal.dir.read(FILE).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    journal.dir.write(FILE, &bytes).unwrap();
    assert_eq!(journal.read(0).unwrap_err().kind(), io::ErrorKind::InvalidData);
    drop(temp);
}

#[test]
fn newer_record_format_is_refused() {
    let (_temp, mut journal) = journal();
    let head = br#"{"format":5,"changes":[]}"#;
    let mut framed = b"SKJ2".to_vec();
    framed.extend((head.len() as u32).to_be_bytes());
    framed.extend(0u64.to_be_bytes());
    framed.extend(sum(head, b""));
    framed.extend(head);
    journal.file.write_all(&framed).unwrap();
    assert!(journal.read(0).unwrap_err().to_string().contains("format 5"));
}

/// Older builds refuse a record that they could not carry out, and read all others.
#[test]
fn records_have_lowest_sufficient_format() {
    let with = |links: Vec<LinkAction>| {
        let step = |action| LinkStep { skill: "pdf".into(), path: "/a/pdf".into(), action, original: None };
        format_of(&Record { links: links.into_iter().map(step).collect(), ..record("pdf") })
    };
    assert_eq!(with(vec![LinkAction::Link]), 3);
    assert_eq!(with(vec![LinkAction::Link, LinkAction::Hide]), 4);
}

#[test]
fn first_record_format_is_read() {
    let head = br#"{"format":1,"heads":[{"skill":"pdf","old":null,"new":"1111111111111111111111111111111111111111"}],
        "events":[{"v":1,"time":"2026-01-02T03:04:05Z","operation":"1-2","skill":"pdf","action":"create","status":"applied",
        "actor":"agent:a"}],"objects":[{"id":"2","kind":"blob","len":3}],"later":true}"#;
    let mut framed = b"SKJ2".to_vec();
    framed.extend((head.len() as u32).to_be_bytes());
    framed.extend(3u64.to_be_bytes());
    framed.extend(sum(head, b"abc"));
    framed.extend(head);
    framed.extend(b"abc");
    let (record, after) = parse(&framed, RECORD_BYTES).unwrap().unwrap();
    assert_eq!((record.heads[0].skill.as_str(), record.objects[0].bytes.as_slice()), ("pdf", b"abc".as_slice()));
    assert_eq!((record.events[0].operation.as_str(), after), ("1-2", b"".as_slice()));
    assert_eq!(record.temporary, [], "a record without these was written before there were any");
}

#[test]
fn failed_append_leaves_file_unchanged() {
    let (_temp, mut journal) = journal();
    journal.append(&record("a")).unwrap();
    let len = journal.len().unwrap();
    let (dir, file) = (journal.dir.try_clone().unwrap(), journal.dir.open(FILE).unwrap().into_std());
    let mut unwritable = Journal { dir, file, most: RECORD_BYTES };
    assert!(unwritable.append(&record("b")).is_err());
    assert_eq!((journal.len().unwrap(), journal.read(0).unwrap().records.len()), (len, 1));
}

#[test]
fn applied_records_are_not_read_again() {
    let (_temp, mut journal) = journal();
    journal.append(&record("a")).unwrap();
    journal.mark_applied().unwrap();
    journal.append(&record("b")).unwrap();
    let Some(applied) = journal.applied_bytes().unwrap() else { return assert!(boot_id().is_none()) };
    assert_eq!(journal.read(applied).unwrap().records, [record("b")]);
    journal.mark_applied().unwrap();
    let len = journal.len().unwrap();
    journal.clear().unwrap();
    journal.append(&record("a")).unwrap();
    journal.append(&record("b")).unwrap();
    assert_eq!(journal.len().unwrap(), len);
    assert!(journal.is_pending().unwrap(), "another journal of the same length is not applied");
}

#[test]
fn interrupted_write_differs_from_damage() {
    let whole = frame(&record("a"), RECORD_BYTES).unwrap();
    for at in 0..whole.len() {
        let mut cut = whole[..at].to_vec();
        assert!(is_beginning(&cut, RECORD_BYTES), "{at}");
        cut.resize(whole.len(), 0);
        assert!(is_beginning(&cut, RECORD_BYTES), "{at} and zeros");
    }
    let mut damaged = whole.clone();
    damaged[60] ^= 1;
    assert!(!is_beginning(&damaged, RECORD_BYTES) && !is_beginning(b"something else", RECORD_BYTES));
}

#[test]
fn shorter_mark_replaces_longer_one() {
    let (_temp, mut journal) = journal();
    for text in ["a".repeat(1000), "b".to_owned()] {
        journal.append(&record(&text)).unwrap();
        journal.mark_applied().unwrap();
        assert!(boot_id().is_none() || !journal.is_pending().unwrap());
    }
    journal.cut(journal.len().unwrap() - 50).unwrap();
    journal.mark_applied().unwrap();
    if let Some(boot) = boot_id() {
        assert_eq!(journal.dir.read_to_string(APPLIED).unwrap(), format!("1 {boot} 50\n"));
    }
}

#[test]
fn oversized_record_is_not_written() {
    let (_temp, mut journal) = journal();
    journal.append(&record("a")).unwrap();
    let len = journal.len().unwrap();
    let large = ProposalFile { id: "p".into(), is_open: true, bytes: vec![0; RECORD_BYTES as usize] };
    let error = journal.append(&Record { proposals: vec![large], ..record("b") }).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    assert!(error.to_string().contains("the limit is 134217728"), "{error}");
    assert_eq!((journal.len().unwrap(), journal.read(0).unwrap().records.len()), (len, 1));
}

#[test]
fn oversized_journal_is_refused() {
    let (_temp, mut journal) = journal();
    journal.append(&record("a")).unwrap();
    journal.file.set_len(JOURNAL_BYTES).unwrap();
    assert_eq!(journal.append(&record("b")).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    journal.file.set_len(JOURNAL_BYTES + 1).unwrap();
    for refused in [journal.read(0).map(drop), journal.pieces().map(drop)] {
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}

#[test]
fn oversized_record_is_not_read() {
    let (_temp, mut journal) = journal();
    journal.append(&record("a")).unwrap();
    let len = journal.len().unwrap() - FRAME_BYTES as u64;
    journal.append(&record(&"b".repeat(99))).unwrap();
    journal.most = len;
    for refused in [journal.read(0).map(drop), journal.pieces().map(drop)] {
        let error = refused.unwrap_err();
        assert!(error.to_string().contains(&format!("reads at most {len}")), "{error}");
    }
    journal.most += 1_000;
    assert_eq!(journal.read(0).unwrap().records.len(), 2);
    let cut = &frame(&record("b"), RECORD_BYTES).unwrap()[..30];
    assert!(is_beginning(cut, len) && !is_beginning(cut, 20), "no such record was begun");
}

#[test]
fn flood_of_headers_is_summed_once() {
    let (_temp, mut journal) = journal();
    // Each looks like a record of half a megabyte; together they would be 200 GB.
    let flood = b"SKJ2\0\0\0\x10\0\0\0\0\0\x08\0\0\0\0\0\0".repeat(400_000);
    let (one, two) = (frame(&record("a"), RECORD_BYTES).unwrap(), frame(&record("b"), RECORD_BYTES).unwrap());
    journal.file.write_all(&[&*one, b"x", &flood, &two, &one, b"SKJ"].concat()).unwrap();
    let end = (one.len() + 1 + flood.len()) as u64;
    let (second, third) = (end + two.len() as u64, end + (two.len() + one.len()) as u64);
    let pieces = [
        Piece::Whole(record("a"), 0..one.len() as u64),
        Piece::Unreadable(one.len() as u64..end),
        Piece::Whole(record("b"), end..second),
        Piece::Whole(record("a"), second..third),
        Piece::Unreadable(third..third + 3),
    ];
    assert!(journal.pieces().unwrap() == pieces);
    assert!(journal.read(0).unwrap_err().to_string().contains("is damaged at byte"));
}

#[test]
fn records_are_pending_until_marked() {
    let (_temp, mut journal) = journal();
    assert!(!journal.is_pending().unwrap());
    journal.append(&record("a")).unwrap();
    assert!(journal.is_pending().unwrap());
    journal.mark_applied().unwrap();
    assert!(!journal.is_pending().unwrap() || boot_id().is_none());
    journal.append(&record("b")).unwrap();
    assert!(journal.is_pending().unwrap());
    journal.clear().unwrap();
    assert!(!journal.is_pending().unwrap());
}
