// Package htcondor submits to and reads an HTCondor pool through its commands:
// on this machine ("condor:"), over one multiplexed SSH connection
// ("condor+ssh://user@host"), or to a schedd over the network
// ("condor://host:port"), as an HTCondor-CE is reached. It is a back-end, a
// source of resources (one per kind of slot) and a reader of the queue.
//
// Commands, files and the site's side of a submission are those of
// plugins/remote; send.sh and job.sh are what HTCondor adds to them. A submit
// file holds ids and numbers alone: words of jobs travel as files. Our id is
// the job attribute GridBrokerId.
package htcondor
