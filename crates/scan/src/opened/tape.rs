//! Reader for tar archives and compressed files ([`members`]).

use std::io::Read;

use crate::unpacked;

/// Size of a header in bytes. Files are padded to a multiple of it.
const BLOCK: usize = 512;

/// The readable members of an archive, with the reason why some are missing.
#[derive(Default)]
pub(super) struct Tape {
    pub files: Vec<Member>,
    pub problem: Option<String>,
}

pub(super) struct Member {
    pub name: String,
    pub executable: bool,
    pub bytes: Vec<u8>,
}

/// Returns true if bytes have the signature of a tar archive.
pub(crate) fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// Returns the members of a tar archive, or the single file in a compressed stream. Decompression stops after `most`
/// bytes, with a problem.
pub(super) fn members(name: &str, bytes: &[u8], most: u64) -> Tape {
    let Some(stream) = unpacked::of_file(bytes) else { return read(bytes) };
    let mut inflated = Vec::new();
    let result = stream.take(most + 1).read_to_end(&mut inflated);
    let problem = match result {
        Err(error) => Some(error.to_string()),
        Ok(_) if inflated.len() as u64 > most => Some(format!("it exceeds the limit of {most} bytes")),
        Ok(_) => None,
    };
    let mut tape = match is_tar(&inflated) {
        true => read(&inflated),
        false => {
            let name = bare_name(name);
            Tape { files: vec![Member { name, executable: false, bytes: inflated }], problem: None }
        }
    };
    tape.problem = problem.or(tape.problem);
    tape
}

/// Returns the name of a compressed file after decompression.
fn bare_name(name: &str) -> String {
    const ENDS: &[(&str, usize)] = &[(".gz", 3), (".gzip", 5), (".tgz", 4), (".svgz", 1), (".xz", 3), (".txz", 4)];
    let name = name.rsplit('/').next().unwrap_or(name);
    let lower = name.to_ascii_lowercase();
    let end = ENDS.iter().find(|(end, _)| lower.ends_with(end)).map_or(0, |(_, bytes)| *bytes);
    name.get(..name.len() - end).filter(|bare| !bare.is_empty()).unwrap_or(name).to_owned()
}

fn read(bytes: &[u8]) -> Tape {
    let (mut tape, mut rest, mut long_name) = (Tape::default(), bytes, None);
    while let Some(header) = rest.get(..BLOCK).filter(|header| header.iter().any(|byte| *byte != 0)) {
        let Some(body) = size(header).and_then(|size| rest.get(BLOCK..size.checked_add(BLOCK)?)) else {
            tape.problem = Some("it is truncated or damaged".to_owned());
            return tape;
        };
        match header.get(156) {
            Some(b'L') => long_name = Some(text(body)),
            Some(b'x') => long_name = path_of_record(body).or(long_name),
            Some(b'0' | 0 | b'7') => tape.files.push(Member {
                name: long_name.take().unwrap_or_else(|| name(header)),
                executable: octal(header, 100, 8).is_some_and(|mode| mode & 0o111 != 0),
                bytes: body.to_vec(),
            }),
            Some(b'5' | b'g') => long_name = None,
            _ => {
                let name = long_name.take().unwrap_or_else(|| name(header));
                tape.problem = Some(format!("its entry {name:?} is a link or a device"));
            }
        }
        rest = rest.get(BLOCK + body.len().next_multiple_of(BLOCK)..).unwrap_or_default();
    }
    if rest.iter().any(|byte| *byte != 0) {
        tape.problem = Some("it has data after its end".to_owned());
    }
    tape
}

fn size(header: &[u8]) -> Option<usize> {
    usize::try_from(octal(header, 124, 12)?).ok()
}

/// Parses an octal number in a header field. An empty field is zero.
fn octal(header: &[u8], at: usize, length: usize) -> Option<u64> {
    let field = text(header.get(at..at + length)?);
    let digits = field.trim();
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

/// Decodes a text up to its first zero byte.
fn text(field: &[u8]) -> String {
    let field = field.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(field).into_owned()
}

fn name(header: &[u8]) -> String {
    let [name, folder] = [0..100, 345..500].map(|field| text(header.get(field).unwrap_or_default()));
    // GNU tar keeps timestamps in the prefix field.
    if folder.is_empty() || header.get(262) == Some(&b' ') { name } else { format!("{folder}/{name}") }
}

/// Returns the path in a POSIX extended header, whose lines have the form `30 path=a`.
fn path_of_record(body: &[u8]) -> Option<String> {
    let record = String::from_utf8_lossy(body);
    record.lines().find_map(|line| line.split_once(" path=").map(|(_, path)| path.to_owned()))
}
