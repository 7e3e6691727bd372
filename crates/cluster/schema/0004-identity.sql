-- The identity of the index, which the marker in a folder of archives repeats. It has one row.
create table identity (
    id uuid primary key default gen_random_uuid(),
    is_only boolean not null default true unique check (is_only)
);
insert into identity default values;
