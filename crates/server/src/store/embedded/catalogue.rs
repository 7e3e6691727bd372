//! [`SqliteCatalogue`]: a projection of the index in SQLite, for search.

mod queries;

use std::sync::Arc;

use jiff::Timestamp;
use registry_index::{Entry, newest};
use rusqlite::{Connection, OptionalExtension, params};
use semver::Version;
use skill::terms::{Term, indexed, terms};
use skill::{Digest, Owner, QualifiedName};

use super::database::Database;
use crate::store::{
    StoreError,
    catalogue::{COUNTED, Catalogue, Matching, Page, Query, SearchHit, total},
};

/// SQLite's page cache while the catalogue is rebuilt, in KiB, and at other times.
const REBUILD_KIB: i64 = 64 << 10;
const USUAL_KIB: i64 = 2000;

/// A skill as it is in the index.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownSkill {
    /// Qualified name, `owner/name`.
    pub name: QualifiedName,
    /// The newest installable release, if there is one.
    pub newest: Option<Entry>,
    /// Version, content and publication time of every release.
    pub contents: Vec<(Version, Digest, Timestamp)>,
}

impl ShownSkill {
    /// Summarises a skill by its releases.
    #[must_use]
    pub fn new(name: QualifiedName, releases: &[Entry]) -> Self {
        let contents = releases.iter().map(|entry| (entry.version.clone(), entry.digest, entry.published_at));
        Self { name, newest: newest(releases, false).cloned(), contents: contents.collect() }
    }
}

/// A catalogue in the server's database.
#[derive(Debug, Clone)]
pub struct SqliteCatalogue {
    database: Arc<Database>,
}

impl SqliteCatalogue {
    /// Creates the catalogue on a database.
    #[must_use]
    pub fn new(database: Arc<Database>) -> Self {
        Self { database }
    }

    /// Returns the commit of the index that the catalogue reflects; `None` when it has to be rebuilt.
    ///
    /// # Errors
    /// [`StoreError`]
    pub fn revision(&self) -> Result<Option<String>, StoreError> {
        let reader = self.database.reader();
        let mut select = reader.prepare_cached("select revision from shown")?;
        Ok(select.query_row([], |row| row.get(0)).optional()?)
    }

    /// Returns whether an owner has an installable skill.
    ///
    /// # Errors
    /// [`StoreError`]
    pub fn has_owner(&self, owner: &Owner) -> Result<bool, StoreError> {
        let reader = self.database.reader();
        let mut select = reader.prepare_cached("select 1 from skills where owner = ?1")?;
        Ok(select.exists([owner.as_str()])?)
    }

    /// Updates skills to their state in the index at a commit, in one transaction. It is not synced: a catalogue that is
    /// behind the index catches up.
    ///
    /// # Errors
    /// [`StoreError`]; the catalogue is then unchanged.
    pub fn show(&self, skills: &[ShownSkill], revision: &str) -> Result<(), StoreError> {
        self.database.change_unsynced(|writer| {
            let write = writer.transaction()?;
            for skill in skills {
                remove(&write, &skill.name)?;
                add(&write, skill)?;
            }
            set_shown(&write, revision)?;
            Ok(write.commit()?)
        })
    }

