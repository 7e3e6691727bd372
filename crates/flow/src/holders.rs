//! [`held`]: extraction of code from HTML pages and notebooks.

use super::{language::Language, program::unescaped};

/// Returns whether files with this extension may contain code.
pub fn holds(extension: &str) -> bool {
    PAGES.contains(&extension) || extension == NOTEBOOK
}

/// Extensions of pages with script elements.
const PAGES: &[&str] = &["html", "htm", "xhtml", "vue", "svelte", "svg", "hta"];

const NOTEBOOK: &str = "ipynb";

/// Extracts the code of a file, with its language. Each piece keeps its line numbers.
pub fn held(extension: &str, text: &str) -> Option<(Language, String)> {
    match extension {
        page if PAGES.contains(&page) => {
            Some((Language::JavaScript, scripts(text))).filter(|(_, code)| !code.trim().is_empty())
        }
        NOTEBOOK => Some((Language::Python, cells(text))),
        _ => None,
    }
}

/// Extracts the content of script elements. Line ends of all other content are kept.
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

/// Extracts the source lines of a notebook's cells, each on its line of the document.
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
