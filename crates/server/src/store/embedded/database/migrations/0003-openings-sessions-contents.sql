-- Namespaces whose first release is on its way: the account becomes the first member with it. A row that a crash left
-- behind is settled at the next start by what the index holds.
create table openings (
    namespace text primary key,
    account text not null references accounts (name),
    at text not null
) strict, without rowid;

-- Browsers that have signed in. Of the value in their cookie only the sha256 is kept. A session ends with its token.
create table sessions (
    hash blob primary key,
    token text not null references tokens (id),
    created_at text not null,
    expires_at text not null
) strict, without rowid;
create index sessions_by_token on sessions (token);

-- A view of the index like `skills`: the content of every release, to count a download that names only a digest.
create table contents (
    skill text not null,
    version text not null,
    digest text not null,
    published_at text not null,
    primary key (skill, version)
) strict, without rowid;
create index contents_by_digest on contents (digest, published_at);

-- Views are made again, so that `contents` is filled.
delete from shown;
