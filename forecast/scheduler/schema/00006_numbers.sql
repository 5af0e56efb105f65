-- A slot's number is below 2^53. PostgreSQL kept it as a decimal number of any
-- length, which made the table's key slow. A program of the version before goes on.

-- +goose Up
-- +goose StatementBegin
{slots by number}
-- +goose StatementEnd

-- +goose Down
select 1;
