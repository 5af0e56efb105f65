// Package environment makes the runtime environments that jobs ask for by tag: definitions that a site writes, OCI
// images addressed by digest, a cache of unpacked trees on the node, and launchers that run a command inside a tree.
//
// A tag in a job's Requirements selects sites and, at the site, a Definition. Cache.Tree gives the unpacked image, made
// once and verified by digest. A Launcher turns the tree, the job's sandbox and an argv into a command line, and Run
// supervises it: signals, wall time, limits, and no process left over.
//
// Images are data from outside: the unpacker refuses what climbs out of the tree, counts bytes and entries while it
// streams, and publishes nothing before every digest agrees.
package environment
