package desk

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/managers/daemon"
)

// Monitors are told how many jobs there are in each state, and of how many users: by no name.
func TestFiguresOfADesk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, id := one(t, managers.Resources{CPUs: 1})
		r := prometheus.NewRegistry()
		r.MustRegister(f.Desk)
		figures := func() string {
			all, err := r.Gather()
			if err != nil {
				t.Fatal(err)
			}
			var list []string
			for _, family := range all {
				for _, m := range family.GetMetric() {
					of := ""
					for _, l := range m.GetLabel() {
						of += " " + l.GetValue()
					}
					if n := m.GetGauge().GetValue(); n > 0 {
						list = append(list, fmt.Sprint(family.GetName(), of, " ", n))
					}
				}
			}
			slices.Sort(list)
			return strings.Join(list, "; ")
		}
		want := func(state string) {
			t.Helper()
			if got := figures(); got != "grid_manager_desk_jobs "+state+" 1; grid_manager_desk_users 1" {
				t.Errorf("%s: %s", state, got)
			}
		}
		want("waits")
		synctest.Wait() // it is handed in
		f.Answer(daemon.Offer{Job: id, Manager: "https://one", System: "one"})
		want("assigned")
		f.claims(t)
		want("claimed")
		if err := f.end("alice", []string{"a"}); err != nil {
			t.Fatal(err)
		}
		want("ended")
		f.stop(t)
	})
}
