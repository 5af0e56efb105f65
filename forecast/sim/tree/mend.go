package tree

import "gridbroker/forecast/managers"

// mend is what happens when a failure is known: links go down, and by the
// configuration the tree heals and brokers hand in again what waited there.
func (s *sim) mend(gone int) {
	n := s.nodes[gone]
	children, parent := n.children, n.parent
	neighbours := children
	if parent >= 0 {
		neighbours = append(append([]int(nil), children...), parent)
	}
	for _, k := range neighbours {
		s.epochs[pair(k, gone)]++
		s.apply(k, s.nodes[k].manager.Down(s.now, s.nodes[k].links[gone]))
	}
	if s.config.Heal {
		s.rejoin(children, parent)
	}
	if s.config.Resubmit {
		s.resubmit(gone)
	}
}

// rejoin brings the children of a lost manager to its parent; under a lost root the first of them becomes root.
func (s *sim) rejoin(children []int, parent int) {
	if parent < 0 && len(children) > 0 {
		parent, children = children[0], children[1:]
		s.nodes[parent].parent = -1
	}
	for _, c := range children {
		s.join(c, parent)
		s.connect(c, parent)
	}
}

// resubmit hands in again every job that was last heard of at the failed manager.
func (s *sim) resubmit(gone int) {
	for i := range s.jobs {
		if s.last[i] == gone && s.starts[i].System < 0 {
			s.result.Resubmitted++
			s.cal.add(s.now, submit, s.jobs[i].Home, i)
		}
	}
}

// measure works the result out.
func (s *sim) measure(nodes []int) *Result {
	r := &s.result
	r.Starts, r.Submitted = s.starts, len(s.jobs)
	var wait, used float64
	away := 0
	for i, st := range s.starts {
		if st.System < 0 || st.At > s.horizon {
			continue
		}
		j := &s.jobs[i]
		r.Started++
		wait += float64(st.At - j.Submit)
		if st.System != j.Home {
			away++
		}
		if st.At+j.Run <= s.horizon {
			r.Done++
		}
		used += float64(min(j.Run, s.horizon-st.At)) * float64(j.Width)
	}
	all := 0
	for _, n := range nodes {
		all += n
	}
	r.Ratio = float64(r.Done) / float64(max(1, r.Submitted))
	r.Utilisation = used / (float64(all) * float64(s.horizon))
	if r.Started > 0 {
		r.MeanWait = wait / float64(r.Started) / TicksPerUnit
		r.Away = float64(away) / float64(r.Started)
	}
	s.measureTraffic(r)
	return r
}

func (s *sim) measureTraffic(r *Result) {
	per := float64(max(1, r.Submitted))
	r.ChangesPerJob, r.RequestsPerJob = float64(s.changes)/per, float64(s.reqs)/per
	for _, n := range s.nodes {
		if b := float64(n.taken) / per; b > r.Busiest {
			r.Busiest = b
			r.BusiestLoad = min(1, float64(n.busyTime)/float64(s.horizon))
		}
	}
	r.Lost = s.countLost()
}

// countLost counts the jobs that have not started and that no queue, inbox or link has.
func (s *sim) countLost() int {
	if len(s.nodes) == 0 {
		return 0
	}
	has := map[managers.ID]bool{}
	for _, n := range s.nodes {
		if !n.dead {
			for _, j := range n.manager.Waiting() {
				has[j.ID] = true
			}
		}
	}
	for i := range s.store {
		p := &s.store[i]
		switch {
		case p.message.Job != nil:
			has[p.message.Job.ID] = true
		case p.from < 0 && len(s.passed) > p.job:
			has[s.passed[p.job].ID] = true
		}
	}
	for _, e := range s.cal.heap {
		if e.kind == submit {
			has[s.passed[e.what].ID] = true
		}
	}
	lost := 0
	for i := range s.jobs {
		if s.starts[i].System < 0 && !has[s.passed[i].ID] {
			lost++
		}
	}
	return lost
}
