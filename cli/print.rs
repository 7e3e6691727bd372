//! Output of the program.
//!
//! With `--json`, a command prints one JSON document. Otherwise it prints text, coloured on a terminal and plain in a
//! pipe. Messages and progress go to stderr.

mod capabilities;
mod diff;
mod notes;
mod people;
mod table;
mod terminal;
mod verdict;
mod wrap;

use std::{
    fmt,
    io::{self, IsTerminal, Write},
    time::Duration,
};

use anstream::{AutoStream, ColorChoice, adapter::strip_str};
use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

pub use capabilities::{capability_lines, delta_lines, write_capabilities};
pub use diff::coloured as coloured_diff;
pub use notes::notes_lines;
pub use ops::visible;
pub use people::{action_word, past_time, stored_past_time};
pub use skill::shell_word;
pub use skill_manage::documents::time;
pub use table::Table;
pub use terminal::{escape_controls, plain_json};
pub use verdict::{detail_lines, findings_lines, problem_line, severity_style, verdict_style, waiver_words};
pub use wrap::{folded, hanging, wrapped, wrapped_message};

use crate::{
    exit::{CliError, Exit},
    global::{Color, Global},
    hints,
};

/// Bold, for names.
pub const STRONG: Style = Style::new().bold();
/// Dimmed, for secondary text.
pub const FAINT: Style = Style::new().dimmed();
/// Green, for success.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Yellow, for warnings.
pub const WARN: Style = AnsiColor::Yellow.on_default();
/// Red, for errors.
pub const BAD: Style = AnsiColor::Red.on_default();

fn choice(color: Color) -> ColorChoice {
    match color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::AlwaysAnsi,
        Color::Never => ColorChoice::Never,
    }
}

/// Interval of the spinner. The first frame appears after one interval, so short work shows none.
const TICK: Duration = Duration::from_millis(120);

/// Template of the progress bar for work of known length.
const BAR: &str = "{spinner} {msg} {bar:30} {pos} of {len}";

/// A progress indicator on the terminal, cleared on drop.
pub struct Spinner(ProgressBar);

impl Spinner {
    /// Shows the current stage and the progress bar.
    pub fn at(&self, stage: &'static str, done: usize, of: usize) {
        if self.0.length() != Some(of as u64) {
            self.0.set_length(of as u64);
            self.0.set_style(ProgressStyle::with_template(BAR).unwrap_or_else(|_| ProgressStyle::default_bar()));
        }
        self.0.set_message(stage);
        self.0.set_position(done as u64);
    }

    /// Runs `work` with the indicator hidden, for example to ask a question.
    pub fn suspend<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.suspend(work)
    }

    /// Shows a message beside the spinner.
    pub fn say(&self, message: String) {
        self.0.set_message(message);
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Buffer for the text of an answer. [`Page::message`] adds lines that `--quiet` omits.
pub struct Page {
    text: Vec<u8>,
    quiet: bool,
}

impl Page {
    /// Writes a part of the answer. The `write!` and `writeln!` macros call it.
    ///
    /// # Errors
    /// Never fails, like [`Page::message`].
    pub fn write_fmt(&mut self, part: fmt::Arguments<'_>) -> io::Result<()> {
        Write::write_fmt(self, part)
    }

    /// Writes bytes of the answer.
    ///
    /// # Errors
    /// Never fails, like [`Page::message`].
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        Write::write_all(self, bytes)
    }

    /// Writes a line that is not part of the answer: a note, or the next step. Its commands get the flags of the
    /// current one.
    ///
    /// # Errors
    /// Never fails. The result type matches the other writers.
    pub fn message(&mut self, line: fmt::Arguments<'_>) -> io::Result<()> {
        if self.quiet { Ok(()) } else { writeln!(self, "{}", hints::for_user(&line.to_string())) }
    }
}

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Maximum width of text that is wrapped everywhere, in columns.
const PAGE: usize = 80;

/// Number of bytes that are tested at once.
const PIECE: usize = 256;

/// Output settings of a command.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// Prints one JSON document instead of text.
    pub json: bool,
    /// Prints only answers and errors: no notes, next steps or progress.
    pub quiet: bool,
    /// Colour setting.
    pub color: Color,
}

impl Output {
    /// Reads the settings from the flags.
    pub fn new(global: &Global) -> Self {
        Self { json: global.json, quiet: global.quiet, color: global.color }
    }

    /// Prints the answer of a command: the document, or the text that `text` writes. Returns [`Exit::Done`], for
    /// commands that end with it.
    ///
    /// # Errors
    /// The stream cannot be written.
    pub fn answer(
        self,
        document: &impl Serialize,
        text: impl FnOnce(&mut Page) -> io::Result<()>,
    ) -> Result<Exit, CliError> {
        let mut rendered = Vec::new();
        if self.json {
            write_json(&mut rendered, document)?;
            let mut written = text_of(rendered);
            if hints::are_needed(&written) {
                let mut document = serde_json::to_value(document).map_err(io::Error::from)?;
                hints::complete(&mut document);
                rendered = Vec::new();
                write_json(&mut rendered, &document)?;
                written = text_of(rendered);
            }
            rendered = if is_plain(&written) { written } else { plain_json(&written) }.into_bytes();
            rendered.push(b'\n');
        } else {
            let mut page = Page { text: rendered, quiet: self.quiet };
            text(&mut page)?;
            rendered = self.fit_for_reader(text_of(page.text)).into_bytes();
        }
        let mut out = io::stdout().lock();
        quiet_on_closed_pipe(out.write_all(&rendered).and_then(|()| out.flush()))
    }

