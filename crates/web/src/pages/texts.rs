//! All texts of the pages, once for each language ([`Texts`]). A missing translation does not compile.

#![expect(missing_docs, reason = "each field is named for the text that it holds")]

mod chinese;
mod english;
mod library;

pub use chinese::CHINESE;
pub use english::ENGLISH;
pub use library::LibraryTexts;

/// The available languages, in the order of the language menu.
pub static LANGUAGES: [&Texts; 2] = [&ENGLISH, &CHINESE];

/// The texts of the pages in one language.
#[derive(Debug)]
pub struct Texts {
    /// Language tag, such as `en`.
    pub tag: &'static str,
    /// Name of the language in that language.
    pub name: &'static str,

    // The frame of every page.
    pub skip: &'static str,
    pub account: &'static str,
    pub search: &'static str,
    pub search_label: &'static str,
    pub search_hint: &'static str,
    pub sign_in: &'static str,
    pub sign_out: &'static str,
    pub moderation: &'static str,
    pub language: &'static str,
    pub api: &'static str,
    pub keys: &'static str,
    pub to_home: &'static str,
    pub look_again: &'static str,
    pub pages: &'static str,
    pub previous: &'static str,
    pub next: &'static str,
    pub show: &'static str,
    pub copy: &'static str,
    pub copied: &'static str,
    pub view: &'static str,
    pub also_in_lines: &'static str,
    pub risk: &'static str,
    pub to_do: &'static str,
    pub and_more: fn(usize) -> String,

    // Times and counts.
    pub just_now: &'static str,
    pub minutes_ago: fn(i64) -> String,
    pub hours_ago: fn(i64) -> String,
    pub days_ago: fn(i64) -> String,
    pub months_ago: fn(i64) -> String,
    pub years_ago: fn(i64) -> String,
    pub downloads: fn(u64) -> String,
    pub downloads_in_weeks: fn(u64) -> String,
    pub stars: fn(u64) -> String,
    pub skills_here: fn(u64) -> String,

    // First page and results.
    pub home_question: &'static str,
    pub best_matches: &'static str,
    pub lately_updated: &'static str,
    pub most_installed: &'static str,
    pub by_name: &'static str,
    pub all_skills: &'static str,
    pub nothing_published: &'static str,
    pub nothing_published_next: &'static str,
    pub nothing_found: &'static str,
    pub nothing_found_next: &'static str,
    pub filters: &'static str,
    pub only_allowed: &'static str,
    pub only_signed: &'static str,
    pub owner: &'static str,
    pub order: &'static str,
    pub apply: &'static str,

    // Badges.
    pub verdict_allow: &'static str,
    pub verdict_warn: &'static str,
    pub verdict_block: &'static str,
    pub signed: &'static str,
    pub yanked: &'static str,
    pub withdrawn: &'static str,
    pub executable: &'static str,
    pub outside: &'static str,
    pub critical: &'static str,
    pub high: &'static str,
    pub medium: &'static str,
    pub low: &'static str,
    pub info: &'static str,

    // A skill.
    pub install: &'static str,
    pub for_agent: &'static str,
    pub not_newest: &'static str,
    pub to_newest: &'static str,
    pub what_it_touches: &'static str,
    pub talks_to: &'static str,
    pub runs: &'static str,
    pub writes: &'static str,
    pub reads: &'static str,
    pub reads_variables: &'static str,
    pub stays: &'static str,
    pub may_use: &'static str,
    pub powers: &'static str,
    pub in_text: &'static str,
    pub touches_nothing: &'static str,
    pub touches_unknown: &'static str,
    pub undeclared: fn(usize) -> String,
    pub what_was_found: &'static str,
    pub findings: fn(usize) -> String,
    pub held_back: &'static str,
    pub files: &'static str,
    pub versions: &'static str,
    pub changelog: &'static str,
    pub changes_since: fn(&str) -> String,
    pub lineage: &'static str,
    pub made_from: &'static str,
    pub made_into: &'static str,
    pub needed_by: &'static str,
    pub facts: &'static str,
    pub signature: &'static str,
    pub signed_by: &'static str,
    pub not_signed: &'static str,
    pub signature_bad: &'static str,
    pub licence: &'static str,
    pub no_licence: &'static str,
    pub published_by: &'static str,
    pub size: &'static str,
    pub keywords: &'static str,
    pub needs: &'static str,
    pub digest: &'static str,
    pub report: &'static str,
    pub report_send: &'static str,
    pub reported: &'static str,
    pub picture: &'static str,
    pub text_is_cut: &'static str,
    pub is_binary: &'static str,
    pub download: &'static str,

