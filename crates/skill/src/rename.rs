//! [`Bundle::renamed`]: the files of a skill under another name.

use std::ops::Range;

use crate::{Bundle, File, Limits, SkillName, SkillPath, frontmatter};

impl Bundle {
    /// Returns the skill with another name in its frontmatter. Everything else stays as it is, byte for byte.
    ///
    /// Returns `None` if that is not possible: the frontmatter cannot be read, the name spans several lines, or the
    /// result exceeds a limit.
    pub fn renamed(&self, name: &SkillName, limits: &Limits) -> Option<Self> {
        let before = self.reading(limits).ok()?.frontmatter;
        if before.name.as_deref() == Some(name.as_str()) {
            return Some(self.clone());
        }
        let file = self.get(&SkillPath::skill_md())?;
        let text = with_name(file.text()?, name)?;
        let file = File { bytes: text.into_bytes().into(), executable: file.executable };
        let renamed = self.clone().with_file(SkillPath::skill_md(), file, limits).ok()?;
        let after = renamed.reading(limits).ok()?.frontmatter;
        let is_same = (&before.description, &before.metadata) == (&after.description, &after.metadata);
        (is_same && after.name.as_deref() == Some(name.as_str())).then_some(renamed)
    }
}

/// Replaces the line of the name, or adds it as the first line of the frontmatter.
fn with_name(text: &str, name: &SkillName) -> Option<String> {
    let yaml = frontmatter::split(text).ok()?.yaml;
    let start = text.find('\n')? + 1;
    let Range { start, end } = line_of_name(yaml).map_or(start..start, |line| start + line.start..start + line.end);
    let line_end = if text.get(..start)?.ends_with("\r\n") { "\r\n" } else { "\n" };
    let line = format!("name: {}{line_end}", frontmatter::scalar(name.as_str()));
    Some([text.get(..start)?, &line, text.get(end..)?].concat())
}

/// Returns the position of the line of the key `name`, with its line feed.
fn line_of_name(yaml: &str) -> Option<Range<usize>> {
    let mut start = 0;
    for line in yaml.split_inclusive('\n') {
        let end = start + line.len();
        let key = line.split(':').next().unwrap_or_default().trim_end();
        if line.contains(':') && matches!(key, "name" | "\"name\"" | "'name'") {
            return Some(start..end);
        }
        start = end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(skill_md: &str) -> Option<String> {
        let file = File { bytes: skill_md.as_bytes().to_vec().into(), executable: false };
        let bundle = Bundle::from_files([(SkillPath::skill_md(), file)], &Limits::default()).unwrap();
        let renamed = bundle.renamed(&SkillName::parse("other").unwrap(), &Limits::default())?;
        renamed.skill_md().map(str::to_owned)
    }

    #[test]
    fn only_the_line_of_the_name_changes() {
        for line_end in ["\n", "\r\n"] {
            let text = |name: &str| {
                format!(
                    "---\n# name: x\n{name}description: \"D: name: e\"\nmetadata:\n  name: deep\n---\n\nname: body\n"
                )
                .replace('\n', line_end)
            };
            for name in ["name: pdf\n", "name : 'pdf' # old\n", "\"name\": pdf\n"] {
                let expected = text("name: other\n");
                assert_eq!(renamed(&text(name)), Some(expected), "{name:?}");
            }
        }
    }

    #[test]
    fn missing_name_is_added() {
        let (text, expected) = ("---\ndescription: D\n---\nBody\n", "---\nname: other\ndescription: D\n---\nBody\n");
        assert_eq!(renamed(text).as_deref(), Some(expected));
    }

    #[test]
    fn name_of_several_lines_is_refused() {
        assert_eq!(renamed("---\nname: >\n  pdf\n  forms\ndescription: D\n---\n"), None);
        assert_eq!(renamed("no frontmatter"), None);
        assert_eq!(renamed("---\n{name: pdf, description: D}\n---\n"), None);
    }
}