    /// Strips styles if colours are disabled, and escapes control sequences if a terminal may show the text. A pipe
    /// gets everything else unchanged.
    fn fit_for_reader(self, text: String) -> String {
        match (self.has_colors(), io::stdout().is_terminal()) {
            _ if is_plain(&text) => text,
            (true, _) => escape_controls(&text),
            (false, true) => escape_controls(&strip_str(&text).to_string()),
            (false, false) => strip_str(&text).to_string(),
        }
    }

    /// Returns whether the answer is coloured.
    fn has_colors(self) -> bool {
        let choice = match choice(self.color) {
            ColorChoice::Auto => AutoStream::choice(&io::stdout()),
            choice => choice,
        };
        choice != ColorChoice::Never
    }

    /// Prints like [`Output::answer`], through the user's pager if the text is longer than the terminal.
    ///
    /// # Errors
    /// The stream cannot be written.
    pub fn long_answer(self, document: &impl Serialize, text: impl FnOnce() -> String) -> Result<Exit, CliError> {
        if self.json {
            return self.answer(document, |_| Ok(()));
        }
        let text = text();
        if io::stdout().is_terminal()
            && text.lines().count() > terminal_lines()
            && page(&self.fit_for_reader(text.clone()))
        {
            return Ok(Exit::Done);
        }
        self.answer(document, |page| {
            page.text = text.into_bytes();
            Ok(())
        })
    }

    /// Prints a message on stderr, unless `--quiet` is set.
    pub fn note(self, message: &str) {
        if !self.quiet {
            let mut err = AutoStream::new(io::stderr().lock(), choice(self.color));
            let _closed = writeln!(err, "{}", escape_controls(&hints::for_user(message)));
        }
    }

    /// Clears the line of the progress indicator.
    pub fn clear_line(self) {
        if !self.quiet && !self.json && io::stderr().is_terminal() {
            let _closed = write!(io::stderr(), "\r\x1b[2K");
        }
    }

    /// Shows a progress indicator on a terminal, until the returned value is dropped.
    pub fn working(self, message: &str) -> Spinner {
        let visible = !self.quiet && !self.json && io::stderr().is_terminal();
        let bar = if visible { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.set_message(message.to_owned());
        bar.enable_steady_tick(TICK);
        Spinner(bar)
    }

    /// Prints the error of a command and returns its exit code.
    pub fn fail(self, error: &CliError) -> Exit {
        if self.json {
            let _closed = self.answer(&error.to_json(), |_| Ok(()));
        } else {
            let mut err = AutoStream::new(io::stderr().lock(), choice(self.color));
            let _closed =
                writeln!(err, "{BAD}error{BAD:#}: {}", escape_controls(&people::shorten_home(&error.message)));
            for line in verdict::detail_lines(&error.details) {
                let _closed = writeln!(err, "  {}", escape_controls(&line));
            }
            if let Some(hint) = &error.hint {
                let _closed = writeln!(err, "{GOOD}hint{GOOD:#}: {}", escape_controls(&hints::for_user(hint)));
            }
        }
        error.exit
    }
}

/// Writes a JSON document, indented at a terminal and in one line otherwise.
fn write_json(to: &mut Vec<u8>, document: &impl Serialize) -> io::Result<()> {
    let written = if io::stdout().is_terminal() {
        serde_json::to_writer_pretty(to, document)
    } else {
        serde_json::to_writer(to, document)
    };
    written.map_err(io::Error::from)
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Returns whether a text has no byte that could be part of an escape sequence.
fn is_plain(text: &str) -> bool {
    let is_good = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    // Whole chunks without an early exit, so that the compiler can vectorise the loop.
    text.as_bytes().chunks(PIECE).all(|piece| piece.iter().fold(true, |good, byte| good & is_good(*byte)))
}

/// Treats a closed pipe (`| head`) as success.
fn quiet_on_closed_pipe(result: io::Result<()>) -> Result<Exit, CliError> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(Exit::Done),
    }
}

/// Returns the width of the terminal, if there is one.
pub fn terminal_columns() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0))
}

/// Returns the width for text that is wrapped everywhere, also in a pipe: that of the terminal, at most 80 columns.
pub fn page_columns() -> usize {
    terminal_columns().unwrap_or(PAGE).min(PAGE)
}

/// Returns the height of the terminal, or 40 lines if it is unknown.
pub fn terminal_lines() -> usize {
    terminal_size::terminal_size_of(io::stdout()).map_or(40, |(_, height)| usize::from(height.0))
}

/// Formats a stored time for display. Text that is not a time is escaped.
pub fn stored_time(text: &str) -> String {
    text.parse().map_or_else(|_| visible(text), time)
}

/// Shows a text in `$PAGER`, or in `less` by default. Returns false if the pager cannot be started.
fn page(text: &str) -> bool {
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less -FRX".to_owned());
    let mut words = pager.split_whitespace();
    let Some(program) = words.next() else { return false };
    let child = process::child::command(program).args(words).stdin(std::process::Stdio::piped()).spawn();
    let Ok(mut child) = child else { return false };
    if let Some(mut stdin) = child.stdin.take() {
        let _closed_early = stdin.write_all(text.as_bytes());
    }
    child.wait().is_ok()
}
