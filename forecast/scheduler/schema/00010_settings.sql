-- What the replica that leads was told by its configuration, as digests by setting: others compare theirs.
-- '': it is of the version before, which told nothing.

-- +goose Up
alter table leader add column settings text not null default '';

-- +goose Down
alter table leader drop column settings;
