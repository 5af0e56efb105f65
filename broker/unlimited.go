package broker

import (
	"fmt"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// FreeAt is a sentence for each limit that a job's Requirements look at and that the chosen resource says it does not have: it
// stands for a large number there.
func FreeAt(job *jdl.Job, res *glue.Resource) []string {
	var out []string
	if job.SubmitTo != "" || res.Unlimited == 0 {
		return nil
	}
	for _, e := range classad.Conjuncts(job.Requirements) {
		for _, name := range references(job, e) {
			if value, _ := res.Lookup(name); res.Free(glue.LimitOf(name)) {
				out = append(out, fmt.Sprintf("%s (%s) is %s there, since the queue is said to have no such limit", name, newClause(e).at(), shortValue(value)))
			}
		}
	}
	return out
}
