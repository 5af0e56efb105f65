package glue

import (
	"maps"
	"reflect"
	"slices"
)

// united is what was made of two lists or maps that many resources have in common:
// the next resource with the same two gets the same. A nil one remembers nothing.
type united struct {
	benchmarks map[[2]uintptr]pair[map[string]float64]
	endpoints  map[[2]*Endpoint]pair[[]Endpoint]
}

// pair is two things and what was made of them. As long as they are kept, nothing
// else lies where they lie.
type pair[T any] struct{ a, b, made T }

func newUnited() *united {
	return &united{benchmarks: map[[2]uintptr]pair[map[string]float64]{}, endpoints: map[[2]*Endpoint]pair[[]Endpoint]{}}
}

// unitedBenchmarks adds to a those that only b has.
func (u *united) unitedBenchmarks(a, b map[string]float64) map[string]float64 {
	if !more(a, b) {
		return a
	}
	k := [2]uintptr{reflect.ValueOf(a).Pointer(), reflect.ValueOf(b).Pointer()}
	if u != nil {
		if p, ok := u.benchmarks[k]; ok {
			return p.made
		}
	}
	made := maps.Clone(b)
	maps.Copy(made, a)
	if u != nil {
		u.benchmarks[k] = pair[map[string]float64]{a, b, made}
	}
	return made
}

// more says whether b has what a has not.
func more(a, b map[string]float64) bool {
	for name := range b {
		if _, ok := a[name]; !ok {
			return true
		}
	}
	return false
}

// unitedEndpoints adds to a those whose addresses only b has.
func (u *united) unitedEndpoints(a, b []Endpoint) []Endpoint {
	missing := func(e Endpoint) bool {
		return !slices.ContainsFunc(a, func(have Endpoint) bool { return have.URL == e.URL })
	}
	first := slices.IndexFunc(b, missing)
	if first < 0 {
		return a
	}
	var k [2]*Endpoint
	remember := u != nil && len(a) > 0
	if remember {
		k = [2]*Endpoint{&a[0], &b[0]}
		if p, ok := u.endpoints[k]; ok && len(p.a) == len(a) && len(p.b) == len(b) {
			return p.made
		}
	}
	made := slices.Clip(a)
	for _, e := range b[first:] {
		if missing(e) {
			made = append(made, e)
		}
	}
	sortEndpoints(made)
	if remember {
		u.endpoints[k] = pair[[]Endpoint]{a, b, made}
	}
	return made
}
