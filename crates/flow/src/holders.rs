//! [`held`]: code that stands in files of another kind: the scripts of a page, the cells of a notebook.

use super::{language::Language, program::unescaped};

/// Whether files with an extension hold code.
#[must_use]
pub fn holds(extension: &str) -> bool {
    PAGES.contains(&extension) || extension == NOTEBOOK
}

/// The extensions of pages that hold scripts.
const PAGES: &[&str] = &["html", "htm", "xhtml", "vue", "svelte", "svg", "hta"];

const NOTEBOOK: &str = "ipynb";

/// The code in a file and its language; every piece stands on its own lines.
#[must_use]
pub fn held(extension: &str, text: &str) -> Option<(Language, String)> {
    match extension {
        page if PAGES.contains(&page) => {
            Some((Language::JavaScript, scripts(text))).filter(|(_, code)| !code.trim().is_empty())
        }
        NOTEBOOK => Some((Language::Python, cells(text))),
        _ => None,
    }
}

/// What stands between the marks of scripts; line ends of all else are kept.
fn scripts(page: &str) -> String {
    let mut code = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("<script") {
        blank(before, &mut code);
        let Some((mark, inside)) = after.split_once('>') else { break };
        blank(mark, &mut code);
        let (script, behind) = inside.split_once("</script").unwrap_or((inside, ""));
        code.push_str(script);
        code.push(';');
        rest = behind;
    }
    code
}

fn blank(text: &str, code: &mut String) {
    code.extend(text.chars().filter(|c| *c == '\n'));
}

/// The lines of the cells of a notebook, each on the line of the document on which it is written.
fn cells(notebook: &str) -> String {
    let mut code = String::new();
    let mut inside = false;
    for line in notebook.lines() {
        let bare = line.trim();
        if let Some(start) = bare.strip_prefix("\"source\":") {
            inside = !start.contains(']');
        } else if inside && bare.starts_with(']') {
            inside = false;
        } else if let Some(text) = bare.trim_end_matches(',').strip_prefix('"').and_then(|text| text.strip_suffix('"'))
            && inside
        {
            let cell = unescaped(text);
            let cell = cell.trim_end_matches('\n');
            match cell.trim_start().strip_prefix('!') {
                Some(command) => code.push_str(&format!("os.system({command:?})")),
                None if cell.starts_with('%') => {}
                None => code.push_str(cell),
            }
        }
        code.push('\n');
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_code_keeps_its_lines() {
        assert_eq!(scripts("<p>\n<script type=a>\nx()\n</script>\n<script>y()</script>"), "\n\nx()\n;\ny();");
        let book = "{\"cells\": [{\n\"source\": [\n\"import os\\n\",\n\"!ls a\"\n]}]}";
        assert_eq!(cells(book), "\n\nimport os\nos.system(\"ls a\")\n\n");
    }
}
