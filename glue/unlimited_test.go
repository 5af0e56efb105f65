package glue_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
)

func ce13(policies string) string {
	return "dn: GlueCEUniqueID=ce.example.org:8443/cream-pbs-long,Mds-Vo-name=SITE,Mds-Vo-name=local,o=grid\nobjectClass: GlueCE\n" +
		"GlueCEUniqueID: ce.example.org:8443/cream-pbs-long\nGlueCEName: long\nGlueCEInfoHostName: ce.example.org\nGlueCEStateStatus: Production\n" + policies + "\n"
}

func share20(policies string) string {
	return "dn: GLUE2ShareID=s1,GLUE2ServiceID=x,GLUE2GroupID=resource,o=glue\nobjectClass: GLUE2ComputingShare\nGLUE2ShareID: s1\n" +
		"GLUE2ComputingShareMappingQueue: long\nGLUE2ComputingShareServingState: production\n" + policies + "\n"
}

// TestNoLimitIsAValue reads what queues publish that have no limit, and what they publish that do not know.
func TestNoLimitIsAValue(t *testing.T) {
	for _, tt := range []struct {
		entry, name string
		want        int64 // -1: undefined
	}{
		{ce13("GlueCEPolicyMaxWallClockTime: 2880\n"), "GlueCEPolicyMaxWallClockTime", 2880},
		{ce13("GlueCEPolicyMaxWallClockTime: 999999999\n"), "GlueCEPolicyMaxWallClockTime", 999999999},
		{ce13("GlueCEPolicyMaxWallClockTime: 999999999\n"), "GLUE2ComputingShareMaxWallTime", 999999999},
		{ce13("GlueCEPolicyMaxWallClockTime: 2147483647\n"), "gluecepolicymaxwallclocktime", 999999999},
		{ce13("GlueCEPolicyMaxWallClockTime: 99999999999\n"), "GlueCEPolicyMaxWallClockTime", 999999999},
		{ce13("GlueCEPolicyMaxWallClockTime: 999999999\nGlueCEPolicyMaxObtainableWallClockTime: 1440\n"), "GlueCEPolicyMaxWallClockTime", 1440},
		{ce13("GlueCEPolicyMaxObtainableWallClockTime: 1440\nGlueCEPolicyMaxWallClockTime: 999999999\n"), "GlueCEPolicyMaxWallClockTime", 1440},
		{ce13("GlueCEPolicyMaxWallClockTime: 0\n"), "GlueCEPolicyMaxWallClockTime", -1},
		{ce13("GlueCEPolicyMaxWallClockTime: 444444\n"), "GlueCEPolicyMaxWallClockTime", -1},
		{ce13("GlueCEPolicyMaxWallClockTime: -1\n"), "GlueCEPolicyMaxWallClockTime", -1},
		{ce13("GlueCEPolicyMaxWallClockTime: none\n"), "GlueCEPolicyMaxWallClockTime", -1},
		{ce13(""), "GlueCEPolicyMaxWallClockTime", -1},
		{ce13("GlueCEPolicyMaxWallClockTime: 999999999\n"), "GlueCEPolicyMaxCPUTime", -1},
		{ce13("GlueCEPolicyMaxCPUTime: 999999999\n"), "GlueCEPolicyMaxCPUTime", 999999999},
		{ce13("GlueCEPolicyMaxTotalJobs: 999999\n"), "GlueCEPolicyMaxTotalJobs", 999999999},
		{ce13("GlueCEPolicyMaxRunningJobs: 99999\n"), "GlueCEPolicyMaxRunningJobs", 999999999},
		{ce13("GlueCEPolicyMaxSlotsPerJob: 4294967295\n"), "GlueCEPolicyMaxSlotsPerJob", 999999999},
		{ce13("GlueCEStateFreeJobSlots: 999999999\n"), "GlueCEStateFreeJobSlots", -1}, // no limit: nobody knows
		{share20("GLUE2ComputingShareMaxWallTime: 999999999\n"), "GLUE2ComputingShareMaxWallTime", 999999999},
		{share20("GLUE2ComputingShareMaxWallTime: 999999999\n"), "GlueCEPolicyMaxWallClockTime", 999999999},
		{share20("GLUE2ComputingShareMaxWallTime: 172800\n"), "GlueCEPolicyMaxWallClockTime", 2880},
		{share20("GLUE2ComputingShareMaxMainMemory: 2147483647\n"), "GLUE2ComputingShareMaxMainMemory", 999999999},
		{share20("GLUE2ComputingShareMaxDiskSpace: 999999999\n"), "GLUE2ComputingShareMaxDiskSpace", 999999999},
	} {
		d := glue.NewDecoder("test")
		if err := glue.ReadLDIF(strings.NewReader(tt.entry), "test", d.Add); err != nil {
			t.Fatal(err)
		}
		rs := d.Resources(time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC))
		if len(rs) != 1 {
			t.Fatalf("%s: %d resources", tt.entry, len(rs))
		}
		got := int64(-1)
		if v, ok := rs[0].Lookup(tt.name); ok {
			got, _ = v.Int()
		}
		if got != tt.want {
			t.Errorf("%s of\n%s is %d, want %d", tt.name, tt.entry, got, tt.want)
		}
	}
}

// TestUnlimitedSurvives writes the set of limits that are none, and reads it.
func TestUnlimitedSurvives(t *testing.T) {
	r := glue.Resource{ID: "x", Unlimited: glue.LimitWallTime | glue.LimitDisk}
	text, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(text), `"unlimited":["max_wall_time","max_disk"]`) {
		t.Fatalf("%s %v", text, err)
	}
	var back glue.Resource
	if err := json.Unmarshal(text, &back); err != nil || back.Unlimited != r.Unlimited {
		t.Errorf("%v %v", back.Unlimited, err)
	}
	if err := json.Unmarshal([]byte(`{"unlimited":["speed"]}`), &back); err == nil {
		t.Error("no error for a limit that is none of ours")
	}
	if l := glue.LimitOf("GLUECEPolicyMaxObtainableCPUTime"); !slices.Equal(l.Document(), []string{"max_cpu_time"}) {
		t.Errorf("limit of the attribute: %v", l.Document())
	}
	if l := glue.LimitOf("GlueCEStateFreeJobSlots"); l != 0 {
		t.Errorf("a state is the limit %v", l.Document())
	}
}
