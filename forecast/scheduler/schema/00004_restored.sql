-- Since when the database is a copy that was brought back. Jobs from before may
-- be further at their sites than it knows.

-- +goose Up
create table restored (at bigint not null);

-- +goose Down
drop table restored;
