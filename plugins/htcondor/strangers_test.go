package htcondor

import (
	"fmt"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/plugins/remote"
)

// TestStrangers: what slots have given to jobs of other schedds is given to jobs of nobody's, since it was first seen, and nobody is planned there; what they have
// given to our schedd's jobs is not told twice. Jobs that run beside the schedd (scheduler, local and grid universe) have no slot and wait for none. The words are those of a
// real pool of which another schedd has three processors of slot9 and all of slot2.
func TestStrangers(t *testing.T) {
	const slots = `[{"Name":"slot1@node","State":"Claimed","TotalSlotCpus":4,"TotalSlotMemory":1000,"Cpus":4,"Memory":1000},
{"Name":"slot2@node","State":"Claimed","TotalSlotCpus":1,"TotalSlotMemory":1000,"Cpus":1,"Memory":1000},
{"Name":"slot3@node","State":"Unclaimed","TotalSlotCpus":1,"TotalSlotMemory":1000,"Cpus":1,"Memory":1000},
{"ChildCpus":[3,3],"Cpus":2,"GPUs":1,"Memory":12000,"Name":"slot9@node","State":"Unclaimed","PartitionableSlot":true,"TotalSlotCpus":8,"TotalSlotGPUs":2,"TotalSlotMemory":16000}]`
	const jobs = `[{"ClusterId":100,"ProcId":0,"JobCurrentStartDate":1796052237,"JobStatus":2,"JobUniverse":7,"RequestCpus":1},
{"ClusterId":101,"ProcId":0,"JobCurrentStartDate":1796052242,"JobStatus":2,"JobUniverse":12,"RequestCpus":1},
{"ClusterId":104,"ProcId":0,"JobStatus":1,"JobUniverse":9,"RequestCpus":1},
{"ClusterId":102,"ProcId":0,"JobCurrentStartDate":1796052242,"JobStatus":2,"JobUniverse":5,"RemoteHost":"slot9_1@node","RequestCpus":3,"RequestMemory":1000},
{"ClusterId":103,"ProcId":0,"JobCurrentStartDate":1796052242,"JobStatus":2,"JobUniverse":5,"RemoteHost":"slot1@node","RequestCpus":1,"RequestMemory":1000},
{"ClusterId":105,"ProcId":0,"JobStatus":1,"JobUniverse":5,"RequestCpus":3,"RequestMemory":1000,"QDate":1796052200}]`
	now := time.Unix(1796052260, 0)
	q := &Queue{site: &site{Site: &remote.Site{URL: "condor:", Options: &remote.Options{Command: time.Minute, Now: func() time.Time { return now }}, System: &remote.System{Name: "HTCondor"},
		Machine: neighbours{"condor_status": slots, "condor_q": jobs}}}}
	var s batch.State
	for range 2 { // the second look finds the same since the first
		var err error
		if s, err = q.Queue(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Minute)
	}
	told := ""
	for _, j := range s.Jobs {
		told += fmt.Sprint(j.ID, " ", j.Placed, " ", j.Memory, " MB ", j.GPUs, " GPUs ", j.Started.Unix(), "\n")
	}
	if want := `102.0 [{slot9@node 3}] 333 MB 0 GPUs 1796052242
103.0 [{slot1@node 1}] 1000 MB 0 GPUs 1796052242
105.0 [] 333 MB 0 GPUs -62135596800
hidden/slot2@node [{slot2@node 1}] 1000 MB 0 GPUs 1796052260
hidden/slot9@node [{slot9@node 3}] 1000 MB 1 GPUs 1796052260
`; told != want {
		t.Errorf("%s, want\n%s", told, want)
	}
	h, err := q.Handed().Queue(t.Context())
	if err != nil || len(h.Jobs) != len(s.Jobs) {
		t.Errorf("for an external scheduler: %+v, %v", h.Jobs, err)
	}
}
