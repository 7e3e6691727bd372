-- Names and paths compare by bytes, as in the index. Times are UTC, to the second.

-- Who may do what.
create table accounts (
    name text collate "C" primary key,
    is_admin boolean not null default false,
    created_at timestamptz not null
);

create table members (
    namespace text collate "C" not null,
    account text collate "C" not null references accounts (name),
    role text not null check (role in ('publisher', 'maintainer')),
    primary key (namespace, account)
);

-- Of a token only its sha256 is kept: it is long and random, so nothing slower is needed.
create table tokens (
    id text collate "C" primary key,
    hash bytea not null unique,
    account text collate "C" not null references accounts (name),
    scope text not null check (scope in ('read', 'publish', 'admin')),
    label text not null,
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz
);
create index tokens_by_account on tokens (account, created_at desc, id);

-- Browsers that have signed in. Of the value in their cookie only the sha256 is kept. A session ends with its token.
create table sessions (
    hash bytea primary key,
    token text collate "C" not null references tokens (id),
    created_at timestamptz not null,
    expires_at timestamptz not null
);
create index sessions_by_token on sessions (token);
create index sessions_by_end on sessions (expires_at);

-- Every namespace that has a member, a release or a key. Its row is the lock on the namespace: a change of its members,
-- keys or first release locks it for update, and every other release locks it for share.
create table owners (
    name text collate "C" primary key,
    -- The file of the owner in the index, and the id of its git blob; null before the first release or key.
    file text,
    file_id text
);

-- The row of a skill is the lock on its lines.
create table skills (
    id bigint generated always as identity primary key,
    owner text collate "C" not null,
    name text collate "C" not null,
    -- The path of its file in the index, and the id of its git blob.
    path text collate "C" not null unique,
    file_id text not null default '',
    -- The line of the newest release that is offered, and its time; null when none is offered.
    newest text,
    published_at timestamptz,
    downloads bigint not null default 0,
    stars bigint not null default 0,
    words tsvector,
    name_words tsvector,
    unique (owner, name)
);
create index skills_by_name on skills (name, owner);
create index skills_by_time on skills (published_at desc, id) where newest is not null;
create index skills_by_downloads on skills (downloads desc, id) where newest is not null;
create index skills_by_words on skills using gin (words) where newest is not null;
create index skills_by_name_words on skills using gin (name_words) where newest is not null;

-- What the newest release of a skill needs or was made from: `owner/name`.
create table links (
    skill bigint not null references skills (id),
    other text collate "C" not null,
    primary key (other, skill)
);
create index links_by_skill on links (skill);

-- The lines of the index, in order of publishing. A line of a later format may have neither version nor digest.
create table releases (
    skill bigint not null references skills (id),
    position integer not null,
    version text,
    -- The version without build metadata, which makes no other version.
    version_key text collate "C",
    digest text collate "C",
    published_at timestamptz,
    is_withdrawn boolean not null default false,
    line text not null,
    primary key (skill, position),
    unique (skill, version_key)
);
create index releases_by_digest on releases (digest, published_at);

-- Archives in the object store. `pending`: being written; `removing`, `removed`: no release has it any more.
create table archives (
    digest text collate "C" primary key,
    sha256 text not null,
    size bigint not null,
    state text not null check (state in ('pending', 'stored', 'removing', 'removed')),
    touched_at timestamptz not null default now()
);
create index archives_by_time on archives (touched_at);
create index archives_not_stored on archives (touched_at) where state <> 'stored';

-- Releases that are not handed out until an admin has looked at them.
create table quarantine (
    skill text collate "C" not null,
    version text collate "C" not null,
    digest text collate "C" not null,
    reason text not null,
    account text collate "C" not null,
    at timestamptz not null,
    was_yanked boolean not null,
    primary key (skill, version)
);
create index quarantine_by_digest on quarantine (digest);

-- Releases with the content of one under quarantine: on hold until an admin has decided about each.
create table copies (
    skill text collate "C" not null,
    version text collate "C" not null,
    digest text collate "C" not null,
    copy_of text not null,
    at timestamptz not null,
    decided_by text,
    decided_at timestamptz,
    primary key (skill, version)
);
create index copies_by_digest on copies (digest);

-- One row for each account (empty: nobody known) and day.
create table downloads (
    skill text collate "C" not null,
    version text collate "C" not null,
    digest text collate "C" not null,
    account text collate "C" not null,
    day date not null,
    count bigint not null,
    primary key (skill, version, digest, account, day)
);
create index downloads_by_digest on downloads (digest);

create table stars (
    skill text collate "C" not null,
    account text collate "C" not null,
    primary key (skill, account)
);

create table reports (
    id bigint generated always as identity primary key,
    skill text collate "C" not null,
    version text collate "C" not null,
    reason text not null,
    account text collate "C" not null,
    created_at timestamptz not null,
    decision text,
    decided_by text,
    decided_at timestamptz
);
create index reports_open on reports (id) where decision is null;

create table audit (
    id bigint generated always as identity primary key,
    at timestamptz not null,
    account text collate "C" not null,
    action text not null,
    subject text not null,
    reason text not null
);

-- The log of all changes of the index. The leader numbers visible rows, so that no gap can hide a late commit, and makes
-- one git commit of each. `body` is an `events::Change`.
create table events (
    id bigint generated always as identity primary key,
    seq bigint unique,
    kind text not null,
    subject text not null,
    body jsonb not null,
    account text collate "C" not null,
    at timestamptz not null,
    commit_id text
);
create index events_without_number on events (id) where seq is null;

-- How far a projection has followed the events.
create table projections (
    name text collate "C" primary key,
    seq bigint not null,
    commit_id text not null
);

-- Rate limits of all replicas, and files of releases that are on their way. They may be lost in a crash.
create unlogged table buckets (
    key text collate "C" primary key,
    tokens double precision not null,
    at timestamptz not null
);
create unlogged table uploads (
    account text collate "C" not null,
    digest text collate "C" not null,
    bytes bytea not null,
    at timestamptz not null,
    primary key (account, digest)
);
create index uploads_by_time on uploads (at);
