package maui

// combination starts the set of jobs of the greatest total metric among the
// first so many sets in depth-first order, jobs of higher priority first. It
// is the documented BACKFILLPOLICY GREEDY: Maui 3.3.1 itself starts nothing.
func (f *filling) combination(list []*job) {
	s := sets{config: f.Config, list: list, free: min(f.procs, free(f.nodes)), left: combinations}
	s.visit(0, 0)
	for _, j := range s.best {
		if f.within(j, f.hard, limitsActive) {
			f.fill(j)
		}
	}
}

// sets is a depth-first search for the best set of jobs by processors.
type sets struct {
	config       *Config
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
		s.visit(i+1, sum+s.config.worth(j))
		s.chosen = s.chosen[:len(s.chosen)-1]
		s.free += j.procs
	}
}
