// Package scheduler is the central forecast scheduler: jobs wait in a global
// queue, agents of sites publish the slots they foresee, and in every cycle the
// planner (package plan) gives jobs their slots, shortly before these begin.
//
// All state is in one database, PostgreSQL or embedded SQLite. Any number of
// replicas share it: all answer the API and run the outbox, one leads, that is,
// plans. What changes the queue arrives as messages, which the leader takes in
// order of arrival inside the transaction of its cycle; what is to be done in
// the world leaves as actions of an outbox, written in the same transaction.
// Every such transaction checks the leader's epoch: one who was deposed commits
// nothing.
package scheduler
