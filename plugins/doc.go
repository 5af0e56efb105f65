// Package plugins holds the contracts between the broker and what it talks
// to: back-ends that run jobs, and services that know about queues. Each
// contract is small; what only some can do is an optional interface, found by
// type assertion. Implementations live in directories below.
package plugins
