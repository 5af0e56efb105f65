package slurm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/glue"
)

// plainRow is a pending job of a user's.
var plainRow = map[byte]string{'i': "7", 'P': "short", 'T': "PENDING", 'C': "1", 'D': "1", 'm': "100M", 'b': "N/A", 'l': "1:00:00", 'V': "1795235401",
	'S': "N/A", 'Q': "5", 'u': "u", 'a': "phys", 'f': "(null)", 'N': "", 'r': "Priority", 'E': "(null)", 'h': "OK", 'v': "(null)", 'q': "normal"}

// job makes a row of squeue out of what differs from a plain pending job.
func job(t *testing.T, fields map[byte]string) batch.Job {
	t.Helper()
	j, ok := queuedJob(entryWith(fields), maxOn)
	if !ok {
		t.Fatalf("%v is no job", fields)
	}
	return j
}

func TestWhatJobsWaitFor(t *testing.T) {
	if j := job(t, map[byte]string{'S': "1795320004", 'r': "BeginTime"}); j.Held || !j.Begin.Equal(time.Unix(1795320004, 0)) {
		t.Errorf("begin time: %+v", j)
	}
	if j := job(t, map[byte]string{'S': "1795320004", 'r': "Resources"}); !j.Begin.IsZero() {
		t.Errorf("a planned start is taken for a begin time: %+v", j)
	}
	j := job(t, map[byte]string{'E': "afterok:932(unfulfilled),after:12+30(unfulfilled):13(unfulfilled)?afterany:14_*(unfulfilled),afterok:9(fulfilled)", 'r': "Dependency"})
	want := []batch.Dependency{{ID: "932", On: batch.OnSuccess}, {ID: "12", On: batch.OnStart, Delay: 30 * time.Minute}, {ID: "13", On: batch.OnStart}, {ID: "14_*", On: batch.OnEnd}}
	if j.Held || len(j.After) != len(want) {
		t.Fatalf("%+v", j)
	}
	for i := range want {
		if j.After[i] != want[i] {
			t.Errorf("dependency %d: %+v, want %+v", i, j.After[i], want[i])
		}
	}
	// What 22.05 and 24.11 say of jobs that wait for one that has failed: of alternatives another may do.
	for said, want := range map[string]string{"afterok:17(failed),afterany:18(unfulfilled)": "[{17 never 0s} {18 end 0s}]", "afterok:17(failed)?afterany:18(unfulfilled)": "[{18 end 0s}]"} {
		if j := job(t, map[byte]string{'E': said, 'r': "Dependency"}); j.Held || fmt.Sprint(j.After) != want {
			t.Errorf("%s: %+v, held %v", said, j.After, j.Held)
		}
	}
	if j := job(t, map[byte]string{'E': "singleton(unfulfilled)", 'r': "Dependency"}); !j.Held {
		t.Errorf("singleton: %+v", j)
	}
	for reason, held := range map[string]bool{"DependencyNeverSatisfied": true, "QOSMaxWallDurationPerJobLimit": true, "QOSMaxCpuPerJobLimit": true, "QOSMaxGRESPerJob": true, "QOSMaxMemoryPerJob": true, "QOSMaxGRESPerNode": true, "QOSMaxMemoryPerNode": true, "QOSGrpGRESMinutes": true, "QOSGrpGRES": false, "QOSMaxGRESPerUser": false,
		"AssocGrpCPUMinutesLimit": true, "AssocGrpCPURunMinutesLimit": false, "QOSMaxCpuPerUserLimit": false, "Licenses": false,
		"Job's QOS not permitted to use this partition (pq allows a,b not d)": true, "Job's account not permitted to use this partition (pa allows other not grid)": true, "PartitionTimeLimit": true} {
		if j := job(t, map[byte]string{'r': reason}); j.Held != held {
			t.Errorf("%s: held %v", reason, j.Held)
		}
		if j := job(t, map[byte]string{'r': reason, 'P': "short,long"}); j.Held != (held && !strings.Contains(strings.ToLower(reason), "partition")) {
			t.Errorf("%s, of one of two partitions: held %v", reason, j.Held)
		}
	}
}

