-- What users have delegated, for each VO of theirs. A program of the version before
-- knows of what was delegated last alone, which stays in credential.

-- +goose Up
create table delegation (
	owner text not null, vo text not null, -- '': of none
	expires bigint not null,
	attributes bigint not null,            -- until when its VOMS attributes are good; 0: it has none
	body {bytes} not null,                 -- encrypted
	primary key (owner, vo)
);

-- Of which VO that is (one of them), and how its body begins: where that does not fit, a program
-- of the version before has kept another since.
alter table credential add column vo text not null default '';
alter table credential add column nonce {bytes} not null default '';

-- +goose Down
drop table delegation;
alter table credential drop column vo;
alter table credential drop column nonce;
