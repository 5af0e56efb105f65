package plan

import "math"

// Why counts what keeps a job from the slots there are. Every slot counts once,
// for the first thing that stands in the way.
type Why struct {
	Slots     int  `json:"slots"`
	Stale     int  `json:"stale"`    // the cluster's schedule is too old, or the cluster is drained
	Rights    int  `json:"rights"`   // the owner does not let the user in, or nodes lack a feature
	Priority  int  `json:"priority"` // a local job outranks it
	Owner     int  `json:"owner"`    // no local job is before it, but the owner's function gives it no priority above 0
	Guest     int  `json:"guest"`    // longer than guests may run there
	Short     int  `json:"short"`    // the slot ends too soon
	Small     int  `json:"small"`    // too few processors or too little memory
	Later     int  `json:"later"`    // begins after what this cycle books
	Fit       int  `json:"fit"`      // could serve, alone or with others; other jobs come first
	NoBudget  bool `json:"no_budget"`
	Nearest   int  `json:"nearest"`   // start of the first that fits; seconds after the epoch
	Bypassed  int  `json:"bypassed"`  // by jobs that came later
	Untouched bool `json:"untouched"` // by the bound it goes first now
}

// Explain looks at every slot for one job.
func Explain(j Job, slots []Slot, r *Rules) Why { return explain(&j, slots, r, math.MaxInt) }

// Hinder is Explain that looks no further once it has found a slot that fits: other jobs stand in the way then, and what the
// other slots lack does not matter.
func Hinder(j *Job, slots []Slot, r *Rules) Why { return explain(j, slots, r, 1) }

// explain looks at slots until so many fit.
func explain(j *Job, slots []Slot, r *Rules, most int) Why {
	w := Why{Slots: len(slots), Bypassed: int(j.Bypassed), Untouched: r.MaxBypass > 0 && j.Bypassed >= r.MaxBypass}
	w.NoBudget = !r.affords(j, r.Users[j.User].Left)
	for i := range slots {
		if w.Fit == most {
			break
		}
		s := slots[i]
		c := &r.Clusters[s.Cluster]
		tmin, tmax := r.window(j, s.Cluster)
		s.From = max(s.From, tmin)
		switch {
		case !c.open():
			w.Stale++
		case !r.Wishes[j.Wish].Allows(s.Cluster, s.Class):
			w.Rights++
		case s.Priority == 0 && !r.outranks(j, &s):
			w.Owner++
		case !r.outranks(j, &s):
			w.Priority++
		case !c.takes(j.Wall):
			w.Guest++
		case s.To != Never && s.To-s.From < j.Wall:
			w.Short++
		case j.Nodes <= 1 && j.Procs > int32(s.CPUs) && j.Nodes == 1, s.Memory > 0 && j.Memory > s.Memory:
			w.Small++
		case s.From > tmax:
			w.Later++
		default:
			if w.Fit++; w.Nearest == 0 || int(s.From) < w.Nearest {
				w.Nearest = int(s.From)
			}
		}
	}
	return w
}