func TestWhatJobsAsk(t *testing.T) {
	j := job(t, map[byte]string{'i': "934_2", 'P': "short,long", 'b': "gres:gpu:a100:2", 'h': "NO", 'v': "maint", 'C': "16", 'D': "2-4", 'q': "high"})
	if j.Array != "934" || j.Queue != "short" || len(j.Also) != 1 || j.Also[0] != "long" || j.GPUs != 2 || len(j.Features) != 1 || j.Features[0] != "gpu:a100" ||
		!j.Exclusive || j.Reservation != "maint" || j.Nodes != 2 || j.QOS != "high" || j.Account != "phys" {
		t.Errorf("%+v", j)
	}
	if j := job(t, map[byte]string{'C': "4"}); j.Nodes != 0 {
		t.Errorf("one node is Slurm's guess: %+v", j)
	}
	jobs := []batch.Job{{ID: "934_1", Array: "934"}, {ID: "934_2", Array: "934"}, {ID: "8", After: []batch.Dependency{{ID: "934_*", On: batch.OnEnd}, {ID: "3"}}}}
	jobs = append(jobs, batch.Job{ID: "9_2", Array: "9", After: []batch.Dependency{{ID: "934_*", On: batch.OnSuccess}}}, batch.Job{ID: "9_3", Array: "9", After: []batch.Dependency{{ID: "934_*", On: batch.OnSuccess}}})
	onTasks(jobs, map[string]*entry{"9_2": {dependency: "aftercorr:934_*(unfulfilled)"}, "9_3": {dependency: "aftercorr:934_*(unfulfilled)"}, "8": {dependency: "afterany:934_*(unfulfilled)"}})
	if a, b := jobs[3].After, jobs[4].After; len(a) != 1 || a[0].ID != "934_2" || len(b) != 2 { // there is no 934_3
		t.Errorf("%+v, %+v", a, b)
	}
	if a := jobs[2].After; len(a) != 3 || a[0].ID != "934_1" || a[1].ID != "934_2" || a[1].On != batch.OnEnd || a[2].ID != "3" {
		t.Errorf("%+v", a)
	}
}

func TestReservations(t *testing.T) {
	r, ok := reservation(pairs("ReservationName=m StartTime=1795235401 EndTime=1795239001 Nodes=n[1-2] NodeCnt=2 CoreCnt=16 Flags=MAINT,SPEC_NODES Users=root,-bob Groups=(null) Accounts=phys Licenses=(null) State=ACTIVE"))
	if !ok || !r.ByName || len(r.Nodes) != 2 || len(r.Users) != 1 || len(r.Accounts) != 1 || len(r.Groups) != 0 {
		t.Errorf("%+v %v", r, ok)
	}
	if r.Procs != 0 {
		t.Errorf("one of nodes keeps %d processors elsewhere", r.Procs)
	}
	if r, _ := reservation(pairs("ReservationName=m StartTime=1795235401 EndTime=1795239001 Nodes=(null) CoreCnt=12 Users=u")); r.Procs != 12 {
		t.Errorf("one of cores keeps %d", r.Procs)
	}
	if r, _ := reservation(pairs("ReservationName=m StartTime=1795235401 EndTime=1795239001 Nodes=n1 Flags=MAGNETIC Users=u")); r.ByName {
		t.Error("a magnetic one is got into without its name")
	}
	if !nodeUp("IDLE+MAINTENANCE") || !underMaintenance("IDLE+MAINTENANCE+RESERVED") || underMaintenance("IDLE") {
		t.Error("maintenance ends with its reservation")
	}
}

// The parts of wide jobs follow from what the nodes have given away.
func TestPlaces(t *testing.T) {
	nodes := records("NodeName=n1 CPUAlloc=8\nNodeName=n2 CPUAlloc=4\nNodeName=n3 CPUAlloc=7\n")
	on := func(procs int, names ...string) batch.Job {
		return batch.Job{Procs: procs, Placed: spread(names, procs)}
	}
	jobs := []batch.Job{on(2, "n1"), on(10, "n1", "n2"), on(3, "n3"), on(1, "n9")}
	place(jobs, nodes, nil)
	if p := jobs[1].Placed; p[0].Procs != 6 || p[1].Procs != 4 {
		t.Errorf("%+v, want 6 and 4", p)
	}
	for procs, want := range map[int]string{11: "[{n1 8} {n2 3}] [{n2 1} {n3 7}]", 9: "[{n1 7} {n2 2}] [{n2 1} {n3 7}]"} { // of its half of n2, what it lacks is where there is room
		jobs = []batch.Job{on(procs, "n1", "n2"), on(8, "n2", "n3")}
		place(jobs, nodes, nil)
		if got := fmt.Sprint(jobs[0].Placed, jobs[1].Placed); got != want {
			t.Errorf("%d: got %s, want %s", procs, got, want)
		}
	}
	jobs = []batch.Job{on(6, "n1", "n2"), on(6, "n1", "n2"), on(9, "n2", "n3")}
	place(jobs, nodes, nil)
	for _, j := range jobs {
		sum := 0
		for _, p := range j.Placed {
			sum += p.Procs
			if p.Procs < 1 {
				t.Errorf("%+v", j.Placed)
			}
		}
		if sum != j.Procs {
			t.Errorf("%d of %d processors are placed", sum, j.Procs)
		}
	}
}

