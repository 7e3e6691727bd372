//! [`unpack_hint`]: the commands that install from an archive of a kind that `install` does not read.

use std::path::is_separator;

use skill::{
    failure::{Hint, NextStep},
    shell_word,
};

/// File name endings of these archives.
const ENDINGS: [&str; 4] = [".zip", ".tar.gz", ".tgz", ".tar"];

/// Returns the hint for the path of such an archive; `None` for another path.
pub(crate) fn unpack_hint(file: &str) -> Option<Hint> {
    let lower = file.to_ascii_lowercase();
    let ending = ENDINGS.into_iter().find(|ending| lower.ends_with(ending))?;
    let stem = file.get(..file.len() - ending.len())?;
    let name = stem.rsplit(is_separator).next().filter(|name| !name.is_empty())?;
    let (file, folder) = (shell_word(file), shell_word(&format!("./{name}")));
    let unpack = match ending {
        ".zip" => format!("unzip {file} -d {folder}"),
        _ => format!("mkdir {folder} && tar -xf {file} -C {folder}"),
    };
    Some(
        Hint::from(format!("unpack it with `{unpack}`, then install the folder with ")).step(NextStep::Install(folder)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_unpacks_into_a_folder_of_that_name() {
        let unpacks = |file: &str, commands: [&str; 2]| {
            let hint = unpack_hint(file).unwrap().to_string();
            assert!(commands.iter().all(|command| hint.contains(&format!("`{command}`"))), "{hint}");
        };
        unpacks("pdf.zip", ["unzip pdf.zip -d ./pdf", "skillhub install ./pdf"]);
        unpacks("../a b.ZIP", ["unzip '../a b.ZIP' -d './a b'", "skillhub install './a b'"]);
        unpacks("d/x.tar.gz", ["mkdir ./x && tar -xf d/x.tar.gz -C ./x", "skillhub install ./x"]);
        assert_eq!((unpack_hint("pdf.skill"), unpack_hint(".zip"), unpack_hint("d/.tar")), (None, None, None));
    }
}
