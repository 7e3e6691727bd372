-- What lists and searches filter by. Publishing writes it with the line: `jsonb` refuses lines with the character U+0000.
alter table skills
    add column verdict text,
    add column is_signed boolean not null default false,
    -- In lower case.
    add column license text,
    add column keywords text[] not null default '{}';
