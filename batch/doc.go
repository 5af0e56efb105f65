// Package batch models a cluster's local scheduler: nodes, jobs, queues,
// reservations, and the policies that start jobs on nodes. It is pure: time
// is virtual and nothing is read from outside.
package batch
