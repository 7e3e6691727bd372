//! [`best`], [`popular`], [`list`]: lines of skills for a search or list, from SQLite.

use rusqlite::{Connection, types::Value};

use crate::store::{
    StoreError,
    catalogue::{CANDIDATES, COUNTED, Order, Query},
};

/// Matches among which the most downloaded are selected: the newest.
const NEWEST: usize = 1_000;

/// A condition in SQL, with its values by name.
struct Condition {
    sql: String,
    values: Vec<(&'static str, Value)>,
}

/// Returns the condition of a query on skills, apart from its words.
fn filters(query: &Query) -> Condition {
    let (filter, owner) = (&query.filter, query.owner.as_ref().map(ToString::to_string));
    let with_value = [
        (":owner", owner, "owner = :owner"),
        (":verdict", filter.verdict.clone(), "line ->> '$.verdict' = :verdict"),
        (":license", filter.license.clone(), "lower(line ->> '$.license') = :license"),
        (
            ":keyword",
            filter.keyword.clone(),
            "exists (select 1 from json_each(line, '$.keywords') where lower(value) = :keyword)",
        ),
    ];
    let mut condition = Condition { sql: "true".to_owned(), values: Vec::new() };
    for (name, value, sql) in with_value {
        let Some(value) = value else { continue };
        condition.values.push((name, value.into()));
        condition.sql = format!("{} and {sql}", condition.sql);
    }
    if filter.signed_only {
        condition.sql.push_str(" and line ->> '$.signature' is not null");
    }
    condition
}

/// Returns the condition of a query on texts: an FTS5 expression, and the filters, for which lines have to be read.
fn fitting(query: &Query, expression: &str) -> Condition {
    let Condition { sql, mut values } = filters(query);
    values.push((":match", expression.to_owned().into()));
    let sql = match sql.as_str() {
        "true" => "texts match :match".to_owned(),
        filters => format!("texts match :match and (select {filters} from skills where id = texts.rowid)"),
    };
    Condition { sql, values }
}

/// Counts the matches of an expression, up to one more than [`COUNTED`].
pub fn count_matches(reader: &Connection, query: &Query, expression: &str) -> Result<usize, StoreError> {
    let Condition { sql, values } = fitting(query, expression);
    count(reader, &format!("texts where {sql}"), &values)
}

/// Counts the skills of a list, up to one more than [`COUNTED`].
pub fn count_listed(reader: &Connection, query: &Query) -> Result<usize, StoreError> {
    let Condition { sql, values } = filters(query);
    count(reader, &format!("skills where {sql}"), &values)
}

/// Returns the best matches by weighted column.
pub fn best(reader: &Connection, query: &Query, expression: &str) -> Result<Vec<String>, StoreError> {
    let Condition { sql, values } = fitting(query, expression);
    let best =
        format!("select rowid as fitting from texts where {sql} order by bm25(texts, 10, 4, 5, 1) limit {CANDIDATES}");
    lines(reader, &format!("select line from skills join ({best}) on id = fitting"), &values)
}

/// Returns the most downloaded of the newest matches.
pub fn popular(reader: &Connection, query: &Query, expression: &str) -> Result<Vec<String>, StoreError> {
    let Condition { sql, values } = fitting(query, expression);
    let newest = format!("select rowid as newest from texts where {sql} order by rowid desc limit {NEWEST}");
    let popular = format!(
        "select id as fitting from skills join ({newest}) on id = newest order by downloads desc limit {CANDIDATES}"
    );
    lines(reader, &format!("select line from skills join ({popular}) on id = fitting"), &values)
}

/// Returns all matches in an order, from the offset of the query, and one more than its limit.
pub fn ordered(reader: &Connection, query: &Query, expression: &str, order: Order) -> Result<Vec<String>, StoreError> {
    let Condition { sql, values } = fitting(query, expression);
    let fitting = format!("select rowid as fitting from texts where {sql}");
    let page = page(query, order);
    lines(reader, &format!("select line from skills join ({fitting}) on id = fitting {page}"), &values)
}

/// Returns all skills in an order, from the offset of the query, and one more than its limit.
pub fn list(reader: &Connection, query: &Query, order: Order) -> Result<Vec<String>, StoreError> {
    let Condition { sql, values } = filters(query);
    lines(reader, &format!("select line from skills where {sql} {}", page(query, order)), &values)
}

fn page(query: &Query, order: Order) -> String {
    let order = match order {
        Order::Updated => "published_at desc, name",
        Order::Downloads => "downloads desc, name",
        Order::Name => "name",
    };
    format!("order by {order} limit {} offset {}", query.limit.saturating_add(1), query.offset)
}

fn count(reader: &Connection, skills: &str, values: &[(&str, Value)]) -> Result<usize, StoreError> {
    let most = COUNTED + 1;
    let mut select = reader.prepare_cached(&format!("select count(*) from (select 1 from {skills} limit {most})"))?;
    let count: i64 = select.query_row(values, |row| row.get(0))?;
    Ok(usize::try_from(count).unwrap_or_default())
}

fn lines(reader: &Connection, sql: &str, values: &[(&str, Value)]) -> Result<Vec<String>, StoreError> {
    let mut select = reader.prepare_cached(sql)?;
    let rows = select.query_map(values, |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
