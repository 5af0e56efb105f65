// Package classad is the ClassAd language: the lexer and parser, a sealed tree,
// values with their three-valued logic, a reference evaluator, and a compiler
// for matching one record against many. It depends on nothing but package pcre
// and the standard library.
//
// # Language
//
// [ParseExpr] and [ParseAd] follow the ClassAd library to the letter; [ReadAd]
// repairs what users get wrong, with warnings. Both give trees of [Expr], which
// [Unparse] prints and [Walk] visits, and errors that are a [Diagnostic] with
// file, line, column and a hint.
//
// [Ad.Eval] is the reference evaluator: every result is a [Value], of which
// UNDEFINED and ERROR are two, and every evaluation is bounded in steps, depth
// and memory. The other side of a match is a [Scope]: another record, or
// whatever can answer for names. Regular expressions are those of PCRE, on
// bytes. Function names are listed by [Functions].
//
// The semantics are those of HTCondor's ClassAd library of 2026, with the
// number suffixes (2K, 1.5G) of the library of 2011 and the functions that
// gLite's broker added: anyMatch, allMatch, whichMatch, fqanMember,
// listAttrRegEx, retrieveCloseSEsInfo and successFraction.
//
// # Matching
//
// A [Table] holds resources by column; [Compile] turns Requirements or Rank
// into a [Program] that gives the same answers as Ad.Eval, many times faster:
// the operands of the && at the top become loops over columns, cheapest first,
// and lists of names, other.x == "a" || other.x == "b", one look-up.
// [Program.Filter] keeps the rows that fit and [Program.Values] ranks them.
package classad
