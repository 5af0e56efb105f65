-- One schema for PostgreSQL and SQLite. In braces stand the few words that
-- differ. Times are seconds of Unix time, in the log milliseconds.

-- +goose Up
create table leader (one integer primary key check (one = 1), epoch bigint not null, holder text not null, since bigint not null);
insert into leader values (1, 0, '', 0);

create table cluster (
	name text primary key,
	seq bigint not null,         -- of the last delta taken
	digest text not null,        -- of the slots in content
	made bigint not null,
	ttl bigint not null,
	seen bigint not null,        -- when the agent was last heard of
	resync integer not null default 0,
	drained integer not null default 0,
	hits bigint not null default 0,
	misses bigint not null default 0,
	launch_ms bigint not null default 0, -- from a launch to the site's answer, smoothed
	site text not null,          -- wire.Site
	queues text not null,
	load text not null
);

create table node (
	cluster text not null, name text not null, cpus integer not null, gpus integer not null, memory bigint not null,
	disk bigint not null, features text not null, up integer not null,
	primary key (cluster, name)
);

-- Slots lie in memory while they are planned with: no index but the key.
create table content (
	cluster text not null, id {u64} not null, node text not null, cpus integer not null, gpus integer not null,
	memory bigint not null, begins bigint not null, ends bigint not null, latest bigint not null,
	chance {real} not null, hold {real} not null, priority {real} not null, task text not null,
	primary key (cluster, id)
);

create table local_job (
	cluster text not null, task text not null, body text not null, -- wire.Entry
	primary key (cluster, task)
);

create table queue (
	seq {identity},
	id text not null unique,
	owner text not null,
	key text not null,           -- the submitter's own, so that nothing is taken twice
	state text not null,
	body text not null,          -- Job
	unique (owner, key)
);
create index queue_by_owner on queue (owner, seq);
create index queue_open on queue (seq) where state not in ('done', 'failed', 'cancelled');

create table booking (
	key text primary key, job text not null, cluster text not null, state text not null,
	begins bigint not null, ends bigint not null, procs integer not null, epoch bigint not null, body text not null
);
create index booking_open on booking (cluster) where state = 'open';
create index booking_by_time on booking (begins);

create table message (
	id {identity}, kind text not null, key text not null unique, body {bytes} not null
);

create table action (
	id {identity}, key text not null unique, job text not null, verb text not null, epoch bigint not null,
	due bigint not null, attempts integer not null default 0, lease_until bigint not null default 0,
	leased_by text not null default '', done integer not null default 0, result text not null default ''
);
create index action_due on action (due) where done = 0;

-- Every action taken, never changed.
create table log (
	id {identity}, at bigint not null, epoch bigint not null, job text not null, cluster text not null,
	who text not null, event text not null, said text not null
);
create index log_by_job on log (job, id);

create table person (name text primary key, roles text not null, budget {real} not null);

-- Double entry: the amounts of one deal sum to zero.
create table ledger (
	id {identity}, at bigint not null, deal text not null, account text not null, amount bigint not null, -- thousandths
	job text not null, why text not null,
	unique (deal, account)
);
create index ledger_by_account on ledger (account);

create table file (
	job text not null, side text not null, name text not null, size bigint not null, body {bytes} not null, -- encrypted
	primary key (job, side, name)
);

create table credential (owner text primary key, expires bigint not null, body {bytes} not null); -- encrypted

-- +goose Down
drop table credential; drop table file; drop table ledger; drop table person; drop table log; drop table action;
drop table message; drop table booking; drop table queue; drop table local_job; drop table content; drop table node;
drop table cluster; drop table leader;
