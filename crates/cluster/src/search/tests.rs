//! Tests of the search over PostgreSQL.

use client::search::rank;
use server::store::catalogue::{Filter, PAGE};
use testkit::Random;

use super::*;
use crate::{database::run, tests::postgres::TestDatabase};

const WORDS: [&str; 16] = [
    "pdf", "notes", "chart", "invoice", "mail", "reviews", "kubernetes", "translate", "été", "图表", "数据", "折线图",
    "日本語", "c4", "xray", "quiz",
];

fn entry(name: &str, description: &str, keywords: &[String], signed: bool) -> Entry {
    let hash = format!("sha256:{}", "1".repeat(64));
    let verdict = if description.contains("risky") { "warn" } else { "allow" };
    let mut line = serde_json::json!({
        "v": 1, "name": name, "version": "1.0.0", "digest": hash, "archive": hash, "size": 1, "files": 1,
        "description": description, "keywords": keywords, "verdict": verdict, "publisher": "p",
        "license": "MIT", "published_at": format!("2026-01-01T00:00:{:02}Z", name.len())
    });
    if signed {
        line["signature"] = "sig".into();
    }
    Entry::parse(&line.to_string()).unwrap()
}

/// Adds the newest release of a skill, as publishing does.
fn add(database: &Database, entry: &Entry, downloads: i64) {
    let sql = "insert into skills (owner, name, path, downloads) values ($1, $2, $1 || '/' || $2, $3) returning id";
    let (owner, name) = (entry.name.owner.as_str(), entry.name.name.as_str());
    let added = database.read(async |client| {
        let id = row(client, sql, &[&owner, &name, &downloads]).await?.unwrap().try_get(0)?;
        Ok(show(client, id, "", Some(entry)).await?)
    });
    added.unwrap();
}

fn query(words: &str) -> Query {
    Query { words: words.to_owned(), limit: PAGE, ..Query::default() }
}

fn names(catalogue: &PgCatalogue, query: &Query) -> Vec<String> {
    let page = catalogue.find(query).unwrap();
    page.skills.iter().map(|found| found.entry.name.to_string()).collect()
}

