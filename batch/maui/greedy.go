package maui

// combination starts the set of jobs of the greatest total metric among the
// first so many sets in depth-first order, jobs of higher priority first. It
// is the documented BACKFILLPOLICY GREEDY: Maui 3.3.1 itself starts nothing.
func (r *run) combination(list []*job, p *part, nodes []placed, procs int64, hard bool) {
	s := sets{r: r, list: list, free: min(procs, free(nodes)), left: combinations}
	s.visit(0, 0)
	for _, j := range s.best {
		if r.within(j, hard, limitsActive) {
			r.fill(j, p, nodes)
		}
	}
}

// sets is a depth-first search for the best set of jobs by processors.
type sets struct {
	r            *run
	list         []*job
	chosen, best []*job
	total        int64
	free         int64
	left         int
}

func (s *sets) visit(i int, sum int64) {
	if sum > s.total {
		s.total, s.best = sum, append(s.best[:0], s.chosen...)
	}
	for ; i < len(s.list) && s.left > 0; i++ {
		j := s.list[i]
		if j.procs > s.free {
			continue
		}
		s.left--
		s.free -= j.procs
		s.chosen = append(s.chosen, j)
		s.visit(i+1, sum+s.r.worth(j))
		s.chosen = s.chosen[:len(s.chosen)-1]
		s.free += j.procs
	}
}
