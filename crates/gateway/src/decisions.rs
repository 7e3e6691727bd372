//! Checks each route against the decision table before its handler runs ([`held_to_table`]).

use agent::{
    Catalogue, ListedSkill, Settings, Visibility,
    decisions::{Act, Admission, Channel, Operation},
};
use axum::{
    extract::{FromRequestParts, MatchedPath, RawPathParams, Request, State},
    http::{Method, StatusCode},
    middleware::Next,
    response::{IntoResponse, Response},
};
use library::{ActorKind, ProposalEntry};
use skill::SkillName;
use skill_manage::{
    ManageError,
    review::{ProposalRef, ReviewError},
};
use web::ApiError;

use crate::{
    gateway::{RequestCredentials, Shared, Surface, Work, into_api_error, run_blocking},
    pages::{refused, reviewer_token_of},
};

/// Passes a request to its handler if the decision table admits it. A route without a row is rejected.
pub async fn held_to_table(State(gateway): State<Shared>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let path = parts.extensions.get::<MatchedPath>().map(|path| path.as_str().to_owned()).unwrap_or_default();
    let method = if parts.method == Method::HEAD { "GET" } else { parts.method.as_str() };
    let Some(operation) = Operation::find(Channel::Http, &format!("{method} {path}")) else {
        let is_api = path.starts_with("/api/");
        let missing = ApiError::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "invalid_request",
            "this address does not support the method",
        );
        return if is_api { missing.into_response() } else { refused(&mut parts, &gateway, missing).await };
    };
    let values = RawPathParams::from_request_parts(&mut parts, &gateway).await;
    let values: Vec<(String, String)> = values
        .map(|params| params.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
        .unwrap_or_default();
    let asker = match parts.extensions.get::<RequestCredentials>() {
        Some(asker) => asker.clone(),
        None => {
            let reviewer_token = reviewer_token_of(&parts, &gateway);
            RequestCredentials { surface: Surface::Pages, reads: true, is_safe: true, reviewer_token }
        }
    };
    let checked = match operation.skills.is_empty() && operation.proposals.is_empty() {
        true => Ok(()),
        false => {
            let asker = RequestCredentials { reads: true, ..asker };
            run_blocking(&gateway, asker, move |work| admit(work, operation, &values)).await
        }
    };
    match checked {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(error) if path.starts_with("/api/") => error.into_response(),
        Err(error) => refused(&mut parts, &gateway, error).await,
    }
}

fn admit(work: &Work<'_>, operation: &Operation, values: &[(String, String)]) -> Result<(), ApiError> {
    let of = |fields: &'static [&'static str]| {
        values.iter().filter(move |(key, _)| fields.contains(&key.as_str())).map(|(_, value)| value.as_str())
    };
    for name in of(operation.skills).filter_map(|text| work.skill_called(text).ok()) {
        work.admit(operation, &name)?;
    }
    let targets = of(operation.proposals).filter_map(|text| text.parse::<ProposalRef>().ok());
    for target in targets.filter(|_| operation.act != Act::Decides) {
        let entry = match work.place.own_library_with_proposal(&target.id) {
            Ok(library) => library.proposal(&target.id).map_err(into_api_error)?,
            // The handler reports the missing proposal.
            Err(_) => None,
        };
        let Some(skill) = entry.as_ref().and_then(ProposalEntry::skill) else { continue };
        if !work.sees(skill) {
            return Err(into_api_error(ManageError::from(ReviewError::NotFound(target.id))));
        }
        work.admit(operation, skill)?;
    }
    Ok(())
}

