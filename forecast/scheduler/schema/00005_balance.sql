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

-- What the agents told of the starts that were booked: with hits and misses, how
-- far their chances are to be believed.
alter table cluster add column told {real} not null default 0;
update cluster set told = hits + misses;

-- +goose Down
alter table cluster drop column told;
{no entry}
drop table balance;
