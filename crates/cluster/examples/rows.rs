//! Prints the SQL that loads releases into an empty database, with the rows that publishing would leave, for `psql`.
//!
//!     cargo run --release -p skillhub-cluster --example rows < LINES | psql DATABASE
//!
//! LINES are lines of an index, with those of a skill one after the other. Each release was published by the account with
//! the name of its owner. Archives are rows only; nothing is stored.

use std::{
    collections::BTreeSet,
    error::Error,
    fmt::Write as _,
    io::{self, BufRead as _, Write as _},
    mem::take,
};

use cluster::{
    Shown,
    database::time_text,
    events::{Change, Edit},
    releases::blob_id,
};
use registry_index::{Entry, OwnerFile, newest, shard};
use skill::Owner;

/// Skills that are copied at a time.
const SKILLS: usize = 5000;

/// Searches need these two, which are made faster after the rows.
const BEFORE: &str = "create temp table kept as select indexdef from pg_indexes
    where indexname in ('skills_by_words', 'skills_by_name_words');
drop index skills_by_words, skills_by_name_words;
";

const AFTER: &str = "set maintenance_work_mem = '256MB';
select indexdef from kept \\gexec
select setval(pg_get_serial_sequence('skills', 'id'), (select max(id) from skills));
vacuum analyze;
";

/// Tables with the columns that are copied.
const TABLES: [(&str, &str); 8] = [
    ("accounts", "name, created_at"),
    ("members", "namespace, account, role"),
    ("owners", "name, file, file_id"),
    (
        "skills",
        "id, owner, name, path, file_id, newest, published_at, words, name_words, verdict, is_signed, license, keywords",
    ),
    ("releases", "skill, position, version, version_key, digest, published_at, line"),
    ("archives", "digest, sha256, size, state"),
    ("events", "seq, kind, subject, body, account, at"),
    ("audit", "at, account, action, subject, reason"),
];

/// Rows of all tables that are not printed yet.
#[derive(Default)]
struct Rows {
    tables: [String; TABLES.len()],
    owners: BTreeSet<String>,
    skills: usize,
    releases: usize,
}

impl Rows {
    /// Adds a row to a table. `None` is null.
    fn add(&mut self, table: &str, values: &[Option<&str>]) {
        let at = TABLES.iter().position(|(name, _)| *name == table).unwrap_or_default();
        let escaped = |value: &Option<&str>| match value {
            None => "\\N".to_owned(),
            Some(text) => text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r"),
        };
        let values: Vec<String> = values.iter().map(escaped).collect();
        let _written: Result<(), std::fmt::Error> = writeln!(self.tables[at], "{}", values.join("\t"));
    }

    /// Adds an owner with the first release, and returns the edit of its file.
    fn add_owner(&mut self, owner: &Owner, at: &str) -> Result<Option<Edit>, Box<dyn Error>> {
        if !self.owners.insert(owner.to_string()) {
            return Ok(None);
        }
        let (text, name) = (OwnerFile::new(owner).to_text(), owner.as_str());
        self.add("accounts", &[Some(name), Some(at)]);
        self.add("members", &[Some(name), Some(name), Some("maintainer")]);
        self.add("owners", &[Some(name), Some(&text), Some(&blob_id(text.as_bytes())?)]);
        Ok(Some(Edit::Write { path: shard::owner_file(owner), text }))
    }

    /// Adds a skill with all its releases.
    fn add_skill(&mut self, entries: &[Entry]) -> Result<(), Box<dyn Error>> {
        let Some(first) = entries.first() else { return Ok(()) };
        let (owner, path) = (first.name.owner.clone(), shard::skill_file(&first.name).ok_or("the name has no path")?);
        let mut opened = self.add_owner(&owner, &time_text(first.published_at.into()))?;
        self.skills += 1;
        let (id, mut file) = (self.skills.to_string(), String::new());
        for (at, entry) in entries.iter().enumerate() {
            let line = entry.to_line();
            file += &format!("{line}\n");
            let append = Edit::Append { path: path.clone(), line };
            let edits = [append].into_iter().chain(opened.take()).collect();
            self.add_release(&id, at + 1, entry, edits);
        }
        let shown = Shown::of(newest(entries, false));
        let at = shown.at.map(time_text);
        let keywords: Vec<String> = shown.keywords.iter().map(|word| format!("{word:?}")).collect();
        let (owner, name, file_id) = (owner.as_str(), first.name.name.as_str(), blob_id(file.as_bytes())?);
        let values = [
            Some(id.as_str()),
            Some(owner),
            Some(name),
            Some(&path),
            Some(&file_id),
            shown.line.as_deref(),
            at.as_deref(),
            shown.words.as_deref(),
            shown.name_words.as_deref(),
            shown.verdict.as_deref(),
            Some(if shown.is_signed { "t" } else { "f" }),
            shown.license.as_deref(),
            Some(&format!("{{{}}}", keywords.join(","))),
        ];
        self.add("skills", &values);
        Ok(())
    }

    fn add_release(&mut self, skill: &str, position: usize, entry: &Entry, edits: Vec<Edit>) {
        self.releases += 1;
        let (version, digest, at) =
            (entry.version.to_string(), entry.digest.to_string(), time_text(entry.published_at.into()));
        let (position, size, seq) = (position.to_string(), entry.size.to_string(), self.releases.to_string());
        let (archive, line, account) = (entry.archive.to_string(), entry.to_line(), entry.name.owner.as_str());
        self.add("releases", &[skill, &position, &version, &version, &digest, &at, &line].map(Some));
        self.add("archives", &[&digest, archive.as_str(), &size, "stored"].map(Some));
        let subject = format!("{} {version}", entry.name);
        let body = Change { message: format!("{subject}\n"), edits }.body().to_string();
        self.add("events", &[&seq, "publish", &subject, &body, account, &at].map(Some));
        self.add("audit", &[&at, account, "publish", &subject, ""].map(Some));
    }

    fn print(&mut self, out: &mut impl io::Write) -> io::Result<()> {
        for ((table, columns), rows) in TABLES.iter().zip(&mut self.tables) {
            write!(out, "copy {table} ({columns}) from stdin;\n{}\\.\n", take(rows))?;
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let (mut rows, mut entries) = (Rows::default(), Vec::<Entry>::new());
    out.write_all(BEFORE.as_bytes())?;
    for line in io::stdin().lock().lines() {
        let entry = Entry::parse(&line?)?;
        if entries.last().is_some_and(|last| last.name != entry.name) {
            rows.add_skill(&take(&mut entries))?;
            if rows.skills % SKILLS == 0 {
                rows.print(&mut out)?;
            }
        }
        entries.push(entry);
    }
    rows.add_skill(&entries)?;
    rows.print(&mut out)?;
    out.write_all(AFTER.as_bytes())?;
    Ok(out.flush()?)
}
