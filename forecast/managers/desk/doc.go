// Package desk is where ordinary users hand their jobs to a tree of managers.
// They have a proxy, make outbound calls only and come and go; the desk, which
// stays, is the broker of their jobs in the tree: it signs the passports, takes
// one offer for each job and keeps the place that was offered until the job's
// user has claimed it. The user starts the job there, and tells when it has
// ended.
//
// A job is in the tree while its user asks for it. What is not claimed in time
// is given back. A claim is on disk before it is answered: it is granted once,
// and the same again.
package desk
