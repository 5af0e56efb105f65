package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// local is the local schedule in the published fields: the running jobs, and
// the waiting ones with the start foreseen.
func local(s batch.State, f *batch.Forecast, names bool) []wire.Entry {
	start := map[string]batch.Expected{}
	for _, e := range f.Jobs {
		start[e.ID] = e
	}
	var list []wire.Entry
	for i := range s.Jobs {
		j := &s.Jobs[i]
		e := wire.Entry{Task: j.ID, State: "waiting", Queued: unix(j.Submitted), Procs: int32(j.Procs), Memory: j.Memory, Disk: j.Disk,
			Priority: j.Priority, Reserved: j.Reservation != ""}
		if names {
			e.User, e.Group = j.User, j.Group
		}
		placed := j.Placed
		switch want, ok := start[j.ID]; {
		case !j.Started.IsZero():
			e.State, e.Start = "running", unix(j.Started)
			if j.Requested > 0 {
				e.Completion = unix(j.Started.Add(j.Requested))
			}
		case j.Held:
			e.State = "held"
		case ok:
			e.Start, e.Completion, placed = unix(want.Start), unix(want.End), want.Placed
		}
		if len(placed) > 0 {
			e.Node = placed[0].Node
		}
		if len(placed) > 1 {
			e.Spread = spread(placed)
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b wire.Entry) int {
		if a.Task < b.Task {
			return -1
		}
		return 1
	})
	return list
}

// spread writes where a job of several nodes is.
func spread(placed []batch.Placement) string {
	var b strings.Builder
	for i, p := range placed {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s=%d", p.Node, p.Procs)
	}
	return b.String()
}

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// queues counts jobs by queue.
func queues(s batch.State) []wire.Queue {
	var list []wire.Queue
	at := map[string]int{}
	of := func(name string) *wire.Queue {
		i, ok := at[name]
		if !ok {
			i = len(list)
			at[name] = i
			list = append(list, wire.Queue{Name: name})
		}
		return &list[i]
	}
	for _, q := range s.Queues {
		of(q.Name)
	}
	for i := range s.Jobs {
		if q := of(s.Jobs[i].Queue); s.Jobs[i].Started.IsZero() {
			q.Waiting++
		} else {
			q.Running++
		}
	}
	return list
}

// load is what the owner's formula may ask.
func load(s batch.State) *wire.Load {
	l := &wire.Load{}
	for _, n := range s.Nodes {
		if n.Up {
			l.CPUs += n.CPUs
		}
	}
	for i := range s.Jobs {
		if s.Jobs[i].Started.IsZero() {
			l.Waiting++
			continue
		}
		l.Running++
		l.Busy += s.Jobs[i].Procs
	}
	return l
}

// nodes are the static resources.
func nodes(s batch.State) []wire.Node {
	list := make([]wire.Node, len(s.Nodes))
	for i, n := range s.Nodes {
		list[i] = wire.Node{Name: n.Name, CPUs: int32(n.CPUs), GPUs: int32(n.GPUs), Memory: n.Memory, Disk: n.Disk, Features: n.Features, Up: n.Up}
	}
	return list
}
