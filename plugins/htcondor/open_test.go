package htcondor

import (
	"fmt"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins/remote"
)

// poolOf is a reader of a pool that says the same for ever.
func poolOf(slots, jobs string, now time.Time) *Queue {
	return &Queue{site: &site{Site: &remote.Site{URL: "condor:", Options: &remote.Options{Command: time.Minute, Now: func() time.Time { return now }}, System: &remote.System{Name: "HTCondor"},
		Machine: neighbours{"condor_status": slots, "condor_q": jobs}}}}
}

// TestSlotsThatStartNothing: a partitionable slot that drains tells its cores as left over, and a machine that sleeps is Unclaimed: neither has room. The words are
// those of a real pool under condor_drain, and of an ad that was made offline.
func TestSlotsThatStartNothing(t *testing.T) {
	const as = `"OpSysAndVer":"Debian13","Arch":"X86_64","Start":true,"TotalSlotDisk":1000000,"Disk":1000000,`
	const slots = `[{"Name":"slot9@node",` + as + `"State":"Drained","Activity":"Idle","PartitionableSlot":true,"Cpus":8,"Memory":16000,"TotalSlotCpus":8,"TotalSlotMemory":16000,"Draining":true},
{"Name":"slot1@away",` + as + `"State":"Unclaimed","Offline":true,"Cpus":1,"Memory":1000,"TotalSlotCpus":1,"TotalSlotMemory":1000},
{"Name":"slot1@node",` + as + `"State":"Unclaimed","Cpus":1,"Memory":1000,"TotalSlotCpus":1,"TotalSlotMemory":1000}]`
	q := poolOf(slots, "[]", time.Unix(1796068020, 0))
	rs, err := q.site.Resources(t.Context())
	if err != nil || len(rs) != 1 {
		t.Fatal(rs, err)
	}
	if free := rs[0].FreeSlots; free != glue.Some[int64](1) {
		t.Errorf("%v slots are free, want 1", free)
	}
	s, err := q.Queue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	up := ""
	for _, n := range s.Nodes {
		up += fmt.Sprintln(n.Name, n.Up)
	}
	if want := "slot9@node false\nslot1@away false\nslot1@node true\n"; up != want {
		t.Errorf("%s, want\n%s", up, want)
	}
}
