// Package jdl is the Job Description Language of gLite: ClassAd records whose
// Requirements and Rank are expressions evaluated against a computing
// element's attributes. It has the lexer and parser, the values with their
// three-valued logic, a reference evaluator, a compiler for matching one job
// against many resources, and the typed view of a job.
//
// It depends on the standard library alone.
package jdl
