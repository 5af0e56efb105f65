package maui

// windowJob asks for one processor for a second: how long the nodes have room
// for it makes the backfill windows.
var windowJob = job{
	Job: &Job{Tasks: 1, Limit: 1}, memory: &memory{}, each: quantity{procs: 1}, procs: 1, qos: &noCredential, qosName: "DEFAULT",
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
		candidates := r.candidates(list, p, selection{hard: hard, part: p, procs: procs, span: r.scaled(nodes, span)})
		if len(candidates) == 0 {
			continue
		}
		switch r.Config.Backfill {
		case "BESTFIT":
			r.bestFit(candidates, p, nodes, procs, hard)
		case "GREEDY":
			r.combination(candidates, p, nodes, procs, hard)
		default:
			r.firstFit(candidates, p, nodes, procs, hard)
		}
	}
}

// window is the nodes that are free now for longer than the last window's
// span: with their tasks, the processors in all, and the least span of them.
func (r *run) window(p *part, last int64) (nodes []placed, procs, span int64) {
	span = never
	for _, n := range p.nodes {
		if !n.usable() || n.used.procs >= n.have.procs {
			continue
		}
		count, length := r.opening(&windowJob, n, r.now)
		if count <= 0 || length <= last {
			continue
		}
		nodes = append(nodes, placed{n, count})
		procs += count
		span = min(span, length)
	}
	return nodes, procs, span
}

// scaled is a span at the speed of the fastest node.
func (r *run) scaled(nodes []placed, span int64) int64 {
	fastest := 0.0
	for _, t := range nodes {
		fastest = max(fastest, t.node.speed())
	}
	if fastest == 1 || span >= never/4 {
		return span
	}
	return int64(float64(span) * fastest)
}

// candidates lists the jobs that may be backfilled into a window.
func (r *run) candidates(list []*job, p *part, by selection) (out []*job) {
	for _, j := range r.selectJobs(list, by) {
		if j.reserved != nil || contains(j.qos.Flags, "NOBF") || j.State != JobIdle {
			continue
		}
		out = append(out, j)
		if r.Config.BackfillDepth > 0 && len(out) >= r.Config.BackfillDepth {
			break
		}
	}
	return out
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// fill starts a job in a window; those of higher priority are overtaken.
func (r *run) fill(j *job, p *part, nodes []placed) bool {
	list, ok := r.selectNodes(j, p, nodes, false)
	if !ok || !r.tryStart(j, list) {
		return false
	}
	j.backfill = r.Config.Backfill == "PREEMPT"
	for _, other := range r.jobs {
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
func (r *run) firstFit(list []*job, p *part, nodes []placed, procs int64, hard bool) {
	for _, j := range list {
		if free(nodes) == 0 {
			return
		}
		if j.State == JobIdle && j.procs <= min(procs, free(nodes)) && r.within(j, hard, limitsActive) {
			r.fill(j, p, nodes)
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
func (r *run) worth(j *job) int64 {
	switch r.Config.Metric {
	case "PROCSECONDS":
		return j.procs * j.Limit
	case "SECONDS":
		return j.Limit
	}
	return j.procs
}

// bestFit starts again and again the job of the greatest metric that fits, of
// equals the one of higher priority.
func (r *run) bestFit(list []*job, p *part, nodes []placed, procs int64, hard bool) {
	for {
		best, at := int64(0), -1
		for i, j := range list {
			if j == nil || j.State != JobIdle || j.procs > procs {
				continue
			}
			if r.worth(j) <= best {
				continue
			}
			if _, ok := r.selectNodes(j, p, nodes, false); !ok || !r.within(j, hard, limitsActive) {
				list[i] = nil
				continue
			}
			best, at = r.worth(j), i
		}
		if at < 0 {
			return
		}
		if j := list[at]; r.fill(j, p, nodes) {
			procs -= j.procs
		}
		list[at] = nil
	}
}
