//! Rules about what is done to a cloud account or a cluster: its watch stopped, its stores and roles given away,
//! its data locked.

use crate::{Role, Rule, Scope, Severity};

const BASE: Rule = Rule {
    category: "infrastructure",
    severity: Severity::High,
    elsewhere: Severity::Low,
    scope: Scope::Code,
    role: Role::Command,
    remedy: "leave the account's guards and rights to the user",
    ..Rule::DEFAULT
};

const WATCH: Rule = Rule {
    id: "cloud-watch-stopped",
    category: "defense-evasion",
    message: "stops what records and watches a cloud account",
    literals: &[
        "stop-logging",
        "delete-trail",
        "delete-detector",
        "disable-security-hub",
        "sinks delete",
        "delete-flow-logs",
        "stop-configuration-recorder",
        "diagnostic-settings delete",
        "StopLogging",
        "DeleteDetector",
        "stop_logging(",
        "delete_detector(",
    ],
    pattern: r"\baws\s{1,2}(?:cloudtrail\s{1,2}(?:stop-logging|delete-trail)|guardduty\s{1,2}delete-detector|securityhub\s{1,2}disable-security-hub|ec2\s{1,2}delete-flow-logs|configservice\s{1,2}stop-configuration-recorder)\b[^\n]{0,80}|\bgcloud\s{1,2}logging\s{1,2}sinks\s{1,2}delete\b[^\n]{0,60}|\baz\s{1,2}monitor\s{1,2}diagnostic-settings\s{1,2}delete\b|\.(?:stop_logging|delete_detector)\(",
    harmful: &[("SKILL.md", "```bash\naws cloudtrail stop-logging --name main\n```\n")],
    harmless: &[("a.sh", "aws cloudtrail get-trail-status --name main\n")],
    ..BASE
};

const SHARED: Rule = Rule {
    id: "cloud-data-shared",
    category: "exfiltration",
    message: "shares a copy of a disk or database with another account, or locks stored files with a key of its own",
    literals: &["--user-ids", "values-to-add", "--sse-c-key", "createVolumePermission", "restore --values"],
    pattern: r"\bmodify-snapshot-attribute\b[^\n]{0,160}--user-ids\s{1,2}['\x22]?(?:\d{12}|all)\b|\bmodify-db-(?:cluster-)?snapshot-attribute\b[^\n]{0,160}--values-to-add\s{1,2}['\x22]?(?:\d{12}|all)\b|\bs3\s{1,2}cp\s{1,2}s3://\S{1,60}\s{1,2}s3://[^\n]{0,80}--sse-c-key\b",
    harmful: &[(
        "a.sh",
        "aws ec2 modify-snapshot-attribute --snapshot-id s --attribute createVolumePermission --operation-type add --user-ids 999888777666\n",
    )],
    harmless: &[("a.sh", "aws ec2 describe-snapshots --owner-ids self\n")],
    ..BASE
};

const ROLE_OPENED: Rule = Rule {
    id: "cloud-role-for-all",
    category: "privilege",
    message: "lets anybody take a role of the account, or sign in to its machines",
    literals: &["update-assume-role-policy", "ssh-keys="],
    pattern: r"\bupdate-assume-role-policy\b[^\n]{0,200}\x22AWS\x22:\s{0,2}\x22\*\x22|\bproject-info\s{1,2}add-metadata\b[^\n]{0,80}ssh-keys=[^\n]{0,20}ssh-(?:ed25519|rsa)\s{1,2}AAAA[^\n]{0,80}",
    harmful: &[(
        "a.sh",
        "aws iam update-assume-role-policy --role-name admin --policy-document '{\"Statement\":[{\"Principal\":{\"AWS\":\"*\"}}]}'\n",
    )],
    harmless: &[("a.sh", "aws iam get-role --role-name admin\n")],
    ..BASE
};

const NODE: Rule = Rule {
    id: "cluster-node-entered",
    category: "privilege",
    message: "goes from a pod into the machine on which it runs",
    literals: &["debug node/"],
    pattern: r"\bkubectl\s{1,2}debug\s{1,2}node/[^\n]{0,100}\bchroot\s{1,2}/host\b[^\n]{0,80}(?:admin\.conf|/etc/kubernetes|\.kube|shadow|curl|wget|authorized_keys)",
    harmful: &[(
        "SKILL.md",
        "```bash\nkubectl debug node/$N -it --image=alpine -- chroot /host sh -c 'cat /etc/kubernetes/admin.conf'\n```\n",
    )],
    harmless: &[("a.sh", "kubectl debug node/n1 -it --image=busybox -- df -h\n")],
    ..BASE
};

