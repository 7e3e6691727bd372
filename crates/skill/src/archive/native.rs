//! Detection of native binaries by their first bytes: [`format_of`].

use crate::File;

/// Lowest major version of a Java class file. A class file has the same magic bytes as a fat Mach-O binary, and its
/// version is at the offset of the number of architectures.
const FIRST_JAVA_VERSION: u32 = 45;

/// Returns the format of a native binary, recognised by its magic bytes. `None` for any other file.
pub(super) fn format_of(file: &File) -> Option<&'static str> {
    let bytes = &file.bytes;
    match bytes.first_chunk()? {
        b"\x7fELF" => Some("ELF"),
        [b'M', b'Z', ..] if file.text().is_none() => Some("PE"),
        b"\xfe\xed\xfa\xce" | b"\xfe\xed\xfa\xcf" | b"\xce\xfa\xed\xfe" | b"\xcf\xfa\xed\xfe" => Some("Mach-O"),
        b"\xca\xfe\xba\xbe" | b"\xca\xfe\xba\xbf" if architectures(bytes) < FIRST_JAVA_VERSION => Some("Mach-O"),
        _ => None,
    }
}

fn architectures(bytes: &[u8]) -> u32 {
    bytes.get(4..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u32::from_be_bytes(*chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(bytes: &[u8]) -> Option<&'static str> {
        format_of(&File { bytes: bytes.into(), executable: false })
    }

    #[test]
    fn native_formats_are_recognised() {
        assert_eq!(format(b"\x7fELF\x02\x01"), Some("ELF"));
        assert_eq!(format(b"MZ\x90\x00\x03"), Some("PE"));
        assert_eq!(format(b"\xcf\xfa\xed\xfe\x07\x00"), Some("Mach-O"));
        assert_eq!(format(b"\xca\xfe\xba\xbe\x00\x00\x00\x02"), Some("Mach-O"));
    }

    #[test]
    fn text_and_java_are_not_native() {
        assert_eq!(format(b"MZ is a pair of letters"), None);
        assert_eq!(format(b"\xca\xfe\xba\xbe\x00\x00\x00\x34"), None, "Java 8");
        assert_eq!(format(b"ELF"), None);
        assert_eq!(format(b""), None);
    }
}