func TestUserLimits(t *testing.T) {
	var all rules
	all.limited("phys||normal,long|1-00:00:00|10||cpu=64,node=4\nchem|gpu|normal||||\n", "normal|12:00:00|5||\nlong|3-00:00:00|2||cpu=8\n")
	for _, c := range []struct {
		partition string
		wall      time.Duration
		running   int64
		slots     int64
		closed    bool
	}{
		{"PartitionName=short AllowAccounts=ALL AllowQos=ALL", 24 * time.Hour, 5, 64, false},
		{"PartitionName=short AllowAccounts=ALL AllowQos=long", 24 * time.Hour, 2, 8, false},
		{"PartitionName=short AllowAccounts=chem AllowQos=ALL", 0, 0, 0, true},
		{"PartitionName=gpu AllowAccounts=chem AllowQos=ALL", 12 * time.Hour, 5, 0, false},
		{"PartitionName=short AllowQos=other", 0, 0, 0, true},
		{"PartitionName=short DenyAccounts=phys", 0, 0, 0, true},
		{"PartitionName=short DenyQos=long QoS=long", 12 * time.Hour, 2, 8, false},
	} {
		var r glue.Resource
		all.apply(&r, pairs(c.partition))
		if r.MaxWallTime.V != c.wall || r.MaxUserRunning.V != c.running || r.MaxSlotsPerJob.V != c.slots || (r.Serving == glue.Closed) != c.closed {
			t.Errorf("%s: wall %v, running %v, slots %v, %s", c.partition, r.MaxWallTime, r.MaxUserRunning, r.MaxSlotsPerJob, r.Serving)
		}
	}
	var r glue.Resource
	(rules{}).apply(&r, nil)
	if r.Serving != "" || r.MaxWallTime.OK {
		t.Errorf("without accounting: %+v", r)
	}
}

// TestSeveralReservations: of several that a job names, of which one will do, it waits for the one that
// begins first and is not over.
func TestSeveralReservations(t *testing.T) {
	now := time.Unix(1795235401, 0)
	c := cluster{reserved: records("ReservationName=over StartTime=1795230000 EndTime=1795235000 Nodes=n1 Users=u\nReservationName=late StartTime=1795239000 EndTime=1795249000 Nodes=n1 Users=u\nReservationName=soon StartTime=1795237000 EndTime=1795249000 Nodes=n1 Users=u\n")}
	for names, want := range map[string]string{"late,soon,over": "soon", "soon,late": "soon", "late,over": "late", "late": "late", "gone,other": "gone,other"} {
		c.jobs = []*entry{entryWith(map[byte]string{'v': names})}
		if got := c.state(now, "c").Jobs[0].Reservation; got != want {
			t.Errorf("%s: %q, want %q", names, got, want)
		}
	}
}

// What a reservation's flags say: who may name it comes in before it begins, it
// comes again, or it keeps no nodes at all.
func TestReservationFlags(t *testing.T) {
	now := time.Unix(1795235401, 0)
	for flags, want := range map[string]struct {
		there, flex bool
		times       int
	}{
		"": {true, false, 1}, "FLEX,PURGE_COMP=00:01:00": {true, true, 1}, "DAILY,MAINT": {true, false, 8}, "WEEKLY": {true, false, 2},
		"HOURLY": {true, false, 169}, "LICENSE_ONLY": {false, false, 0},
	} {
		r, ok := reservation(pairs("ReservationName=m StartTime=1795235401 EndTime=1795239001 Nodes=n1 Users=u Flags=" + flags))
		if ok != want.there || r.Flex != want.flex && ok {
			t.Errorf("%s: %+v, %v", flags, r, ok)
		}
		if !ok {
			continue
		}
		list := repeated(r, flags, now)
		if last := list[len(list)-1]; len(list) != want.times || last.End.Sub(last.Start) != time.Hour {
			t.Errorf("%s: %d times, the last %+v", flags, len(list), last)
		}
	}
}

// The limit of an array of which one task is left is the number that run, where
// Slurm says that it waits for that.
func TestThrottled(t *testing.T) {
	for reason, want := range map[string]int{"JobArrayTaskLimit": 2, "Resources": 0} {
		jobs := []batch.Job{
			{ID: "9_3", Array: "9"}, {ID: "9_1", Array: "9", Started: time.Unix(1, 0)}, {ID: "9_2", Array: "9", Started: time.Unix(1, 0)}, {ID: "7"},
		}
		throttled(jobs, []*entry{{id: "9_3", reason: reason}, {id: "9_1", reason: "None"}, {id: "9_2", reason: "None"}, {id: "7", reason: reason}})
		for i, j := range jobs {
			if j.ArrayLimit != want && i < 3 || i == 3 && j.ArrayLimit != 0 {
				t.Errorf("%s: %s has limit %d", reason, j.ID, j.ArrayLimit)
			}
		}
	}
}
