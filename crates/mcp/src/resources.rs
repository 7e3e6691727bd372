//! Skills as MCP resources, and the protocol extension that lists skills with file digests.
//!
//! URIs have the form `skill://OWNER/NAME/PATH`. The owner is the registry's owner, `local` for a skill written here,
//! or `skillhub` for a built-in one. Skills that require confirmation are not resources. They are read through the
//! tool.

use agent::{Catalogue, Form, ListOptions, ListedSkill, Visibility};
use base64::{Engine, engine::general_purpose::STANDARD};
use library::Scope;
use ops::{Refusal, next_step::tool_call};
use rmcp::{
    ErrorData,
    model::{
        DIRECTORY_MIME_TYPE, ListResourcesResult, Resource, ResourceContents, Skill, SkillFrontmatter, SkillResource,
        SkillResources,
    },
};
use skill::{Bundle, Limits, SkillName, SkillPath, failure::NextStep, frontmatter, uri};

use crate::tool::Call;

/// Number of characters of an unknown URI that the error repeats.
const URI_CHARS: usize = 200;

/// Number of skills on one page.
const PAGE: usize = 50;

/// A position in a skill: the skill's folder, a subfolder or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillUri {
    owner: String,
    name: SkillName,
    /// Path relative to the skill's folder, without slashes at the ends. Empty for the folder itself.
    below: String,
}

impl SkillUri {
    /// Parses a URI. Any spelling but the canonical one is rejected.
    pub fn parse(uri: &str) -> Option<Self> {
        let mut parts = uri.strip_prefix("skill://")?.splitn(3, '/');
        let (owner, name) = (decoded(parts.next()?)?, SkillName::parse(&decoded(parts.next()?)?).ok()?);
        let below = decoded(parts.next().unwrap_or_default())?;
        let is_path = below.is_empty() || SkillPath::parse(&below).is_ok();
        (is_path && !owner.is_empty()).then_some(Self { owner, name, below })
    }

    fn of(listed: &ListedSkill, below: &str) -> Self {
        Self { owner: owner(listed), name: listed.name.clone(), below: below.to_owned() }
    }

    fn text(&self) -> String {
        let below: Vec<String> = self.below.split('/').map(uri::component).collect();
        format!("skill://{}/{}/{}", uri::component(&self.owner), self.name, below.join("/"))
    }
}

/// Returns the URI's owner part for a skill.
fn owner(listed: &ListedSkill) -> String {
    let qualified = listed.qualified();
    match qualified.as_deref().and_then(|name| name.split_once('/')) {
        Some((owner, _)) => owner.to_owned(),
        None if listed.scope == Scope::Builtin => "skillhub".to_owned(),
        None => "local".to_owned(),
    }
}

fn decoded(text: &str) -> Option<String> {
    let begins_with_digits =
        |part: &str| part.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    let is_encoded = text.split('%').skip(1).all(begins_with_digits);
    is_encoded.then(|| String::from_utf8(uri::decoded(text.as_bytes()).into_owned()).ok()).flatten()
}

/// Returns the error for a missing resource. Hidden and nonexistent resources get the same error.
fn unknown(uri: &str) -> ErrorData {
    ErrorData::invalid_params(format!("no resource at {:?}", skill::shortened(uri, URI_CHARS)), None)
}

/// Converts a refusal into a protocol error, for requests that have no tool result. Its hint names commands, because
/// hosts and people make such requests.
pub(crate) fn failed(refusal: &Refusal) -> ErrorData {
    let document = Some(refusal.document(NextStep::command));
    match refusal.failure.kind {
        skill::failure::FailureKind::Failed => ErrorData::internal_error(refusal.message.clone(), document),
        _ => ErrorData::invalid_params(refusal.message.clone(), document),
    }
}

/// Converts a refusal to a protocol error whose hint names tools that the client was offered.
pub(crate) fn failed_for(call: &Call<'_>, refusal: &Refusal) -> ErrorData {
    let names = (call.offered)(call).unwrap_or_default();
    let document = refusal.document(|step| tool_call(step, |tool| names.get(tool).copied()));
    let mut error = failed(refusal);
    error.data = Some(document);
    error
}

/// Runs `answer` with the skills that are resources for the calling agent.
fn with_seen<T>(
    call: &Call<'_>,
    answer: impl FnOnce(&Catalogue, &[&ListedSkill]) -> Result<T, ErrorData>,
) -> Result<T, ErrorData> {
    let settings = call.place.settings().map_err(|refusal| failed(&refusal))?;
    let answered = call.live.with(|catalogue| {
        let seen: Vec<&ListedSkill> =
            catalogue.visible().filter(|listed| listed.visibility(&settings, call.agent) == Visibility::Seen).collect();
        answer(catalogue, &seen)
    });
    answered.unwrap_or_else(|error| Err(failed(&error.into())))
}

