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

// TestTurns: jobs that wait for licences or by the limit of a QOS wait for those that have
// them. The rows are what squeue of a 22.05 said of two licences, and of QOS with two jobs
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
	want := map[string]string{"39": "[{37 end}]", "40": "[{38 end}]", "42": "[{41 end}]", "43": "[{42 end}]",
		"45": "[{44 end}]", "46": "[{45 end}]", "49": "[{47 end}]", "50": "[{48 end}]"}
	s := c.state(time.Unix(1795729638, 0), "c")
	for _, j := range s.Jobs {
		if got := strings.ReplaceAll(fmt.Sprint(j.After), " 0s}", "}"); j.Started.IsZero() && got != want[j.ID] {
			t.Errorf("%s waits for %s, want %s", j.ID, got, want[j.ID])
		}
		if len(j.After) > 0 && !j.Eligible {
			t.Errorf("%s grows no older, as one that waits for a limit does", j.ID)
		}
	}
	if len(s.Jobs) != 14 {
		t.Errorf("%d jobs", len(s.Jobs))
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

// TestTurnsWithSomeLeft: of three licences two jobs have one each until an hour and two hours
// from now, and a reservation keeps none. One is left: for the first that one will do for.
func TestTurnsWithSomeLeft(t *testing.T) {
	now := time.Unix(1795729638, 0)
	c := cluster{licences: []licence{{"l", 1}}}
	jobs := []batch.Job{{ID: "1", Started: now, Requested: time.Hour}, {ID: "2", Started: now, Requested: 2 * time.Hour}}
	said := map[string]*entry{"1": {licences: "l:1"}, "2": {licences: "l:1"}}
	for id, wants := range []string{3: "l:3", "l:2", "l:1", "l:1"} {
		if wants != "" {
			id := fmt.Sprint(id)
			jobs = append(jobs, batch.Job{ID: id, Requested: time.Hour, Priority: 9})
			said[id] = &entry{id: id, licences: wants}
		}
	}
	for _, only := range [][2]string{{"3", "[{1 end 0s} {2 end 0s}]"}, {"4", "[{1 end 0s}]"}, {"5", "[]"}} {
		list := append(slices.Clone(jobs[:2]), jobs[atoi(only[0])-1])
		c.takeTurns(now, list, said)
		if got := fmt.Sprint(list[2].After); got != only[1] {
			t.Errorf("%s alone waits for %s, want %s", only[0], got, only[1])
		}
	}
	c.takeTurns(now, jobs, said)
	if got := fmt.Sprint(jobs[4].After); got != "[]" {
		t.Errorf("5 waits for %s", got) // 3 and 4 cannot have what is left
	}
	if got := jobs[5].After; len(got) != 1 {
		t.Errorf("6 waits for %v: there is none left", got)
	}
}
