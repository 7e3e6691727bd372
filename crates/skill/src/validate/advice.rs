//! Advice as warnings: the size of the body, the files that it refers to, and lines of the template.

use crate::{Limits, Problem, SkillPath, frontmatter::Reading, problem::Severity, template};

/// Folders whose files a body names in backticks as well as in links.
const REFERRED_FOLDERS: [&str; 4] = ["scripts/", "references/", "assets/", "templates/"];

/// The code of a line that is as the template has it.
pub(super) const TEMPLATE_LINE: &str = "template_line";

/// Checks the body; `paths` empty means that the files are not known, and references are left alone.
pub(super) fn check(reading: &Reading<'_>, paths: &[SkillPath], limits: &Limits) -> Vec<Problem> {
    let mut problems = sizes(reading, limits);
    if !paths.is_empty() {
        problems.extend(references(reading, paths));
    }
    problems
}

/// The lines that are still those of the template.
pub(super) fn placeholders(text: &str) -> impl Iterator<Item = Problem> {
    let message = || "this line is the template's; write your own".to_owned();
    template::placeholders(text).into_iter().map(move |line| warning(TEMPLATE_LINE, message(), line))
}

fn warning(code: &'static str, message: String, line: usize) -> Problem {
    Problem::of_skill_md(code, Severity::Warning, message, Some(line))
}

fn sizes(reading: &Reading<'_>, limits: &Limits) -> Vec<Problem> {
    let mut problems = Vec::new();
    let lines = count_lines(reading.body);
    if lines > limits.body_lines_advised {
        let message = format!(
            "the body has {lines} lines, more than the {} advised; move details to references/",
            limits.body_lines_advised
        );
        problems.push(warning("body_lines", message, reading.body_line));
    }
    let tokens = reading.body.len() / 4;
    if tokens > limits.body_tokens_advised {
        let message = format!(
            "the body has about {tokens} tokens, more than the {} advised; move details to references/",
            limits.body_tokens_advised
        );
        problems.push(warning("body_tokens", message, reading.body_line));
    }
    problems
}

fn references(reading: &Reading<'_>, paths: &[SkillPath]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut fence: Option<&str> = None;
    let mut told: Vec<String> = Vec::new();
    for (start, line) in marked_lines(reading.body) {
        let mark = line.trim_start();
        if let Some(open) = ["```", "~~~"].into_iter().find(|open| mark.starts_with(open)) {
            fence = if fence == Some(open) { None } else { fence.or(Some(open)) };
            continue;
        }
        if fence.is_some() {
            continue;
        }
        for target in targets(line) {
            if !told.contains(&target) {
                let number = memchr::memchr_iter(b'\n', &reading.body.as_bytes()[..start]).count();
                problems.extend(reference(&target, paths, reading.body_line + number));
                told.push(target);
            }
        }
    }
    problems
}

/// The lines that hold a backtick, a bracket or a tilde, and where each starts: no other line can have a
/// reference or a fence. Most lines of most skills are passed over like that.
fn marked_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let hit = at + memchr::memchr3(b'`', b']', b'~', bytes.get(at..)?)?;
        let start = memchr::memrchr(b'\n', &bytes[..hit]).map_or(0, |newline| newline + 1);
        let end = memchr::memchr(b'\n', &bytes[hit..]).map_or(bytes.len(), |length| hit + length);
        at = end + 1;
        Some((start, &text[start..end]))
    })
}

/// The number of lines, as [`str::lines`] has them.
fn count_lines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

fn reference(target: &str, paths: &[SkillPath], line: usize) -> Option<Problem> {
    let below = format!("{}/", target.trim_end_matches('/'));
    let exists = paths.iter().any(|path| path.as_str() == target || path.as_str().starts_with(&below));
    if !exists {
        let message = format!("refers to {target}, which is not in the skill");
        return Some(warning("reference_missing", message, line));
    }
    if target.trim_end_matches('/').matches('/').count() > 1 {
        let message = format!("refers to {target}, more than one level deep; agents find files one level down best");
        return Some(warning("reference_deep", message, line));
    }
    None
}

/// Paths inside the skill that a line refers to: targets of Markdown links, and names in backticks
/// that start with one of the usual folders.
fn targets(line: &str) -> Vec<String> {
    let after_bracket = line.split(']').skip(1).filter_map(|rest| rest.strip_prefix('('));
    let links = after_bracket.filter_map(|rest| rest.split([')', ' ']).next());
    let code = line.split('`').skip(1).step_by(2).filter(|code| is_file_in_usual_folder(code));
    links.chain(code).filter_map(inside_the_skill).collect()
}

/// `scripts/x.py` names a file; `scripts/` alone speaks of the folder.
fn is_file_in_usual_folder(code: &str) -> bool {
    REFERRED_FOLDERS.iter().any(|folder| code.strip_prefix(folder).is_some_and(|file| !file.is_empty()))
}

fn inside_the_skill(target: &str) -> Option<String> {
    let path = target.split(['#', '?']).next().unwrap_or_default().trim_start_matches("./");
    let plain = !path.is_empty()
        && !path.starts_with(['/', '~', '$', '<', '.'])
        && path.contains(['.', '/'])
        && !path.contains([':', '<', '>', '{', '}', '*', '$', '[', ' ', '…'])
        && !path.contains("...");
    plain.then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontmatter;

    fn codes(body: &str) -> Vec<(&'static str, usize)> {
        let text = format!("---\nname: a\n---\n{body}");
        let limits = Limits::default();
        let reading = frontmatter::read(&text, &limits).unwrap();
        let paths =
            ["SKILL.md", "references/a.md", "references/deep/b.md", "guide.md"].map(|p| SkillPath::parse(p).unwrap());
        check(&reading, &paths, &limits).iter().map(|p| (p.code, p.line.unwrap())).collect()
    }

    #[test]
    fn references_are_looked_up_outside_code_blocks() {
        assert_eq!(codes("see [a](references/a.md#x) and `references/a.md`, [g](./guide.md)"), []);
        assert_eq!(codes("\nsee [c](references/c.md)"), [("reference_missing", 5)]);
        assert_eq!(codes("run `scripts/no.py`"), [("reference_missing", 4)]);
        assert_eq!(codes("[b](references/deep/b.md)"), [("reference_deep", 4)]);
        assert_eq!(codes("```\n[c](references/c.md)\n```\n"), []);
        assert_eq!(codes("[x](https://e.com/a.md) [y](#top) [z](../other/SKILL.md) `scripts/<name>.py` [w](word)"), []);
        assert_eq!(codes("scripts go under `scripts/`"), []);
    }

    #[test]
    fn lines_are_those_of_the_standard_library() {
        for text in ["", "a", "a\n", "a\r\nb`\n\nc]", "\n", "`\n~", "]"] {
            assert_eq!(count_lines(text), text.lines().count(), "{text:?}");
            let marked: Vec<&str> = text.lines().filter(|line| line.contains(['`', ']', '~'])).collect();
            let found: Vec<&str> = marked_lines(text).map(|(_, line)| line.trim_end_matches('\r')).collect();
            assert_eq!(found, marked, "{text:?}");
        }
    }

    #[test]
    fn long_bodies_are_advised_against() {
        assert_eq!(codes(&"x\n".repeat(501)), [("body_lines", 4)]);
        assert_eq!(codes(&"x".repeat(20_004)), [("body_tokens", 4)]);
    }
}
