//! [`ask`]: a question at the terminal that one key answers.

use std::io;

use console::{Key, Term};
use serde_json::Value;

use crate::{
    context::Context,
    exit::CliError,
    print::{FAINT, STRONG},
};

/// Key, the word for its effect, and the answer.
pub type Choice<T> = (char, &'static str, T);

/// Asks for one of the keys. Escape and Ctrl-C count as `q`.
pub fn ask<T: Copy>(context: &Context, question: &str, choices: &[Choice<T>]) -> Result<T, CliError> {
    let words: Vec<String> = choices.iter().map(|(key, word, _)| format!("{STRONG}{key}{STRONG:#} {word}")).collect();
    loop {
        let words = words.join(", ");
        context.out.answer(&Value::Null, |out| write!(out, "{FAINT}{question}{FAINT:#}  {words}: "))?;
        let key = match Term::stdout().read_key() {
            Ok(Key::Char(key)) => key.to_ascii_lowercase(),
            Ok(Key::Escape | Key::CtrlC) => 'q',
            Ok(_) => ' ',
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 'q',
            Err(error) => return Err(error.into()),
        };
        let found = choices.iter().find(|(of, _, _)| *of == key);
        let word = found.map_or("", |(_, word, _)| word);
        context.out.answer(&Value::Null, |out| writeln!(out, "{word}"))?;
        if let Some((_, _, answer)) = found {
            return Ok(*answer);
        }
    }
}
