-- A new leader finds the event that became the newest commit of the git repository.
create index events_by_commit on events using hash (commit_id);
create index events_of_config on events (id) where kind = 'config';
