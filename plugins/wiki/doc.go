// Package wiki speaks the WIKI interface between Maui (or Moab) and a resource
// manager, both sides: Server presents a cluster to a scheduler, Client reads
// a resource manager and tells it what to start.
//
// The resource manager is the TCP server; one command per connection. A
// message is eight decimal digits (the size of the body), one byte that is not
// looked at, and the body:
//
//	CK=<16 hex> TS=<epoch> AUTH=<name> DT=<data>
//
// The checksum guards against accidents, not against people: its key has 32
// bits, its digest 16, and nothing is encrypted. Plain connections are for
// loopback and Unix sockets; others go over TLS.
//
// Sources: Maui administrator's guide, appendix W; Slurm's guide to Maui;
// recorded sessions of a Maui 3.3.1 (see TestSessions).
package wiki
