package jdl

import (
	"fmt"
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

// MatchKey is a text that is the same for jobs that every resource treats
// alike when it is matched and ranked, so that one match serves them all. It
// holds the attributes that SignificantAttributes names, or else Requirements,
// Rank and FuzzyRank; the job's own attributes that these refer to; and what
// the job demands.
func (j *Job) MatchKey() string {
	k := keyWriter{ad: j.Ad, seen: map[string]bool{}}
	names := j.Significant
	if len(names) == 0 {
		names = []string{"Requirements", "Rank", "FuzzyRank"}
	}
	for _, name := range names {
		k.attribute(name)
	}
	slices.Sort(k.parts)
	k.parts = append(k.parts, fmt.Sprintf("demand %+v\nvo %q\nto %q\nrank %s", j.Demand, j.VO, j.SubmitTo, unparseOrNone(j.DefaultRank)))
	return strings.Join(k.parts, "\n")
}

func unparseOrNone(e classad.Expr) string {
	if e == nil {
		return "none"
	}
	return classad.Unparse(e)
}

type keyWriter struct {
	ad    *classad.Ad
	seen  map[string]bool
	parts []string
}

// attribute adds an attribute and those of the job that it names.
func (k *keyWriter) attribute(name string) {
	key := classad.Fold(name)
	e, ok := k.ad.Expr(name)
	if k.seen[key] || !ok {
		return
	}
	k.seen[key] = true
	k.parts = append(k.parts, key+" = "+classad.Unparse(e))
	classad.Walk(e, func(e classad.Expr) bool {
		switch e := e.(type) {
		case *classad.AttrRef:
			k.attribute(e.Name)
		case *classad.Select:
			if otherName(e) == "" {
				k.attribute(e.Name) // self.x, my.x, and records of the job
			}
		}
		return true
	})
}
