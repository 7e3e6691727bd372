//! Checks each route against the decision table before its handler runs ([`held_to_table`]).

use agent::{
    AgentError, Catalogue, ListedSkill, Settings,
    decisions::{Act, Channel, Operation},
};
use axum::{
    extract::{FromRequestParts, MatchedPath, RawPathParams, Request, State},
    http::{Method, StatusCode},
    middleware::Next,
    response::{IntoResponse, Response},
};
use library::ProposalId;
use skill::SkillName;
use skill_manage::review::ProposalRef;
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
    let skills: Vec<SkillName> = of(operation.skills).filter_map(|text| work.skill_called(text).ok()).collect();
    let targets = of(operation.proposals).filter_map(|text| text.parse::<ProposalRef>().ok());
    let targets = targets.filter(|_| operation.act != Act::Decides);
    work.admit(operation, skills.iter().cloned(), targets.map(|target| target.id))?;
    let is_of_known = matches!(operation.act, Act::Edits | Act::Restores);
    skills
        .iter()
        .filter(|_| is_of_known)
        .try_for_each(|skill| work.place.check_exists(work.live, operation, skill).map_err(ApiError::from))
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

    /// Checks an operation on skills and proposals against the decision table.
    ///
    /// # Errors
    /// The operation is denied, with the same answer as for a skill that does not exist; or it needs a person's
    /// approval.
    pub fn admit(
        &self,
        operation: &Operation,
        skills: impl IntoIterator<Item = SkillName>,
        proposals: impl IntoIterator<Item = ProposalId>,
    ) -> Result<(), ApiError> {
        let sight = self.place.visibility_to(None, Some(self.live))?;
        let proposals = proposals.into_iter().map(|id| (id.clone(), self.place.own_library_with_proposal(&id)));
        let ask = |skill: &SkillName| Err(AgentError::Asked(skill.clone()).into());
        Ok(ops::admit(operation, Channel::Http, sight, skills, proposals, ask)?)
    }

    /// Returns a predicate for skills that the caller may know of.
    ///
    /// # Errors
    /// A library or the configuration cannot be read.
    pub fn seen(&self) -> Result<impl Fn(&SkillName) -> bool, ApiError> {
        let sight = self.place.visibility_to(None, Some(self.live))?;
        Ok(move |name: &SkillName| sight(name).is_granted())
    }

    /// Returns whether the caller may know of a skill of the catalogue, like [`seen`](Self::seen).
    pub fn sees_listed(&self, settings: &Settings, listed: &ListedSkill) -> bool {
        let grants = |agent| settings.grants_visibility(agent, listed.name.as_str(), listed.qualified().as_deref());
        self.place.is_person() || grants(&self.place.actor.id)
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
