package scheduler

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/scheduler/plan"
	"gridbroker/forecast/wire"
	"gridbroker/testdata/testbed"
)

// What a leader keeps from cycle to cycle is what it would work out of its jobs and clusters anew: which jobs wait, run and
// are asked about, where each may run, and the slots. Played by chance, with faults: jobs come, are cancelled, described
// anew, given other priorities, avoid clusters for a while and end, or take long to be brought to a cluster; clusters are drained and opened, let others in, get
// other nodes and slots.
func TestWhatIsKeptIsAsMadeAnew(t *testing.T) {
	testbed.Computes(t)
	for seed := range unlessRacing(t, uint64(3), 1) {
		w := newWorld(t, sqliteDSN(t), seed, 0.02, 6, 4, 3)
		w.conf.Stopwatch = func() time.Time { return w.now } // a busy machine leaves no job for a later cycle
		w.restart()
		r, jobs := rand.New(rand.NewPCG(seed, 3)), []string{}
		compared, waited, avoided := 0, 0, 0
		for n := range 240 {
			if r.IntN(2) == 0 {
				jobs = append(jobs, w.submitJob(fmt.Sprint("user", r.IntN(3)), fmt.Sprint("k", n), anyJob(r), float64(1+r.IntN(4))))
			}
			if len(jobs) > 0 {
				w.meddle(r, jobs[r.IntN(len(jobs))])
			}
			w.step(30)
			if w.s.mem == nil {
				continue
			}
			kept, anew := stated(w, w.s.mem), stated(w, anew(w.s.mem, w.s.conf))
			if kept != anew {
				t.Fatalf("seed %d, step %d: kept\n%s\nanew\n%s", seed, n, kept, anew)
			}
			compared++
			for _, e := range w.s.mem.jobs.waits() {
				waited++
				avoided += len(e.Avoid)
			}
		}
		if compared < 200 || waited < 1000 || avoided < 5 {
			t.Errorf("seed %d: compared %d times, with %d jobs waiting that avoided %d clusters in all", seed, compared, waited, avoided)
		}
	}
}

func anyJob(r *rand.Rand) string {
	wants := [...]string{"true", "true", `Member("A", other.GlueHostApplicationSoftwareRunTimeEnvironment)`, `other.GlueCEUniqueID == "c1"`, "other.GlueCEPolicyAssignedJobSlots > 3"}
	return fmt.Sprintf("[ Executable = \"/bin/true\"; WallTime = %d; Requirements = %s; ]", 600+r.IntN(3000), wants[r.IntN(len(wants))])
}

// meddle does something by chance to a job or a cluster, where it can be done: jobs may be booked, clusters not known yet.
func (w *world) meddle(r *rand.Rand, id string) {
	admin, site := Person{Subject: "admin", Admin: true}, w.sites[w.names[r.IntN(len(w.names))]]
	switch r.IntN(16) {
	case 0:
		w.s.Cancel(w.t.Context(), admin, id)
	case 1:
		text := anyJob(r)
		w.s.Refresh(w.t.Context(), admin, id, text, nil)
	case 2:
		priority := float64(1 + r.IntN(4))
		w.s.Refresh(w.t.Context(), admin, id, "", &priority)
	case 3, 4:
		w.s.Drain(w.t.Context(), admin, site.name, r.IntN(3) == 0)
	case 5:
		site.users, site.news = nil, true
		if r.IntN(2) == 0 {
			site.users = []string{fmt.Sprint("user", r.IntN(3))}
		}
	case 6:
		site.tags, site.news = map[string][]string{}, true
		for i := range site.nodes {
			if r.IntN(2) == 0 {
				site.tags[fmt.Sprint("n", i)] = []string{"A"}
			}
		}
	case 7:
		site.sure, site.news = 0.5+r.Float64()/2, true
	case 8: // one that waits is found to take long to be brought there
		if m := w.s.mem; m != nil && len(m.jobs.waits()) > 0 {
			j := m.jobs.waits()[r.IntN(len(m.jobs.waits()))].Job
			j.Leads = map[string]int64{site.name: int64(60 + r.IntN(600))}
			m.jobs.changed(j)
		}
	}
}

// anew is a memory of the same jobs and clusters of which nothing was worked out.
func anew(m *memory, conf Config) *memory {
	is := newMemory(m.epoch)
	is.expires = m.expires
	for name, c := range m.clusters {
		k := *c
		k.listed, k.number, k.class = nil, nil, nil
		is.clusters[name] = &k
		is.settle(&k, k.site, conf)
	}
	for _, e := range m.jobs.of {
		j := *e.Job
		j.wishes, j.parsed = "", nil
		is.jobs.enter(&j)
	}
	return is
}

// stated is what a memory would have planned, in words that no numbering changes.
func stated(w *world, m *memory) string {
	in := w.s.conf.problem(m, w.now, []Budget{{User: "user1", Left: 5, Given: 7}})
	var b strings.Builder
	say := func(what string, v any) {
		text, err := json.Marshal(v)
		if err != nil {
			w.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s: %s\n", what, text)
	}
	for i, j := range in.jobs {
		if want := in.leads(in.of[i].Job); !slices.Equal(j.Leads, want) {
			w.t.Errorf("%s: leads %v, want %v", in.of[i].ID, j.Leads, want)
		}
		wish := in.rules.Wishes[j.Wish]
		var at []string
		for k, c := range in.clusters {
			for _, n := range c.site.Nodes {
				if wish.Allows(uint16(k), c.class[n.Name]) {
					at = append(at, c.name+n.Name)
				}
			}
		}
		owner := in.rules.Users[j.User]
		j.User, j.Wish = 0, 0
		say("job "+in.of[i].ID, []any{j, at, wish.VO, owner})
	}
	for i, v := range in.slots {
		v.Node, v.Class = 0, 0
		say("slot of "+in.refs[i].cluster.name, []any{in.refs[i].slot, v})
	}
	for i, c := range in.clusters {
		p := in.rules.Clusters[i]
		p.Local, p.Classes = nil, nil
		say("cluster "+c.name, []any{p, c.resource, c.cpus, c.largest, c.memory, c.bare})
	}
	for i, list := range [...][]*inLine{m.jobs.waits(), m.jobs.places()} {
		for _, e := range list {
			say([...]string{"waits", "has a place"}[i], e.ID)
		}
	}
	owners := []string{}
	for name, o := range m.jobs.owners {
		owners = append(owners, fmt.Sprint(name, o.jobs))
	}
	slices.Sort(owners)
	say("owners, and jobs that lapse", []any{owners, m.jobs.lapsing})
	m.mark(w.now.Unix())
	for _, c := range in.clusters {
		say("mark of "+c.name, []any{c.mark, len(c.booked)})
		var want wire.Mark
		for _, j := range c.booked {
			want.Add(j.Booking.Key, j.Booking.To, j.State == Running, w.now.Unix())
		}
		if c.mark != want {
			w.t.Errorf("%s: the mark of %d bookings is %v, want %v", c.name, len(c.booked), c.mark, want)
		}
	}
	for _, p := range m.jobs.atSites {
		say("is asked about", []any{p.by.owner, p.by.vo, p.cluster, p.job, p.request, p.handle})
	}
	return fmt.Sprintln(b.String(), plan.Order(in.jobs, &in.rules))
}
