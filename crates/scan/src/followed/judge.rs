//! Evaluation of data flows ([`judge`]) by their data, their destination and the declared purpose of the skill.

use flow::{CLONED, End, Flow, Kind, PACKED, Taint, is_secret, is_secret_name, steers};
use skill::Bundle;

use crate::{
    Evidence, Rule,
    conditions::hosts::from_known_host,
    hosts::{Trust, homes_of_key, is_home_of_file, is_near, is_sample, is_users_hook, is_within, trust_of},
    judgement::Why,
    local::is_own_host,
    rules,
};

/// The purpose that a skill declares.
pub(super) struct Purpose {
    /// Contents of `SKILL.md` in lower case; empty if there is none.
    text: String,
}

/// A finding in preparation.
pub(super) struct Judgement<'f> {
    pub rule: &'static Rule,
    pub evidence: Evidence,
    /// Action of the skill, as a verb phrase with the data and the destination.
    pub message: String,
    /// Reason for weaker evidence than the rule's own, if it is weaker.
    pub less: Option<Why>,
    /// Origins of the data that the message names.
    pub from: Vec<&'f Taint>,
}

/// Reasons for which a flow weighs less than its rule.
const BUILT: Why = Why {
    reason: "it is built from a repository on a well-known forge",
    harmless_if: "SKILL.md tells the user that this repository is downloaded and run",
};
const HOST_NAMED: Why = Why {
    reason: "SKILL.md names the host",
    harmless_if: "this host issued the key, or the user chose to give it the key",
};
const HOST_COMPUTED: Why = Why {
    reason: "the scan cannot see the host, because the code computes the address",
    harmless_if: "the address can only be a host of the service that issued the key",
};
const LOGS_IN: Why = Why {
    reason: "the key only logs in there and is not sent as data",
    harmless_if: "this host accepts the key for the service that issued it, as a gateway does",
};
const GRANTED: Why = Why {
    reason: "the grant that is written decides, and other rules check it",
    harmless_if: "SKILL.md tells the user which rights are granted, and to whom",
};
const DECLARED: Why =
    Why { reason: "SKILL.md names the file", harmless_if: "SKILL.md tells the user what is written to it" };

const DUMP_CHOSEN: Why =
    Why { reason: "the user names the bucket", harmless_if: "the user chooses the bucket and asked for the copy" };
const DUMP_NAMED: Why = Why {
    reason: "SKILL.md names where the dump goes",
    harmless_if: "the bucket or host is the user's own, and the user asked for the copy",
};
const DUMP_COMPUTED: Why = Why {
    reason: "the scan cannot see where the dump goes, because the code computes it",
    harmless_if: "it can only go to a bucket or host of the user",
};

impl Purpose {
    pub fn of(bundle: &Bundle) -> Self {
        Self { text: bundle.skill_md().map(str::to_lowercase).unwrap_or_default() }
    }

    /// Returns true if the skill declares that it writes a file. Files that grant access to the machine never count as
    /// declared.
    fn declares(&self, path: &str) -> bool {
        const DOORS: &[&str] = &["authorized_keys", "sudoers", "sshd_config", "passwd", "preload", "pam.d"];
        let plain = path.replace('\\', "/").to_lowercase();
        let mut parts = plain.rsplit('/');
        let (file, folder) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let is_door = DOORS.iter().any(|door| plain.contains(door));
        !is_door && folder.len() > 1 && self.text.contains(&format!("{folder}/{file}"))
    }

    /// Returns true if the skill declares that it hands the user's files to somebody.
    fn hands_over(&self) -> bool {
        const WORDS: &[&str] = &["deploy", "upload", "publish", "back up", "backup", "submit", "share ", "hosting"];
        WORDS.iter().any(|word| self.text.contains(word))
    }

    /// Returns true if a program's data file belongs to the skill's purpose or to the host.
    fn owns(&self, path: &str, host: &str) -> bool {
        let parts = path.split('/').map(|part| part.trim_start_matches('.').to_lowercase());
        let mut names = parts.filter(|part| part.len() > 2 && !matches!(part.as_str(), "config" | "local" | "share"));
        host.is_empty() || self.names(host) || names.any(|name| host.contains(&name) || self.text.contains(&name))
    }

