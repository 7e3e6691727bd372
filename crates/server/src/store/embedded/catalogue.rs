//! [`SqliteCatalogue`]: a projection of the index in SQLite, for search.

use std::{collections::HashMap, sync::Arc};

use client::search::{Term, folded, is_unspaced, rank, terms};
use jiff::Timestamp;
use registry_index::{Entry, newest};
use rusqlite::{Connection, OptionalExtension, Row, params};
use semver::Version;
use skill::{Digest, Owner, QualifiedName};

use super::database::Database;
use crate::store::{
    StoreError,
    catalogue::{Catalogue, DEEPEST, Order, PAGE, Page, Query, SearchHit},
};

/// Matches that are ranked in full by a search.
const CANDIDATES: usize = 120;

/// Most matches that are ranked by FTS5. A search with more considers only the newest.
const MATCHES: i64 = 1000;

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

    /// Updates skills to their state in the index at a commit, in one transaction.
    ///
    /// # Errors
    /// [`StoreError`]; the catalogue is then unchanged.
    pub fn show(&self, skills: &[ShownSkill], revision: &str) -> Result<(), StoreError> {
        let mut writer = self.database.writer();
        let write = writer.transaction()?;
        for skill in skills {
            remove(&write, &skill.name)?;
            add(&write, skill)?;
        }
        set_shown(&write, revision)?;
        Ok(write.commit()?)
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
        let mut lines = matching(&reader, &expression(terms, " AND "), query.owner.as_ref())?;
        if lines.is_empty() && terms.len() > 1 {
            lines = matching(&reader, &expression(terms, " OR "), query.owner.as_ref())?;
        }
        let mut lines_by_name = HashMap::new();
        let mut entries = Vec::with_capacity(lines.len());
        for line in &lines {
            let Some(entry) = Entry::parse(line).ok().filter(|entry| query.filter.takes(entry)) else { continue };
            lines_by_name.insert(entry.name.to_string(), line);
            entries.push((String::new(), entry));
        }
        let ranked = rank(entries, &query.words, CANDIDATES);
        let mut skills = Vec::new();
        for result in ranked.iter().skip(query.offset).take(query.limit) {
            // Parsing the few results again is cheaper than copying all that were ranked.
            let Some(entry) = lines_by_name.get(&result.name).and_then(|line| Entry::parse(line).ok()) else {
                continue;
            };
            skills.push(counted(&reader, entry, result.score)?);
        }
        Ok(Page { skills, has_more: ranked.len() > query.offset.saturating_add(query.limit) })
    }

    fn list(&self, query: &Query) -> Result<Page, StoreError> {
        let order = match query.order {
            Order::Updated => "published_at desc, name",
            Order::Downloads => "downloads desc, name",
            Order::Name => "name",
        };
        let reader = self.database.reader();
        let sql = format!(
            "select line from skills where (?1 is null or owner = ?1)
             and (not ?4 or line ->> '$.verdict' = 'allow') and (not ?5 or line ->> '$.signature' is not null)
             order by {order} limit ?2 offset ?3"
        );
        let mut select = reader.prepare_cached(&sql)?;
        let owner = query.owner.as_ref().map(Owner::as_str);
        let rows = select.query_map(
            params![
                owner,
                stored(query.limit + 1),
                stored(query.offset),
                query.filter.allowed_only,
                query.filter.signed_only
            ],
            line_of,
        )?;
        let lines = rows.collect::<Result<Vec<_>, _>>()?;
        let has_more = lines.len() > query.limit;
        let entries = lines.iter().take(query.limit).filter_map(|line| Entry::parse(line).ok());
        let skills = entries.map(|entry| counted(&reader, entry, 0)).collect::<Result<_, _>>()?;
        Ok(Page { skills, has_more })
    }
}

impl Catalogue for SqliteCatalogue {
    fn find(&self, query: &Query) -> Result<Page, StoreError> {
        let query = Query { limit: query.limit.clamp(1, PAGE), offset: query.offset.min(DEEPEST), ..query.clone() };
        match terms(&query.words) {
            terms if terms.is_empty() && query.words.trim().is_empty() => self.list(&query),
            terms if terms.is_empty() => Ok(Page::default()),
            terms => self.search(&query, &terms),
        }
    }

