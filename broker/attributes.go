package broker

import (
	"maps"
	"slices"
	"strings"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// Attributes lists the published attributes, beyond those glue's fields hold,
// that the Requirements and Rank of jobs look at: lower-cased, sorted.
func Attributes(jobs []*jdl.Job) []string {
	names := map[string]bool{}
	for _, job := range jobs {
		for _, e := range []classad.Expr{job.Requirements, job.Rank} {
			if e == nil {
				continue
			}
			classad.Walk(e, func(e classad.Expr) bool {
				name := ""
				switch e := e.(type) {
				case *classad.Select:
					name = e.Name
				case *classad.AttrRef:
					name = e.Name
				}
				if _, held := glue.Column(name); !held && strings.HasPrefix(strings.ToLower(name), "glue") {
					names[strings.ToLower(name)] = true
				}
				return true
			})
		}
	}
	return slices.Sorted(maps.Keys(names))
}
