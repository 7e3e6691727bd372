//! [`Needs`]: programs, MCP servers and environment variables that a skill needs on a machine.

use serde_yaml::{Mapping, Value};

use super::fields::{Frontmatter, texts};

/// Maximum number of names of one kind. More are ignored.
const NAMES: usize = 32;

/// Maximum length of a name in bytes. Longer names are ignored.
const NAME_BYTES: usize = 64;

/// Keys of `metadata` below which OpenClaw, under its present and earlier names, has `requires` with `bins` and `env`.
const OPENCLAW: [&str; 3] = ["openclaw", "clawdbot", "moltbot"];

/// Needs of a skill on a machine. Names come from the author and are not trusted: they are looked up, never run.
///
/// They are read from `metadata.needs`, either as a map of lists or as text that the standard's map of strings allows,
/// and from `metadata.openclaw.requires`:
///
/// ```yaml
/// metadata:
///   needs: {programs: [ffmpeg], servers: [github], variables: [OPENAI_API_KEY]}
/// ---
/// metadata:
///   needs: "programs: ffmpeg, pandoc; variables: OPENAI_API_KEY"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Programs on the search path.
    pub programs: Vec<String>,
    /// MCP servers, by their name in the host's configuration.
    pub servers: Vec<String>,
    /// Environment variables.
    pub variables: Vec<String>,
}

impl Frontmatter {
    /// Returns the programs, MCP servers and environment variables that the skill needs.
    pub fn needs(&self) -> Needs {
        Needs::of(&self.map)
    }

    /// Returns the groups of `metadata.needs` that do not exist, such as misspelled ones.
    pub fn unknown_needs(&self) -> Vec<String> {
        let groups: Vec<&str> = match self.map.get("metadata").and_then(|metadata| metadata.get("needs")) {
            Some(Value::String(text)) => {
                let parts = text.split([';', '\n']).map(|part| part.split(':').next().unwrap_or(part).trim());
                parts.filter(|group| !group.is_empty()).collect()
            }
            Some(Value::Mapping(groups)) => groups.keys().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        groups.into_iter().filter(|group| !Needs::GROUPS.contains(group)).take(NAMES).map(str::to_owned).collect()
    }
}

impl Needs {
    /// Keys of `metadata.needs`.
    pub const GROUPS: [&'static str; 3] = ["programs", "servers", "variables"];

    /// Reads the needs from a frontmatter's map. Names with other characters than such names have are ignored.
    fn of(map: &Mapping) -> Self {
        let Some(metadata) = map.get("metadata") else { return Self::default() };
        let mut needs = Self::default();
        match metadata.get("needs") {
            Some(Value::String(text)) => needs.add_text(text),
            Some(value) => {
                for kind in Self::GROUPS {
                    needs.add(kind, &value.get(kind).and_then(texts).unwrap_or_default());
                }
            }
            None => {}
        }
        for requires in OPENCLAW.iter().filter_map(|key| metadata.get(*key)?.get("requires")) {
            for (key, kind) in [("bins", "programs"), ("env", "variables")] {
                needs.add(kind, &requires.get(key).and_then(texts).unwrap_or_default());
            }
        }
        needs
    }

    fn add_text(&mut self, text: &str) {
        for part in text.split([';', '\n']) {
            let Some((kind, names)) = part.split_once(':') else { continue };
            let names: Vec<String> = names.split([',', ' ']).map(str::to_owned).collect();
            self.add(kind.trim(), &names);
        }
    }

    fn add(&mut self, kind: &str, names: &[String]) {
        let (known, is_name): (&mut Vec<String>, fn(char) -> bool) = match kind {
            "programs" => (&mut self.programs, |c| c.is_ascii_alphanumeric() || "._+-".contains(c)),
            "servers" => (&mut self.servers, |c| c.is_ascii_alphanumeric() || "._-".contains(c)),
            "variables" => (&mut self.variables, |c| c.is_ascii_alphanumeric() || c == '_'),
            _ => return,
        };
        for name in names.iter().map(|name| name.trim()) {
            let is_valid =
                name.len() <= NAME_BYTES && name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            if is_valid && name.chars().all(is_name) && known.len() < NAMES && !known.iter().any(|old| old == name) {
                known.push(name.to_owned());
            }
        }
    }

    /// Returns whether nothing is needed.
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty() && self.servers.is_empty() && self.variables.is_empty()
    }

