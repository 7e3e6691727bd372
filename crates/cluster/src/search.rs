//! [`PgCatalogue`]: search over the newest releases, with the words and the ranking of the embedded server.

mod words;

use std::{sync::Arc, time::SystemTime};

use deadpool_postgres::{Client, GenericClient};
use registry_index::Entry;
use server::store::{
    StoreError,
    catalogue::{CANDIDATES, COUNTED, Catalogue, Matching, Order, Page, Query, SearchHit, total},
};
use skill::terms::{Term, terms};
use skill::{Owner, QualifiedName};
use tokio_postgres::{
    Row,
    types::{ToSql, Type},
};

pub use self::words::SearchWords;
use self::words::query as words_query;
use crate::database::{Database, DatabaseError, row, rows, run, stored_time};

/// Columns of a hit, in the order of [`Found::of`].
const HIT: &str = "newest, downloads, stars";

/// Conditions on a skill, with the values of [`planned`].
const FILTERS: &str = "newest is not null and ($1::text is null or owner = $1) and ($2::text is null or verdict = $2)
    and (not $3 or is_signed) and ($4::text is null or license = $4) and ($5::text is null or keywords @> array[$5])";

/// Stores what is found and filtered of a skill: its newest release, or nothing if it offers none.
const SHOW: &str = "update skills set file_id = $2, newest = $3, published_at = $4, words = $5::text::tsvector,
    name_words = $6::text::tsvector, verdict = $7, is_signed = $8, license = $9, keywords = $10 where id = $1";

/// Search in the tables that publishing writes, so that a release is found in the next request.
pub struct PgCatalogue {
    database: Arc<Database>,
}

/// A skill that matches, with its counts.
struct Found {
    line: String,
    downloads: u64,
    stars: u64,
}

impl Found {
    fn of(row: &Row) -> Result<Self, DatabaseError> {
        let count = |at: usize| -> Result<u64, DatabaseError> { Ok(row.try_get::<_, i64>(at)?.unsigned_abs()) };
        Ok(Self { line: row.try_get(0)?, downloads: count(1)?, stars: count(2)? })
    }

    fn hit(&self, entry: Entry, score: u32) -> SearchHit {
        SearchHit { entry, score, downloads: self.downloads, stars: self.stars }
    }
}

impl PgCatalogue {
    /// Creates the catalogue on a database.
    pub fn new(database: Arc<Database>) -> Self {
        Self { database }
    }

    fn search(&self, query: &Query, terms: &[Term]) -> Result<Page, DatabaseError> {
        let (matching, matches) = Matching::choose(terms.len(), |matching| {
            self.count_of(query, "words @@ $6::tsquery and", Some(&words_query(terms, matching)))
        })?;
        let words = words_query(terms, matching);
        if let Some(order) = query.order {
            let sql =
                format!("select {HIT} from skills where words @@ $6::tsquery and {FILTERS} {}", page(query, order));
            return Ok(listed(query, &self.found(&sql, query, Some(&words))?, matches));
        }
        let sql = if matches <= COUNTED {
            let rank = "ts_rank('{0.1, 0.4, 0.5, 1}', words, $6::tsquery) desc, downloads desc, id";
            let best = format!("words @@ $6::tsquery and {FILTERS} order by {rank} limit {CANDIDATES}");
            format!("select {HIT} from skills where {best}")
        } else {
            // A word that is common in descriptions is rarely part of a name.
            let popular = |column: &str| {
                let matches = format!("{column} @@ $6::tsquery and {FILTERS}");
                format!("(select id, {HIT} from skills where {matches} order by downloads desc, id limit {CANDIDATES})")
            };
            format!("select {HIT} from ({} union {}) popular", popular("words"), popular("name_words"))
        };
        let found = self.found(&sql, query, Some(&words))?;
        query.ranked(&found, matches, |found| found.line.as_str(), |found, entry, score| Ok(found.hit(entry, score)))
    }

    fn list(&self, query: &Query) -> Result<Page, DatabaseError> {
        let matches = self.count_of(query, "", None)?;
        let order = page(query, query.order.unwrap_or_default());
        let found = self.found(&format!("select {HIT} from skills where {FILTERS} {order}"), query, None)?;
        Ok(listed(query, &found, matches))
    }

    /// Counts skills that meet a condition and the filters, up to one more than [`COUNTED`].
    fn count_of(&self, query: &Query, condition: &str, words: Option<&str>) -> Result<usize, DatabaseError> {
        let bounded = format!("select 1 from skills where {condition} {FILTERS} limit {}", COUNTED + 1);
        let sql = format!("select count(*) from ({bounded}) bounded");
        let count: i64 = self.database.read(async |client| {
            let found = planned(client, &sql, query, words).await?;
            Ok(found.first().map_or(Ok(0), |row| row.try_get(0))?)
        })?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    fn found(&self, sql: &str, query: &Query, words: Option<&str>) -> Result<Vec<Found>, DatabaseError> {
        self.database.read(async |client| planned(client, sql, query, words).await?.iter().map(Found::of).collect())
    }
}

/// Returns the page of a query whose skills are in order, with one more if another page follows.
fn listed(query: &Query, found: &[Found], matches: usize) -> Page {
    let hit = |found: &Found| Some(found.hit(Entry::parse(&found.line).ok()?, 0));
    let skills = found.iter().take(query.limit).filter_map(hit).collect();
    Page { skills, has_more: found.len() > query.limit, total: total(matches) }
}

impl Catalogue for PgCatalogue {
    fn find(&self, query: &Query) -> Result<Page, StoreError> {
        let query = query.bounded();
        let found = match terms(&query.words) {
            terms if terms.is_empty() && query.words.trim().is_empty() => self.list(&query),
            terms if terms.is_empty() => return Ok(Page::default()),
            terms => self.search(&query, &terms),
        };
        Ok(found?)
    }

