package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/wire"
)

// An agent whose clock is minutes or hours off is told that it is, nothing of what it says is taken, and users hear that its cluster
// is silent; when the clock is right again its next word is taken.
func TestAgentsWhoseClocksAreWrong(t *testing.T) {
	for _, off := range []time.Duration{-2 * time.Hour, -10 * time.Minute, 10 * time.Minute, 2 * time.Hour} {
		t.Run(fmt.Sprint(off), func(t *testing.T) {
			f := newFront(t, nil)
			f.led()
			f.has("c0", `{"users": ["alice"]}`, f.now.Add(-time.Hour))
			said := func(off time.Duration) (int, string) {
				var out struct{ Detail string }
				body := f.delta("c0", 2, func(d *wire.Delta) {
					d.Made, d.TTL = d.Made+int64(off/time.Second), 120
					for i := range d.Put {
						d.Put[i].From, d.Put[i].To = d.Put[i].From+int64(off/time.Second), d.Put[i].To+int64(off/time.Second)
					}
				})
				return f.ask(f.client(nil), "agent0", "POST", "/v1/clusters/c0/slots", body, &out), out.Detail
			}
			hindered := func(want bool) {
				t.Helper()
				if p := f.ping(f.client(nil), "alice"); (len(p.Hinders) > 0) != want || want && !strings.Contains(p.Hinders[0], "c0 is silent") {
					t.Errorf("alice hears %q", p.Hinders)
				}
			}
			code, detail := said(off)
			if code != 422 || !strings.Contains(detail, "clock") {
				t.Errorf("%d %q", code, detail)
			}
			hindered(true)
			if code, detail := said(0); code != 200 {
				t.Errorf("when it is right: %d %q", code, detail)
			}
			f.now = f.now.Add(fresh)
			hindered(false)
		})
	}
}