#[test]
#[ignore = "needs PostgreSQL"]
fn results_rank_as_in_other_searches() {
    let database = TestDatabase::new();
    let (opened, catalogue) = (database.open(), PgCatalogue::new(database.open()));
    let mut random = Random::new(7);
    let mut some = |most: usize| -> Vec<String> {
        let count = 1 + random.below(most);
        (0..count).map(|_| WORDS[random.below(WORDS.len())].to_owned()).collect()
    };
    let mut entries = Vec::new();
    for at in 0..90 {
        let latin = some(2).into_iter().filter(|word| word.is_ascii());
        let name = format!("owner-{}/{}", at % 4, latin.chain([format!("z{at}")]).collect::<Vec<_>>().join("-"));
        let entry = entry(&name, &format!("{}.", some(5).join(" ")), &some(2), false);
        add(&opened, &entry, at);
        entries.push(entry);
    }
    for _ in 0..200 {
        let mut words = some(3);
        // The beginning of a word finds it too.
        if let Some(whole) = words.last_mut().filter(|word| word.is_ascii() && word.len() > 5) {
            whole.truncate(4);
        }
        let words = words.join(" ");
        let all = entries.iter().map(|entry| (String::new(), entry.clone())).collect();
        let expected: Vec<_> = rank(all, &words, PAGE).into_iter().map(|result| result.name).collect();
        assert_eq!(names(&catalogue, &query(&words)), expected, "{words}");
        assert_eq!(catalogue.find(&query(&words)).unwrap().total, Some(expected.len()));
        let owner = Some(Owner::parse("owner-1").unwrap());
        let of_owner = names(&catalogue, &Query { owner, ..query(&words) });
        assert!(of_owner.iter().all(|name| name.starts_with("owner-1/")));
    }
    let page = |offset| names(&catalogue, &Query { offset, limit: 5, ..query("pdf") });
    let all = names(&catalogue, &query("pdf"));
    assert_eq!([page(0), page(5)].concat(), all[..10]);
    assert!(catalogue.find(&Query { limit: 5, ..query("pdf") }).unwrap().has_more);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn odd_queries_find_nothing_and_never_fail() {
    let database = TestDatabase::new();
    let catalogue = PgCatalogue::new(database.open());
    add(&database.open(), &entry("acme/notes", "Takes notes.", &[], false), 0);
    let long = "w".repeat(5_000);
    let many: String = (0..400).map(|at| format!("w{at} ")).collect();
    for odd in ["'", "''", "\\", "&", "a & | b", "!", ":*", "(a", "'x':*A", "\u{0}", "<->", "%", "'; --", &long, &many]
    {
        assert!(names(&catalogue, &query(odd)).is_empty(), "{odd:?}");
    }
    assert_eq!(names(&catalogue, &query("notes '")), ["acme/notes"]);
    assert_eq!(names(&catalogue, &query("notes zebra")), ["acme/notes"], "some of the words are better than nothing");
    assert_eq!(names(&catalogue, &Query { offset: 1 << 40, ..query("") }), Vec::<String>::new());
}

#[test]
#[ignore = "needs PostgreSQL"]
fn common_words_find_names_and_popular_skills() {
    let database = TestDatabase::new();
    let (opened, catalogue) = (database.open(), PgCatalogue::new(database.open()));
    for at in 0..1_100 {
        add(&opened, &entry(&format!("many/skill-{at}"), "A common description.", &[], false), at);
    }
    add(&opened, &entry("rare/common-tool", "Something else.", &[], false), 0);
    let found = names(&catalogue, &query("common"));
    assert_eq!((found[0].as_str(), found.len()), ("rare/common-tool", PAGE));
    let popular = |name: &String| name.strip_prefix("many/skill-").unwrap().parse::<i64>().unwrap() >= 980;
    assert!(found[1..].iter().all(popular), "{found:?}");
    assert_eq!(catalogue.count().unwrap(), 1_101);
    let total = |words: &str| catalogue.find(&query(words)).unwrap().total;
    assert_eq!((total("common"), total(""), total("else")), (None, None, Some(1)));
    let by_name = names(&catalogue, &Query { order: Some(Order::Name), offset: 1_100, ..query("common") });
    assert_eq!(by_name, ["rare/common-tool"]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn results_are_filtered_ordered_and_counted() {
    let database = TestDatabase::new();
    let (opened, catalogue) = (database.open(), PgCatalogue::new(database.open()));
    add(&opened, &entry("b/two", "Some risky text.", &["PDF".to_owned()], true), 5);
    add(&opened, &entry("a/eleven", "Some text.", &[], false), 6);
    add(&opened, &entry("c/three", "Some text.", &["pdf".to_owned(), "Mail".to_owned()], true), 7);
    for words in ["", "text", "texts"] {
        let ordered = |order| names(&catalogue, &Query { order: Some(order), ..query(words) });
        assert_eq!(ordered(Order::Updated), ["a/eleven", "c/three", "b/two"], "{words}");
        assert_eq!(ordered(Order::Downloads), ["c/three", "a/eleven", "b/two"], "{words}");
        assert_eq!(ordered(Order::Name), ["a/eleven", "b/two", "c/three"], "{words}");
        let filtered = |filter: Filter| names(&catalogue, &Query { filter, order: Some(Order::Name), ..query(words) });
        let text = |text: &str| Some(text.to_owned());
        let (allowed, signed) =
            (Filter { verdict: text("allow"), ..Filter::default() }, Filter { signed_only: true, ..Filter::default() });
        assert_eq!(filtered(allowed.clone()), ["a/eleven", "c/three"]);
        assert_eq!(filtered(signed), ["b/two", "c/three"]);
        assert_eq!(filtered(Filter { signed_only: true, ..allowed }), ["c/three"]);
        assert_eq!(filtered(Filter { keyword: text("pdf"), ..Filter::default() }), ["b/two", "c/three"]);
        assert_eq!(filtered(Filter { keyword: text("MAIL"), ..Filter::default() }), ["c/three"]);
        assert_eq!(filtered(Filter { license: text("mit"), ..Filter::default() }), ["a/eleven", "b/two", "c/three"]);
        assert!(filtered(Filter { license: text("isc"), ..Filter::default() }).is_empty());
    }
    let page = catalogue.find(&Query { limit: 2, order: Some(Order::Downloads), ..query("") }).unwrap();
    assert_eq!((page.skills.len(), page.has_more, page.total), (2, true, Some(3)));
    assert_eq!(page.skills[0].downloads, 7);
    let sql = "insert into links (skill, other) select id, 'b/two' from skills where owner <> 'b'";
    opened.read(async |client| Ok(run(client, sql, &[]).await?)).unwrap();
    let related = catalogue.related(&"b/two".parse().unwrap()).unwrap();
    assert_eq!(related.iter().map(|entry| entry.name.to_string()).collect::<Vec<_>>(), ["a/eleven", "c/three"]);
}