    fn related(&self, name: &QualifiedName) -> Result<Vec<Entry>, StoreError> {
        let name = name.to_string();
        let sql = "select newest from links join skills on skills.id = links.skill
                   where other = $1 and newest is not null order by owner, name limit 1000";
        let lines = self.database.read(async |client| {
            let found = rows(client, sql, &[&name]).await?;
            found.iter().map(|row| Ok(row.try_get(0)?)).collect::<Result<Vec<String>, DatabaseError>>()
        })?;
        Ok(lines.iter().filter_map(|line| Entry::parse(line).ok()).collect())
    }

    fn count(&self) -> Result<u64, StoreError> {
        let sql = "select count(*) from skills where newest is not null";
        let count: i64 = self.database.read(async |client| {
            let found = row(client, sql, &[]).await?;
            Ok(found.map_or(Ok(0), |found| found.try_get(0))?)
        })?;
        Ok(count.unsigned_abs())
    }
}

/// Columns by which a skill is found and filtered.
#[derive(Debug)]
pub struct Shown {
    /// Line of the newest release that is offered; `None` if none is offered.
    pub line: Option<String>,
    /// Time of that release.
    pub at: Option<SystemTime>,
    /// All words, as the text of a `tsvector`.
    pub words: Option<String>,
    /// Words of the name alone.
    pub name_words: Option<String>,
    /// Verdict of the scanner.
    pub verdict: Option<String>,
    /// True for a signed release.
    pub is_signed: bool,
    /// License in lower case.
    pub license: Option<String>,
    /// Keywords in lower case.
    pub keywords: Vec<String>,
}

impl Shown {
    /// Returns the columns of a skill. `newest` is its newest release that is offered.
    pub fn of(newest: Option<&Entry>) -> Self {
        // The engine refuses the character U+0000 in every text.
        let filterable = |text: &String| text.to_ascii_lowercase().replace('\0', "\u{FFFD}");
        let (words, name_words) = newest.map(SearchWords::of).map(|words| (words.all, words.name)).unzip();
        Self {
            line: newest.map(Entry::to_line),
            at: newest.map(|entry| stored_time(entry.published_at)),
            words,
            name_words,
            verdict: newest.map(|entry| entry.verdict.clone()),
            is_signed: newest.is_some_and(|entry| entry.signature.is_some()),
            license: newest.and_then(|entry| entry.license.as_ref()).map(filterable),
            keywords: newest.into_iter().flat_map(|entry| &entry.keywords).map(filterable).collect(),
        }
    }
}

/// Writes what is found and filtered of a skill, and the id of its file. `newest` is its newest release that is offered.
///
/// # Errors
/// The error of the engine.
pub async fn show(
    client: &impl GenericClient,
    skill: i64,
    file_id: &str,
    newest: Option<&Entry>,
) -> Result<(), tokio_postgres::Error> {
    let Shown { line, at, words, name_words, verdict, is_signed, license, keywords } = Shown::of(newest);
    let values: [&(dyn ToSql + Sync); 10] =
        [&skill, &file_id, &line, &at, &words, &name_words, &verdict, &is_signed, &license, &keywords];
    run(client, SHOW, &values).await.map(drop)
}

/// Returns the order and the page of a query, with one more skill, which shows whether another page follows.
fn page(query: &Query, order: Order) -> String {
    let order = match order {
        Order::Updated => "published_at desc, id",
        Order::Downloads => "downloads desc, id",
        Order::Name => "owner, name",
    };
    format!("order by {order} limit {} offset {}", query.limit.saturating_add(1), query.offset)
}

/// Runs a query with the values of [`FILTERS`], and a query of the text search as `$6`. It is planned anew each time: the
/// best plan depends on how common the words are.
async fn planned(
    client: &Client,
    sql: &str,
    query: &Query,
    words: Option<&str>,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let (owner, filter) = (query.owner.as_ref().map(Owner::as_str), &query.filter);
    let mut values: Vec<(&(dyn ToSql + Sync), Type)> = vec![
        (&owner, Type::TEXT),
        (&filter.verdict, Type::TEXT),
        (&filter.signed_only, Type::BOOL),
        (&filter.license, Type::TEXT),
        (&filter.keyword, Type::TEXT),
    ];
    values.extend(words.is_some().then_some((&words as &(dyn ToSql + Sync), Type::TEXT)));
    client.query_typed(sql, &values).await
}

#[cfg(test)]
mod tests;
