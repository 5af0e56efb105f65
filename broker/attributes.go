package broker

import (
	"maps"
	"slices"
	"strings"

	"gridbroker/glue"
	"gridbroker/jdl"
)

// Attributes lists the published attributes, beyond those glue's fields hold,
// that the Requirements and Rank of jobs look at: lower-cased, sorted.
func Attributes(jobs []*jdl.Job) []string {
	names := map[string]bool{}
	for _, job := range jobs {
		for _, e := range []jdl.Expr{job.Requirements, job.Rank} {
			if e == nil {
				continue
			}
			jdl.Walk(e, func(e jdl.Expr) bool {
				name := ""
				switch e := e.(type) {
				case *jdl.Select:
					name = e.Name
				case *jdl.AttrRef:
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