    fn related(&self, name: &QualifiedName) -> Result<Vec<Entry>, StoreError> {
        let reader = self.database.reader();
        let mut select = reader.prepare_cached(
            "select line from links join skills on skills.name = links.skill where other = ?1 order by skill limit 1000",
        )?;
        let lines = select.query_map([name.to_string()], line_of)?.collect::<Result<Vec<_>, _>>()?;
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

/// Returns the lines of the skills that match an FTS5 expression and probably rank highest.
fn matching(reader: &Connection, expression: &str, owner: Option<&Owner>) -> Result<Vec<String>, StoreError> {
    let owner = owner.map(Owner::as_str);
    // The words may match names of other owners too, so the few remaining rows are filtered by owner.
    let expression = match owner {
        Some(owner) => format!("({expression}) AND owner : \"{owner}\""),
        None => expression.to_owned(),
    };
    let mut bounded =
        reader.prepare_cached("select count(*) from (select 1 from texts where texts match ?1 limit ?2)")?;
    let matches: i64 = bounded.query_row(params![expression, MATCHES + 1], |row| row.get(0))?;
    if matches <= MATCHES {
        return rows(reader, BEST, &expression, owner);
    }
    // A word that is common in descriptions is rarely part of a name.
    let mut lines = rows(reader, POPULAR, &expression, owner)?;
    lines.extend(rows(reader, POPULAR, &format!("name : ({expression})"), owner)?);
    lines.sort();
    lines.dedup();
    Ok(lines)
}

/// Selects the best matches by weighted column. Only their lines are read.
const BEST: &str = "select line from skills join
    (select rowid as fitting from texts
     where texts match ?1 and (?2 is null or (select owner from skills where id = texts.rowid) = ?2)
     order by bm25(texts, 10, 4, 5, 1) limit ?3) on id = fitting";

/// Selects the most downloaded of the newest matches.
const POPULAR: &str = "select line from skills join
    (select id as fitting from skills join
        (select rowid as newest from texts where texts match ?1 order by rowid desc limit 1000) on id = newest
     where ?2 is null or owner = ?2 order by downloads desc limit ?3) on id = fitting";

fn rows(reader: &Connection, sql: &str, expression: &str, owner: Option<&str>) -> Result<Vec<String>, StoreError> {
    let mut select = reader.prepare_cached(sql)?;
    let rows = select.query_map(params![expression, owner, stored(CANDIDATES)], line_of)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn line_of(row: &Row<'_>) -> rusqlite::Result<String> {
    row.get(0)
}

fn counted(reader: &Connection, entry: Entry, score: u32) -> Result<SearchHit, StoreError> {
    let mut counts = reader.prepare_cached(
        "select (select downloads from skills where name = ?1), (select count(*) from stars where skill = ?1)",
    )?;
    let (downloads, stars): (Option<i64>, i64) =
        counts.query_row([entry.name.to_string()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(SearchHit { entry, score, downloads: downloads.unwrap_or(0).unsigned_abs(), stars: stars.unsigned_abs() })
}

fn stored(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Builds the FTS5 expression that matches each term as a prefix of a word.
fn expression(terms: &[Term], joined_by: &str) -> String {
    let quoted = terms.iter().map(|term| match term {
        Term::Word(word) => format!("\"{}\"*", word.replace('"', "\"\"")),
        Term::Gram(gram) => format!("\"{gram}\"*"),
    });
    quoted.collect::<Vec<_>>().join(joined_by)
}

/// Normalises a text for FTS5: case-folded, and scripts without spaces cut into overlapping pairs of characters.
fn indexed(text: &str) -> String {
    let folded = folded(text);
    let chars: Vec<char> = folded.chars().collect();
    let mut out = String::with_capacity(folded.len());
    for (at, c) in chars.iter().enumerate() {
        if is_unspaced(*c) {
            out.push(' ');
            out.push(*c);
            out.extend(chars.get(at + 1).filter(|next| is_unspaced(**next)));
            out.push(' ');
        } else {
            out.push(*c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

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
