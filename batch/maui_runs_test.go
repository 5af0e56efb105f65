package batch_test

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	m3 "gridbroker/batch/maui"
)

// simJob is a job of a simulated run.
type simJob struct {
	Submit, Procs, WCLimit, Run int64
	Start, End, Bypassed        int64
	Nodes                       []string
}

// mauiRuns compares with the starts of Maui's simulation mode.
func mauiRuns(t *testing.T, dir string) {
	all, equal := 0, 0
	files, _ := filepath.Glob(filepath.Join(dir, "sim*", "*starts*.json"))
	for _, file := range files {
		var runs map[string]map[string]simJob
		readJSON(t, file, &runs)
		var jobs map[string]simJob
		readJSON(t, strings.Replace(file, "starts", "jobs", 1), &jobs)
		for _, name := range slices.Sorted(maps.Keys(runs)) {
			if strings.HasPrefix(name, "greedy") {
				fmt.Printf("run %s: by the documentation of GREEDY, which starts nothing in reality\n", name)
				continue
			}
			n, same := simulate(t, name, jobs, runs[name])
			all, equal = all+n, equal+same
			if n != same {
				t.Errorf("run %s: %d of %d starts", name, same, n)
			}
		}
	}
	fmt.Printf("%d of %d starts\n", equal, all)
}

var runName = regexp.MustCompile(`^([a-z]+)(?:-(\d+))?(?:@(\d+)x(\d+))?(?:\+([a-z]+))?$`)

// simulate runs one configuration second by second and counts the equal starts.
func simulate(t *testing.T, name string, jobs, want map[string]simJob) (all, equal int) {
	t.Helper()
	m := runName.FindStringSubmatch(name)
	if m == nil {
		t.Errorf("run %s: a configuration like firstfit-3@1x8+firstavailable was expected", name)
		return 0, 0
	}
	lines := []string{"DEFERTIME 0", "BACKFILLPOLICY " + strings.ToUpper(m[1]), "RESERVATIONDEPTH[0] " + cmp.Or(m[2], "1")}
	if m[5] != "" {
		lines = append(lines, "NODEALLOCATIONPOLICY "+strings.ToUpper(m[5]))
	}
	c, _, err := m3.ReadConfig(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	count, _ := strconv.Atoi(cmp.Or(m[3], "8"))
	each, _ := strconv.ParseInt(cmp.Or(m[4], "1"), 10, 64)
	sim := newSimulation(count, each, jobs)
	sim.s = m3.New(c)
	sim.run()
	for id, w := range want {
		if id == "j0" {
			continue
		}
		all++
		got := sim.by[id]
		if int64(got.Started)-mauiBase == w.Start && (w.Nodes == nil || slices.Equal(unique(got.TaskList), w.Nodes)) {
			equal++
			continue
		}
		t.Logf("run %s: job %s starts at %d on %v, Maui's at %d on %v", name, id, got.Started-mauiBase, unique(got.TaskList), w.Start, w.Nodes)
	}
	return all, equal
}

func unique(list []string) []string { return slices.Compact(slices.Clone(list)) }

// simulation is a resource manager whose clock goes second by second where
// something happens.
type simulation struct {
	s     *m3.Scheduler
	nodes []m3.Node
	jobs  []*m3.Job
	runs  map[string]int64
	by    map[string]*m3.Job
}

func newSimulation(count int, procs int64, jobs map[string]simJob) *simulation {
	sim := &simulation{runs: map[string]int64{}, by: map[string]*m3.Job{}}
	for i := range count {
		sim.nodes = append(sim.nodes, m3.Node{Name: fmt.Sprintf("n%d", i+1), Procs: procs, Memory: 1024, Disk: 1000, Swap: 2048, Classes: map[string]int64{"DEFAULT": procs}})
	}
	ids := slices.SortedFunc(maps.Keys(jobs), func(a, b string) int {
		return cmp.Or(cmp.Compare(jobs[a].Submit, jobs[b].Submit), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	for _, id := range ids {
		j := jobs[id]
		job := &m3.Job{ID: id, User: "u", Group: "g", Class: "DEFAULT", Tasks: j.Procs, Limit: j.WCLimit, Queued: mauiBase + j.Submit}
		if id != "j0" {
			sim.jobs = append(sim.jobs, job)
			sim.by[id], sim.runs[id] = job, j.Run
		}
	}
	return sim
}

func (sim *simulation) run() {
	times := map[int64]bool{}
	for _, j := range sim.jobs {
		times[j.Queued] = true
	}
	for len(times) > 0 {
		now := slices.Min(slices.Collect(maps.Keys(times)))
		delete(times, now)
		list, nodes := sim.at(now)
		for _, a := range sim.s.Iterate(now, nodes, list) {
			j := sim.by[a.Job]
			j.State, j.Started, j.TaskList = m3.JobRunning, now, a.TaskList
			times[now+sim.runs[j.ID]] = true
		}
	}
}

// at is what the resource manager says at a time.
func (sim *simulation) at(now int64) (list []m3.Job, nodes []m3.Node) {
	used := map[string]int64{}
	for _, j := range sim.jobs {
		if j.Queued > now || j.State == m3.JobRunning && j.Started+sim.runs[j.ID] <= now {
			continue
		}
		list = append(list, *j)
		for _, n := range j.TaskList {
			used[n]++
		}
	}
	nodes = slices.Clone(sim.nodes)
	for i := range nodes {
		if n := used[nodes[i].Name]; n >= nodes[i].Procs {
			nodes[i].State = m3.NodeBusy
		} else if n > 0 {
			nodes[i].State = m3.NodeRunning
		}
	}
	return list, nodes
}
