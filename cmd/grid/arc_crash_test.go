package main_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/glue"
	"gridbroker/plugins/arcrest"
)

// grid submit dies at any moment of sending fifty jobs. Afterwards grid
// status knows of every job that the CE has, and none is there twice.
func TestARCKilledSubmission(t *testing.T) {
	t.Parallel()
	for i, after := range []time.Duration{50, 150, 300, 500, 800, 1200, 2000} {
		t.Run(fmt.Sprintf("after %d ms", after), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			all := w.bed.All()
			w.killed(all[(len(all)-1+i)%len(all)], after*time.Millisecond)
		})
	}
}

// killed sends jobs to a CE and dies after a while.
func (w *world) killed(url string, after time.Duration) {
	t := w.t
	t.Helper()
	const n = 50
	args := append([]string{"submit", "--no-cache", "--info", url}, w.jobs(n, "sleep 600")...)
	cmd := w.command(args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed, or had ended

	time.Sleep(2 * time.Second) // for the CE to end what it was doing
	recorded := map[string]jobLine{}
	for _, j := range w.settle("submitting") {
		recorded[j.ID] = j
	}
	if len(recorded) != 0 && len(recorded) != n {
		t.Errorf("%d of %d jobs are recorded", len(recorded), n)
	}
	there := w.names(url)
	for id, count := range there {
		if _, ours := recorded[id]; ours && count != 1 {
			t.Errorf("job %s is there %d times", id, count)
		}
	}
	accepted := 0
	for id, j := range recorded {
		switch has := there[id] > 0; {
		case strings.Contains("accepted preparing queued running", j.State) && !has:
			t.Errorf("job %s is %s and the CE does not have it", id, j.State)
		case strings.Contains("intended failed lost cancelled", j.State) && has:
			t.Errorf("job %s is %s and the CE has it", id, j.State)
		case has:
			accepted++
		}
	}
	t.Logf("killed after %v: %d recorded, %d at the CE", after, len(recorded), accepted)
}

// names counts the jobs at a CE by the first word of their name, our id.
func (w *world) names(url string) map[string]int {
	w.t.Helper()
	set, err := credential.Discover(credential.Env{}, credential.Options{Proxy: w.bed.Proxy("alice"), CertDir: w.bed.CADir, CAs: credential.GridCA, NoToken: true})
	if err != nil {
		w.t.Fatal(err)
	}
	b := arcrest.New(arcrest.Options{Credentials: func() (*credential.Set, error) { return set, nil }})
	defer b.Close()
	ctx, stop := context.WithTimeout(w.t.Context(), time.Minute)
	defer stop()
	names, err := b.Names(ctx, glue.Endpoint{URL: url})
	for err != nil && strings.Contains(err.Error(), "jobs it is accepting yet") && ctx.Err() == nil { // other tests send some
		time.Sleep(time.Second)
		names, err = b.Names(ctx, glue.Endpoint{URL: url})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	count := map[string]int{}
	for _, name := range names {
		id, _, _ := strings.Cut(name, " ")
		count[id]++
	}
	return count
}
