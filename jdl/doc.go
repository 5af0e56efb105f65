// Package jdl is the Job Description Language of gLite and DIRAC: records of
// the ClassAd language (package classad) that describe jobs.
//
// [ParseJobs] reads a description as a user wrote it, checks it, and expands
// parametric jobs, collections and DAGs; [ParseJob] is for descriptions of one
// job. A [Job] is the typed view: program, files, environment, what it
// demands, Requirements and Rank. [Job.Text] writes it, [LoadJob] reads that
// again. [Lint] tells what is wrong or suspicious in a description.
//
// Other languages have rooms of their own (adl, xrsl, sbatch), which make
// records with a [Builder] and write from a Job; package formats chooses among
// them.
package jdl
