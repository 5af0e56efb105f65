package batch

import (
	"maps"
	"slices"
	"time"
)

// fate is how a job left the cluster. It ended well, or otherwise: it was cancelled, ran to its limit, or lost its node.
type fate struct {
	started, ended time.Time // started is zero where it never did
	well           bool
}

// awaits tells whether a job has a dependency of a kind.
func (j *Job) awaits(on Trigger) bool {
	return slices.ContainsFunc(j.After, func(d Dependency) bool { return d.On == on })
}

// settle takes in what became of another that a job may wait for: what is met is a time from which it may
// start on, what is not never will be.
func (j *Job) settle(id string, f fate) {
	var after []Dependency
	for _, d := range j.After {
		switch {
		case d.ID != id || d.On == Never:
			after = append(after, d)
		case d.On == OnSuccess && !f.well, d.On == OnFailure && f.well:
			after = append(after, Dependency{ID: id, On: Never})
		default:
			at := f.ended
			if d.On == OnStart && !f.started.IsZero() {
				at = f.started
			}
			if at = at.Add(d.Delay); at.After(j.Begin) {
				j.Begin = at
			}
		}
	}
	j.After = after
}

// awaited is whom jobs are said to wait for.
func awaited(jobs []Job) map[string]bool {
	wanted := map[string]bool{}
	for i := range jobs {
		for _, a := range jobs[i].After {
			wanted[a.ID] = true
		}
	}
	return wanted
}

// decide lets jobs go by what became of those that are gone.
func decide(jobs []Job, gone map[string]fate) {
	for i := range jobs {
		for _, a := range jobs[i].After {
			if f, known := gone[a.ID]; known {
				jobs[i].settle(a.ID, f)
			}
		}
	}
}

// settle takes in what became of jobs that are gone from the picture, for those that are said to wait for them still.
func (d *difference) settle(jobs []Job, known []bool) {
	gone, wanted := d.l.gone, awaited(jobs)
	maps.DeleteFunc(gone, func(id string, _ fate) bool { return !wanted[id] })
	if len(wanted) == 0 {
		return
	}
	for i := range d.was.Jobs {
		if j := &d.was.Jobs[i]; !known[i] && wanted[j.ID] {
			gone[j.ID] = fate{j.Started, d.now.Now, !j.Started.IsZero()}
		}
	}
	for id, e := range d.ended {
		if wanted[id] {
			gone[id] = fate{e.Started, e.Ended, !e.Started.IsZero() && !e.Cancelled && !e.Failed}
		}
	}
	for i := range jobs {
		delete(gone, jobs[i].ID) // it is there after all
	}
	decide(jobs, gone)
}

// fateMemory is a fate in a Memory, in Unix times. One that has none yet ended at 0.
type fateMemory struct {
	Started int64 `json:"started,omitempty"`
	Ended   int64 `json:"ended,omitempty"`
	Well    bool  `json:"well,omitempty"`
}

// fatesOf are those of jobs that are gone, and of jobs that are there what is known, as far as others wait for them.
func fatesOf(l *Live) map[string]fateMemory {
	kept := map[string]fateMemory{}
	for id, f := range l.gone {
		kept[id] = fateMemory{unixOf(f.started), f.ended.Unix(), f.well}
	}
	for id := range awaited(l.c.state.Jobs) {
		if i, there := l.index[id]; there {
			kept[id] = fateMemory{Started: unixOf(l.c.state.Jobs[i].Started)}
		}
	}
	return kept
}

// meet takes in fates, for those who are said to wait for these jobs still. One that was there and is not any more has
// ended by now, as one that is gone from the pictures.
func meet(l *Live, kept map[string]fateMemory) {
	clear(l.gone)
	for id := range awaited(l.c.state.Jobs) {
		f, known := kept[id]
		if _, there := l.index[id]; !known || there {
			continue
		}
		l.gone[id] = fate{timeOf(f.Started), timeOf(f.Ended), f.Well}
		if f.Ended == 0 {
			l.gone[id] = fate{timeOf(f.Started), l.Now(), f.Started != 0}
		}
	}
	decide(l.c.state.Jobs, l.gone)
}

// unixOf and timeOf are Unix times, 0 that of none.
func unixOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func timeOf(at int64) time.Time {
	if at == 0 {
		return time.Time{}
	}
	return time.Unix(at, 0).UTC()
}
