//! Routes for namespaces and tokens.

use axum::{Json, extract::State};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use skill::Owner;
use utoipa::ToSchema;

use super::{
    HubState,
    documents::{Done, OwnerDocument, SkillSummary, WhoDocument},
    extract::{Body, Path},
    reading::bad,
    run,
};
use crate::{
    access::{Action, Caller, Role, Scope},
    error::ApiError,
    store::catalogue::{PAGE, Query},
    store::{NewToken, Token, records::LABEL_CHARS},
};

/// Maximum lifetime of a token, in days.
const MOST_DAYS: u32 = 3660;

/// Get a namespace with its members and skills.
#[utoipa::path(get, path = "/v1/owners/{owner}", tag = "owners", params(("owner" = String, Path)),
    responses((status = 200, body = OwnerDocument)))]
pub async fn owner(
    State(hub): HubState,
    caller: Caller,
    Path(owner): Path<String>,
) -> Result<Json<OwnerDocument>, ApiError> {
    let document = run(&hub, move |hub| {
        hub.check(&caller, Action::Read)?;
        let owner = named(&owner)?;
        let query = Query { owner: Some(owner.clone()), limit: PAGE, ..Query::default() };
        let skills = hub.stores.catalogue.find(&query)?.skills.iter().map(SkillSummary::from).collect::<Vec<_>>();
        let members = hub.stores.people.members(&owner)?;
        let file = hub.stores.releases.owner(&owner)?;
        if skills.is_empty() && members.is_empty() && file.keys().is_empty() {
            return Err(ApiError::not_found(format!("{owner} has not published any skills")));
        }
        Ok(OwnerDocument { ok: true, owner: owner.to_string(), members, keys: file.signing(), skills })
    });
    Ok(Json(document.await?))
}

/// The role of a member.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMember {
    /// Role of the account, `publisher` or `maintainer`.
    pub role: Role,
}

/// Add an account to a namespace, or change its role.
#[utoipa::path(put, path = "/v1/owners/{owner}/members/{account}", tag = "owners",
    params(("owner" = String, Path), ("account" = String, Path)), request_body = NewMember,
    responses((status = 200, body = Done), (status = 409, description = "The namespace would have no maintainer")), security(("token" = [])))]
pub async fn set_member(
    State(hub): HubState,
    caller: Caller,
    Path((owner, account)): Path<(String, String)>,
    body: Body<NewMember>,
) -> Result<Json<Done>, ApiError> {
    run(&hub, move |hub| {
        let (owner, account) = (named(&owner)?, named(&account)?);
        hub.check_namespace(&caller, &owner, true)?;
        hub.stores.people.set_member(&owner, &account, body.0.role)?;
        note(hub, &caller, body.0.role.as_str(), &format!("{account} in {owner}"))
    })
    .await
}

/// Remove an account from a namespace.
#[utoipa::path(delete, path = "/v1/owners/{owner}/members/{account}", tag = "owners",
    params(("owner" = String, Path), ("account" = String, Path)),
    responses((status = 200, body = Done), (status = 409, description = "The namespace would have no maintainer")), security(("token" = [])))]
pub async fn remove_member(
    State(hub): HubState,
    caller: Caller,
    Path((owner, account)): Path<(String, String)>,
) -> Result<Json<Done>, ApiError> {
    run(&hub, move |hub| {
        let (owner, account) = (named(&owner)?, named(&account)?);
        hub.check_namespace(&caller, &owner, true)?;
        if !hub.stores.people.remove_member(&owner, &account)? {
            return Err(ApiError::not_found(format!("{account} is not a member of {owner}")));
        }
        note(hub, &caller, "remove member", &format!("{account} in {owner}"))
    })
    .await
}

/// Get the account of the caller.
#[utoipa::path(get, path = "/v1/whoami", tag = "accounts", responses((status = 200, body = WhoDocument)))]
pub async fn whoami(caller: Caller) -> Json<WhoDocument> {
    Json(match caller {
        Caller::Anonymous => WhoDocument { ok: true, account: None, scope: None, admin: false },
        Caller::Account { name, scope, is_admin } => {
            WhoDocument { ok: true, account: Some(name.to_string()), scope: Some(scope), admin: is_admin }
        }
    })
}

/// A list of tokens.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokensDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Tokens, newest first.
    pub tokens: Vec<Token>,
}

