package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// local is the local schedule in the published fields: the running jobs, and
// the waiting ones with the start foreseen: of those that start within the horizon
// by this look, of others by the last time that the whole queue was worked out. What
// was told of a job stays while it is near enough: what is new, and who is gone, is listed.
func local(a *Agent, s batch.State, f *batch.Forecast, t *toldJobs) (list []wire.Entry, gone []string) {
	starts, end := startsOf(a, f), f.At.Add(a.Conf.Horizon).Unix()
	t.begin()
	for i := range s.Jobs {
		j := &s.Jobs[i]
		e := wire.Entry{Task: j.ID, State: "waiting", Queued: unix(j.Submitted), Procs: int32(j.Procs), Memory: j.Memory, Disk: j.Disk,
			Priority: j.Priority, Reserved: j.Reservation != ""}
		if a.Conf.Names {
			e.User, e.Group = j.User, j.Group
		}
		placed := j.Placed
		switch want, ok := starts(j.ID); {
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
		was, now := t.see(j.ID), f.At.Unix()
		if stays(was, &e, now) {
			t.until = min(t.until, toldFor(was, &e, now, end))
			continue
		}
		t.until = min(t.until, toldFor(&e, &e, now, end))
		if e = on(e, placed); e != *was {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b wire.Entry) int { return cmp.Compare(a.Task, b.Task) })
	return list, t.gone()
}

// startsOf finds when a job is expected to start.
func startsOf(a *Agent, f *batch.Forecast) func(id string) (batch.Expected, bool) {
	near := make(map[string]int, len(f.Jobs))
	for i := range f.Jobs {
		near[f.Jobs[i].ID] = i
	}
	whole := a.foretold.Load()
	end := f.At.Add(a.Conf.Horizon)
	return func(id string) (batch.Expected, bool) {
		if i, ok := near[id]; ok {
			return f.Jobs[i], true
		}
		if whole == nil {
			return batch.Expected{}, false
		}
		e, ok := whole.starts[id]
		if late := end.Sub(e.Start); ok && late > 0 { // it would start within the horizon, were it so still
			e.Start, e.End = end, e.End.Add(late)
		}
		return e, ok
	}
}

// The start told of a job stays where it is off by less than half a minute, or by less
// than a share of the time until then: nodes and order change with every event.
const (
	startOff   = 30 // seconds
	startShare = 20
	startSoon  = 600 // seconds ahead, from which on jobs' nodes are told
)

// stays tells whether what was told of a job is as good as what is foreseen now, of
// which it is not said yet where.
func stays(was, is *wire.Entry, now int64) bool {
	e := *was
	if e.Start, e.Completion, e.Node, e.Spread = is.Start, is.Completion, "", ""; e != *is || is.State != "waiting" || (was.Start == 0) != (is.Start == 0) {
		return false
	}
	off := is.Start - max(was.Start, now)
	return is.Start-now > startSoon && max(off, -off) <= max(startOff, (is.Start-now)/startShare)
}

// on is an entry with where it is.
func on(e wire.Entry, placed []batch.Placement) wire.Entry {
	if len(placed) > 0 {
		e.Node = placed[0].Node
	}
	if len(placed) > 1 {
		e.Spread = spread(placed)
	}
	return e
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

// localLoad is a load of which guests are no jobs, though their processors are in use: an owner
// who lets fewer in while many of his own wait does not mean them.
func localLoad(s batch.State, booked []wire.Booking) *wire.Load {
	l := load(s)
	_, waiting, running := guests(s, booked)
	l.Waiting, l.Running = l.Waiting-waiting, l.Running-running
	return l
}

// walls are the wall times that queues allow, in seconds; nil: none says.
func walls(s batch.State) map[string]int64 {
	var most map[string]int64
	for i := range s.Queues {
		q := &s.Queues[i]
		if q.MaxWallTime < time.Second {
			continue
		}
		if most == nil {
			most = map[string]int64{}
		}
		most[q.Name] = int64(q.MaxWallTime / time.Second)
		if q.Default {
			most[""] = most[q.Name]
		}
	}
	return most
}

// nodes are the static resources.
func nodes(s batch.State) []wire.Node {
	list := make([]wire.Node, len(s.Nodes))
	for i, n := range s.Nodes {
		list[i] = wire.Node{Name: n.Name, CPUs: int32(n.CPUs), GPUs: int32(n.GPUs), Memory: n.Memory, Disk: n.Disk, Features: n.Features, Up: n.Up}
	}
	return list
}