    /// Returns true if the skill's instructions name a bucket with its scheme.
    fn names_bucket(&self, bucket: &str) -> bool {
        let address = format!("://{}", bucket.to_lowercase());
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let mut places = self.text.match_indices(&address);
        bucket.len() > 2
            && places.any(|(at, _)| !self.text.get(at + address.len()..).is_some_and(|rest| rest.starts_with(is_part)))
    }

    /// Returns true if the skill's instructions name a host.
    fn names(&self, host: &str) -> bool {
        host.contains('.') && self.text.contains(host)
    }
}

/// Evaluates one data flow. Returns `None` if it is harmless.
pub(super) fn judge<'f>(flow: &'f Flow, purpose: &Purpose) -> Option<Judgement<'f>> {
    match flow.end {
        End::Sent => sent(flow, purpose),
        End::Run => run(flow),
        End::Steered => {
            let steering = steers(&flow.to)?;
            let rule = if steering.is_grave { &rules::FLOW_STEERING_FILE } else { &rules::FLOW_START_FILE };
            // The gravity of a grant depends on its text, which other rules evaluate.
            let is_grant = flow.to.contains("/etc/sudoers");
            let is_weaker = is_grant || purpose.declares(&flow.to);
            let evidence = if is_weaker { Evidence::Strong.min(rule.evidence) } else { rule.evidence };
            let less = (evidence < rule.evidence).then_some(if is_grant { GRANTED } else { DECLARED });
            let message = format!("writes to {}, which is {}", shown(&flow.to), steering.what);
            Some(Judgement { rule, evidence, message, less, from: Vec::new() })
        }
        End::Removed => {
            let rule = &rules::FLOW_HOME_REMOVED;
            let message = format!("deletes {}: the user's home folder, or folders in it", shown(&flow.to));
            Some(Judgement { rule, evidence: rule.evidence, message, less: None, from: Vec::new() })
        }
    }
}

/// Description of an address that is not written out in the code.
pub(super) const COMPUTED: &str = "an address that the code computes";

fn run(flow: &Flow) -> Option<Judgement<'_>> {
    let is_foreign = |what: &str| !from_known_host(what) && !is_placeholder(what);
    let mut remotes = flow.taints.iter().filter(|taint| taint.kind == Kind::Remote && is_foreign(&taint.what));
    let remote = remotes.clone().find(|taint| !taint.what.starts_with(CLONED)).or_else(|| remotes.next());
    let decoded = flow.taints.iter().find(|taint| taint.kind == Kind::Decoded);
    let (rule, origin) = match (remote, decoded) {
        (Some(taint), _) if taint.what.is_empty() => (&rules::FLOW_DOWNLOAD_RUN, COMPUTED.to_owned()),
        (Some(taint), _) => (&rules::FLOW_DOWNLOAD_RUN, shown(&taint.what)),
        (None, Some(taint)) => (&rules::FLOW_DECODED_RUN, taint.what.clone()),
        (None, None) => return None,
    };
    // Benign skills often build tools from their repositories.
    let is_built = remote.is_some_and(|taint| taint.what.starts_with(CLONED));
    let (evidence, less) = if is_built { (Evidence::Weak, Some(BUILT)) } else { (rule.evidence, None) };
    let message = match remote {
        Some(_) => format!("{} from {origin}", rule.message),
        None => format!("runs decoded code ({origin}), which nobody can review"),
    };
    Some(Judgement { rule, evidence, message, less, from: remote.or(decoded).into_iter().collect() })
}

