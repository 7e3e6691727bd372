//! [`write_skills`]: many skills at once, with a few statements for all that are new.

use std::collections::HashMap;

use deadpool_postgres::Transaction;
use registry_index::{Entry, newest};
use skill::QualifiedName;

use super::write_skill;
use crate::{
    database::{DatabaseError, rows, run},
    releases::{NewReleases, Step, blob_id},
    search::Shown,
};

/// Inserts the skills that are new, and returns their ids.
const INSERT: &str = "insert into skills (owner, name, path, file_id, newest, published_at, words, name_words, verdict,
        is_signed, license, keywords)
    select owner, name, path, file_id, newest, published_at, words::tsvector, name_words::tsvector, verdict, is_signed,
        license, keywords::text[]
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[], $8::text[],
            $9::text[], $10::bool[], $11::text[], $12::text[])
        as new (owner, name, path, file_id, newest, published_at, words, name_words, verdict, is_signed, license, keywords)
    on conflict do nothing returning path, id";

/// A skill of another index, with everything that its rows are made of.
pub struct ImportedSkill {
    name: QualifiedName,
    path: String,
    entries: Vec<Entry>,
    lines: Vec<String>,
    file_id: String,
    shown: Shown,
}

impl ImportedSkill {
    /// Prepares a skill. `path` is that of its file in the index.
    ///
    /// # Errors
    /// git cannot hash the file.
    pub fn new(name: QualifiedName, path: String, entries: Vec<Entry>) -> Result<Self, DatabaseError> {
        let lines: Vec<String> = entries.iter().map(Entry::to_line).collect();
        let file: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        let (file_id, shown) = (blob_id(file.as_bytes())?, Shown::of(newest(&entries, false)));
        Ok(Self { name, path, entries, lines, file_id, shown })
    }

    /// Returns the releases.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

/// Writes skills. Those that exist get the lines that are new or have other flags.
pub async fn write_skills(write: &Transaction<'_>, skills: &[ImportedSkill]) -> Step<()> {
    let ids = insert_skills(write, skills).await?;
    let (mut releases, mut linking, mut others) = (NewReleases::default(), Vec::new(), Vec::new());
    for skill in skills {
        let Some(id) = ids.get(&skill.path) else {
            write_skill(write, &skill.name, &skill.entries).await?;
            continue;
        };
        for (at, (entry, line)) in skill.entries.iter().zip(&skill.lines).enumerate() {
            releases.add(*id, at, entry, line);
        }
        for other in newest(&skill.entries, false).into_iter().flat_map(Entry::relations) {
            linking.push(*id);
            others.push(other);
        }
    }
    releases.insert(write).await?;
    let link = "insert into links (skill, other) select * from unnest($1::bigint[], $2::text[]) on conflict do nothing";
    run(write, link, &[&linking, &others]).await?;
    Ok(())
}

async fn insert_skills(write: &Transaction<'_>, skills: &[ImportedSkill]) -> Step<HashMap<String, i64>> {
    let texts = |text: fn(&ImportedSkill) -> &str| skills.iter().map(text).collect::<Vec<_>>();
    let optional = |text: fn(&Shown) -> &Option<String>| {
        skills.iter().map(|skill| text(&skill.shown).as_deref()).collect::<Vec<_>>()
    };
    let times: Vec<_> = skills.iter().map(|skill| skill.shown.at).collect();
    let signed: Vec<bool> = skills.iter().map(|skill| skill.shown.is_signed).collect();
    let keywords: Vec<String> = skills.iter().map(|skill| array_literal(&skill.shown.keywords)).collect();
    let inserted = rows(
        write,
        INSERT,
        &[
            &texts(|skill| skill.name.owner.as_str()),
            &texts(|skill| skill.name.name.as_str()),
            &texts(|skill| &skill.path),
            &texts(|skill| &skill.file_id),
            &optional(|shown| &shown.line),
            &times,
            &optional(|shown| &shown.words),
            &optional(|shown| &shown.name_words),
            &optional(|shown| &shown.verdict),
            &signed,
            &optional(|shown| &shown.license),
            &keywords,
        ],
    )
    .await?;
    Ok(inserted
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect::<Result<_, tokio_postgres::Error>>()?)
}

/// Returns the text of an array, because `unnest` takes no arrays of several lengths apart.
fn array_literal(texts: &[String]) -> String {
    let quoted = texts.iter().map(|text| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")));
    format!("{{{}}}", quoted.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_quoted() {
        assert_eq!(array_literal(&[]), "{}");
        let texts = ["pdf", "a, \"b\"", "c\\d", "", "null"].map(str::to_owned);
        assert_eq!(array_literal(&texts), r#"{"pdf","a, \"b\"","c\\d","","null"}"#);
    }
}
