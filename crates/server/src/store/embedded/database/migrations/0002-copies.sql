-- Releases with the content of one under quarantine: on hold until an admin has decided about each.
create table copies (
    skill text not null,
    version text not null,
    digest text not null,
    copy_of text not null,
    at text not null,
    decided_by text,
    decided_at text,
    primary key (skill, version)
) strict, without rowid;
create index copies_by_digest on copies (digest);
