package maui

// filling is backfill into one window of a partition.
type filling struct {
	*run
	part  *part
	nodes []placed // of the window, with their tasks
	procs int64
	hard  bool // by hard limits
}

// backfill starts jobs beside the reservations: window after window, the
// shortest with the most nodes first.
func (r *run) backfill(list []*job, p *part, hard bool) {
	for last := int64(0); ; {
		nodes, procs, span := r.window(p, last)
		if len(nodes) == 0 || span == 0 {
			return
		}
		last = span
		candidates := r.candidates(list, selection{hard: hard, part: p, procs: procs, span: r.scaled(nodes, span)})
		if len(candidates) == 0 {
			continue
		}
		f := filling{r, p, nodes, procs, hard}
		switch r.Config.Backfill {
		case "BESTFIT":
			f.bestFit(candidates)
		case "GREEDY":
			f.combination(candidates)
		default:
			f.firstFit(candidates)
		}
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// fill starts a job in the window; those of higher priority are overtaken.
func (f *filling) fill(j *job) bool {
	list, ok := f.selectNodes(j, f.part, f.nodes, false)
	if !ok || !f.tryStart(j, list) {
		f.takeBack()
		return false
	}
	j.backfill = f.Config.Backfill == "PREEMPT"
	for _, other := range f.jobs {
		if other == j {
			break
		}
		if other.State == JobIdle {
			other.bypass++
		}
	}
	return true
}

// firstFit starts jobs in order of priority.
func (f *filling) firstFit(list []*job) {
	for _, j := range list {
		if free(f.nodes) == 0 {
			return
		}
		if j.State == JobIdle && j.procs <= min(f.procs, free(f.nodes)) && f.within(j, f.hard, limitsActive) {
			f.fill(j)
		}
	}
}

// free counts the processors of a window that are free still.
func free(nodes []placed) (n int64) {
	for _, t := range nodes {
		n += max(0, t.node.have.procs-t.node.used.procs)
	}
	return n
}

// worth is a job's BACKFILLMETRIC.
func (c *Config) worth(j *job) int64 {
	switch c.Metric {
	case "PROCSECONDS":
		return j.procs * j.Limit
	case "SECONDS":
		return j.Limit
	}
	return j.procs
}

// bestFit starts again and again the job of the greatest metric that fits, of
// equals the one of higher priority.
func (f *filling) bestFit(list []*job) {
	for procs := f.procs; ; {
		best, at := int64(0), -1
		for i, j := range list {
			if j == nil || j.State != JobIdle || j.procs > procs {
				continue
			}
			if f.Config.worth(j) <= best {
				continue
			}
			_, ok := f.selectNodes(j, f.part, f.nodes, false)
			if f.takeBack(); !ok || !f.within(j, f.hard, limitsActive) {
				list[i] = nil
				continue
			}
			best, at = f.Config.worth(j), i
		}
		if at < 0 {
			return
		}
		if j := list[at]; f.fill(j) {
			procs -= j.procs
		}
		list[at] = nil
	}
}
