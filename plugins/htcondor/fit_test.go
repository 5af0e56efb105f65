package htcondor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/jdl"
)

// A thousand different jobs are judged at once, each by the slots of the whole
// pool: what a slot needs for that is made once, not for every job anew.
func TestManyJobsAreJudgedByOneReadingOfTheSlots(t *testing.T) {
	var text strings.Builder
	text.WriteString(`[{"Name":"a","Start":"/Expr(RequestCpus < 3 && (Owner =?= undefined || TARGET.AllowedJobDuration < 1200) && RequestMemory <= Memory)/","TotalSlotCpus":8,"TotalSlotMemory":4096,"TotalSlotDisk":1000000,"Memory":1024`)
	for i := range 150 {
		fmt.Fprintf(&text, `,"Attribute%d":"x"`, i)
	}
	text.WriteString("}]")
	slots, err := parseSlots(text.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		demand jdl.Demand
		owner  string
		open   bool
	}{
		{jdl.Demand{}, "", true},
		{jdl.Demand{Slots: 3}, "", false},
		{jdl.Demand{Memory: 2048}, "", false},
		{jdl.Demand{WallTime: time.Minute}, "u", true},
		{jdl.Demand{WallTime: time.Hour}, "u", false},
		{jdl.Demand{}, "u", true}, // no duration: undefined is no verdict
	} {
		r := requestOf(c.demand, c.owner)
		if got := slots[0].takes(r.record()); got != c.open || got != slots[0].letsIn(r.record()) {
			t.Errorf("%+v %q: %v, want %v", c.demand, c.owner, got, c.open)
		}
	}
	job := requestOf(jdl.Demand{WallTime: time.Minute}, "")
	if n := testing.AllocsPerRun(20, func() { whyNever(slots, job) }); n > 60 {
		t.Errorf("a job takes %v allocations", n)
	}
}
