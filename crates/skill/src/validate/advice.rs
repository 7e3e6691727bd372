//! Advice, reported as warnings: the size of the body, its references to files, and unedited lines of the template.

use std::collections::HashSet;

use crate::{Limits, Problem, SkillPath, frontmatter::Reading, problem::Severity, template};

/// Folders whose files count as references in backticks as well as in links.
const REFERRED_FOLDERS: [&str; 4] = ["scripts/", "references/", "assets/", "templates/"];

/// Largest number of files named by `SKILL.md` that are read for their own references.
const TEXTS: usize = 100;

/// Code of a line that is unchanged from the template.
pub(super) const TEMPLATE_LINE: &str = "template_line";

/// Checks the body. Empty `paths` means that the files are unknown, and references are not checked.
pub(super) fn check(reading: &Reading<'_>, paths: &[SkillPath], limits: &Limits) -> Vec<Problem> {
    let mut problems = sizes(reading, limits);
    if !paths.is_empty() {
        problems.extend(references(reading, paths));
    }
    problems
}

/// Warns about the lines that are unchanged from the template.
pub(super) fn placeholders(text: &str) -> impl Iterator<Item = Problem> {
    let message = || "this line is still from the template; write your own".to_owned();
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
            "the body has {lines} lines, more than the recommended {}; move details to references/",
            limits.body_lines_advised
        );
        problems.push(warning("body_lines", message, reading.body_line));
    }
    let tokens = reading.body.len() / 4;
    if tokens > limits.body_tokens_advised {
        let message = format!(
            "the body has about {tokens} tokens, more than the recommended {}; move details to references/",
            limits.body_tokens_advised
        );
        problems.push(warning("body_tokens", message, reading.body_line));
    }
    problems
}

fn references(reading: &Reading<'_>, paths: &[SkillPath]) -> Vec<Problem> {
    let mut told = HashSet::new();
    let mut problems = Vec::new();
    let line = |start: usize| reading.body_line + lines_before(reading.body, start);
    for (start, target) in linked(reading.body) {
        if !told.contains(&target) {
            problems.extend(reference(&target, paths, line(start)));
            told.insert(target);
        }
    }
    for (start, target) in bare(reading.body) {
        if !told.contains(target) {
            problems.extend(missing(target, paths, line(start)));
            told.insert(target.to_owned());
        }
    }
    problems
}

/// Warns about indirect references: files that only a file named by `SKILL.md` refers to, and not `SKILL.md` itself.
pub(super) fn chains(body: &str, paths: &[SkillPath], texts: &[(&SkillPath, &str)]) -> Vec<Problem> {
    let is_here = |target: &str| paths.iter().any(|path| path.as_str() == target);
    let mut problems = Vec::new();
    for (file, text) in texts {
        let folder = file.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
        let resolved = |target: String| {
            let beside = format!("{folder}/{target}");
            [beside, target].into_iter().find(|path| is_here(path))
        };
        let further = linked(text).find_map(|(start, target)| {
            let target = resolved(target).filter(|target| *target != file.as_str() && target != SkillPath::SKILL_MD)?;
            (!body.contains(&target)).then_some((start, target))
        });
        if let Some((start, target)) = further {
            let message = format!("refers to {target}, which SKILL.md does not mention, so agents may not find it");
            let (path, line) = (file.to_string(), Some(1 + lines_before(text, start)));
            problems
                .push(Problem { path, ..Problem::of_skill_md("reference_chain", Severity::Warning, message, line) });
        }
    }
    problems
}

/// Returns the Markdown files that a body names.
pub(super) fn named_texts<'a>(body: &str, paths: &'a [SkillPath]) -> Vec<&'a SkillPath> {
    let is_named = |path: &&SkillPath| {
        !path.is_skill_md()
            && path.as_str().ends_with(".md")
            && memchr::memmem::find(body.as_bytes(), path.as_str().as_bytes()).is_some()
    };
    paths.iter().filter(is_named).take(TEXTS).collect()
}

fn lines_before(text: &str, at: usize) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes().get(..at).unwrap_or_default()).count()
}

/// Yields link targets and files in backticks outside code blocks, with the offsets of their lines.
fn linked(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut fence: Option<&str> = None;
    let outside = marked_lines(text).filter(move |(_, line)| {
        let mark = line.trim_start();
        let open = ["```", "~~~"].into_iter().find(|open| mark.starts_with(open));
        if let Some(open) = open {
            fence = if fence == Some(open) { None } else { fence.or(Some(open)) };
        }
        open.is_none() && fence.is_none()
    });
    outside.flat_map(|(start, line)| targets(line).into_iter().map(move |target| (start, target)))
}

/// Yields files of the usual folders that a text mentions, including in code blocks, with their offsets.
fn bare(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mentions = |folder: &'static str| memchr::memmem::find_iter(text.as_bytes(), folder);
    let starts = REFERRED_FOLDERS.into_iter().flat_map(mentions);
    starts.filter_map(|start| {
        let before = text.get(..start)?;
        let before = before.strip_suffix("./").unwrap_or(before);
        let is_inside = before.ends_with(|c: char| c.is_ascii_alphanumeric() || "/.-_}>)\\$~\"'`[(".contains(c));
        let rest = text.get(start..)?;
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"/._-".contains(c)).unwrap_or(rest.len());
        // Skip a pattern, or an annotated line of a directory tree.
        let is_pattern = rest
            .get(end..)
            .is_some_and(|after| after.starts_with("  ") || after.starts_with(['<', '{', '*', '$', '[', '(']));
        let target = rest.get(..end)?.trim_end_matches(['.', '/', '-', '_']);
        let (stem, ending) = target.rsplit('/').next()?.rsplit_once('.')?;
        (!is_inside && !is_pattern && !stem.is_empty() && (1..=5).contains(&ending.len())).then_some((start, target))
    })
}

