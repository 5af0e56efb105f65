-- Slots' ids are below 2^53: PostgreSQL enters and finds them in a fifth less time
-- as bigint.

-- +goose Up
{whole ids}

-- +goose Down
{long ids}
