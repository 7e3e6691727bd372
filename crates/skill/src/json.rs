//! [`objects_and_commas`]: an estimate of the memory needed to parse a JSON text.

/// Counts the objects of a JSON text and its commas outside strings. Each list element except the first is preceded by
/// a comma, and takes many times its size in memory.
pub fn objects_and_commas(json: &[u8]) -> (usize, usize) {
    let (mut objects, mut commas, mut is_text, mut is_escaped) = (0, 0, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'{' if !is_text => objects += 1,
            b',' if !is_text => commas += 1,
            _ => {}
        }
    }
    (objects, commas)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_not_counted() {
        assert_eq!(objects_and_commas(br#"{"a,{\",{":[1,{},"\\"],"b":{}}"#), (3, 3));
        assert_eq!(objects_and_commas(b""), (0, 0));
    }
}
