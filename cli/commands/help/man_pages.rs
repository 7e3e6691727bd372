//! Man pages: one for each visible command. A test writes them, so that the program does not contain their generator.

use std::{fs, io, path::Path};

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::{fit, without_global_options};
use crate::args::Cli;

/// Columns of an example, which fits a terminal of 80 after the indentation.
const COLUMNS: usize = 72;

/// Writes the page of the program and those of its commands into a folder that exists.
fn write_pages(folder: &Path) -> io::Result<()> {
    let mut program = Cli::command();
    program.build();
    write_page(&program, "See skillhub help COMMAND for the same pages without a pager.", folder)?;
    let commands = without_global_options(fit(Cli::command(), COLUMNS));
    let mut commands = vec![commands];
    commands.iter_mut().for_each(Command::build);
    while let Some(command) = commands.pop() {
        if command.get_name() != program.get_name() {
            write_page(&command, "The options of all commands are in skillhub(1).", folder)?;
        }
        commands.extend(command.get_subcommands().filter(|below| !below.is_hide_set()).cloned());
    }
    Ok(())
}

/// Writes one page. Unlike the generator, it keeps the lines of examples as they are.
fn write_page(command: &Command, see_also: &str, folder: &Path) -> io::Result<()> {
    let source = concat!("skillhub ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).date(date()).source(source).manual("skillhub manual");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    page.extend(name_and_synopsis(command).into_bytes());
    man.render_description_section(&mut page)?;
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    if let Some(examples) = examples.strip_prefix("Examples:\n") {
        page.extend(format!(".SH EXAMPLES\n.nf\n{}.fi\n", verbatim(examples)).into_bytes());
    }
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|below| !below.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    page.extend(format!(".SH \"SEE ALSO\"\n{see_also}\n").into_bytes());
    fs::write(folder.join(man.get_filename()), page)
}

/// Formats the first sections with clap's line of usage, since the generator leaves out the values of options.
fn name_and_synopsis(command: &Command) -> String {
    let name = escaped(command.get_display_name().unwrap_or_else(|| command.get_name()));
    let about = escaped(&command.get_about().map(ToString::to_string).unwrap_or_default());
    let usage = command.clone().render_usage().to_string();
    let usage: Vec<&str> = usage.trim_start_matches("Usage:").lines().map(str::trim).collect();
    format!(".SH NAME\n{name} \\- {about}\n.SH SYNOPSIS\n.nf\n{}.fi\n", verbatim(&usage.join("\n")))
}

/// Returns the day of `SOURCE_DATE_EPOCH`, in seconds, so that the same sources give the same pages.
fn date() -> String {
    let seconds = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    jiff::Timestamp::from_second(seconds.unwrap_or_default()).unwrap_or_default().strftime("%Y-%m-%d").to_string()
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

/// Escapes lines that are printed as they are.
fn verbatim(text: &str) -> String {
    escaped(text).lines().map(|line| format!("\\&{line}\n")).collect()
}

/// `SKILLHUB_WRITE_MAN` names the folder in which they are kept.
#[test]
fn every_visible_command_has_a_man_page() {
    let temporary = tempfile::tempdir().unwrap();
    let kept = std::env::var_os("SKILLHUB_WRITE_MAN").map(std::path::PathBuf::from);
    let folder = kept.as_deref().unwrap_or(temporary.path());
    write_pages(folder).unwrap();
    let page = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    for command in Cli::command().get_subcommands() {
        let name = format!("skillhub-{}.1", command.get_name());
        assert_eq!(folder.join(&name).exists(), !command.is_hide_set(), "{name}");
    }
    assert!(page("skillhub.1").contains("\\-\\-registry"));
    assert!(!page("skillhub-list.1").contains("\\-\\-registry"));
    assert!(page("skillhub.1").contains(".SH NAME\nskillhub \\- Publish, find"));
    assert!(page("skillhub-install.1").contains(".SH SYNOPSIS\n.nf\n\\&skillhub install [OPTIONS] [SPEC]...\n.fi\n"));
    assert!(page("skillhub-index-init.1").contains(".SH OPTIONS"));
    assert!(page("skillhub-install.1").contains(".SH EXAMPLES\n.nf\n\\&  skillhub install "));
}
