package scheduler

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/testdata/testbed"
)

// TestChartsOfRogues: a cluster's page is drawn at little cost, however many processors its nodes have, whatever lies on them, by
// whichever names.
func TestChartsOfRogues(t *testing.T) {
	testbed.Computes(t)
	for name, change := range map[string]func(d *wire.Delta, at int64){
		"nodes of many processors": func(d *wire.Delta, at int64) {
			for i := range 20_000 {
				d.Site.Nodes = append(d.Site.Nodes, wire.Node{Name: fmt.Sprint("n", i), CPUs: 1 << 20, Up: true})
			}
			for i := range 1000 {
				d.Put = append(d.Put, wire.Slot{ID: uint64(i + 1), Node: fmt.Sprint("n", i), CPUs: 1 << 20, From: at, To: at + 600})
			}
		},
		"slots one after the other on a node": func(d *wire.Delta, at int64) {
			d.Site.Nodes = append(d.Site.Nodes, wire.Node{Name: "n", CPUs: 1000, Up: true})
			for i := range int64(30_000) {
				d.Put = append(d.Put, wire.Slot{ID: uint64(i + 1), Node: "n", CPUs: 1000, From: at + i, To: at + i + 1})
			}
		},
		"many nodes of one name": func(d *wire.Delta, at int64) {
			for range 5000 {
				d.Site.Nodes = append(d.Site.Nodes, wire.Node{Name: "n", CPUs: 1, Up: true})
			}
			for i := range int64(20_000) {
				d.Put = append(d.Put, wire.Slot{ID: uint64(i + 1), Node: "n", CPUs: 1, From: at + 20_000 - i, To: at + 30_000})
			}
		},
		"jobs on many nodes": func(d *wire.Delta, at int64) {
			d.Site.Nodes = append(d.Site.Nodes, wire.Node{Name: "n", CPUs: 1, Up: true})
			for i := range 12 {
				d.Jobs = append(d.Jobs, wire.Entry{Task: fmt.Sprint(i), State: "running", Start: at - 60, Procs: 1, Spread: strings.Repeat("a=1,", 250_000)})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFront(t, func(_ *Config, a *API) { a.Public = true })
			body := f.delta("c0", 0, func(d *wire.Delta) { change(d, f.now.Unix()) })
			var out struct{ Detail string }
			if code := f.ask(f.client(nil), "agent0", "POST", "/v1/clusters/c0/slots", body, &out); code != 200 {
				t.Fatal(code, out.Detail)
			}
			testbed.Within(t, 4*time.Second, 450<<20, func() {
				if w := f.asked(t.Context(), "alice", "GET", "/?cluster=c0", nil); w.Code != 200 || !strings.Contains(w.Body.String(), "c0") {
					t.Errorf("%d %.200s", w.Code, w.Body)
				}
			})
		})
	}
}

// Of a node of more processors than lanes a half that is taken is drawn as a half.
func TestLanesOfManyProcessors(t *testing.T) {
	f := &Frame{From: 0, Span: 100}
	looks := maxLooks
	bars := f.lanes([]stretch{{"n", 0, 100, 1 << 19, 0, "local", ""}}, 1<<20, &looks)
	if len(bars) != 1 || bars[0].H != "50%" {
		t.Errorf("%+v", bars)
	}
	if n, list := laned(math.MaxInt32, []stretch{{cpus: math.MaxInt32}, {cpus: 1}}); n != maxLanes || list[0].cpus != maxLanes || list[1].cpus != 1 {
		t.Errorf("%d lanes, %+v", n, list)
	}
}
