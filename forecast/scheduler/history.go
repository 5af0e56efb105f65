package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"gridbroker/forecast/wire"
)

// How finely and for how long the past is kept, in seconds.
const (
	sampleStep = 300
	sampleKept = 26 * 3600
	sampleWait = 30 // between two looks at a cluster
	aheadSteps = 72 // of sampleStep: six hours
)

// Ahead is what is foreseen of a cluster, each element for sampleStep seconds,
// the first of them under way.
type Ahead struct {
	Free   []int32 `json:"free"`   // processors in slots, less what is booked of them
	Sure   []int32 `json:"sure"`   // each times its chance
	Guests []int32 `json:"guests"` // booked
}

// Sample is a cluster at a time, and what was foreseen of it then.
type Sample struct {
	Cluster string     `json:"cluster"`
	At      int64      `json:"at"`
	Made    int64      `json:"made"`
	CPUs    int64      `json:"cpus"`
	Busy    int64      `json:"busy"` // guests are among them
	Guests  int64      `json:"guests"`
	In      [4]float64 `json:"in"` // promised to be free after each of leads
	Ahead   *Ahead     `json:"ahead,omitempty"`
}

// leads are the seconds ahead at which promises are held against what came.
var leads = [4]int64{300, 900, 1800, 3600}

// sample writes down now and then what the clusters do and what is foreseen.
func (w *work) sample(ctx context.Context) error {
	now := w.now.Unix()
	if w.s.conf.NoHistory || now-w.mem.sampled < sampleWait {
		return nil
	}
	w.mem.sampled = now
	busy, list := w.mem.busy(now), []Sample(nil)
	guests := w.mem.guests()
	for name, c := range w.mem.clusters {
		if wire.Usable(c.made, c.ttl, now) {
			list = append(list, c.sample(now, busy[name], guests[name]))
		}
	}
	if len(list) == 0 {
		return nil
	}
	return past{w.h}.saveSamples(ctx, list)
}

// guests lists the places of the jobs that are or will be at each cluster.
func (m *memory) guests() map[string][]*Job {
	all := map[string][]*Job{}
	for _, e := range m.jobs.places() {
		j := e.Job
		if j.Booking != nil && (j.State == Booked || j.State == Sent || j.State == Running) {
			all[j.Booking.Cluster] = append(all[j.Booking.Cluster], j)
		}
	}
	return all
}

// sample sums up a cluster.
func (c *cluster) sample(now int64, busy map[string][]wire.Use, guests []*Job) Sample {
	s := Sample{Cluster: c.name, At: now - now%sampleStep, Made: c.made, CPUs: int64(c.load.CPUs), Busy: int64(c.load.Busy)}
	free, sure, booked := newSteps(now), newSteps(now), newSteps(now)
	add := func(v wire.Slot) {
		if v.Priority <= 0 {
			free.add(v.From, v.To, float64(v.CPUs))
			sure.add(v.From, v.To, float64(v.CPUs)*v.Start)
		}
	}
	if len(busy) == 0 { // as in most of many clusters: nothing is to be copied
		c.set.All(add)
	} else {
		for _, v := range wire.Subtract(c.slots(), busy) {
			add(v)
		}
	}
	for _, j := range guests {
		if booked.add(j.Booking.From, max(j.Booking.To, now+1), float64(j.Procs)); j.State == Running {
			s.Guests += int64(j.Procs)
		}
	}
	s.Ahead = &Ahead{free.sums(), sure.sums(), booked.sums()}
	for k, lead := range leads {
		s.In[k] = float64(s.Ahead.Sure[lead/sampleStep])
	}
	return s
}

// slots lists a cluster's slots by ID. Nobody changes the list, which is kept until they do: of many it
// would take as much memory again.
func (c *cluster) slots() []wire.Slot {
	if c.listed != nil {
		return c.listed
	}
	list := make([]wire.Slot, 0, c.set.Len())
	c.set.All(func(v wire.Slot) { list = append(list, v) })
	slices.SortFunc(list, func(a, b wire.Slot) int { return cmp.Compare(a.ID, b.ID) })
	if len(list) <= mostListed {
		c.listed = list
	}
	return list
}

// mostListed is how many slots of a cluster are kept as a list, too.
const mostListed = 500

// steps adds up amounts over stretches of time.
type steps struct {
	from  int64
	delta [aheadSteps + 1]float64
}

func newSteps(now int64) *steps { return &steps{from: now} }

// add enters an amount from a time to a time; 0: to no end. What begins within a
// step counts from its middle on.
func (s *steps) add(from, to int64, amount float64) {
	last := int64(aheadSteps)
	if to > 0 {
		last = s.place(to)
	}
	first := s.place(from)
	if first < last {
		s.delta[first] += amount
		s.delta[last] -= amount
	}
}

func (s *steps) place(at int64) int64 {
	return min(aheadSteps, max(0, (at-s.from+sampleStep/2)/sampleStep))
}

