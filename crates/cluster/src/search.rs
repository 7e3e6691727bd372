//! [`PgCatalogue`]: search over the newest releases, with the words and the ranking of the embedded server.

mod words;

use std::{collections::HashMap, sync::Arc};

use client::search::{Term, rank, terms};
use deadpool_postgres::Client;
use registry_index::Entry;
use server::store::{
    StoreError,
    catalogue::{Catalogue, DEEPEST, Order, PAGE, Page, Query, SearchHit},
};
use skill::{Owner, QualifiedName};
use tokio_postgres::{
    Row,
    types::{ToSql, Type},
};

pub use self::words::SearchWords;
use self::words::query as words_query;
use crate::database::{Database, DatabaseError, row, rows};

/// Matches that are ranked in full by a search.
const CANDIDATES: i64 = 120;

/// Most matches that the engine ranks. A search with more considers the most downloaded only.
const MATCHES: i64 = 1000;

/// Columns of a hit, in the order of [`Found::of`].
const HIT: &str = "newest, downloads, stars";

/// Conditions on a skill: the owner is `$1`, and `$2` and `$3` switch the filters on.
const FILTERS: &str = "newest is not null and ($1::text is null or owner = $1)
    and (not $2 or verdict = 'allow') and (not $3 or is_signed)";

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

    /// Returns the hit; `None` if its line cannot be read.
    fn hit(&self, score: u32) -> Option<SearchHit> {
        let entry = Entry::parse(&self.line).ok()?;
        Some(SearchHit { entry, score, downloads: self.downloads, stars: self.stars })
    }
}

impl PgCatalogue {
    /// Creates the catalogue on a database.
    #[must_use]
    pub fn new(database: Arc<Database>) -> Self {
        Self { database }
    }

    fn search(&self, query: &Query, terms: &[Term]) -> Result<Page, DatabaseError> {
        let found = self.database.read(async |client| {
            let found = matching(client, &words_query(terms, " & "), query).await?;
            match found.is_empty() && terms.len() > 1 {
                true => matching(client, &words_query(terms, " | "), query).await,
                false => Ok(found),
            }
        })?;
        let (mut by_name, mut entries) = (HashMap::new(), Vec::with_capacity(found.len()));
        for found in &found {
            let Ok(entry) = Entry::parse(&found.line) else { continue };
            by_name.insert(entry.name.to_string(), found);
            entries.push((String::new(), entry));
        }
        let ranked = rank(entries, &query.words, usize::try_from(CANDIDATES).unwrap_or(usize::MAX));
        let page = ranked.iter().skip(query.offset).take(query.limit);
        // Parsing the few results again is cheaper than copying all that were ranked.
        let skills = page.filter_map(|result| by_name.get(&result.name)?.hit(result.score)).collect();
        Ok(Page { skills, has_more: ranked.len() > query.offset.saturating_add(query.limit) })
    }

    fn list(&self, query: &Query) -> Result<Page, DatabaseError> {
        let order = match query.order {
            Order::Updated => "published_at desc, id",
            Order::Downloads => "downloads desc, id",
            Order::Name => "owner, name",
        };
        // One more shows whether another page follows.
        let (limit, offset) = (query.limit.saturating_add(1), query.offset);
        let sql = format!("select {HIT} from skills where {FILTERS} order by {order} limit {limit} offset {offset}");
        let found = self.database.read(async |client| {
            planned(client, &sql, query, &[]).await?.iter().map(Found::of).collect::<Result<Vec<_>, _>>()
        })?;
        let has_more = found.len() > query.limit;
        Ok(Page { skills: found.iter().take(query.limit).filter_map(|found| found.hit(0)).collect(), has_more })
    }
}

impl Catalogue for PgCatalogue {
    fn find(&self, query: &Query) -> Result<Page, StoreError> {
        let query = Query { limit: query.limit.clamp(1, PAGE), offset: query.offset.min(DEEPEST), ..query.clone() };
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

/// Returns the skills that match a query of the text search and probably rank highest.
async fn matching(client: &Client, words: &str, query: &Query) -> Result<Vec<Found>, DatabaseError> {
    let words: [(&(dyn ToSql + Sync), Type); 1] = [(&words, Type::TEXT)];
    let bounded = format!("select 1 from skills where words @@ $4::tsquery and {FILTERS} limit {}", MATCHES + 1);
    let count = planned(client, &format!("select count(*) from ({bounded}) bounded"), query, &words).await?;
    let count = count.first().map_or(Ok(0), |row| row.try_get::<_, i64>(0))?;
    let sql = if count <= MATCHES {
        let rank = "ts_rank('{0.1, 0.4, 0.5, 1}', words, $4::tsquery) desc, downloads desc, id";
        format!("select {HIT} from skills where words @@ $4::tsquery and {FILTERS} order by {rank} limit {CANDIDATES}")
    } else {
        // A word that is common in descriptions is rarely part of a name.
        let popular = |column: &str| {
            let matches = format!("{column} @@ $4::tsquery and {FILTERS}");
            format!("(select id, {HIT} from skills where {matches} order by downloads desc, id limit {CANDIDATES})")
        };
        format!("select {HIT} from ({} union {}) popular", popular("words"), popular("name_words"))
    };
    planned(client, &sql, query, &words).await?.iter().map(Found::of).collect()
}

/// Runs a query with the values of [`FILTERS`] and others. It is planned anew each time: the best plan depends on how
/// common the words are.
async fn planned(
    client: &Client,
    sql: &str,
    query: &Query,
    others: &[(&(dyn ToSql + Sync), Type)],
) -> Result<Vec<Row>, DatabaseError> {
    let owner = query.owner.as_ref().map(Owner::as_str);
    let mut values: Vec<(&(dyn ToSql + Sync), Type)> =
        vec![(&owner, Type::TEXT), (&query.filter.allowed_only, Type::BOOL), (&query.filter.signed_only, Type::BOOL)];
    values.extend_from_slice(others);
    Ok(client.query_typed(sql, &values).await?)
}

#[cfg(test)]
mod tests;