/// Returns the page that a cursor refers to, and the next cursor.
pub(crate) fn page<'a, T>(all: &'a [T], cursor: Option<&str>) -> Result<(&'a [T], Option<String>), ErrorData> {
    let none = || ErrorData::invalid_params("invalid cursor; request the first page without one", None);
    let from: usize = cursor.map_or(Ok(0), str::parse).map_err(|_| none())?;
    let rest = all.get(from..).ok_or_else(none)?;
    let shown = &rest[..rest.len().min(PAGE)];
    let next = from + shown.len();
    Ok((shown, (next < all.len()).then(|| next.to_string())))
}

/// Lists one page of skills, each with its files and their digests.
pub(crate) fn skills(call: &Call<'_>, cursor: Option<&str>) -> Result<(Vec<Skill>, Option<String>), ErrorData> {
    with_seen(call, |catalogue, seen| {
        let (shown, next) = page(seen, cursor)?;
        // A skill that became unreadable is skipped, so that the others can still be listed.
        Ok((shown.iter().filter_map(|listed| manifest(catalogue, listed)).collect(), next))
    })
}

/// Returns the manifest of one skill, by the URI of its `SKILL.md`.
pub(crate) fn skill(call: &Call<'_>, uri: &str) -> Result<Skill, ErrorData> {
    with_seen(call, |catalogue, seen| {
        let wanted = SkillUri::parse(uri).filter(|wanted| wanted.below == SkillPath::SKILL_MD);
        let listed = wanted.and_then(|wanted| find(seen, &wanted)).ok_or_else(|| unknown(uri))?;
        manifest(catalogue, listed).filter(|skill| skill.uri == uri).ok_or_else(|| unknown(uri))
    })
}

fn find<'a>(seen: &[&'a ListedSkill], wanted: &SkillUri) -> Option<&'a ListedSkill> {
    seen.iter().find(|listed| listed.name == wanted.name && owner(listed) == wanted.owner).copied()
}

/// Builds the manifest of a skill, as the extension lists it.
///
/// Returns `None` if the skill cannot be read, if its frontmatter names it differently from its folder (which the
/// extension forbids), or if its frontmatter contains misleading text. The extension requires the frontmatter verbatim,
/// so it cannot be escaped.
fn manifest(catalogue: &Catalogue, listed: &ListedSkill) -> Option<Skill> {
    let bundle = catalogue.files(listed).ok()?;
    let uri = |path: &SkillPath| SkillUri::of(listed, path.as_str()).text();
    let files = bundle.files().map(|(path, file)| SkillResource::from_bytes(uri(path), &file.bytes)).collect();
    let mut fields = frontmatter::as_json(bundle.skill_md()?, &Limits::default()).ok()?;
    let name = fields.remove("name")?;
    let description = fields.remove("description")?;
    let is_misleading = fields.iter().any(|(field, value)| {
        agent::is_misleading(field) || agent::is_misleading(&serde_json::to_string(value).unwrap_or_default())
    });
    let description = description.as_str().filter(|text| !agent::is_misleading(text) && !is_misleading)?;
    if name.as_str() != Some(listed.name.as_str()) {
        return None;
    }
    let mut front = SkillFrontmatter::new(listed.name.as_str(), description);
    front.extra = fields;
    Some(Skill::new(uri(&SkillPath::skill_md()), front, SkillResources::Files(files)))
}

/// Lists one page of `SKILL.md` resources.
pub(crate) fn resources(call: &Call<'_>, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    with_seen(call, |_, seen| {
        let (shown, next) = page(seen, cursor)?;
        let resource = |listed: &&ListedSkill| {
            Resource::new(SkillUri::of(listed, SkillPath::SKILL_MD).text(), listed.name.as_str())
                .with_description(agent::single_line(&listed.description))
                .with_mime_type("text/markdown")
        };
        let mut result = ListResourcesResult::with_all_items(shown.iter().map(resource).collect());
        result.next_cursor = next;
        Ok(result)
    })
}

/// URI prefix of the list of skills for a prompt. The name of its form follows.
pub(crate) const PROMPT: &str = "skillhub://prompt/";

/// Renders the list of skills for a prompt, in the given form.
fn prompt(call: &Call<'_>, form: Form, uri: &str) -> Result<ResourceContents, ErrorData> {
    let settings = call.place.settings().map_err(|refusal| failed(&refusal))?;
    let look = ListOptions::for_agent(form, &settings, call.agent);
    let text = call.live.prompt(&settings, call.agent, look).map_err(|error| failed(&error.into()))?;
    Ok(ResourceContents::text(&*text, uri).with_mime_type("text/markdown"))
}