/// Yields the lines that contain a backtick, a bracket or a tilde, with their offsets. Only these can contain a
/// reference or a fence, so that most lines are skipped.
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

/// Returns the number of lines, counted as by [`str::lines`].
fn count_lines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

fn missing(target: &str, paths: &[SkillPath], line: usize) -> Option<Problem> {
    let below = format!("{}/", target.trim_end_matches('/'));
    let exists = paths.iter().any(|path| path.as_str() == target || path.as_str().starts_with(&below));
    let message = || format!("refers to {target}, which is not in the skill");
    (!exists).then(|| warning("reference_missing", message(), line))
}

fn reference(target: &str, paths: &[SkillPath], line: usize) -> Option<Problem> {
    if let Some(problem) = missing(target, paths, line) {
        return Some(problem);
    }
    if target.trim_end_matches('/').matches('/').count() > 1 {
        let message =
            format!("refers to {target}, which is more than one level deep; agents find files best at the first level");
        return Some(warning("reference_deep", message, line));
    }
    None
}

/// Returns the paths inside the skill that a line refers to: targets of Markdown links, and names in backticks that
/// start with one of the usual folders.
fn targets(line: &str) -> Vec<String> {
    let after_bracket = line.split(']').skip(1).filter_map(|rest| rest.strip_prefix('('));
    let links = after_bracket.filter_map(|rest| rest.split([')', ' ']).next());
    let code = line.split('`').skip(1).step_by(2).filter(|code| is_file_in_usual_folder(code));
    links.chain(code).filter_map(inside_the_skill).collect()
}

/// Returns whether inline code names a file such as `scripts/x.py`. `scripts/` alone refers to the folder.
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
    fn references_in_code_blocks_are_ignored() {
        assert_eq!(codes("see [a](references/a.md#x) and `references/a.md`, [g](./guide.md)"), []);
        assert_eq!(codes("\nsee [c](references/c.md)"), [("reference_missing", 5)]);
        assert_eq!(codes("run `scripts/no.py`"), [("reference_missing", 4)]);
        assert_eq!(codes("[b](references/deep/b.md)"), [("reference_deep", 4)]);
        assert_eq!(codes("```\n[c](guides/c.md)\n```\n"), []);
        assert_eq!(codes("[x](https://e.com/a.md) [y](#top) [z](../other/SKILL.md) `scripts/<name>.py` [w](word)"), []);
        assert_eq!(codes("scripts go under `scripts/`"), []);
    }

    #[test]
    fn unlinked_missing_files_are_found() {
        for text in ["run: scripts/extract.py", "```sh\npython ./scripts/extract.py --all\n```", "see references/c.md."]
        {
            assert_eq!(codes(text).iter().map(|(code, _)| *code).collect::<Vec<_>>(), ["reference_missing"], "{text}");
        }
        for text in [
            "see references/a.md.",
            "my/scripts/x.py",
            "https://x.invalid/scripts/x.py",
            "scripts/<name>.py",
            "scripts/ and assets/",
            "{\"path\": \"scripts/x.py\"}",
            "```\nscripts/x.py   checks it\n[c](references/c.md)\n```",
        ] {
            assert_eq!(codes(text), [], "{text}");
        }
    }

    #[test]
    fn chains_of_references_are_found() {
        let [a, b, c] = ["references/a.md", "references/b.md", "c.md"].map(|path| SkillPath::parse(path).unwrap());
        let paths = [a.clone(), b.clone(), c];
        let found = |body: &str, text: &str| {
            let problems = chains(body, &paths, &[(&a, text)]);
            problems.iter().map(|p| (p.code, p.path.clone(), p.line)).collect::<Vec<_>>()
        };
        assert_eq!(named_texts("see [a](references/a.md)", &paths), [&a]);
        let chain = vec![("reference_chain", a.to_string(), Some(2))];
        assert_eq!(found("references/a.md", "x\nsee [b](b.md)"), chain);
        assert_eq!(found("references/a.md", "x\nsee `references/b.md`"), chain);
        assert_eq!(found("references/a.md and references/b.md", "see [b](b.md)"), []);
        assert_eq!(found("references/a.md", "see [me](a.md), [skill](../SKILL.md)"), []);
    }

    #[test]
    fn line_counts_match_standard_library() {
        for text in ["", "a", "a\n", "a\r\nb`\n\nc]", "\n", "`\n~", "]"] {
            assert_eq!(count_lines(text), text.lines().count(), "{text:?}");
            let marked: Vec<&str> = text.lines().filter(|line| line.contains(['`', ']', '~'])).collect();
            let found: Vec<&str> = marked_lines(text).map(|(_, line)| line.trim_end_matches('\r')).collect();
            assert_eq!(found, marked, "{text:?}");
        }
    }

    #[test]
    fn long_bodies_get_advice() {
        assert_eq!(codes(&"x\n".repeat(501)), [("body_lines", 4)]);
        assert_eq!(codes(&"x".repeat(20_004)), [("body_tokens", 4)]);
    }
}
