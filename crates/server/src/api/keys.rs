//! Routes for the signing keys of an owner.

use axum::{Json, extract::State};
use jiff::Timestamp;
use registry_index::{KeyChange, OwnerFile, PublicKey};
use serde::{Deserialize, Serialize};
use skill::Owner;
use utoipa::ToSchema;

use super::{
    HubState,
    accounts::named,
    extract::{Body, Path},
    reading::bad,
    run,
};
use crate::{access::Caller, error::ApiError, hub::Hub};

/// A signing key to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// The public key, as `ssh-ed25519` and its base64.
    #[schema(max_length = 1000)]
    pub key: String,
    /// Signature of an older key of the owner over the new one, as written by `ssh-keygen -Y sign -n skillhub-key-v1`.
    #[serde(default)]
    #[schema(max_length = 4000)]
    pub vouched_by: Option<String>,
}

/// A signing key to retire.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetiredKey {
    /// Fingerprint of the key: `SHA256:` and 43 characters.
    #[schema(max_length = 100)]
    pub key: String,
}

/// The signing keys of an owner.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeysDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Owner, as in `owner/name`.
    pub owner: String,
    /// Keys in the order in which they were added, including retired ones.
    pub keys: Vec<KeyDocument>,
}

/// A signing key of an owner.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyDocument {
    /// Public key in OpenSSH format.
    pub key: String,
    /// Fingerprint of the public key.
    pub fingerprint: String,
    /// Time at which the key was added.
    pub added_at: Option<String>,
    /// Time from which the key signs no new releases; `null` for an active key.
    pub retired_at: Option<String>,
    /// Signature of an older key over this one.
    pub vouched_by: Option<String>,
}

/// Add a signing key.
///
/// From the first key on, the namespace only accepts signed releases. Clients that know the owner's keys accept a new
/// one if one of those vouches for it.
#[utoipa::path(post, path = "/v1/owners/{owner}/keys", tag = "owners", params(("owner" = String, Path)),
    request_body = NewKey, responses((status = 200, body = KeysDocument),
        (status = 422, description = "The key was retired, or the signature of the vouching key is invalid")),
    security(("token" = [])))]
pub async fn add_key(
    State(hub): HubState,
    caller: Caller,
    Path(owner): Path<String>,
    body: Body<NewKey>,
) -> Result<Json<KeysDocument>, ApiError> {
    run(&hub, move |hub| {
        let owner = named(&owner)?;
        hub.check_namespace(&caller, &owner, true)?;
        let key: PublicKey = body.0.key.parse().map_err(|error| bad(&error))?;
        let change = KeyChange::Add { key, vouched_by: body.0.vouched_by.filter(|text| !text.is_empty()) };
        change_key(hub, &caller, &owner, &change, "add key", &key.fingerprint())
    })
    .await
}

/// Retire a signing key. It signs no new releases; existing signatures stay valid.
#[utoipa::path(delete, path = "/v1/owners/{owner}/keys", tag = "owners", params(("owner" = String, Path)),
    request_body = RetiredKey, responses((status = 200, body = KeysDocument)), security(("token" = [])))]
pub async fn retire_key(
    State(hub): HubState,
    caller: Caller,
    Path(owner): Path<String>,
    body: Body<RetiredKey>,
) -> Result<Json<KeysDocument>, ApiError> {
    run(&hub, move |hub| {
        let owner = named(&owner)?;
        hub.check_namespace(&caller, &owner, true)?;
        let key = body.0.key;
        change_key(hub, &caller, &owner, &KeyChange::Retire(key.clone()), "retire key", &key)
    })
    .await
}

fn change_key(
    hub: &Hub,
    caller: &Caller,
    owner: &Owner,
    change: &KeyChange,
    action: &str,
    key: &str,
) -> Result<Json<KeysDocument>, ApiError> {
    let account = caller.account().ok_or_else(|| ApiError::bad_request("sign in to change keys"))?;
    let file = hub.stores.releases.change_key(owner, change, account, Timestamp::now(), action, key)?;
    Ok(Json(document(owner, &file)))
}

fn document(owner: &Owner, file: &OwnerFile) -> KeysDocument {
    let keys = file.keys().iter().map(|key| KeyDocument {
        key: key.key.to_string(),
        fingerprint: key.key.fingerprint(),
        added_at: key.added_at.map(|at| at.to_string()),
        retired_at: key.retired_at.map(|at| at.to_string()),
        vouched_by: key.vouched_by.clone(),
    });
    KeysDocument { ok: true, owner: owner.to_string(), keys: keys.collect() }
}
