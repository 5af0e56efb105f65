// Package glue is the model of what one can submit to: a computing share with
// its endpoints, state, limits and environment, whatever schema it was
// published in (GLUE 1.3, GLUE 2.0 = GFD.147, ARC's own, or a back-end that
// describes itself).
package glue
