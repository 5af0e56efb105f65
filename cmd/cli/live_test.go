package cli

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"gridbroker/jobs"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// BenchmarkLiveView draws 10,000 jobs, a fifth of which has changed since the
// picture before. But for the first half a minute one is drawn in five seconds:
// 150 ms of processor time for one are 3 % of a core.
func BenchmarkLiveView(b *testing.B) {
	now := time.Now()
	d := &deps{env: Env{Now: func() time.Time { return now }, Getenv: func(string) string { return "" }, Out: io.Discard, Terminal: true, Width: 120}}
	rs := make([]*jobs.Record, 10000)
	for i := range rs {
		rs[i] = &jobs.Record{ID: fmt.Sprintf("1m80f0ftgax%05d", i), Name: fmt.Sprintf("scan-%d", i), Parent: fmt.Sprintf("1m80fsweep%05d", i/1000),
			At: "ce.example.org/long", Sent: now, Predicted: 5400, Created: now, Started: now}
	}
	os := jobs.Outcomes(rs)
	show := liveTable(d)
	turn, began := 0, testbed.Processor(b)
	defer func() { b.ReportMetric(float64(testbed.Processor(b)-began)/1e6/float64(b.N), "cpu-ms/op") }()
	for b.Loop() {
		for i, o := range os {
			o.State = []plugins.State{plugins.Running, plugins.Queued, plugins.Done}[(i+turn*(1-min(1, i%5)))%3]
		}
		turn++
		show(os)
	}
}

// TestNoPictureOfNothing: where no job was sent, that is said already; nothing counts "0 of 0".
func TestNoPictureOfNothing(t *testing.T) {
	var out strings.Builder
	d := &deps{env: Env{Now: time.Now, Getenv: func(string) string { return "" }, Out: &out, Terminal: true, Width: 80}}
	show := liveTable(d)
	if show(nil); out.Len() > 0 {
		t.Errorf("drawn %q", out.String())
	}
	show(jobs.Outcomes([]*jobs.Record{{ID: "1m80f0ftgax00001", Name: "one", State: plugins.Queued}}))
	if !strings.Contains(out.String(), "0 of 1 ended") {
		t.Errorf("drawn %q", out.String())
	}
}

// TestEndedAtOnce: only of verbs that are about jobs it is said where these are looked up.
func TestEndedAtOnce(t *testing.T) {
	for args, jobs := range map[string]bool{"submit a.jdl": true, "--json watch 1": true, "sim grid s.toml": false, "agent run": false, "": false} {
		if got := EndedAtOnce(strings.Fields(args)); strings.Contains(got, "grid status") != jobs {
			t.Errorf("%q: %s", args, got)
		}
	}
}

// TestDumbTerminal: a terminal that acts on no escape sequences is sent none: no colours, bars or live views.
func TestDumbTerminal(t *testing.T) {
	for term, want := range map[string]bool{"dumb": false, "xterm": true, "": true} {
		d := &deps{rawErr: io.Discard, env: Env{Now: time.Now, Getenv: func(name string) string { return map[string]string{"TERM": term}[name] }, Out: io.Discard, Terminal: true, ErrTerminal: true, Width: 80}}
		p, stop := showProgress(d)
		stop()
		if got := draws(d, true); got != want || (p != nil) != want || (styled(d, green, "x") != "x") != want || (paint(d, green, "x") != "x") != want {
			t.Errorf("TERM=%s: %v, bars %v, %q %q", term, got, p != nil, styled(d, green, "x"), paint(d, green, "x"))
		}
	}
}
