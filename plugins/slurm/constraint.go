package slurm

import (
	"slices"
	"strings"
)

// maxConstraint bounds the letters of a constraint, maxAlternatives what it may unfold to.
const (
	maxConstraint   = 4096
	maxAlternatives = 64
)

// splitFeatures reads the features of a constraint as sbatch(1) has them, in the terms of
// batch.Job: all are needed, and of those that "|" parts one will do. Slurm goes by "&" and
// "|" from left to right: "a&b|c" is "(a&b)|c". Of one with counts ("[a*2&b*1]"), where
// nodes differ in what they must have, each has one of the features; of another kind of them,
// and of a constraint that is too long, no feature is told.
func splitFeatures(s string) []string {
	if s == "" || s == "(null)" || len(s) > maxConstraint {
		return nil
	}
	if strings.Contains(s, "*") {
		if s = counted(s); s == "" {
			return nil
		}
	}
	rest := s
	list, ok := needed(&rest)
	if !ok || rest != "" {
		return nil
	}
	features := make([]string, 0, len(list))
	for _, one := range list {
		slices.Sort(one)
		if f := strings.Join(slices.Compact(one), "|"); !slices.Contains(features, f) {
			features = append(features, f)
		}
	}
	return features
}

// needed reads an expression up to a bracket that it does not open: alternatives, of each
// of which one is needed.
func needed(rest *string) (list [][]string, ok bool) {
	for op := byte('&'); ; {
		next, ok := neededOne(rest)
		if !ok || len(list)*len(next) > maxAlternatives {
			return nil, false
		}
		switch {
		case op == '|':
			list = either(list, next)
		default:
			list = append(list, next...)
		}
		if *rest == "" || strings.IndexByte(")]", (*rest)[0]) >= 0 {
			return list, true
		}
		op, *rest = (*rest)[0], (*rest)[1:]
	}
}

// neededOne reads a name, or an expression in brackets.
func neededOne(rest *string) (list [][]string, ok bool) {
	if *rest == "" {
		return nil, false
	}
	if open := strings.IndexByte("([", (*rest)[0]); open >= 0 {
		*rest = (*rest)[1:]
		list, ok = needed(rest)
		if !ok || *rest == "" || (*rest)[0] != ")]"[open] {
			return nil, false
		}
		*rest = (*rest)[1:]
		return list, *rest == "" || strings.IndexByte("([", (*rest)[0]) < 0
	}
	end := strings.IndexAny(*rest, "&|,()[]")
	if end < 0 {
		end = len(*rest)
	}
	name := (*rest)[:end]
	*rest = (*rest)[end:]
	return [][]string{{name}}, name != "" && (*rest == "" || strings.IndexByte("([", (*rest)[0]) < 0)
}

// either is what is needed where one of two will do: of each alternative of the one and
// each of the other, one.
func either(a, b [][]string) (list [][]string) {
	for _, x := range a {
		for _, y := range b {
			list = append(list, append(slices.Clone(x), y...))
		}
	}
	return list
}

// counted makes "a|b" of "[a*2&b*1]"; "": it is something else.
func counted(s string) string {
	opened, ok := strings.CutPrefix(s, "[")
	inner, shut := strings.CutSuffix(opened, "]")
	if !ok || !shut || strings.ContainsAny(inner, "|,()[]") {
		return ""
	}
	var names []string
	for part := range strings.SplitSeq(inner, "&") {
		name, count, ok := strings.Cut(part, "*")
		if !ok || name == "" || atoi(count) == 0 {
			return ""
		}
		names = append(names, name)
	}
	return strings.Join(names, "|")
}
