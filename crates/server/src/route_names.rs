//! [`RESERVED`]: first path segments of the server's own routes. A new owner cannot have one of these names.

use skill::Owner;

/// First segments of all routes that are valid names of owners; `-` and `.well-known` are not valid.
pub const RESERVED: [&str; 6] = ["api", "healthz", "index", "metrics", "readyz", "v1"];

/// Returns whether an owner has the name of a route.
#[must_use]
pub fn is_reserved(owner: &Owner) -> bool {
    RESERVED.contains(&owner.as_str())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests read the sources")]

    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    /// Collects the texts of all source files below a folder.
    fn sources(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(fs::read_to_string(path).unwrap());
            }
        }
    }

    /// Returns the paths in `.route("…"` and in the descriptions of operations.
    fn routes(source: &str) -> impl Iterator<Item = &str> {
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        let after = |mark: &'static str| code.split(mark).skip(1).filter_map(|rest| rest.split('"').next());
        let multiline = code.split(".route(\n").skip(1).filter_map(|rest| rest.split('"').nth(1));
        after(".route(\"").chain(after("path = \"")).chain(multiline).filter(|path| path.starts_with('/'))
    }

    #[test]
    fn first_segments_of_routes_are_reserved() {
        let mut all = Vec::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut all);
        let segments: BTreeSet<&str> = all
            .iter()
            .flat_map(|source| routes(source))
            .filter_map(|path| path.split('/').nth(1))
            .filter(|segment| Owner::parse(segment).is_ok())
            .collect();
        assert_eq!(segments.into_iter().collect::<Vec<_>>(), RESERVED);
    }
}
