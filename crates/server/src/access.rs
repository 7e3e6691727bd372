//! [`Caller`] and [`Caller::check`]: authorisation. Pure: stored facts about accounts are passed in.

use serde::{Deserialize, Serialize};
use skill::Owner;
use thiserror::Error;
use utoipa::ToSchema;

/// Read access to an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Readable by everybody.
    Public,
    /// Readable with any valid token.
    Private,
}

/// Permissions of a token, in ascending order. Each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Reading, starring and reporting.
    Read,
    /// Publishing and yanking where its account may.
    Publish,
    /// Everything that its account may do.
    Admin,
}

/// Role of an account in one namespace, in ascending order. Each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// May publish and yank.
    Publisher,
    /// May also manage the members and keys of the namespace.
    Maintainer,
}

/// An action for which a caller needs permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action<'a> {
    /// Reads the index.
    Read,
    /// Stars a skill or reports a release.
    TakePart,
    /// Publishes or yanks in a namespace.
    Publish(&'a Namespace<'a>),
    /// Changes the members of a namespace, or its keys.
    Maintain(&'a Namespace<'a>),
    /// Makes, lists and revokes tokens of its own account.
    OwnTokens,
    /// Decides about releases, accounts and reports of everyone.
    Administer,
}

/// A namespace in relation to a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Namespace<'a> {
    /// The owner in `owner/name`.
    pub owner: &'a Owner,
    /// True if it already has a member or a release.
    pub is_taken: bool,
    /// Role of the caller's account in it; `None` for a non-member.
    pub role: Option<Role>,
}

/// The client of a request after authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A client without valid credentials.
    Anonymous,
    /// An account, authenticated by a token or by a trusted proxy.
    Account {
        /// Name of the account.
        name: Owner,
        /// Permissions of the token.
        scope: Scope,
        /// True if the account is an admin of the server.
        is_admin: bool,
    },
}

/// Reasons why a caller is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Denied {
    /// The action needs an authenticated caller.
    #[error("authentication required")]
    SignIn,
    /// The scope of the token is too low.
    #[error("the token has the scope `{has}`, but this needs `{needs}`")]
    Scope {
        /// Scope of the token.
        has: &'static str,
        /// Scope that the action needs.
        needs: &'static str,
    },
    /// The account has no sufficient role in the namespace.
    #[error("{account} is not allowed to {what} in the namespace {owner}")]
    Namespace {
        /// Name of the account.
        account: Owner,
        /// The refused action, for the message.
        what: &'static str,
        /// Owner that names the namespace.
        owner: Owner,
    },
    /// The action is for admins of the server.
    #[error("{0} is not an admin of this server")]
    NotAdmin(Owner),
}

impl Scope {
    /// Returns the word for it in the API and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Publish => "publish",
            Self::Admin => "admin",
        }
    }

    /// Parses the word of [`Scope::as_str`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Read, Self::Publish, Self::Admin].into_iter().find(|scope| scope.as_str() == word)
    }
}

impl Role {
    /// Returns the word for it in the API and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Publisher => "publisher",
            Self::Maintainer => "maintainer",
        }
    }

    /// Parses the word of [`Role::as_str`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Publisher, Self::Maintainer].into_iter().find(|role| role.as_str() == word)
    }
}

impl Caller {
    /// Returns the name of the account, or `None` if the caller is anonymous.
    pub fn account(&self) -> Option<&Owner> {
        match self {
            Self::Anonymous => None,
            Self::Account { name, .. } => Some(name),
        }
    }

    /// Checks that the caller may perform an action in an index of this visibility.
    ///
    /// # Errors
    /// [`Denied`] with the reason.
    pub fn check(&self, visibility: Visibility, action: Action<'_>) -> Result<(), Denied> {
        if action == Action::Read && visibility == Visibility::Public {
            return Ok(());
        }
        let Self::Account { name, scope, is_admin } = self else { return Err(Denied::SignIn) };
        let needs = action.needs();
        if *scope < needs {
            return Err(Denied::Scope { has: scope.as_str(), needs: needs.as_str() });
        }
        let denied = |what, owner: &Owner| Denied::Namespace { account: name.clone(), what, owner: owner.clone() };
        match action {
            Action::Read | Action::TakePart | Action::OwnTokens => Ok(()),
            _ if *is_admin => Ok(()),
            Action::Administer => Err(Denied::NotAdmin(name.clone())),
            Action::Publish(at) if at.role.is_some() || (!at.is_taken && at.owner == name) => Ok(()),
            Action::Publish(at) => Err(denied("publish", at.owner)),
            Action::Maintain(at) if at.role == Some(Role::Maintainer) => Ok(()),
            Action::Maintain(at) => Err(denied("manage members and keys", at.owner)),
        }
    }
}

impl Action<'_> {
    fn needs(self) -> Scope {
        match self {
            Self::Read | Self::TakePart => Scope::Read,
            Self::Publish(_) => Scope::Publish,
            Self::Maintain(_) | Self::OwnTokens | Self::Administer => Scope::Admin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(name: &str, scope: Scope, is_admin: bool) -> Caller {
        Caller::Account { name: Owner::parse(name).unwrap(), scope, is_admin }
    }

    #[test]
    fn private_index_requires_a_token() {
        assert!(Caller::Anonymous.check(Visibility::Public, Action::Read).is_ok());
        assert_eq!(Caller::Anonymous.check(Visibility::Private, Action::Read), Err(Denied::SignIn));
        assert!(account("ann", Scope::Read, false).check(Visibility::Private, Action::Read).is_ok());
        assert_eq!(Caller::Anonymous.check(Visibility::Public, Action::TakePart), Err(Denied::SignIn));
    }

    #[test]
    fn namespace_belongs_to_its_members() {
        let acme = Owner::parse("acme").unwrap();
        let at = |is_taken, role| Namespace { owner: &acme, is_taken, role };
        let may = |caller: &Caller, at: Namespace<'_>| caller.check(Visibility::Public, Action::Publish(&at)).is_ok();
        let (own, other) = (account("acme", Scope::Publish, false), account("ann", Scope::Publish, false));
        assert!(may(&own, at(false, None)) && !may(&own, at(true, None)) && !may(&other, at(false, None)));
        assert!(
            may(&other, at(true, Some(Role::Publisher)))
                && may(&account("root", Scope::Publish, true), at(false, None))
        );
        assert!(!may(&account("acme", Scope::Read, false), at(true, Some(Role::Maintainer))));
        let maintains = |caller: &Caller, role| caller.check(Visibility::Public, Action::Maintain(&at(true, role)));
        let full = account("ann", Scope::Admin, false);
        assert!(maintains(&full, Some(Role::Maintainer)).is_ok() && maintains(&full, Some(Role::Publisher)).is_err());
        assert!(maintains(&other, Some(Role::Maintainer)).is_err(), "the token was made for less");
    }

    #[test]
    fn server_wide_actions_need_an_admin_token() {
        let check = |caller: &Caller| caller.check(Visibility::Public, Action::Administer);
        assert!(check(&account("root", Scope::Admin, true)).is_ok());
        assert!(matches!(check(&account("root", Scope::Publish, true)), Err(Denied::Scope { .. })));
        assert!(matches!(check(&account("ann", Scope::Admin, false)), Err(Denied::NotAdmin(_))));
        assert_eq!(check(&Caller::Anonymous), Err(Denied::SignIn));
    }
}
