//! Output of `skillhub publish` for several skills: a table, and the reasons of those that were not published.

use std::io;

use client::{PublishError, PublishItem, PublishStatus, Published};
use schemars::JsonSchema;
use serde::Serialize;
use skill::{counted, failure::Fails};

use crate::{
    accepting::accept_hint,
    context::Context,
    exit::{CliError, ErrorOfOne, Exit, error_of_one, exit_of_one},
    hints,
    print::{BAD, FAINT, GOOD, Page, Table, WARN, detail_lines, visible},
};

/// Prints the result of each skill. The exit code is that of the first failure.
pub fn answer(context: &Context, items: &[PublishItem], is_dry_run: bool) -> Result<Exit, CliError> {
    let first_error = items.iter().find_map(|item| item.result.as_ref().err());
    let document = PublishDocument {
        ok: first_error.is_none(),
        registry: items.iter().find_map(|item| Some(item.result.as_ref().ok()?.location.as_str())),
        skills: items.iter().map(|item| PublishedSkill::of(context, item)).collect(),
    };
    context.out.answer(&document, |out| {
        if let Some(published) = items.iter().find_map(|item| item.result.as_ref().ok()) {
            writeln!(out, "{FAINT}{} in {}{FAINT:#}", published.name.owner, published.location)?;
        }
        let version = if is_dry_run { "next" } else { "version" };
        let mut table = Table::new(&["skill", "newest", version, "status", "scan"]);
        document.skills.iter().for_each(|skill| table.row(&skill.row(is_dry_run)));
        table.write(out)?;
        items.iter().try_for_each(|item| details(context, item, out))?;
        writeln!(out, "{}", summary(&document.skills, is_dry_run))?;
        if first_error.is_some() && !is_dry_run {
            out.message(format_args!("Repair what failed and run the command again: it skips published skills."))?;
        }
        let reports = items.iter().filter_map(|item| item.result.as_ref().err()?.report());
        accept_hint(reports).iter().try_for_each(|hint| writeln!(out, "{GOOD}hint{GOOD:#}: {hint}"))
    })?;
    Ok(exit_of_one(first_error))
}

/// Prints the notes about a skill, or why it failed.
fn details(context: &Context, item: &PublishItem, out: &mut Page) -> io::Result<()> {
    match &item.result {
        Ok(published) => published.warnings.iter().try_for_each(|warning| {
            out.message(format_args!("{WARN}note{WARN:#}: {}: {}", published.name.name, visible(warning)))
        }),
        Err(error) => {
            writeln!(out, "{BAD}error{BAD:#}: {}: {}", context.short(&item.folder), visible(&error.to_string()))?;
            detail_lines(&error.details()).iter().try_for_each(|line| writeln!(out, "  {line}"))?;
            match error.failure().hint.filter(|_| error.report().is_none()) {
                Some(hint) => writeln!(out, "  {GOOD}hint{GOOD:#}: {}", visible(&hints::for_user(&hint.to_string()))),
                None => Ok(()),
            }
        }
    }
}

/// Counts the skills by status, such as `3 skills: 2 published, 1 unchanged`.
fn summary(skills: &[PublishedSkill<'_>], is_dry_run: bool) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for skill in skills {
        let word = skill.word(is_dry_run);
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let counts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    let dry = if is_dry_run { "; nothing was published" } else { "" };
    format!("{}: {}{dry}", counted(skills.len(), "skill"), counts.join(", "))
}

/// Answer of `skillhub publish --json` for several skills.
#[derive(Debug, Serialize, JsonSchema)]
struct PublishDocument<'a> {
    /// False if a skill failed.
    ok: bool,
    /// Location of the registry; null if every skill failed.
    registry: Option<&'a str>,
    /// All skills, in the order of the folders.
    skills: Vec<PublishedSkill<'a>>,
}

/// One skill of a batch.
#[derive(Debug, Serialize, JsonSchema)]
struct PublishedSkill<'a> {
    /// Folder of the skill.
    path: String,
    /// Full name `owner/name`; null if the skill failed.
    name: Option<String>,
    /// `published`, `unchanged`, `dry_run`, `not_published` because another skill failed, or `failed`.
    status: &'a str,
    /// `new`, `changed` or `unchanged`, compared with the newest release; null if the skill failed.
    change: Option<&'a str>,
    /// Version of the newest release before this one; null for a first release.
    newest: Option<String>,
    /// Version of the release; null if the skill failed.
    version: Option<String>,
    /// Digest of the content; null if the skill failed.
    digest: Option<String>,
    /// Verdict of the scan: `allow`, `warn` or `block`; null if the skill was not scanned.
    verdict: Option<String>,
    /// Number of findings of the scan.
    findings: usize,
    /// Warnings, one sentence each.
    warnings: &'a [String],
    /// Reason of a failure.
    error: Option<ErrorOfOne>,
}

impl<'a> PublishedSkill<'a> {
    fn of(context: &Context, item: &'a PublishItem) -> Self {
        let path = if context.out.json { item.folder.display().to_string() } else { context.short(&item.folder) };
        match &item.result {
            Ok(published) => Self::passed(path, published),
            Err(error) => Self::failed(path, error),
        }
    }

    fn passed(path: String, published: &'a Published) -> Self {
        Self {
            path,
            name: Some(published.name.to_string()),
            status: published.status.as_str(),
            change: Some(match (&published.newest, published.status) {
                (None, _) => "new",
                (Some(_), PublishStatus::Unchanged) => "unchanged",
                (Some(_), _) => "changed",
            }),
            newest: published.newest.as_ref().map(ToString::to_string),
            version: Some(published.version.to_string()),
            digest: Some(published.digest.to_string()),
            verdict: Some(published.verdict.to_string()),
            findings: published.report.findings.len(),
            warnings: &published.warnings,
            error: None,
        }
    }

    fn failed(path: String, error: &PublishError) -> Self {
        let report = error.report();
        Self {
            path,
            name: None,
            status: "failed",
            change: None,
            newest: None,
            version: None,
            digest: None,
            verdict: report.map(|report| report.verdict().to_string()),
            findings: report.map_or(0, |report| report.findings.len()),
            warnings: &[],
            error: Some(error_of_one(error)),
        }
    }

    fn row(&self, is_dry_run: bool) -> Vec<String> {
        let name = self.name.as_deref().unwrap_or(&self.path);
        let verdict = self.verdict.as_deref().unwrap_or_default();
        vec![
            visible(name.rsplit(['/', '\\']).next().unwrap_or(name)),
            self.newest.clone().unwrap_or_default(),
            self.version.clone().unwrap_or_default(),
            self.word(is_dry_run).to_owned(),
            match self.findings {
                0 => verdict.to_owned(),
                findings => format!("{verdict}, {}", counted(findings, "finding")),
            },
        ]
    }

    /// Returns the word for the status in the table.
    fn word(&self, is_dry_run: bool) -> &'a str {
        match (self.change, is_dry_run) {
            (Some(change), true) => change,
            _ if self.status == PublishStatus::NotPublished.as_str() => "not published",
            _ => self.status,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_has_the_published_schema() {
        testkit::assert_published::<PublishDocument<'_>>("publish-batch");
    }
}
