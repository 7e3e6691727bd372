//! Text extraction from an HTML page ([`page_text`]).

use std::convert::Infallible;

use html5gum::{
    Span, Tokenizer,
    emitters::callback::{CallbackEmitter, CallbackEvent},
};

/// Elements whose content is not displayed.
const HIDDEN: [&str; 5] = ["script", "style", "noscript", "template", "svg"];
/// Block elements, which end a line.
const BLOCKS: [&str; 21] = [
    "address", "article", "aside", "blockquote", "br", "div", "dt", "footer", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "li", "p", "pre", "section", "table", "tr",
];
/// Extracts the text of a page, one line per block, with whitespace collapsed. This makes pages readable for models
/// and is not a sanitiser: treat the result as untrusted text.
pub fn page_text(html: &str) -> String {
    let mut words = Words::default();
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
        words.take(event);
        None
    });
    emitter.naively_switch_states(true);
    let Ok(()) = Tokenizer::new_with_emitter(html, emitter).finish();
    words.text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Text of a page extracted so far.
#[derive(Default)]
struct Words {
    text: String,
    /// Element whose start tag is being read, if its content is not displayed.
    begins: Option<&'static str>,
    /// Element being skipped. Its end tag ends the skipped content.
    hidden: Option<&'static str>,
}

impl Words {
    fn take(&mut self, event: CallbackEvent<'_>) {
        match (event, self.hidden) {
            (CallbackEvent::EndTag { name }, Some(hidden)) if name == hidden.as_bytes() => self.hidden = None,
            (_, Some(_)) => {}
            (CallbackEvent::OpenStartTag { name }, None) => {
                self.begins = HIDDEN.into_iter().find(|hidden| hidden.as_bytes() == name);
                self.end_line(name);
            }
            (CallbackEvent::CloseStartTag { self_closing }, None) => {
                self.hidden = self.begins.take().filter(|name| !(self_closing && *name == "svg"));
            }
            (CallbackEvent::EndTag { name }, None) => self.end_line(name),
            (CallbackEvent::String { value }, None) => self.push(&String::from_utf8_lossy(value)),
            _ => {}
        }
    }

    fn end_line(&mut self, element: &[u8]) {
        if BLOCKS.iter().any(|block| block.as_bytes() == element) && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// Appends a text with whitespace collapsed.
    fn push(&mut self, part: &str) {
        for c in part.chars() {
            match c.is_whitespace() {
                true if self.text.ends_with([' ', '\n']) || self.text.is_empty() => {}
                true => self.text.push(' '),
                false => self.text.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn words_stay_and_markup_goes() {
        let html = "<html><head><style>p{}</style><SCRIPT>if (a < b) {}</script></head><body><h1>A &amp; B</h1><p>one <b>two</b>\n three&#33;<br>four<!-- no --></p></body>";
        assert_eq!(page_text(html), "A & B\none two three!\nfour");
        assert_eq!(page_text("<p>a</p><svg/><p>b</p>"), "a\nb");
        assert_eq!(page_text("<p>5 < 6 and 7 > 2 <b>end</b></p>"), "5 < 6 and 7 > 2 end");
        assert_eq!(page_text("a<script/>b</script>c<svg><p>d</svg>&copy;<![CDATA[e"), "ac©");
        for odd in ["<", "a<b", "<script>", "<!--", "&", "&#x110000;", "<p", "é<é>é"] {
            let _ = page_text(odd);
        }
    }

    #[test]
    fn flood_of_markup_is_read_quickly() {
        let begun = Instant::now();
        for flood in ["<a<a", "<a a='", "<!--", "-->", "<script><", "</", "&", "&#x", "<![CDATA[", "<svg>", "<p/", "<"]
        {
            assert!(page_text(&flood.repeat((2 << 20) / flood.len())).len() <= 2 << 20);
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    }
}