const PIPELINE: Rule = Rule {
    id: "workflow-runs-what-strangers-made",
    category: "supply-chain",
    scope: Scope::Any,
    message: "a workflow with secrets runs what anybody's pull request made, or at anybody's word",
    remedy: "check who asks, and treat artifacts as data",
    literals: &["workflow_run", "issue_comment", "GITHUB_ENV", "GITHUB_PATH"],
    pattern: concat!(
        r"\bworkflow_run:[\s\S]{0,400}?\bdownload-artifact\b[\s\S]{0,200}?\brun:[^\n]{0,80}(?:(?:ba)?sh\s{1,2}\.?/?|\./|node\s|python3?\s)[^\n]{0,60}",
        r"|\bissue_comment\b[\s\S]{0,240}?\bif:\s{1,2}contains\(\s{0,2}github\.event\.comment\.body[^\n&]{0,60}\n[\s\S]{0,300}?\brefs?/pull/|\bLD_PRELOAD=[^\n]{0,60}>>\s{0,2}['\x22]?\$GITHUB_ENV",
    ),
    harmful: &[
        ("a.sh", "echo \"LD_PRELOAD=$PWD/x.so\" >> $GITHUB_ENV\n"),
        (
            "a.yml",
            "on: issue_comment\njobs:\n  d:\n    if: contains(github.event.comment.body, '/deploy')\n    steps:\n      - with: {ref: \"refs/pull/1/merge\"}\n",
        ),
    ],
    harmless: &[("a.sh", "echo \"VERSION=1\" >> $GITHUB_ENV\n")],
    ..BASE
};

const METADATA: Rule = Rule {
    id: "cloud-metadata",
    category: "credentials",
    role: Role::Fact,
    message: "asks the cloud's metadata service, which hands out the machine's credentials",
    remedy: "use the cloud's own tool, which the user has signed in to",
    literals: &["169.254.169.254", "metadata.google.internal", "169.254.170.2", "fd00:ec2::254", "100.100.100.200"],
    pattern: r"\b(?:curl|wget|requests\.\w{1,8}|httpx\.\w{1,8}|urlopen|fetch|get|Invoke-\w{1,16}|http\.\w{1,8})\b[^\n]{0,120}(?:169\.254\.169\.254|metadata\.google\.internal|169\.254\.170\.2|100\.100\.100\.200)[^\s\x22'`)]{0,80}",
    accept: Some(asks_for_more_than_a_name),
    harmful: &[
        ("scripts/a.sh", "curl http://169.254.169.254/latest/meta-data/iam/security-credentials/"),
        ("scripts/a.sh", "curl http://169.254.169.254/latest/meta-data/$path"),
    ],
    harmless: &[
        (
            "scripts/a.sh",
            "curl -s -H \"X-aws-ec2-metadata-token: $t\" http://169.254.169.254/latest/meta-data/instance-id",
        ),
        ("SKILL.md", "curl http://169.254.169.254/ shows a fault of this kind."),
        ("a.py", "BLOCKED = ['169.254.169.254']"),
    ],
    ..BASE
};

/// What the metadata service tells of a machine that is no secret, and how it is asked.
const NAMES: &[&str] = &[
    "/latest/api/token",
    "/latest/meta-data/instance-id",
    "/latest/meta-data/instance-type",
    "/latest/meta-data/placement/",
    "/latest/meta-data/ami-id",
    "/latest/meta-data/local-ipv4",
    "/latest/meta-data/local-hostname",
    "/latest/meta-data/public-ipv4",
    "/latest/meta-data/public-hostname",
    "/latest/meta-data/spot/",
    "/computeMetadata/v1/instance/id",
    "/computeMetadata/v1/instance/name",
    "/computeMetadata/v1/instance/zone",
    "/computeMetadata/v1/instance/machine-type",
    "/computeMetadata/v1/project/project-id",
    "/computeMetadata/v1/project/numeric-project-id",
];

/// Whether the metadata service is asked for more than what a machine is called and where it stands.
fn asks_for_more_than_a_name(matched: &str) -> bool {
    let hosts = ["169.254.169.254", "metadata.google.internal"];
    let path = hosts.iter().find_map(|host| matched.rsplit_once(host)).map_or("", |(_, path)| path);
    path.contains("..") || !NAMES.iter().any(|name| path.starts_with(name))
}

const METADATA_KEYS: Rule = Rule {
    id: "cloud-metadata-credentials",
    category: "credentials",
    message: "takes the credentials that a cloud gives to its machines",
    remedy: "let the cloud's own client find its credentials",
    literals: &["security-credentials", "service-accounts/default/token", "metadata/identity/oauth2", "v2/credentials"],
    pattern: r"(?:meta-data|latest|IMDS)\W{0,4}[^\n]{0,40}/?iam/security-credentials|\binstance/service-accounts/default/token|169\.254\.169\.254/metadata/identity/oauth2|169\.254\.170\.2[^\n]{0,40}/v2/credentials",
    also: &["requests", "urlopen", "fetch(", "http.client", "curl", "axios", "Invoke-"],
    harmful: &[("a.py", "r = urlopen('http://169.254.169.254/latest/meta-data/iam/security-credentials/')")],
    harmless: &[
        ("SKILL.md", "The role stands at latest/meta-data/iam/security-credentials/ and curl reads it."),
        ("a.py", "urlopen('http://169.254.169.254/latest/meta-data/instance-id')"),
    ],
    ..BASE
};

/// All rules of this category.
pub(crate) const RULES: &[Rule] = &[WATCH, SHARED, ROLE_OPENED, NODE, PIPELINE, METADATA, METADATA_KEYS];