fn sent<'f>(flow: &'f Flow, purpose: &Purpose) -> Option<Judgement<'f>> {
    let host = host_of(&flow.to);
    if is_near(&host) || is_own_host(&host) {
        return None;
    }
    let to = if host.is_empty() { COMPUTED.to_owned() } else { host.clone() };
    let about = |rule: &'static Rule, message: String, from: &'f Taint| {
        Some(Judgement { rule, evidence: rule.evidence, message, less: None, from: vec![from] })
    };
    let of = |kind: Kind| flow.taints.iter().find(|taint| taint.kind == kind);
    let is_at_home = |taint: &&Taint| !is_let(&host) && is_home_of_file(&taint.what, &host);
    let is_own =
        |taint: &&Taint| taint.what.contains("~/") && !is_secret(&taint.what) && purpose.owns(&taint.what, &host);
    let mut secrets = flow.taints.iter().filter(|taint| taint.kind == Kind::Secret);
    if let Some(taint) = secrets.find(|taint| !is_at_home(taint) && !is_own(taint)) {
        return about(&rules::FLOW_SECRET_SENT, format!("sends data from {} to {to}", private(&taint.what)), taint);
    }
    if let Some(taint) = of(Kind::Environment) {
        let message = format!("sends environment variables ({}), keys among them, to {to}", taint.what);
        return about(&rules::FLOW_ENVIRONMENT_SENT, message, taint);
    }
    let strangers = |taints: &'f [Taint], is_strange: fn(&str, &str) -> bool| -> Vec<&'f Taint> {
        let names = taints.iter().filter(|taint| taint.kind == Kind::Variable && is_secret_name(&taint.what));
        let names = names.filter(|taint| !chooses(&taint.what, &flow.to, &host));
        names.filter(|taint| is_strange(&taint.what, &host)).collect()
    };
    let listed = |taints: &[&Taint]| taints.iter().map(|taint| taint.what.as_str()).collect::<Vec<_>>().join(", ");
    let is_declared = purpose.names(&host);
    let is_told = |taint: &Taint| taint.what == PACKED && purpose.hands_over();
    if let Some(taint) = of(Kind::Project).filter(|taint| !is_declared && !host.is_empty() && !is_told(taint)) {
        return about(&rules::FLOW_PROJECT_SENT, format!("sends data from {} to {to}", taint.what), taint);
    }
    let body = strangers(&flow.taints, is_given_away);
    if !body.is_empty() {
        let rule = &rules::FLOW_KEY_TO_STRANGER;
        let computed = (host.is_empty() && body.len() < 2).then_some(HOST_COMPUTED);
        let less = if is_declared { Some(HOST_NAMED) } else { computed };
        let evidence = if less.is_some() { Evidence::Strong } else { rule.evidence };
        let message = format!("sends {} to {to}", listed(&body));
        return Some(Judgement { rule, evidence, message, less, from: body });
    }
    if let Some(taint) = of(Kind::Database) {
        let rule = &rules::FLOW_DATABASE_SENT;
        let (evidence, less) = of_dump(&flow.to, &host, purpose);
        let to = bucket_of(&flow.to).map_or(to, |bucket| format!("the bucket {}", shown(bucket)));
        let message = format!("sends a dump of a database ({}) to {to}", taint.what);
        return Some(Judgement { rule, evidence, message, less, from: vec![taint] });
    }
    let keys = strangers(&flow.keys, is_strange);
    (!keys.is_empty() && !is_declared && !host.is_empty()).then(|| Judgement {
        rule: &rules::FLOW_KEY_TO_STRANGER,
        evidence: Evidence::Strong,
        message: format!("logs in at {to} with {}, which belongs to another service", listed(&keys)),
        less: Some(LOGS_IN),
        from: keys,
    })
}

/// Returns the evidence of a dump of a database that is sent to an address. It is the user's data, but no key: what
/// counts is whether the user knows where it goes.
fn of_dump(address: &str, host: &str, purpose: &Purpose) -> (Evidence, Option<Why>) {
    let is_named = match bucket_of(address) {
        Some(bucket) if is_open(bucket) => return (Evidence::Weak, Some(DUMP_CHOSEN)),
        Some(bucket) => purpose.names_bucket(bucket),
        None => purpose.names(host),
    };
    match is_named {
        true => (Evidence::Strong, Some(DUMP_NAMED)),
        false if host.is_empty() => (Evidence::Strong, Some(DUMP_COMPUTED)),
        false => (rules::FLOW_DATABASE_SENT.evidence, None),
    }
}

/// Returns the bucket of an address in a cloud's storage.
fn bucket_of(address: &str) -> Option<&str> {
    let rest = ["s3://", "gs://"].iter().find_map(|scheme| address.strip_prefix(scheme))?;
    rest.split('/').next()
}

/// Returns true if the user fills in the name of a bucket: it is a variable, or no bucket can have it, or it is one of
/// documentation.
fn is_open(bucket: &str) -> bool {
    let variable = bucket.strip_prefix('$').unwrap_or("");
    let is_variable = !variable.is_empty() && variable.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    let is_impossible = bucket.is_empty() || bucket.starts_with(['<', '{']) || bucket.starts_with("YOUR");
    is_variable || is_impossible || is_sample(bucket)
}

