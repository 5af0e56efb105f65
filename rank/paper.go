package rank

import (
	"fmt"

	"gridbroker/glue"
)

// scorePaper prepares the published hybrid algorithm (Petrenko, Svistunov,
// Svirin 2012): the total queue is N = ΣL_j + L_a, S = N where a queue-length
// service gave full information and N + 1 where not, and the mark is drawn
// as M = rand(0, 1/S). The paper leaves S = 0 open and prints marks below 1
// for an idle resource, hence 1/max(S, 1). Score holds 1/S until the draw, of
// which there is one for all shares of a batch system; among these the one with
// the fewest waiting jobs comes first. L_j and L_a are the service's; a service
// that does not tell L_a leaves it to the information system, and without one
// both are as published, L_j over all queues of the batch system.
func scorePaper(_ *Policy, sc *scene, c *Candidate) score {
	queue := Term{Name: "total queue", Unit: "jobs", Source: c.Resource.Source, Age: c.Age, Weight: 1}
	var n int64
	if c.Queue != nil {
		n, queue.Source, queue.OK = c.Queue.Total()-count(c.Queue.CE)+c.held(), c.Queue.Source, true
	} else if waiting, ok := c.published(); ok {
		n, queue.OK = max(waiting, count(c.LRMSWaiting.Or(0))+c.held()), true
	} else {
		queue.Source = "prior"
	}
	n += int64(c.Placed.Jobs)
	queue.Raw = float64(n)
	s := n
	if c.Queue == nil {
		s++
	}
	return score{value: 1 / float64(max(s, 1)), terms: append(sc.terms(), queue)}
}

// held is L_a, the jobs that the computing element itself holds: by the
// queue-length service, else as published.
func (c *Candidate) held() int64 {
	if c.Queue != nil && c.Queue.CE > 0 {
		return count(c.Queue.CE)
	}
	if c.Resource.StateIsPlaceholder {
		return 0
	}
	return count(c.Resource.PreLRMSWaiting.Or(0)) + count(c.Resource.Staging.Or(0))
}

// LRMS names the batch system behind a resource.
func LRMS(r *glue.Resource) string {
	if name := r.ClusterName(); name != "" {
		return r.Site + "\x00" + name
	}
	return "\x00" + r.ID
}

// paperKeys gives all shares of a batch system one draw, the first one's.
func (f *Field) paperKeys(ks []key) {
	drawn := map[string]float64{}
	for i := range ks {
		e := &f.entries[i]
		name := LRMS(e.base.Resource)
		if u, ok := drawn[name]; ok {
			ks[i].u = u
		} else {
			drawn[name] = ks[i].u
		}
		waiting := int64(e.placed().Jobs)
		if !e.base.Resource.StateIsPlaceholder {
			waiting += count(e.base.Resource.Waiting.Or(0))
		}
		ks[i].first, ks[i].second = e.score.value*ks[i].u, -float64(waiting)
	}
}

// mark draws M for a resource scored by scorePaper.
func mark(r *Ranked, u float64) {
	r.Score *= u
	r.Terms = append(r.Terms[:1:1], Term{Name: "mark", Raw: r.Score, Unit: "drawn below 1/S", Source: "drawn", Weight: 1, OK: true})
}

// Marks is the log of marks of policy paper, one line a resource in the
// order of the ranking.
func Marks(rs []Ranked) []string {
	lines := make([]string, 0, len(rs))
	for _, r := range rs {
		at := r.Endpoint.URL
		if at == "" {
			at = r.Resource.ID
		}
		lines = append(lines, fmt.Sprintf("Mark generated for %s: %.4g", at, r.Score))
	}
	return lines
}
