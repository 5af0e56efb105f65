package agent

import (
	"slices"
	"strings"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// claim is what local jobs need of a node that wait for room there.
type claim struct {
	queue    string
	features string // those that are all needed, comma between them
	gpus     bool
}

// unclaimed takes out of the free time of nodes what lies before the start foreseen of
// local jobs that wait for room there now. A gap that the forecast leaves before such a
// job is there by its neighbours' limits alone: they end earlier, and a guest in the gap
// is then what the job, or the next to be backfilled, waits for. Where guests give way
// to local jobs, and where the owner says so, they may have these gaps too.
func unclaimed(c *Config, s batch.State, f *batch.Forecast, booked []wire.Booking, list []batch.Slot) []batch.Slot {
	if c.Beside || c.Site.Start == wire.Partition {
		return list
	}
	end := f.At.Add(c.Horizon)
	claims := claimsOf(s, f, end, booked)
	if len(claims) == 0 {
		return list
	}
	until := make(map[string]time.Time, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		for of, at := range claims {
			if at.After(until[n.Name]) && of.on(n) {
				until[n.Name] = at
			}
		}
	}
	kept := list[:0]
	for _, v := range list {
		if at := until[v.Node]; at.After(v.From) {
			v.From = at
		}
		to := v.To
		if to.IsZero() {
			to = end
		}
		if v.From.Before(to) {
			kept = append(kept, v)
		}
	}
	return kept
}

// claimsOf are the claims of local jobs and when the last of each has got its room, as
// it is foreseen; of those that are not foreseen that is a given time.
func claimsOf(s batch.State, f *batch.Forecast, end time.Time, booked []wire.Booking) map[claim]time.Time {
	var starts map[string]time.Time
	var free *room
	var guests []wire.Booking // that no job is taken for yet
	claims := map[claim]time.Time{}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if !j.Started.IsZero() || j.Held || len(j.After) > 0 || j.Reservation != "" || j.Begin.After(s.Now) {
			continue
		}
		if guests == nil {
			guests = slices.Clone(booked)
		}
		if k := slices.IndexFunc(guests, func(b wire.Booking) bool { return isGuest(j, &b) }); k >= 0 {
			guests = slices.Delete(guests, k, k+1)
			continue
		}
		if free == nil {
			free, starts = roomOf(s), startTimes(f)
		}
		if free.fits(j) {
			continue
		}
		at, foreseen := starts[j.ID]
		if !foreseen {
			at = end
		}
		need := claimOf(j)
		for _, need.queue = range append([]string{j.Queue}, j.Also...) {
			if at.After(claims[need]) {
				claims[need] = at
			}
		}
	}
	return claims
}

// startTimes are the starts foreseen, by job.
func startTimes(f *batch.Forecast) map[string]time.Time {
	starts := make(map[string]time.Time, len(f.Jobs))
	for i := range f.Jobs {
		starts[f.Jobs[i].ID] = f.Jobs[i].Start
	}
	return starts
}

// isGuest tells whether a waiting job may be what was sent for a booking: batch
// systems know it by another name. Some count wall times in minutes, some not at all.
func isGuest(j *batch.Job, b *wire.Booking) bool {
	more := int64(j.Requested/time.Second) - (b.To - b.From)
	return !b.Running && int(b.Procs) == j.Procs && (j.Requested == 0 || more >= 0 && more < 60)
}

func claimOf(j *batch.Job) claim { return claim{j.Queue, strings.Join(j.Features, ","), j.GPUs > 0} }

// on tells whether what is claimed may be on a node.
func (c claim) on(n *batch.Node) bool {
	if c.gpus && n.GPUs == 0 || c.queue != "" && len(n.Queues) > 0 && !slices.Contains(n.Queues, c.queue) {
		return false
	}
	for f := range strings.SplitSeq(c.features, ",") {
		if f != "" && !n.Has(f) {
			return false
		}
	}
	return true
}

// room is what is free now.
type room struct {
	nodes []batch.Node
	free  map[string]int // nil: not known
	known map[size]bool  // for what there is room: queues are long, and much in them is alike
}

// size is what a job needs to be free.
type size struct {
	claim
	procs, nodes int
	exclusive    bool
}

func roomOf(s batch.State) *room { return &room{s.Nodes, freeNow(s), map[size]bool{}} }

// fits tells whether there is room for a job now: if it waits all the same, it is for
// a limit or its turn, and no guest stands in its way.
func (r *room) fits(j *batch.Job) bool {
	need := size{claimOf(j), j.Procs, j.Nodes, j.Exclusive}
	there, known := r.known[need]
	if !known {
		there = r.free != nil && r.has(need)
		r.known[need] = there
	}
	return there
}

func (r *room) has(need size) bool {
	procs, nodes := 0, 0
	for i := range r.nodes {
		n := &r.nodes[i]
		free := r.free[n.Name]
		if free <= 0 || need.exclusive && free < n.CPUs || need.nodes > 0 && free*need.nodes < need.procs || !need.on(n) {
			continue
		}
		if procs, nodes = procs+free, nodes+1; procs >= need.procs && nodes >= need.nodes {
			return true
		}
	}
	return false
}
