// Package swf reads, writes, generates and transforms workload traces in the
// Standard Workload Format of the Parallel Workloads Archive (version 2.2,
// https://www.cs.huji.ac.il/labs/parallel/workload/swf.html): header lines
// that begin with ";" and one line of 18 numbers for each job.
//
// Reading is streaming: a trace of ten million lines needs no more memory
// than its reorder window. Lines that cannot be used are reported with their
// line number and never stop the reading; a damaged compressed stream does.
package swf
