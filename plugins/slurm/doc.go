// Package slurm submits to and reads a Slurm cluster through its commands, on
// this machine ("slurm:") or over one multiplexed SSH connection
// ("slurm+ssh://user@host"). It is a back-end, a source of resources (one per
// partition) and a reader of the queue.
//
// Commands, files and the site's side of a submission are those of
// plugins/remote; send.sh and job.sh are what Slurm adds to them.
package slurm
