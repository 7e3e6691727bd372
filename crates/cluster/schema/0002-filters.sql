-- What lists and searches filter by, read from the line of the newest release.
alter table skills
    add column verdict text generated always as (newest::jsonb ->> 'verdict') stored,
    add column is_signed boolean not null generated always as
        (newest is not null and (newest::jsonb ->> 'signature') is not null) stored;
