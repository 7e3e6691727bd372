-- Who may do what. Times are UTC, RFC 3339, to the second.
create table accounts (
    name text primary key,
    is_admin integer not null default 0,
    created_at text not null
) strict;

create table members (
    namespace text not null,
    account text not null references accounts (name),
    role text not null check (role in ('publisher', 'maintainer')),
    primary key (namespace, account)
) strict;

-- Of a token only its sha256 is kept: it is long and random, so nothing slower is needed.
create table tokens (
    id text primary key,
    hash blob not null unique,
    account text not null references accounts (name),
    scope text not null check (scope in ('read', 'publish', 'admin')),
    label text not null,
    created_at text not null,
    expires_at text,
    revoked_at text
) strict;

create table stars (
    skill text not null,
    account text not null,
    primary key (skill, account)
) strict, without rowid;

-- One row for each account (empty: nobody known) and day.
create table downloads (
    skill text not null,
    version text not null,
    digest text not null,
    account text not null,
    day text not null,
    count integer not null,
    primary key (skill, version, digest, account, day)
) strict, without rowid;
create index downloads_by_digest on downloads (digest);

create table reports (
    id integer primary key,
    skill text not null,
    version text not null,
    reason text not null,
    account text not null,
    created_at text not null,
    decision text,
    decided_by text,
    decided_at text
) strict;
create index reports_open on reports (id) where decision is null;

-- Releases that are not handed out until an admin has looked at them.
create table quarantine (
    skill text not null,
    version text not null,
    digest text not null,
    reason text not null,
    account text not null,
    at text not null,
    was_yanked integer not null,
    primary key (skill, version)
) strict, without rowid;
create index quarantine_by_digest on quarantine (digest);

create table audit (
    id integer primary key,
    at text not null,
    account text not null,
    action text not null,
    subject text not null,
    reason text not null
) strict;

-- A view of the index, made again from it whenever the two differ: the newest release of each skill.
create table skills (
    id integer primary key,
    name text not null unique,
    owner text not null,
    published_at text not null,
    downloads integer not null default 0,
    line text not null
) strict;
create index skills_by_owner on skills (owner, name);
create index skills_by_time on skills (published_at desc, name);
create index skills_by_downloads on skills (downloads desc, name);

-- What the newest release of a skill needs or was made from.
create table links (
    skill text not null,
    other text not null,
    primary key (other, skill)
) strict, without rowid;
create index links_by_skill on links (skill);

create virtual table texts using fts5 (
    name, owner, keywords, description,
    content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 2", prefix = '1 2 3'
);

-- The commit of the index that `skills` and `texts` show.
create table shown (
    only_one integer primary key check (only_one = 1),
    revision text not null
) strict;
