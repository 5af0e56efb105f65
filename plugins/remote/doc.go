// Package remote is what back-ends with a command line share: running commands
// and moving files on this machine or over SSH, and the site's side of a bulk
// submission that happens at most once.
//
// A Site is one cluster as one user reaches it. Its side is two shell scripts,
// sent along with every command: nothing there is run for its name. A back-end adds to them how its
// batch system is told of jobs, and what begins a job on the node. Words of
// jobs travel as data on standard input and in files; the only text made from
// them is words.sh, by one quoting function. See runner.sh for the protocol.
package remote
