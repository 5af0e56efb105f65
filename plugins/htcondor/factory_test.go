package htcondor

import (
	"fmt"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestFactories: of a cluster with max_materialize = 2 two jobs run at once, as in a real pool, however many slots are free; a job of it that is held keeps its
// place; of one that is paused, or whose places are all held, none comes. A job with a time of its own has its slot DeferralPrepTime before that. The words are those
// of a real pool.
func TestFactories(t *testing.T) {
	slots := "["
	for i := range 8 {
		slots += fmt.Sprintf(`{"Name":"slot%d@node","State":"Unclaimed","TotalSlotCpus":1,"TotalSlotMemory":1000,"TotalSlotDisk":1000000,"Cpus":1,"Memory":1000},`, i+1)
	}
	slots = slots[:len(slots)-1] + "]"
	job := func(proc, status int, more string) string {
		return fmt.Sprintf(`{"ClusterId":2,"ProcId":%d,"JobStatus":%d,"JobUniverse":5,"RequestCpus":1,"RequestMemory":100,"QDate":1796068000,"AllowedJobDuration":100,"TotalSubmitProcs":7,"JobMaterializeNextProcId":2%s}`,
			proc, status, more)
	}
	const two = `,"JobMaterializeLimit":2`
	now := time.Unix(1796068020, 0)
	for _, c := range []struct{ name, jobs, want string }{
		{"two at once", job(0, 1, two) + "," + job(1, 1, two), "map[0:2 100:2 200:2 300:1]"},
		{"one is held", job(0, 5, two) + "," + job(1, 1, two), "map[0:1 100:1 200:1 300:1 400:1 500:1]"},
		{"all places are held", job(0, 5, two) + "," + job(1, 5, two), "map[]"},
		{"paused", job(0, 1, two+`,"JobMaterializePaused":1`) + "," + job(1, 1, two+`,"JobMaterializePaused":1`), "map[0:2]"},
		{"as many as there are", job(0, 1, "") + "," + job(1, 1, ""), "map[0:7]"},
		{"deferred", `{"ClusterId":3,"ProcId":0,"JobStatus":1,"JobUniverse":5,"RequestCpus":1,"QDate":1796068020,"DeferralTime":1796068349,"DeferralPrepTime":300}`, "map[29:1]"},
	} {
		s, err := poolOf(slots, "["+c.jobs+"]", now).Queue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f := batch.Forecaster{Policy: batch.Policy{Name: "fcfs"}}
		out, err := f.Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		starts := map[int]int{}
		for _, j := range out.Jobs {
			starts[int(j.Start.Sub(now).Seconds())]++
		}
		if got := fmt.Sprint(starts); got != c.want {
			t.Errorf("%s: starts %s, want %s", c.name, got, c.want)
		}
	}
}

// TestJobsOfFactoriesForAnExternalScheduler: those that were made are in the queue, and all may be let go.
func TestJobsOfFactoriesForAnExternalScheduler(t *testing.T) {
	const made = `"ClusterId":2,"JobStatus":5,"HoldReasonCode":1,"JobUniverse":5,"RequestCpus":1,"QDate":1796068000,"TotalSubmitProcs":3,"JobMaterializeNextProcId":2,"JobMaterializeLimit":2}`
	s, err := poolOf(`[{"Name":"slot1@node","State":"Unclaimed","TotalSlotCpus":1,"Cpus":1}]`, `[{"ProcId":0,`+made+`,{"ProcId":1,`+made+`]`, time.Unix(1796068020, 0)).Handed().Queue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	told := ""
	for _, j := range s.Jobs {
		told += fmt.Sprintln(j.ID, j.Held, j.ArrayLimit)
	}
	if want := "2.0 false 0\n2.1 false 0\n2.2 true 0\n"; told != want {
		t.Errorf("%s, want\n%s", told, want)
	}
}