    /// Rebuilds the catalogue. `fill` is called with a function that adds one skill.
    ///
    /// # Errors
    /// The error of `fill`, or [`StoreError`]; the catalogue is then unchanged.
    pub fn rebuild<E: From<StoreError>>(
        &self,
        revision: &str,
        fill: impl FnOnce(&mut dyn FnMut(&ShownSkill) -> Result<(), StoreError>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut writer = self.database.writer();
        set_cache(&writer, REBUILD_KIB).map_err(StoreError::from)?;
        let done = Self::fill(&mut writer, revision, fill);
        set_cache(&writer, USUAL_KIB).map_err(StoreError::from)?;
        done
    }

    fn fill<E: From<StoreError>>(
        writer: &mut Connection,
        revision: &str,
        fill: impl FnOnce(&mut dyn FnMut(&ShownSkill) -> Result<(), StoreError>) -> Result<(), E>,
    ) -> Result<(), E> {
        let write = writer.transaction().map_err(StoreError::from)?;
        let indexes = clear(&write).map_err(StoreError::from)?;
        fill(&mut |skill| Ok(add(&write, skill)?))?;
        let finish = || -> rusqlite::Result<()> {
            indexes.iter().try_for_each(|sql| write.execute_batch(sql))?;
            set_shown(&write, revision)
        };
        finish().map_err(StoreError::from)?;
        Ok(write.commit().map_err(StoreError::from)?)
    }

    fn search(&self, query: &Query, terms: &[Term]) -> Result<Page, StoreError> {
        let reader = self.database.reader();
        let owner = query.owner.as_ref();
        let (matching, matches) = Matching::choose(terms.len(), |matching| {
            queries::count_matches(&reader, query, &expression(terms, matching, "", owner))
        })?;
        let words = expression(terms, matching, "", owner);
        if let Some(order) = query.order {
            return listed(&reader, query, &queries::ordered(&reader, query, &words, order)?, matches);
        }
        let lines = if matches <= COUNTED {
            queries::best(&reader, query, &words)?
        } else {
            // A word that is common in descriptions is rarely part of a name.
            let names = queries::popular(&reader, query, &expression(terms, matching, "name : ", owner))?;
            let mut lines = [queries::popular(&reader, query, &words)?, names].concat();
            lines.sort();
            lines.dedup();
            lines
        };
        query.ranked(&lines, matches, String::as_str, |_, entry, score| counted(&reader, entry, score))
    }

    fn list(&self, query: &Query) -> Result<Page, StoreError> {
        let reader = self.database.reader();
        let lines = queries::list(&reader, query, query.order.unwrap_or_default())?;
        listed(&reader, query, &lines, queries::count_listed(&reader, query)?)
    }
}

/// Returns the page of a query whose lines are in order, with one more line if another page follows.
fn listed(reader: &Connection, query: &Query, lines: &[String], matches: usize) -> Result<Page, StoreError> {
    let entries = lines.iter().take(query.limit).filter_map(|line| Entry::parse(line).ok());
    let skills = entries.map(|entry| counted(reader, entry, 0)).collect::<Result<_, _>>()?;
    Ok(Page { skills, has_more: lines.len() > query.limit, total: total(matches) })
}

fn counted(reader: &Connection, entry: Entry, score: u32) -> Result<SearchHit, StoreError> {
    let mut counts = reader.prepare_cached(
        "select (select downloads from skills where name = ?1), (select count(*) from stars where skill = ?1)",
    )?;
    let (downloads, stars): (Option<i64>, i64) =
        counts.query_row([entry.name.to_string()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(SearchHit { entry, score, downloads: downloads.unwrap_or(0).unsigned_abs(), stars: stars.unsigned_abs() })
}

/// Builds the FTS5 expression in which each term matches the beginning of a word. `column` is a column filter or empty.
fn expression(terms: &[Term], matching: Matching, column: &str, owner: Option<&Owner>) -> String {
    let of_term = |prefixes: Vec<String>| {
        let quoted = prefixes.iter().map(|prefix| format!("\"{}\"*", prefix.replace('"', "\"\"")));
        format!("({})", quoted.collect::<Vec<_>>().join(" OR "))
    };
    let joined_by = if matching == Matching::SomeForms { " OR " } else { " AND " };
    let words = matching.prefixes(terms).into_iter().map(of_term).collect::<Vec<_>>().join(joined_by);
    let words = format!("{column}({words})");
    // The words may match names of other owners too, so the few remaining rows are filtered by owner.
    owner.map_or_else(|| words.clone(), |owner| format!("{words} AND owner : \"{owner}\""))
}

impl Catalogue for SqliteCatalogue {
    fn find(&self, query: &Query) -> Result<Page, StoreError> {
        let query = query.bounded();
        match terms(&query.words) {
            terms if terms.is_empty() && query.words.trim().is_empty() => self.list(&query),
            terms if terms.is_empty() => Ok(Page::default()),
            terms => self.search(&query, &terms),
        }
    }

    fn related(&self, name: &QualifiedName) -> Result<Vec<Entry>, StoreError> {
        let sql = "select line from links join skills on skills.name = links.skill where other = ?1 order by skill limit 1000";
        let lines = self.database.list(sql, [name.to_string()], |row| row.get::<_, String>(0))?;
        Ok(lines.iter().filter_map(|line| Entry::parse(line).ok()).collect())
    }

    fn count(&self) -> Result<u64, StoreError> {
        Ok(self
            .database
            .reader()
            .query_row("select count(*) from skills", [], |row| row.get::<_, i64>(0))?
            .unsigned_abs())
    }
}

fn set_cache(database: &Connection, kib: i64) -> rusqlite::Result<()> {
    database.pragma_update(None, "cache_size", -kib)?;
    database.execute_batch("pragma shrink_memory")
}

fn set_shown(write: &Connection, revision: &str) -> rusqlite::Result<()> {
    let sql = "insert into shown (only_one, revision) values (1, ?1)
               on conflict do update set revision = excluded.revision";
    write.execute(sql, [revision]).map(drop)
}

/// Empties the tables and drops their SQL indexes: building them afterwards is faster than filling them in random
/// order. Returns the statements that create them again.
fn clear(write: &Connection) -> rusqlite::Result<Vec<String>> {
    write.execute_batch("delete from skills; delete from links; delete from contents; delete from texts;")?;
    let mut select = write.prepare(
        "select name, sql from sqlite_schema
         where type = 'index' and tbl_name in ('skills', 'links', 'contents') and sql is not null",
    )?;
    let rows = select.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
    let indexes: Vec<_> = rows.collect::<Result<_, _>>()?;
    indexes.iter().try_for_each(|(name, _)| write.execute_batch(&format!("drop index {name}")))?;
    Ok(indexes.into_iter().map(|(_, sql)| sql).collect())
}

fn remove(write: &Connection, name: &QualifiedName) -> rusqlite::Result<()> {
    let mut delete = write.prepare_cached("delete from skills where name = ?1 returning id")?;
    if let Some(id) = delete.query_row([name.to_string()], |row| row.get::<_, i64>(0)).optional()? {
        write.prepare_cached("delete from texts where rowid = ?1")?.execute([id])?;
        write.prepare_cached("delete from links where skill = ?1")?.execute([name.to_string()])?;
    }
    write.prepare_cached("delete from contents where skill = ?1")?.execute([name.to_string()]).map(drop)
}

fn add(write: &Connection, skill: &ShownSkill) -> rusqlite::Result<()> {
    if let Some(entry) = &skill.newest {
        add_newest(write, entry)?;
    }
    add_contents(write, skill)
}

fn add_contents(write: &Connection, skill: &ShownSkill) -> rusqlite::Result<()> {
    let name = skill.name.to_string();
    let mut insert =
        write.prepare_cached("insert into contents (skill, version, digest, published_at) values (?1, ?2, ?3, ?4)")?;
    for (version, digest, at) in &skill.contents {
        insert.execute(params![name, version.to_string(), digest.to_string(), at.to_string()])?;
    }
    Ok(())
}

fn add_newest(write: &Connection, entry: &Entry) -> rusqlite::Result<()> {
    let name = entry.name.to_string();
    let mut insert = write.prepare_cached(
        "insert into skills (name, owner, published_at, downloads, line) values (?1, ?2, ?3,
         (select coalesce(sum(count), 0) from downloads where skill = ?1), ?4) returning id",
    )?;
    let values = params![name, entry.name.owner.as_str(), entry.published_at.to_string(), entry.to_line()];
    let id: i64 = insert.query_row(values, |row| row.get(0))?;
    for other in entry.relations() {
        let mut link =
            write.prepare_cached("insert into links (skill, other) values (?1, ?2) on conflict do nothing")?;
        link.execute([&name, other])?;
    }
    let mut texts = write
        .prepare_cached("insert into texts (rowid, name, owner, keywords, description) values (?1, ?2, ?3, ?4, ?5)")?;
    let title = entry.title.iter().chain(&entry.keywords);
    let keywords = indexed(&title.map(String::as_str).collect::<Vec<_>>().join(" "));
    texts.execute(params![
        id,
        indexed(entry.name.name.as_str()),
        entry.name.owner.as_str(),
        keywords,
        indexed(&entry.description)
    ])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::catalogue::{Filter, Order};

    fn entry(name: &str, description: &str, at: &str) -> ShownSkill {
        let hash = format!("sha256:{}", "1".repeat(64));
        let line = serde_json::json!({
            "v": 1, "name": name, "version": "1.0.0", "digest": hash, "archive": hash, "size": 1, "files": 1,
            "description": description, "keywords": [], "verdict": "allow", "publisher": "p", "published_at": at,
        });
        ShownSkill::new(name.parse().unwrap(), &[Entry::parse(&line.to_string()).unwrap()])
    }

    fn catalogue() -> (tempfile::TempDir, SqliteCatalogue) {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = SqliteCatalogue::new(Arc::new(Database::open(&folder.path().join("db")).unwrap()));
        let skills = [
            entry("acme/pdf-forms", "Fills in forms.", "2026-01-01T00:00:00Z"),
            entry("zoe/notes", "Takes notes, exports PDF too.", "2026-03-01T00:00:00Z"),
            entry("mei/chart", "把表格数据画成图表，支持折线图。", "2026-02-01T00:00:00Z"),
        ];
        catalogue.show(&skills, "abc").unwrap();
        (folder, catalogue)
    }

    fn names(catalogue: &SqliteCatalogue, words: &str) -> Vec<String> {
        let query = Query { words: words.to_owned(), limit: 10, ..Query::default() };
        catalogue.find(&query).unwrap().skills.iter().map(|found| found.entry.name.to_string()).collect()
    }

    #[test]
    fn names_rank_before_descriptions_in_any_script() {
        let (_folder, catalogue) = catalogue();
        assert_eq!(names(&catalogue, "pdf"), ["acme/pdf-forms", "zoe/notes"]);
        assert_eq!(names(&catalogue, "图表"), ["mei/chart"]);
        assert_eq!(names(&catalogue, "图"), ["mei/chart"]);
        assert_eq!(names(&catalogue, "exports nothing"), ["zoe/notes"], "some of the words, when no skill has all");
        let of = |owner: &str, words: &str| {
            let owner = Some(Owner::parse(owner).unwrap());
            let query = Query { words: words.to_owned(), owner, limit: 10, ..Query::default() };
            catalogue.find(&query).unwrap().skills.iter().map(|found| found.entry.name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(of("zoe", "pdf"), ["zoe/notes"]);
        assert_eq!(of("acme", "pdf notes"), ["acme/pdf-forms"]);
        assert_eq!(of("zoe-labs", "pdf"), Vec::<String>::new());
        assert_eq!(names(&catalogue, ""), ["zoe/notes", "mei/chart", "acme/pdf-forms"]);
        for odd in ["\"", "*", "AND", "name:", "a\" OR \"b", "(", "^", "-", "NEAR(a b)"] {
            names(&catalogue, odd);
        }
    }

    #[test]
    fn results_are_filtered_ordered_and_counted() {
        let (_folder, catalogue) = catalogue();
        let line = |name: &str, license: &str, keywords: &[&str], at: &str| {
            let shown = entry(name, "A common text.", at);
            let mut line: serde_json::Value = serde_json::from_str(&shown.newest.unwrap().to_line()).unwrap();
            (line["license"], line["keywords"]) = (license.into(), keywords.into());
            ShownSkill::new(name.parse().unwrap(), &[Entry::parse(&line.to_string()).unwrap()])
        };
        let mut skills = vec![
            line("acme/one", "MIT", &["Invoices", "PDF"], "2026-04-01T00:00:00Z"),
            line("acme/two", "Apache-2.0", &["pdf"], "2026-05-01T00:00:00Z"),
        ];
        catalogue.show(&skills, "def").unwrap();
        let found = |query: Query| {
            let page = catalogue.find(&Query { limit: 10, ..query }).unwrap();
            let names = page.skills.iter().map(|found| found.entry.name.to_string()).collect::<Vec<_>>();
            (names.join(" "), page.total)
        };
        let words = |words: &str| Query { words: words.to_owned(), ..Query::default() };
        let filtered =
            |words: &str, filter: Filter| found(Query { words: words.to_owned(), filter, ..Query::default() });
        for words in ["", "common", "texts"] {
            let filter = Filter { license: Some("mit".to_owned()), ..Filter::default() };
            assert_eq!(filtered(words, filter), ("acme/one".to_owned(), Some(1)), "{words}");
            let filter = Filter { keyword: Some("pdF".to_owned()), ..Filter::default() };
            assert_eq!(filtered(words, filter).1, Some(2), "{words}");
            let filter = Filter { signed_only: true, ..Filter::default() };
            assert_eq!(filtered(words, filter), (String::new(), Some(0)), "{words}");
            let filter =
                Filter { verdict: Some("allow".to_owned()), keyword: Some("invoices".to_owned()), ..Filter::default() };
            assert_eq!(filtered(words, filter).1, Some(1), "{words}");
        }
        let newest = Query { order: Some(Order::Updated), ..words("common") };
        assert_eq!(found(newest), ("acme/two acme/one".to_owned(), Some(2)));
        assert_eq!(found(words("common")), ("acme/one acme/two".to_owned(), Some(2)));
        skills = (0..1_100).map(|at| line(&format!("many/s{at}"), "MIT", &[], "2026-01-01T00:00:00Z")).collect();
        catalogue.show(&skills[..998], "ghi").unwrap();
        assert_eq!((found(words("common")).1, found(words("")).1), (Some(1_000), None));
        catalogue.show(&skills[998..], "jkl").unwrap();
        assert_eq!(found(words("common")).1, None);
    }

    #[test]
    fn updated_skills_replace_and_removed_ones_disappear() {
        let (_folder, catalogue) = catalogue();
        let other = entry("acme/pdf-forms", "Draws.", "2026-05-01T00:00:00Z");
        catalogue.show(&[other, ShownSkill::new("zoe/notes".parse().unwrap(), &[])], "def").unwrap();
        assert_eq!(names(&catalogue, "forms"), ["acme/pdf-forms"]);
        assert_eq!(names(&catalogue, "fills"), Vec::<String>::new());
        assert_eq!((catalogue.count().unwrap(), catalogue.revision().unwrap().as_deref()), (2, Some("def")));
    }

    #[test]
    fn view_made_anew_holds_nothing_else() {
        let (_folder, catalogue) = catalogue();
        let schema = || {
            let reader = catalogue.database.reader();
            let mut select = reader.prepare("select coalesce(sql, name) from sqlite_schema order by 1").unwrap();
            select.query_map([], |row| row.get(0)).unwrap().collect::<Result<Vec<String>, _>>().unwrap()
        };
        let (before, draws) = (schema(), entry("acme/pdf-forms", "Draws.", "2026-05-01T00:00:00Z"));
        let failed = catalogue.rebuild("def", |show| {
            show(&draws)?;
            Err(StoreError::from(rusqlite::Error::QueryReturnedNoRows))
        });
        assert!(failed.is_err());
        assert_eq!((names(&catalogue, "fills").len(), catalogue.revision().unwrap().as_deref()), (1, Some("abc")));
        catalogue.rebuild("def", |show| show(&draws)).unwrap();
        assert_eq!((names(&catalogue, ""), names(&catalogue, "draws").len()), (vec!["acme/pdf-forms".to_owned()], 1));
        assert_eq!(names(&catalogue, "fills"), Vec::<String>::new());
        assert_eq!(catalogue.revision().unwrap().as_deref(), Some("def"));
        assert_eq!(schema(), before);
    }
}
