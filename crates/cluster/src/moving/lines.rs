//! [`compare`]: whether an index and a database have the same lines, with a digest over them.
//!
//! The files of the index are read on a thread of their own. A file that has the bytes of the rows needs no parsing.

use std::{
    path::Path,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
};

use registry_index::{Entry, Index};
use sha2::{Digest as _, Sha256};
use skill::{QualifiedName, hex};

use super::{
    MoveError,
    listed::{SkillFile, skill_files},
};
use crate::database::{Database, DatabaseError, rows};

/// Skills that are read from the database at a time.
const SKILLS: i64 = 1000;

/// Files that are read ahead.
const AHEAD: usize = 2000;

/// Beginning of a line of the present format.
const KNOWN: &str = r#"{"v":1,"#;

/// A skill of the index with the bytes of its file.
type Read = (QualifiedName, Vec<u8>);

/// Comparison of the lines of both sides, by owner, name and position. Lines of later formats are left out, as by an index.
struct Comparison {
    files: Receiver<Read>,
    next: Option<Read>,
    in_index: u64,
    in_database: u64,
    hash: Sha256,
    /// The first skill whose lines differ.
    differs: Option<QualifiedName>,
}

/// Compares the lines of the commit of an index with those of a database. Returns their number and digest.
///
/// # Errors
/// [`MoveError::Differs`], or one side cannot be read.
pub fn compare(database: &Database, git_dir: &Path, commit: &str) -> Result<(u64, String), MoveError> {
    let index = Index::open_at(git_dir, commit)?;
    let listed = skill_files(&index)?;
    let found = thread::scope(|scope| {
        let (send, files) = sync_channel(AHEAD);
        let reader = scope.spawn(move || read(&index, listed, &send));
        let mut comparison = Comparison::new(files);
        visit(database, |name, lines| comparison.add(name, lines))?;
        comparison.add_rest();
        reader.join().unwrap_or_else(|_| Err(MoveError::Lines("the index cannot be read".to_owned())))?;
        Ok::<_, MoveError>(comparison)
    })?;
    let Comparison { in_index, in_database, hash, differs, .. } = found;
    match differs {
        None => Ok((in_database, format!("sha256:{}", hex(&hash.finalize())))),
        Some(skill) => Err(MoveError::Differs { in_index, in_database, skill: skill.to_string() }),
    }
}

fn read(index: &Index, listed: Vec<SkillFile>, send: &SyncSender<Read>) -> Result<(), MoveError> {
    for file in listed {
        if send.send((file.name, index.content(file.id)?)).is_err() {
            break;
        }
    }
    Ok(())
}

impl Comparison {
    fn new(files: Receiver<Read>) -> Self {
        let next = files.recv().ok();
        Self { files, next, in_index: 0, in_database: 0, hash: Sha256::new(), differs: None }
    }

    /// Takes the next file of the index if its name meets the condition.
    fn take(&mut self, is_wanted: impl Fn(&QualifiedName) -> bool) -> Option<Read> {
        let taken = self.next.take_if(|(name, _)| is_wanted(name))?;
        self.next = self.files.recv().ok();
        Some(taken)
    }

    /// Adds a skill of the database, after those that only the index has.
    fn add(&mut self, name: &QualifiedName, lines: &[String]) {
        while let Some((missing, file)) = self.take(|next| next < name) {
            self.pair(&missing, &file, &[]);
        }
        let file = self.take(|next| next == name).map(|(_, file)| file).unwrap_or_default();
        self.pair(name, &file, lines);
    }

    /// Adds the skills of the index that follow the last one of the database.
    fn add_rest(&mut self) {
        while let Some((missing, file)) = self.take(|_| true) {
            self.pair(&missing, &file, &[]);
        }
    }

    fn pair(&mut self, name: &QualifiedName, file: &[u8], lines: &[String]) {
        let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        let there: Vec<&str> = lines
            .iter()
            .map(String::as_str)
            .filter(|line| line.starts_with(KNOWN) || Entry::parse(line).is_ok())
            .collect();
        let moved = match text.as_bytes() == file {
            true => there.len(),
            false => {
                let moved: Vec<String> = String::from_utf8_lossy(file)
                    .lines()
                    .filter_map(|line| Entry::parse(line).ok())
                    .map(|entry| entry.to_line())
                    .collect();
                if moved != there {
                    self.differs.get_or_insert_with(|| name.clone());
                }
                moved.len()
            }
        };
        self.in_index += moved as u64;
        self.in_database += there.len() as u64;
        for line in there {
            self.hash.update(line.as_bytes());
            self.hash.update(b"\n");
        }
    }
}

/// Visits the lines of all skills of a database, by owner and name.
fn visit(database: &Database, mut visit: impl FnMut(&QualifiedName, &[String])) -> Result<(), DatabaseError> {
    let sql = "select owner, name, array(select line from releases where skill = id order by position) from skills
        where (owner, name) > ($1, $2) order by owner, name limit $3";
    let mut last = (String::new(), String::new());
    loop {
        let found = database.read(async |client| Ok(rows(client, sql, &[&last.0, &last.1, &SKILLS]).await?))?;
        for row in &found {
            let read = || -> Result<(String, String, Vec<String>), tokio_postgres::Error> {
                Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
            };
            let (owner, name, lines) = read()?;
            let damaged = || DatabaseError::Failed(format!("{owner}/{name} is not the name of a skill"));
            visit(&format!("{owner}/{name}").parse().map_err(|_| damaged())?, &lines);
            last = (owner, name);
        }
        if found.is_empty() {
            return Ok(());
        }
    }
}
