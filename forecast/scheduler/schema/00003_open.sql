-- How many jobs of a user have not ended is asked at every submission.

-- +goose Up
create index queue_open_of_owner on queue (owner) where state not in ('done', 'failed', 'cancelled');

-- +goose Down
drop index queue_open_of_owner;
