-- What was: the sites' own jobs that have ended, and every five minutes what a
-- cluster did and what was foreseen of it. Kept for a day and some hours.

-- +goose Up
create table past_job (
	cluster text not null, task text not null, node text not null, spread text not null, procs bigint not null,
	begins bigint not null, ends bigint not null,
	primary key (cluster, task, begins)
);
create index past_job_by_end on past_job (cluster, ends);

create table sample (
	cluster text not null, at bigint not null, -- beginning of its five minutes
	made bigint not null, cpus bigint not null, busy bigint not null, guests bigint not null,
	-- processors promised to be free so many minutes later
	in5 {real} not null, in15 {real} not null, in30 {real} not null, in60 {real} not null,
	ahead text not null, -- Ahead
	primary key (cluster, at)
);

-- +goose Down
drop table sample; drop table past_job;
