// Package sim plays users and sites of a whole grid around the real code: the
// broker decides for every job from what simulated sites publish at that
// moment of virtual time, and the batch engine runs every site. Policies are
// compared on the same jobs. Package tree does the same for trees of managers.
package sim
