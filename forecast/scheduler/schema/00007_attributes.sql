-- Until when the VOMS attributes, and the groups of tokens, are good that users have
-- shown last.

-- +goose Up
create table attribute (owner text not null, name text not null, expires bigint not null, primary key (owner, name));

-- Until when the VOMS attributes are good of what was delegated; 0: it has none.
alter table credential add column attributes bigint not null default 0;

-- +goose Down
drop table attribute;
alter table credential drop column attributes;
