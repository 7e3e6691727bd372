//! Output of the differences between the skills here and those that agents read.

use std::io::{self, Write};

use ops::{AgentViews, MissingSkills};

use crate::{
    hints,
    print::{BAD, GOOD, WARN},
};

/// Writes the differences, and the agents that lack skills, each with its command.
///
/// # Errors
/// The stream cannot be written.
pub fn write_picture(picture: &AgentViews, out: &mut dyn Write) -> io::Result<()> {
    let style = |is_error: bool| if is_error { BAD } else { WARN };
    let differences = picture.differences.iter().map(|one| (style(one.is_error), &one.message, &one.command));
    let messages: Vec<String> = picture.lacking.iter().map(MissingSkills::message).collect();
    let lacking = picture.lacking.iter().zip(&messages).map(|(one, message)| (WARN, message, &one.command));
    for (style, message, command) in differences.chain(lacking) {
        let command = hints::for_user(command);
        writeln!(out, "{style}{message}{style:#}\n  {GOOD}hint{GOOD:#}: {command}")?;
    }
    Ok(())
}