/// Returns true if an address is local or reserved for documentation.
fn is_placeholder(address: &str) -> bool {
    let host = host_of(address);
    ["example.com", "example.org", "example.net"].iter().any(|domain| is_within(&host, domain)) || is_near(&host)
}

/// Returns true if a variable belongs to a well-known service and the host does not.
pub(crate) fn is_strange(variable: &str, host: &str) -> bool {
    let variable = variable.to_ascii_uppercase();
    homes_of_key(&variable).is_some_and(|domains| !domains.iter().any(|domain| is_within(host, domain)))
}

/// Returns true if a variable of a well-known service, sent as data, reaches somebody else. This includes tenants who
/// rent a host from that service.
fn is_given_away(variable: &str, host: &str) -> bool {
    is_strange(variable, host) || is_let(host) && homes_of_key(&variable.to_ascii_uppercase()).is_some()
}

/// Returns true if a variable is the part of a webhook address that selects a channel of its own service.
fn chooses(variable: &str, address: &str, host: &str) -> bool {
    let variable = variable.to_ascii_uppercase();
    let path = address.split_once(host).map_or("", |(_, path)| path);
    let is_open = path.contains('\0') && variable.contains("HOOK") || path.to_ascii_uppercase().contains(&variable);
    is_open && is_users_hook(host, path) && !is_strange(&variable, host)
}

/// Returns true if anybody can rent a host of this name.
fn is_let(host: &str) -> bool {
    matches!(trust_of(host), Trust::Tenant | Trust::Drop)
}

/// Returns the host of an address, or an empty string if it is not known.
fn host_of(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    // The path may contain an `@`.
    let rest = rest.split(['/', '\\', '?', '#', ' ']).next().unwrap_or("");
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    let host: String = rest.chars().take_while(|c| *c != ':').collect();
    let known = match host.rsplit_once('\0') {
        // Names in DNS queries are resolved from their end, so the suffix after a computed part is known.
        Some((_, known)) if !address.contains("://") => known.strip_prefix('.').unwrap_or(""),
        Some(_) => "",
        None => &host,
    };
    if known.contains('$') { String::new() } else { known.to_ascii_lowercase() }
}

/// Value of a page whose methods are no part of its name.
const COOKIES: &str = "document.cookie";

/// Returns the private file that a command reads, or the whole name of private data, for a message.
pub(super) fn private(what: &str) -> String {
    let path = what.split_whitespace().skip(1).find(|word| is_secret(word));
    shown(path.unwrap_or(what))
}

/// Returns an address, a path or the name of a variable for a message.
pub(super) fn shown(address: &str) -> String {
    let address = if address.starts_with(COOKIES) { COOKIES } else { address };
    address.replace('\0', "…").chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_ends_where_its_path_begins() {
        for address in
            ["https://a.test", "https://u:p@A.test:80/x@b.test", "https://a.test/?x=@b.test", "a.test\\@b.test"]
        {
            assert_eq!(host_of(address), "a.test", "{address}");
        }
    }

    #[test]
    fn only_the_user_fills_in_an_open_bucket() {
        assert!(["$BUCKET", "<bucket>", "YOUR_BUCKET", "my-bucket", ""].into_iter().all(is_open));
        assert!(!["acme-dumps", "acme-$ENV", "\0", "$(date)", "my-dumps-7"].into_iter().any(is_open));
    }

    #[test]
    fn key_belongs_only_to_its_domain() {
        assert!(!is_strange("GITHUB_TOKEN", "api.github.com") && !is_strange("gh_token", "github.com"));
        for host in ["api.github.com.collect.invalid", "notgithub.com", "github.invalid", ""] {
            assert!(is_strange("GITHUB_TOKEN", host), "{host}");
        }
        assert!(is_given_away("AZURE_CLIENT_SECRET", "evil.azurewebsites.net"));
        assert!(!is_given_away("AZURE_CLIENT_SECRET", "login.microsoftonline.com"));
        assert!(!is_strange("WEATHER_KEY", "collect.invalid"), "of a service that we do not know");
    }
}