/// Reads one file of a skill, or the list of skills for a prompt.
pub(crate) fn file(call: &Call<'_>, uri: &str) -> Result<ResourceContents, ErrorData> {
    if let Some(form) = uri.strip_prefix(PROMPT) {
        return prompt(call, Form::named(form).ok_or_else(|| unknown(uri))?, uri);
    }
    with_seen(call, |catalogue, seen| {
        let (wanted, bundle) = bundle(catalogue, seen, uri)?;
        let path = SkillPath::parse(&wanted.below).map_err(|_| unknown(uri))?;
        let file = bundle.get(&path).ok_or_else(|| unknown(uri))?;
        let contents = match file.text() {
            Some(text) => ResourceContents::text(text, uri),
            None => ResourceContents::blob(STANDARD.encode(&file.bytes), uri),
        };
        Ok(contents.with_mime_type(mime_type(&path, file.text().is_some())))
    })
}

/// Lists the direct children of a folder.
pub(crate) fn directory(call: &Call<'_>, uri: &str, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    with_seen(call, |catalogue, seen| {
        let (wanted, bundle) = bundle(catalogue, seen, uri.strip_suffix('/').unwrap_or(uri))?;
        let inside = if wanted.below.is_empty() { String::new() } else { format!("{}/", wanted.below) };
        let mut children: Vec<Resource> = Vec::new();
        for (path, file) in bundle.files() {
            let Some(rest) = path.as_str().strip_prefix(&inside) else { continue };
            let (name, is_folder) = rest.split_once('/').map_or((rest, false), |(folder, _)| (folder, true));
            let child = SkillUri { below: format!("{inside}{name}"), ..wanted.clone() }.text();
            if children.last().is_some_and(|last| last.uri == child) {
                continue;
            }
            let resource = Resource::new(child, name);
            children.push(match is_folder {
                true => resource.with_mime_type(DIRECTORY_MIME_TYPE),
                false => {
                    resource.with_mime_type(mime_type(path, file.text().is_some())).with_size(file.bytes.len() as u64)
                }
            });
        }
        if children.is_empty() {
            return Err(unknown(uri));
        }
        let (shown, next) = page(&children, cursor)?;
        let mut result = ListResourcesResult::with_all_items(shown.to_vec());
        result.next_cursor = next;
        Ok(result)
    })
}

/// Parses a URI and loads the files of its skill.
fn bundle(catalogue: &Catalogue, seen: &[&ListedSkill], uri: &str) -> Result<(SkillUri, Bundle), ErrorData> {
    let wanted = SkillUri::parse(uri).ok_or_else(|| unknown(uri))?;
    let listed = find(seen, &wanted).ok_or_else(|| unknown(uri))?;
    let bundle = catalogue.files(listed).map_err(|error| failed(&error.into()))?;
    Ok((wanted, bundle))
}

fn mime_type(path: &SkillPath, is_text: bool) -> &'static str {
    match path.as_str().rsplit_once('.').map(|(_, end)| end) {
        Some("md") if is_text => "text/markdown",
        Some("json") if is_text => "application/json",
        _ if is_text => "text/plain",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("pdf") => "application/pdf",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_round_trip_and_stay_confined() {
        let uri =
            SkillUri { owner: "acme".into(), name: SkillName::parse("pdf").unwrap(), below: "assets/a b é.md".into() };
        assert_eq!(uri.text(), "skill://acme/pdf/assets/a%20b%20%C3%A9.md");
        assert_eq!(SkillUri::parse(&uri.text()), Some(uri));
        assert_eq!(SkillUri::parse("skill://acme/pdf").unwrap().below, "");
        for bad in [
            "skill://acme/pdf/../x", "skill://acme/pdf/%2e%2e/x", "skill://acme/pdf/a//b", "skill://acme/pdf/%zz",
            "skill://acme/pdf/%ff", "skill://acme/.git/SKILL.md", "skill:///pdf/SKILL.md", "skill://acme",
            "file:///etc/passwd", "",
        ] {
            assert_eq!(SkillUri::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn resource_pages_follow_each_other() {
        let all: Vec<usize> = (0..120).collect();
        let (first, next) = page(&all, None).unwrap();
        let (second, last) = page(&all, next.as_deref()).unwrap();
        let (third, end) = page(&all, last.as_deref()).unwrap();
        assert_eq!([first, second, third].concat(), all);
        assert_eq!(end, None);
        for bad in ["121", "-1", "x", "99999999999999999999999"] {
            assert!(page(&all, Some(bad)).is_err(), "{bad}");
        }
    }
}
