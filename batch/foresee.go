package batch

import "slices"

// Foreseen is how long a job will wait from the time of a forecast on, as several
// beliefs about run times have it.
type Foreseen struct {
	Job   Job
	Limit int64   // seconds that the policy plans with
	Run   int64   // seconds that the Forecaster's Beside believes; Limit where there is none
	Waits []int64 // seconds, by belief
	Ran   int     // of the beliefs, the first so many were gone by; the rest have no wait
}

// Members makes several beliefs of what similar jobs took.
type Members func(*Similar) []Belief

// Foresee runs the schedule under several beliefs about run times and tells how
// long some of the waiting jobs wait under each. A job that does not wait, or
// does not start under all of them, is left out. It costs a run of the schedule
// for each belief, up to the last of the starts asked for.
func (f *Forecast) Foresee(members Members, ids []string) []Foreseen {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := make(map[string]bool, len(ids))
	for _, id := range ids {
		asked[id] = true
	}
	var places []int32
	for i := range f.c.state.Jobs {
		if at := f.c.at[i]; at >= 0 && asked[f.c.state.Jobs[i].ID] {
			places = append(places, at)
		}
	}
	return f.foresee(f.c, members, places, func() bool { return true })
}

// AskAbout is Ask under several beliefs, one after the other: under the first in
// any case, under the next as long as it is to go on.
func (f *Forecast) AskAbout(members Members, j Job, goOn func() bool) (Foreseen, Refusal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, id, done, why := f.enter(j)
	defer done()
	if why.Cause != "" {
		return Foreseen{}, why
	}
	if list := f.foresee(c, members, []int32{id}, goOn); len(list) == 1 {
		return list[0], Refusal{}
	}
	if _, why := f.await(c, id, 0); why.Cause != "" {
		return Foreseen{}, why
	}
	return Foreseen{}, refuse(NoRoom, "it does not start").of(j.ID)
}

// foresee runs the schedule under each belief until the jobs at some places have
// started.
func (f *Forecast) foresee(c *cluster, members Members, places []int32, goOn func() bool) []Foreseen {
	beliefs := members(f.f.similar())
	bySeq := make(map[int64]int, len(places))
	var list []Foreseen
	for _, at := range places {
		j := &c.jobs[at]
		if j.state == running {
			continue
		}
		bySeq[j.seq] = len(list)
		waits := slices.Repeat([]int64{never}, len(beliefs))
		list = append(list, Foreseen{Job: c.state.Jobs[j.ID], Limit: j.Limit, Run: f.f.similar().Run(&j.Task, 0), Waits: waits})
	}
	var run *forward
	ran := 0
	for n, b := range beliefs {
		if n > 0 && !goOn() {
			break
		}
		ran = n + 1
		run = c.forward(b, run)
		for left := len(list); left > 0; {
			j, ok := run.next()
			if !ok {
				break
			}
			if i, is := bySeq[j.seq]; is {
				list[i].Waits[n] = j.start - c.now
				left--
			}
		}
	}
	for i := range list {
		list[i].Ran = ran
	}
	return slices.DeleteFunc(list, func(f Foreseen) bool { return slices.Contains(f.Waits[:ran], never) })
}

// similar is what Beside has learned; what knows nothing where there is none.
func (f *Forecaster) similar() *Similar {
	if f.Beside == nil {
		f.Beside = NewSimilar()
	}
	return f.Beside
}