    // What changed.
    pub side_by_side: &'static str,
    pub unified: &'static str,
    pub other_way: &'static str,
    pub nothing_changed: &'static str,
    pub all_files: &'static str,
    pub files_changed: fn(usize) -> String,
    pub added: &'static str,
    pub modified: &'static str,
    pub removed: &'static str,
    pub mode_changed: &'static str,
    pub touches_more: &'static str,
    pub waived: &'static str,
    pub new_findings: &'static str,
    pub unchanged_lines: fn(usize) -> String,
    pub large_diff: fn(usize) -> String,

    // A publisher.
    pub skills: &'static str,
    pub members: &'static str,
    pub no_members: &'static str,
    pub maintainer: &'static str,
    pub publisher: &'static str,
    pub keys_of_owner: &'static str,
    pub no_keys: &'static str,

    // Signing in.
    pub token: &'static str,
    pub token_from: &'static str,
    pub token_unknown: &'static str,
    pub form_is_old: &'static str,
    pub back_and_again: &'static str,

    // Moderation.
    pub open_reports: &'static str,
    pub no_reports: &'static str,
    pub quarantined: &'static str,
    pub no_quarantined: &'static str,
    pub held_copies: &'static str,
    pub held_copies_mean: &'static str,
    pub on_hold: &'static str,
    pub hold_back: &'static str,
    pub hold_back_means: &'static str,
    pub skill: &'static str,
    pub version: &'static str,
    pub reason: &'static str,
    pub quarantine: &'static str,
    pub restore: &'static str,
    pub withdraw: &'static str,
    pub sure_to_withdraw: &'static str,
    pub not_sure: &'static str,
    pub dismiss: &'static str,
    pub uphold: &'static str,
    pub uphold_and_quarantine: &'static str,
    pub decisions: &'static str,
    pub no_decisions: &'static str,

    // What went wrong.
    pub not_found: &'static str,
    pub not_found_next: &'static str,
    pub needs_sign_in: &'static str,
    pub needs_sign_in_next: &'static str,
    pub forbidden: &'static str,
    pub forbidden_next: &'static str,
    pub gone: &'static str,
    pub gone_next: &'static str,
    pub too_many: &'static str,
    pub too_many_next: &'static str,
    pub wrong_host: &'static str,
    pub wrong_host_next: &'static str,
    pub too_large: &'static str,
    pub too_large_next: &'static str,
    pub too_slow: &'static str,
    pub too_slow_next: &'static str,
    pub broken: &'static str,
    pub broken_next: &'static str,
    pub conflict: &'static str,
    pub conflict_next: &'static str,
    pub blocked: &'static str,
    pub blocked_next: &'static str,
    pub bad_request: &'static str,
    pub bad_request_next: &'static str,

    /// Texts that only the pages of a library use.
    pub library: &'static LibraryTexts,
}

/// Chooses the language of the address, else of the cookie, else one that the browser prefers.
/// Also returns the tag to remember, if the address names a language.
pub fn chosen(
    asked: Option<&str>,
    kept: Option<&str>,
    accepted: Option<&str>,
) -> (&'static Texts, Option<&'static str>) {
    let named = |tag: &str| LANGUAGES.into_iter().find(|texts| texts.tag == tag);
    if let Some(texts) = asked.and_then(named) {
        return (texts, Some(texts.tag));
    }
    (kept.and_then(named).unwrap_or_else(|| preferred(accepted.unwrap_or_default())), None)
}

/// Returns the preferred language of an `Accept-Language` header, such as `zh-CN,zh;q=0.9,en;q=0.8`.
fn preferred(accepted: &str) -> &'static Texts {
    let mut best = (0, &ENGLISH);
    for part in accepted.split(',').take(20) {
        let mut pieces = part.split(';');
        let tag = pieces.next().unwrap_or_default().trim().to_ascii_lowercase();
        let weight = pieces.find_map(|piece| piece.trim().strip_prefix("q=")?.parse::<f32>().ok()).unwrap_or(1.0);
        let known = LANGUAGES.into_iter().find(|texts| tag.split('-').next() == Some(texts.tag));
        let thousandths = (weight.clamp(0.0, 1.0) * 1000.0) as u32;
        if let Some(texts) = known.filter(|_| thousandths > best.0) {
            best = (thousandths, texts);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_precedes_cookie_precedes_browser() {
        let tag = |asked, kept, accepted| chosen(asked, kept, accepted).0.tag;
        assert_eq!(tag(None, None, Some("zh-CN,zh;q=0.9,en;q=0.8")), "zh");
        assert_eq!(tag(None, None, Some("fr, en;q=0.2, zh;q=0.1")), "en");
        assert_eq!(tag(None, None, Some("fr")), "en");
        assert_eq!(tag(None, Some("zh"), Some("en")), "zh");
        assert_eq!(tag(Some("en"), Some("zh"), None), "en");
        assert_eq!(tag(Some("x<y"), None, None), "en");
        assert_eq!((ENGLISH.days_ago)(1) + &(ENGLISH.days_ago)(2), "1 day ago2 days ago");
    }
}
