// Package wire is what agents of sites, the central scheduler and brokers send
// each other: the free slots of a cluster, its local schedule, queue lengths,
// what a site publishes of itself, and bookings.
//
// Documents are JSON, gzipped where they are long. Each names its schema,
// "grid.NAME/vN"; within a version a document only ever gains fields, so
// unknown ones are passed over. Everything else is checked as it is read: bytes,
// numbers of things, lengths of names and times are bounded, and what lies
// outside is an error that names the field.
//
// Times are seconds of Unix time, lengths of time are seconds, memory and disk
// are MB. Zero means not known or no limit, as each field says.
package wire