impl Work<'_> {
    /// Returns the skill that a path or body names.
    /// The text is a skill's folder or history name. It may also be the name in a `SKILL.md`, if only one skill that
    /// the caller may see has it.
    ///
    /// # Errors
    /// The text is not a valid name, or it is ambiguous.
    pub fn skill_called(&self, text: &str) -> Result<SkillName, ApiError> {
        let (parsed, settings) = (ops::exact_name(text), self.place.settings()?);
        let called = |catalogue: &Catalogue| catalogue.called(text, |listed| self.sees_listed(&settings, listed));
        let Some(called) = self.live.with(called).map_err(into_api_error)?.map_err(into_api_error)? else {
            return Ok(parsed?);
        };
        match &parsed {
            Ok(name) if self.place.library_of(name)?.head(name).map_err(into_api_error)?.is_some() => Ok(parsed?),
            _ => Ok(called),
        }
    }

    /// Checks an operation on a skill against the decision table.
    ///
    /// # Errors
    /// The operation is denied, with the same answer as for a skill that does not exist; or it needs a person's
    /// approval.
    pub fn admit(&self, operation: &Operation, name: &SkillName) -> Result<(), ApiError> {
        let settings = self.place.settings()?;
        if self.actor.kind == ActorKind::Person || !settings.restricts_skills() {
            return Ok(());
        }
        match operation.admit(Channel::Http, name, &self.visibility(&settings, name)?).map_err(into_api_error)? {
            Admission::Go => Ok(()),
            Admission::Ask => Err(into_api_error(agent::AgentError::Asked(name.clone()))),
        }
    }

    /// Returns whether the caller may know that a skill exists.
    pub fn sees(&self, name: &SkillName) -> bool {
        let seen = || -> Result<bool, ApiError> {
            let settings = self.place.settings()?;
            if self.actor.kind == ActorKind::Person || !settings.restricts_skills() {
                return Ok(true);
            }
            Ok(!matches!(self.visibility(&settings, name)?, Visibility::Denied | Visibility::NotOnList))
        };
        seen().unwrap_or(false)
    }

    /// Returns whether the caller may know of a skill of the catalogue, like [`sees`](Self::sees).
    pub fn sees_listed(&self, settings: &Settings, listed: &ListedSkill) -> bool {
        let is_person = self.actor.kind == ActorKind::Person;
        is_person || settings.grants_visibility(&self.actor.id, listed.name.as_str(), listed.qualified().as_deref())
    }

    fn visibility(&self, settings: &Settings, name: &SkillName) -> Result<Visibility, ApiError> {
        let listed = self
            .live
            .with(|catalogue| catalogue.find(name).ok().and_then(ListedSkill::qualified))
            .map_err(into_api_error)?;
        let qualified = match listed {
            Some(qualified) => Some(qualified),
            None => {
                let head = self.place.library_of(name)?.head(name).map_err(into_api_error)?;
                let origin = head.and_then(|head| head.origin);
                origin.and_then(|origin| origin.qualified_name())
            }
        };
        Ok(settings.visibility(&self.actor.id, name.as_str(), qualified.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use agent::decisions::ROUTES;

    use super::*;

    /// Extracts the routes from a router's source code, as `METHOD path`.
    fn routes(source: &str, one: &str) -> Vec<String> {
        let calls = source.split(".route(").skip(1);
        let of_call = |call: &str| {
            let call = call.split('\n').next().unwrap_or_default().to_owned();
            let (place, handlers) = call.split_once(", ").unwrap();
            let path = match place.trim_matches('"') {
                "one" => one.to_owned(),
                at if at.starts_with("&at(") => format!("{one}/{}", at.split('"').nth(1).unwrap()),
                path => path.to_owned(),
            };
            let methods = [("get(", "GET"), ("post(", "POST"), ("put(", "PUT"), ("delete(", "DELETE")];
            let given = methods.iter().filter(|(call, _)| handlers.contains(call));
            given.map(|(_, method)| format!("{method} {path}")).collect::<Vec<_>>()
        };
        calls.flat_map(of_call).collect()
    }

    #[test]
    fn every_route_has_a_row() {
        let sources = [include_str!("serve.rs"), include_str!("pages.rs")];
        let found: Vec<String> =
            sources.iter().flat_map(|source| routes(source, "/api/skills/custom/{name}")).collect();
        assert!(found.len() > 30, "{found:?}");
        for route in &found {
            assert!(Operation::find(Channel::Http, route).is_some(), "{route} has no row");
        }
        for row in ROUTES {
            assert!(found.iter().any(|route| route == row.name), "there is no route {}", row.name);
        }
    }
}
