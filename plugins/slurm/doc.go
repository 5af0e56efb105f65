// Package slurm submits to and reads a Slurm cluster through its commands, on
// this machine ("slurm:") or over one multiplexed SSH connection
// ("slurm+ssh://user@host"). It is a back-end, a source of resources (one per
// partition) and a reader of the queue.
//
// The site's side is two fixed shell scripts (runner.sh, job.sh), placed once.
// Words of jobs travel as data on standard input and in files; the only text
// made from them is words.sh, by one quoting function. See runner.sh for the
// protocol that makes a submission happen at most once.
package slurm
