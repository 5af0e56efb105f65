-- How an action has ended; '': not yet, or as a program of the version before wrote it,
-- which told it by its words alone.

-- +goose Up
alter table action add column ending text not null default '';

-- +goose Down
alter table action drop column ending;