    /// Returns the needs that a machine does not meet.
    #[must_use]
    pub fn missing(
        mut self,
        has_program: impl Fn(&str) -> bool,
        has_server: impl Fn(&str) -> bool,
        has_variable: impl Fn(&str) -> bool,
    ) -> Self {
        self.programs.retain(|name| !has_program(name));
        self.servers.retain(|name| !has_server(name));
        self.variables.retain(|name| !has_variable(name));
        self
    }

    /// Describes needs that are not met, such as `the program ffmpeg and the variable KEY`.
    pub fn described(&self) -> String {
        let kind = |noun: &str, names: &[String]| {
            let ending = if names.len() == 1 { "" } else { "s" };
            (!names.is_empty()).then(|| format!("the {noun}{ending} {}", names.join(", ")))
        };
        let parts = [
            kind("program", &self.programs),
            kind("MCP server", &self.servers),
            kind("environment variable", &self.variables),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(yaml: &str) -> Needs {
        Needs::of(&serde_yaml::from_str(yaml).unwrap())
    }

    fn names(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn every_spelling_is_read() {
        let expected =
            Needs { programs: names(&["ffmpeg", "g++"]), servers: names(&["github"]), variables: names(&["API_KEY"]) };
        for yaml in [
            "metadata: {needs: {programs: [ffmpeg, g++], servers: [github], variables: [API_KEY]}}",
            "metadata: {needs: {programs: 'ffmpeg, g++', servers: github, variables: API_KEY}}",
            "metadata:\n  needs: 'programs: ffmpeg, g++; servers: github; variables: API_KEY'",
            "metadata: {needs: {servers: [github]}, openclaw: {requires: {bins: [ffmpeg, g++, ffmpeg], env: [API_KEY]}}}",
        ] {
            assert_eq!(needs(yaml), expected, "{yaml}");
        }
    }

    #[test]
    fn hostile_names_are_ignored() {
        for yaml in [
            "metadata: {needs: {programs: ['../x', '/bin/sh', 'a b;c', '-rf', ''], variables: ['A=1', '$(x)', 'é']}}",
            "metadata: {needs: [ffmpeg], openclaw: {requires: 3}}",
            "metadata: {needs: {programs: {a: b}, servers: [[x]]}}",
            "metadata: 3",
            "name: a",
        ] {
            assert!(needs(yaml).is_empty(), "{yaml}: {:?}", needs(yaml));
        }
        let many: Vec<String> = (0..1000).map(|at| format!("p{at}")).collect();
        let flood = needs(&format!("metadata: {{needs: {{programs: [{}, {}]}}}}", "x".repeat(65), many.join(", ")));
        assert_eq!((flood.programs.len(), flood.programs[0].as_str()), (NAMES, "p0"));
    }

    #[test]
    fn unknown_groups_are_named() {
        let unknown = |yaml: &str| {
            let text = format!("---\nname: a\ndescription: b\n{yaml}\n---\n");
            crate::frontmatter::read(&text, &crate::Limits::default()).unwrap().frontmatter.unknown_needs()
        };
        assert_eq!(unknown("metadata: {needs: {program: [ffmpeg], servers: [github]}}"), ["program"]);
        assert_eq!(unknown("metadata:\n  needs: 'programs: a; vars: B'"), ["vars"]);
        assert!(unknown("metadata: {needs: {programs: [ffmpeg]}}").is_empty());
    }

    #[test]
    fn missing_needs_are_described() {
        let all = needs("metadata: {needs: {programs: [a, b, c], servers: [s], variables: [V, W]}}");
        let missing = all.missing(|name| name == "b", |_| false, |name| name == "V");
        assert_eq!(missing.described(), "the programs a, c and the MCP server s and the environment variable W");
        assert!(missing.missing(|_| true, |_| true, |_| true).described().is_empty());
    }
}