func (s *steps) sums() []int32 {
	list, sum := make([]int32, aheadSteps), 0.0
	for i := range list {
		sum += s.delta[i]
		list[i] = int32(sum + 0.5)
	}
	return list
}

// past is a transaction that keeps and reads what was.
type past struct{ handle }

// saveSamples writes samples; later ones of the same five minutes take the place
// of earlier ones.
func (h past) saveSamples(ctx context.Context, list []Sample) error {
	return h.writeEach(ctx, `insert into sample (cluster, at, made, cpus, busy, guests, in5, in15, in30, in60, ahead)
		select t.value->>'cluster', cast(t.value->>'at' as {int}), cast(t.value->>'made' as {int}), cast(t.value->>'cpus' as {int}),
		cast(t.value->>'busy' as {int}), cast(t.value->>'guests' as {int}),
		cast(t.value->'in'->>0 as {real}), cast(t.value->'in'->>1 as {real}), cast(t.value->'in'->>2 as {real}), cast(t.value->'in'->>3 as {real}),
		cast(t.value->'ahead' as text) from {each} where true
		on conflict (cluster, at) do update set made = excluded.made, cpus = excluded.cpus, busy = excluded.busy, guests = excluded.guests,
		in5 = excluded.in5, in15 = excluded.in15, in30 = excluded.in30, in60 = excluded.in60, ahead = excluded.ahead`, list)
}

// samples reads the samples of a time, of all clusters or of those named, by
// cluster and time, without what was foreseen.
func (h past) samples(ctx context.Context, from, to int64, names ...string) (map[string][]Sample, error) {
	text, err := jsonText(names)
	if err != nil {
		return nil, err
	}
	all := map[string][]Sample{}
	err = h.rows(ctx, func(scan func(...any) error) error {
		var s Sample
		err := scan(&s.Cluster, &s.At, &s.Made, &s.CPUs, &s.Busy, &s.Guests, &s.In[0], &s.In[1], &s.In[2], &s.In[3])
		all[s.Cluster] = append(all[s.Cluster], s)
		return err
	}, `select cluster, at, made, cpus, busy, guests, in5, in15, in30, in60 from sample where at >= $2 and at <= $3
		and ($4 = 0 or cluster in (select t.value from {texts})) order by cluster, at`, text, from, to, len(names))
	return all, err
}

// foreseen reads how all clusters were at a time, and what was foreseen of those
// named.
func (h past) foreseen(ctx context.Context, at int64, names ...string) (map[string]Sample, error) {
	text, err := jsonText(names)
	if err != nil {
		return nil, err
	}
	all := map[string]Sample{}
	err = h.rows(ctx, func(scan func(...any) error) error {
		var s Sample
		var ahead []byte
		if err := scan(&s.Cluster, &s.At, &s.Made, &s.CPUs, &s.Busy, &s.Guests, &ahead); err != nil {
			return err
		}
		defer func() { all[s.Cluster] = s }()
		if len(ahead) == 0 {
			return nil
		}
		s.Ahead = &Ahead{}
		return json.Unmarshal(ahead, s.Ahead)
	}, `select cluster, at, made, cpus, busy, guests, case when cluster in (select t.value from {texts}) then ahead else '' end
		from sample s where at = (select max(at) from sample o where o.cluster = s.cluster and o.at <= $2 and o.at > $3)`,
		text, at, at-2*sampleStep)
	return all, err
}

// bury keeps the local jobs that a delta ends.
func (h deltaTables) bury(ctx context.Context) error {
	running := func(e wire.Entry) bool { return e.State == "running" }
	tasks, in := slices.Clone(h.delta.JobsGone), "in"
	for _, e := range h.delta.Jobs {
		if running(e) == h.delta.Full {
			tasks = append(tasks, e.Task)
		}
	}
	if h.delta.Full {
		in = "not in"
	} else if len(tasks) == 0 {
		return nil
	}
	return h.writeEach(ctx, `insert into past_job (cluster, task, node, spread, procs, begins, ends)
		select cluster, task, coalesce({body}->>'node', ''), coalesce({body}->>'spread', ''), cast({body}->>'procs' as {int}),
		cast({body}->>'start' as {int}), cast($3 as {int}) from local_job where cluster = $2 and {body}->>'state' = 'running'
		and cast({body}->>'start' as {int}) < cast($3 as {int}) and task `+in+` (select t.value from {texts}) on conflict do nothing`,
		append([]string{}, tasks...), h.delta.Cluster, h.delta.Made)
}

// forgetPast removes what is older than is kept.
func (h past) forgetPast(ctx context.Context, now int64) error {
	if _, err := h.exec(ctx, "delete from sample where at < $1", now-sampleKept); err != nil {
		return err
	}
	_, err := h.exec(ctx, "delete from past_job where ends < $1", now-sampleKept)
	return err
}