/// List the tokens of the account, or all tokens for an admin.
#[utoipa::path(get, path = "/v1/tokens", tag = "accounts", responses((status = 200, body = TokensDocument)),
    security(("token" = [])))]
pub async fn tokens(State(hub): HubState, caller: Caller) -> Result<Json<TokensDocument>, ApiError> {
    run(&hub, move |hub| {
        hub.check(&caller, Action::OwnTokens)?;
        Ok(Json(TokensDocument { ok: true, tokens: hub.stores.people.tokens(whose(&caller))? }))
    })
    .await
}

/// The properties of a new token.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// Name of the account, by default the caller's own. An admin can name any account, which is created if it does not
    /// exist.
    pub account: Option<String>,
    /// Scope of the token, which limits its permissions.
    pub scope: Scope,
    /// Label by which people recognise the token.
    #[serde(default)]
    #[schema(max_length = 100)]
    pub label: String,
    /// Lifetime of the token in days. Without it, the token never expires.
    #[schema(minimum = 1, maximum = 3660)]
    pub days: Option<u32>,
    /// Make the account an admin of the server.
    #[serde(default)]
    pub admin: bool,
}

/// A token that was created.
#[derive(Debug, Serialize, ToSchema)]
pub struct NewTokenDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Secret text of the token, which cannot be read again.
    pub secret: String,
    /// The stored record, without the secret.
    pub token: Token,
}

/// Create a token.
#[utoipa::path(post, path = "/v1/tokens", tag = "accounts", request_body = TokenRequest,
    responses((status = 200, body = NewTokenDocument)), security(("token" = [])))]
pub async fn new_token(
    State(hub): HubState,
    caller: Caller,
    body: Body<TokenRequest>,
) -> Result<Json<NewTokenDocument>, ApiError> {
    run(&hub, move |hub| {
        hub.check(&caller, Action::OwnTokens)?;
        let TokenRequest { account, scope, label, days, admin } = body.0;
        let own = caller.account().ok_or_else(|| ApiError::bad_request("authentication required"))?;
        let account = account.as_deref().map(named).transpose()?.unwrap_or_else(|| own.clone());
        if account != *own || admin {
            hub.check(&caller, Action::Administer)?;
        }
        if label.chars().count() > LABEL_CHARS || label.chars().any(char::is_control) {
            return Err(ApiError::bad_request(format!(
                "the label must be one line of at most {LABEL_CHARS} characters"
            )));
        }
        let now = Timestamp::now();
        let expires_at = match days {
            None => None,
            Some(days @ 1..=MOST_DAYS) => {
                let later = now.checked_add(SignedDuration::from_hours(24 * i64::from(days)));
                Some(later.map_err(|error| bad(&error))?)
            }
            Some(_) => return Err(ApiError::bad_request(format!("a token must be valid for 1 to {MOST_DAYS} days"))),
        };
        let new = NewToken { account, scope, label, expires_at };
        let (token, secret) = hub.stores.people.add_token(&new, admin, own, now)?;
        Ok(Json(NewTokenDocument { ok: true, secret, token }))
    })
    .await
}

/// Revoke a token, immediately and permanently.
#[utoipa::path(delete, path = "/v1/tokens/{id}", tag = "accounts", params(("id" = String, Path)),
    responses((status = 200, body = Done)), security(("token" = [])))]
pub async fn revoke(State(hub): HubState, caller: Caller, Path(id): Path<String>) -> Result<Json<Done>, ApiError> {
    run(&hub, move |hub| {
        hub.check(&caller, Action::OwnTokens)?;
        if !hub.stores.people.revoke(&id, whose(&caller), Timestamp::now())? {
            return Err(ApiError::not_found(format!("no active token has the id {id}")));
        }
        note(hub, &caller, "revoke token", &id)
    })
    .await
}

/// Returns the account whose tokens a caller can see; `None` for an admin, who sees all tokens.
fn whose(caller: &Caller) -> Option<&Owner> {
    match caller {
        Caller::Account { is_admin: true, .. } => None,
        other => other.account(),
    }
}

pub(super) fn named(text: &str) -> Result<Owner, ApiError> {
    Owner::parse(text).map_err(|error| bad(&error))
}

fn note(hub: &crate::hub::Hub, caller: &Caller, action: &str, subject: &str) -> Result<Json<Done>, ApiError> {
    if let Some(account) = caller.account() {
        hub.stores.activity.note(Some(account), Timestamp::now(), action, subject, "")?;
    }
    Ok(Json(Done::DONE))
}
