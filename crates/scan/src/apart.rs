//! [`check`]: correlation of reads and sends across the files of one program, in languages without data-flow analysis.
//!
//! A file that reads credentials and another one that sends data are as dangerous as one file that does both. The rules
//! for that match within one file, so all files of a language are concatenated and searched as one text.

use std::collections::BTreeMap;

use crate::{
    Evidence,
    engine::SearchError,
    finder::{Finder, related_at},
    role,
    source::Source,
};

/// File extensions of languages without data-flow analysis.
const LANGUAGES: &[&str] =
    &["go", "rs", "java", "kt", "rb", "php", "cs", "swift", "scala", "lua", "pl", "ex", "c", "cpp"];

/// IDs of the rules that match a read of credentials together with a network call.
const RULES: &[&str] = &["store-and-network", "store-and-upload", "environment-and-network"];

/// Adds the findings that appear only when all files of a language are read together.
///
/// Lines for which a finding of the same category and at least the same evidence is known are skipped.
pub(crate) fn check(sources: &[&Source<'_>], finder: &mut Finder) -> Result<(), SearchError> {
    let mut programs: BTreeMap<&str, Vec<&Source<'_>>> = BTreeMap::new();
    for source in sources {
        let extension = source.path.rsplit_once('.').map_or("", |(_, extension)| extension);
        if LANGUAGES.contains(&extension) {
            programs.entry(extension).or_default().push(source);
        }
    }
    for files in programs.into_values().filter(|files| files.len() > 1) {
        together(&files, finder)?;
    }
    Ok(())
}

fn together(files: &[&Source<'_>], finder: &mut Finder) -> Result<(), SearchError> {
    let (mut text, mut ends) = (String::new(), Vec::new());
    for file in files {
        text.push_str(&file.text);
        text.push('\n');
        ends.push(text.len());
    }
    let place = |offset: usize| {
        let at = ends.partition_point(|end| *end <= offset);
        let start = at.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
        Some((files.get(at)?, offset - start))
    };
    for hit in finder.hits(&text)?.into_iter().filter(|hit| RULES.contains(&hit.rule.id)) {
        let Some((file, offset)) = place(hit.range.start) else { continue };
        let line = file.line_at(offset);
        let evidence = role::evidence(hit.rule, file, line, offset);
        if evidence >= Evidence::Strong && !finder.knows(hit.rule, evidence, file.path, line) {
            let message = format!("{} (spread over several files)", hit.rule.message);
            let ends = [hit.also, hit.range.end.checked_sub(1)];
            let mut others = ends.into_iter().flatten().filter_map(place).filter(|(other, _)| other.path != file.path);
            let other = others.next().and_then(|(file, at)| related_at("together with", file, file.line_at(at), at));
            let signal = finder.add_told(hit.rule, evidence, file, line, file.line(line).trim(), message);
            signal.into_iter().for_each(|signal| signal.related.extend(other.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::scan;

    fn rules_of(files: &[(&str, &str)]) -> Vec<String> {
        let skill = [("SKILL.md", "---\nname: a\ndescription: A.\n---\n")];
        let bundle = testkit::bundle(&[files, &skill].concat());
        scan(&bundle).findings.iter().map(|finding| format!("{} {}", finding.rule, finding.path)).collect()
    }

    #[test]
    fn secret_sent_by_another_file_is_found() {
        let reads = ("cfg/load.go", "package cfg\n\nvar b, _ = os.ReadFile(home + \"/.kube/config\")\n");
        let sends = (
            "use/use.go",
            "package use\n\nfunc Count(b []byte) { http.Post(endpoint, \"a/b\", bytes.NewReader(b)) }\n",
        );
        let found = "store-and-upload cfg/load.go".to_owned();
        assert!(rules_of(&[reads, sends]).contains(&found));
        assert!(!rules_of(&[reads, ("use/use.go", "package use\n")]).contains(&found));
        assert!(!rules_of(&[reads, ("use/use.rs", sends.1)]).contains(&found), "another language is another program");
    }

    #[test]
    fn what_stands_in_one_file_is_told_once() {
        let both = "let k = fs::read(home.join(\".ssh/id_rsa\"))?;\nTcpStream::connect(\"a.invalid:1\")?;\n";
        let found = rules_of(&[("src/main.rs", both), ("src/other.rs", "fn other() {}\n")]);
        assert_eq!(found.iter().filter(|rule| rule.starts_with("store-and-network")).count(), 1, "{found:?}");
    }
}
