package rank

import "fmt"

// scorePaper prepares the published hybrid algorithm (Petrenko, Svistunov,
// Svirin 2012): the total queue is N = ΣL_j + L_a, S = N where a queue-length
// service gave full information and N + 1 where not, and the mark is drawn
// as M = rand(0, 1/S). The paper leaves S = 0 open and prints marks below 1
// for an idle resource, hence 1/max(S, 1). Score holds 1/S until the draw.
func scorePaper(_ *Policy, _ *scene, c *Candidate) Ranked {
	queue := Term{Name: "total queue", Unit: "jobs", Source: c.Resource.Source, Age: c.Age, Weight: 1}
	var n int64
	if c.Queue != nil {
		n, queue.Source, queue.OK = c.Queue.Total(), c.Queue.Source, true
	} else if waiting, ok := c.published(); ok {
		n, queue.OK = waiting, true
	} else {
		queue.Source = "prior"
	}
	n += int64(c.Placed.Jobs)
	queue.Raw = float64(n)
	s := n
	if c.Queue == nil {
		s++
	}
	return Ranked{Candidate: *c, Score: 1 / float64(max(s, 1)), Terms: []Term{queue}}
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
