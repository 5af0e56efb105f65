package slurm

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestTurns: jobs take licences and what limits of QOS let have, of which there is as much as those have that run, where
// it is not known how much is left. The rows are what squeue of a 22.05 said of two licences, and of QOS with two jobs
// of a user, eight processors of a user and eight in all; when 37, 41, 44 and 47 had ended,
// it started 39, 45 and 49 (and 43 in place of its equal 42).
func TestTurns(t *testing.T) {
	text, err := os.ReadFile("testdata/turns.txt")
	if err != nil {
		t.Fatal(err)
	}
	c := cluster{}
	for line := range strings.Lines(string(text)) {
		c.jobs = append(c.jobs, entryOf(strings.Split(strings.TrimSuffix(line, ";\n"), ";")))
	}
	s := c.state(time.Unix(1795729638, 0), "c")
	if len(s.Jobs) != 14 {
		t.Errorf("%d jobs", len(s.Jobs))
	}
	s.Nodes = []batch.Node{{Name: "n", CPUs: 1000, Memory: 100_000, Up: true}}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Requested = time.Hour; slices.Contains([]string{"37", "41", "44", "47"}, j.ID) {
			j.Requested = 10 * time.Minute
		}
		j.Placed = nil
	}
	_, starts := foretold(t, s)
	var soon []string
	for id, at := range starts {
		if at < 20*60 {
			soon = append(soon, id)
		}
	}
	if slices.Sort(soon); fmt.Sprint(soon) != "[39 42 45 49]" {
		t.Errorf("when 37, 41, 44 and 47 have ended %v start: %v", soon, starts)
	}
}

// TestTurnsByReason: what a job is taken to wait for, by the reason that Slurm gives.
func TestTurnsByReason(t *testing.T) {
	all := []string{"licence l", "qos jobs q", "qos cpus q", "qos nodes q", "qos and user jobs q u", "qos and user cpus q u", "qos and user nodes q u",
		"qos and account jobs q a", "qos and account cpus q a", "account jobs a", "account cpus a", "account nodes a", "account and user jobs a u", "account and user nodes a u", "qos gpus q", "qos and user gpus q u", "qos memory q", "qos and user memory q u", "account gpus a"}
	for reason, want := range map[string]string{
		"Licenses": "licence l", "QOSGrpJobsLimit": "qos jobs q", "QOSGrpCpuLimit": "qos cpus q", "QOSGrpNodeLimit": "qos nodes q",
		"QOSMaxJobsPerUserLimit": "qos and user jobs q u", "QOSMaxCpuPerUserLimit": "qos and user cpus q u", "QOSMaxNodePerUserLimit": "qos and user nodes q u",
		"QOSMaxJobsPerAccountLimit": "qos and account jobs q a", "QOSMaxCpuPerAccountLimit": "qos and account cpus q a",
		"AssocGrpJobsLimit": "account jobs a", "AssocGrpCpuLimit": "account cpus a", "AssocGrpNodeLimit": "account nodes a",
		"AssocMaxJobsLimit": "account and user jobs a u",
		"QOSGrpGRES":        "qos gpus q", "QOSMaxGRESPerUser": "qos and user gpus q u", "AssocGrpGRES": "account gpus a",
		"QOSGrpMemLimit": "qos memory q", "QOSMaxMemoryPerUser": "qos and user memory q u", "QOSMaxGRESPerJob": "", "QOSGrpGRESMinutes": "",
		"Priority": "", "Resources": "", "PartitionTimeLimit": "", "AssocGrpCPUMinutesLimit": "", "QOSGrpCPURunMinutesLimit": "", "JobArrayTaskLimit": "",
	} {
		chosen := limited(reason)
		var got []string
		for _, what := range all {
			if chosen(what) {
				got = append(got, what)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: waits for %q, want %q", reason, got, want)
		}
	}
}

// TestTurnsWithSomeLeft: of four licences two jobs have one each, one is kept by a reservation until its end, and one is left. Of a limit
// of an association as much is taken to be there as those have that run, and as who waits by it wants.
func TestTurnsWithSomeLeft(t *testing.T) {
	now := time.Unix(1795729638, 0)
	c := cluster{licences: []licence{{"l", 1}}, reserved: []map[string]string{
		{"Licenses": "l:1", "StartTime": "1795729600", "EndTime": "1795739638"}, {"Licenses": "l:9", "StartTime": "1795729700", "EndTime": "1795739638"}}}
	s := batch.State{Now: now, Jobs: []batch.Job{{ID: "1", Started: now, Account: "a", Procs: 3}, {ID: "2", Started: now}, {ID: "3"}, {ID: "4", Account: "a", Procs: 5}, {ID: "5", Account: "b"}}}
	c.takeTurns(&s, map[string]*entry{"1": {licences: "l:1"}, "2": {licences: "l:1"}, "3": {licences: "l:2"}, "4": {licences: "(null)", reason: "AssocGrpCpuLimit"}, "5": {reason: "Priority"}})
	want := "[{account cpus a 5 true []} {licence l 3 false [{" + fmt.Sprint(time.Unix(1795739638, 0).UTC()) + " 1}]}]"
	if got := limitsTold(s.Caps); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	takes := ""
	for _, j := range s.Jobs {
		takes += takesTold(j.Takes)
	}
	if takes != "[{account cpus a 3 false} {licence l 1 false}][{licence l 1 false}][{licence l 2 false}][{account cpus a 5 false}][]" {
		t.Error(takes)
	}
}
