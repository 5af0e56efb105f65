// Package jdl is the Job Description Language of gLite: ClassAd records whose
// Requirements and Rank are expressions evaluated against a computing
// element's attributes. It has the lexer and parser, the values with their
// three-valued logic, a reference evaluator, a compiler for matching one job
// against many resources, and the typed view of a job.
//
// # Language
//
// ParseExpr and ParseAd follow the ClassAd library to the letter; ReadAd
// repairs what users get wrong, with warnings. Ad.Eval is the reference
// evaluator: every result is a Value, of which UNDEFINED and ERROR are two, and
// every evaluation is bounded in steps, depth and memory. Regular expressions
// are those of PCRE, on bytes.
//
// # Matching
//
// A Table holds resources by column; Compile turns Requirements or Rank into a
// Program that gives the same answers as Ad.Eval, many times faster: the
// operands of the && at the top become loops over columns, cheapest first.
// Program.Explain counts what each operand said.
//
// It depends on the standard library alone.
package jdl
