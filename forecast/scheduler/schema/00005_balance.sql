-- What each account holds: kept by the database itself whenever something is
-- entered in the ledger, by a program of the version before, too.

-- +goose Up
create table balance (account text primary key, amount bigint not null); -- thousandths
insert into balance (account, amount) select account, sum(amount) from ledger group by account;
-- +goose StatementBegin
{on entry}
-- +goose StatementEnd
-- +goose StatementBegin
{at entry}
-- +goose StatementEnd

-- How far what the agents tell of chances was right (plan.Trust).
alter table cluster add column trust text not null default '{}';

-- +goose Down
alter table cluster drop column trust;
{no entry}
drop table balance;
