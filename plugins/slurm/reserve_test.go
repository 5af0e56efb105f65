package slurm

import (
	"fmt"
	"os/user"
	"strings"
	"testing"
	"time"

	"gridbroker/plugins"
)

// As many cores as are kept, both times in UTC, and once only.
func TestReserve(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Skip(err)
	}
	k := plugins.Kept{From: time.Unix(1_800_000_000, 0), To: time.Unix(1_800_000_600, 0), CPUs: map[string]int{"n2": 2, "n1": 1}}
	for name, c := range map[string]struct {
		says   []string // to each call; "": done
		shown  string   // the reservations that are there
		calls  int
		failed bool
	}{
		"granted":       {[]string{""}, "", 1, false},
		"there already": {[]string{"Error creating the reservation: Duplicate reservation name"}, "ReservationName=gras_x StartTime=", 2, false},
		"there, 24.11":  {[]string{"Error creating the reservation: Requested reservation overlaps with another reservation"}, "ReservationName=gras_x StartTime=", 2, false},
		"whole nodes":   {[]string{"Error creating the reservation: Invalid core count", "", ""}, "ReservationName=gras_xy StartTime=", 3, false},
		"refused":       {[]string{"Invalid user id", "", "Invalid user id"}, "", 3, true},
		"not looked up": {[]string{"overlaps with another reservation", "slurm_load_reservations error: Unable to contact slurm controller"}, "", 2, true},
	} {
		l := newLab(t)
		l.opts.Command = 20 * time.Second
		for i, said := range c.says {
			if said != "" {
				l.write(fmt.Sprint("said-", i+1), said+"\n")
			}
		}
		l.write("config", c.shown+"\n")
		q, err := l.QueueReader(l.url)
		if err != nil {
			t.Fatal(err)
		}
		err = q.(plugins.Reserver).Reserve(t.Context(), "gras_x", k)
		calls := l.lines("scontrol-calls")
		if (err != nil) != c.failed || c.failed && name == "refused" != refused(err) || len(calls) != c.calls {
			t.Errorf("%s: %v after %q", name, err, calls)
		}
		for _, want := range []string{"UTC0 create", "starttime=2027-01-15T08:00:00", "endtime=2027-01-15T08:11:00", "users=" + me.Username, "nodes=n1,n2", "flags=IGNORE_JOBS"} {
			if !strings.Contains(calls[0], want) {
				t.Errorf("%s: no %s in %s", name, want, calls[0])
			}
		}
		if !strings.HasSuffix(calls[0], "corecnt=2,2") || c.calls > 2 && strings.Contains(calls[2], "corecnt") {
			t.Errorf("%s: %q", name, calls)
		}
	}
}

// One that is in use is ended, one that is gone is no error, and a name that
// would be more than a word is not sent.
func TestRelease(t *testing.T) {
	for name, c := range map[string]struct {
		says   []string
		name   string
		calls  int
		failed bool
	}{
		"done":   {nil, "gras_x", 1, false},
		"gone":   {[]string{"slurm_delete_reservation error: Requested reservation is invalid"}, "gras_x", 1, false},
		"in use": {[]string{"Requested reservation is in use"}, "gras_x", 2, false},
		"denied": {[]string{"Access denied", "Access denied"}, "gras_x", 2, true},
		"word":   {nil, "gras x", 0, true},
	} {
		l := newLab(t)
		l.opts.Command = 20 * time.Second
		for i, said := range c.says {
			l.write(fmt.Sprint("said-", i+1), said+"\n")
		}
		q, err := l.QueueReader(l.url)
		if err != nil {
			t.Fatal(err)
		}
		l.write("scontrol-calls", "")
		err = q.(plugins.Reserver).Release(t.Context(), c.name)
		calls := strings.Count(strings.Join(l.lines("scontrol-calls"), "\n"), "gras_x")
		if (err != nil) != c.failed || calls != c.calls {
			t.Errorf("%s: %v after %d calls", name, err, calls)
		}
	}
}
