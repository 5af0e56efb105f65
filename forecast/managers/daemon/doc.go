// Package daemon runs managers of the tree as processes, and the brokers of
// their jobs. A tree edge is one HTTP/2 stream over TLS with certificates on
// both sides: the child asks, and both sides send lines of JSON. Whoever hears
// nothing for a while takes the link for gone, so that dead, cut off and paused
// neighbours look alike; children then find another place by what the parent
// told them of the tree.
//
// A job starts once: managers offer, its broker grants one offer, and only the
// broker starts it. A broker hands a job in again when no manager has reported
// it for a while. Assignments survive a manager's crash in its directory.
package daemon
