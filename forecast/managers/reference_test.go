package managers_test

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gridbroker/forecast/sim/tree"
	"gridbroker/testdata/reference"
)

// TestReferenceSchedules runs the job lists under reference/ of the directory
// that GRID_TESTDATA names and compares every start with the schedules there.
// Those of independent systems and of full information must agree exactly;
// those of trees are of one protocol and are counted as equal if the ratio of
// jobs done is within 0.03 and the mean wait within 15 %.
func TestReferenceSchedules(t *testing.T) {
	files := reference.Files(t, "-starts.csv")
	good := 0
	for _, file := range files {
		same, all, err := compare(t, file)
		if err != nil {
			t.Errorf("%s: %d of %d starts agree: %v", filepath.Base(file), same, all, err)
		} else {
			good++
		}
		fmt.Printf("%s: %d of %d starts\n", filepath.Base(file), same, all)
	}
	fmt.Printf("metacomputer: %d of %d schedules\n", good, len(files))
}

// compare runs the jobs of a schedule and counts the starts that agree; the
// error tells what differs by more than is allowed.
func compare(t *testing.T, file string) (same, all int, err error) {
	jobs, c, err := setting(t, file)
	if err != nil {
		return 0, 0, err
	}
	starts := readFile(t, file, readStarts)
	want, err := ofJobs(starts, jobs)
	if err != nil {
		return 0, len(starts), err
	}
	nodes, horizon := frame(jobs, want)
	if c.Mode == "tree" && c.Fanout == 0 {
		c.Fanout = max(2, len(nodes))
	}
	got, err := tree.Run(t.Context(), c, nodes, jobs, float64(horizon)/tree.TicksPerUnit, 1)
	if err != nil {
		return 0, len(want), err
	}
	for i := range want {
		if s := got.Starts[i]; s == want[i] || s.System < 0 && want[i].System < 0 {
			same++
		}
	}
	ratio, wait := figures(jobs, want, horizon)
	exact := c.Mode != "tree" && c.Mode != "dispatch"
	if same < len(want) && (exact || math.Abs(ratio-got.Ratio) > 0.03 || math.Abs(wait-got.MeanWait) > 0.15*wait) {
		err = fmt.Errorf("ratio %.4f, want %.4f; mean wait %.1f, want %.1f; %d systems of %d nodes", got.Ratio, ratio, got.MeanWait, wait, len(nodes), nodes[0])
	}
	return same, len(want), err
}

// readStarts reads a schedule as tree.WriteStarts writes it: by job, whatever the
// order of its lines and columns, and whatever columns it has besides.
func readStarts(in io.Reader) (map[int]tree.Start, error) {
	r := csv.NewReader(in)
	r.Comment, r.TrimLeadingSpace = '#', true
	rows, err := r.ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("%d lines: %w", len(rows), err)
	}
	starts := map[int]tree.Start{}
	id, system, at := slices.Index(rows[0], "id"), slices.Index(rows[0], "system"), slices.Index(rows[0], "start")
	if min(id, system, at) < 0 {
		return nil, fmt.Errorf("the first line names %q, want id, system and start", rows[0])
	}
	for _, row := range rows[1:] {
		n, err := strconv.Atoi(row[id])
		where, err2 := strconv.Atoi(row[system])
		when, err3 := strconv.ParseInt(row[at], 10, 64)
		if _, twice := starts[n]; twice && err == nil {
			err = fmt.Errorf("job %d has two starts", n)
		}
		if err := errors.Join(err, err2, err3); err != nil {
			return nil, err
		}
		starts[n] = tree.Start{System: where, At: when}
	}
	return starts, nil
}

// ofJobs puts starts into the order of the jobs.
func ofJobs(starts map[int]tree.Start, jobs []tree.Job) ([]tree.Start, error) {
	list := make([]tree.Start, len(jobs))
	for i := range jobs {
		s, ok := starts[jobs[i].ID]
		if !ok {
			return nil, fmt.Errorf("no start of job %d", jobs[i].ID)
		}
		list[i] = s
	}
	if len(starts) != len(jobs) {
		return nil, fmt.Errorf("%d starts of %d jobs", len(starts), len(jobs))
	}
	return list, nil
}

// setting reads the jobs and the configuration that a schedule's name tells:
// LIST-MODE-DISCIPLINE-starts.csv, MODE being independent, full, dispatch, star, or tree and its fan-out.
func setting(t *testing.T, file string) ([]tree.Job, tree.Config, error) {
	c := tree.Config{Latency: 100, Handshake: true, Mark: "ack"}
	part := strings.Split(strings.TrimSuffix(filepath.Base(file), "-starts.csv"), "-")
	if len(part) < 3 {
		return nil, c, errors.New("the name tells no setting")
	}
	n := len(part)
	c.Mode, c.Discipline = part[n-2], part[n-1]
	if fanout, ok := strings.CutPrefix(c.Mode, "tree"); ok {
		c.Mode = "tree"
		c.Fanout, _ = strconv.Atoi(fanout)
	} else if c.Mode == "star" {
		c.Mode = "tree"
	}
	list := filepath.Join(filepath.Dir(file), strings.Join(part[:n-2], "-")+"-jobs.csv")
	return readFile(t, list, tree.ReadJobs), c, nil
}

// frame finds what neither file tells: how many systems there are, of how many
// nodes, and until when the run is to go: right after the last that happened in
// it, for whoever had started until its end would be in the schedule.
func frame(jobs []tree.Job, starts []tree.Start) (nodes []int, horizon int64) {
	systems := 1
	for i, s := range starts {
		systems, horizon = max(systems, jobs[i].Home+1, s.System+1), max(horizon, jobs[i].Submit+1, s.At+1)
	}
	return slices.Repeat([]int{nodesOf(jobs, starts, systems)}, systems), horizon
}

// nodesOf returns the most nodes in use in one system at once: where jobs had
// to wait these are all there are. Where none did, ten as in the published lists are enough.
func nodesOf(jobs []tree.Job, starts []tree.Start, systems int) int {
	type change struct {
		at    int64
		nodes int
	}
	use, waited := make([][]change, systems), false
	for i, s := range starts {
		if s.System >= 0 {
			use[s.System] = append(use[s.System], change{s.At, jobs[i].Width}, change{s.At + jobs[i].Run, -jobs[i].Width})
			waited = waited || s.At > jobs[i].Submit+tree.TicksPerUnit
		}
	}
	most := 0
	for _, u := range use {
		slices.SortFunc(u, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.nodes, b.nodes)) })
		now := 0
		for _, c := range u {
			now += c.nodes
			most = max(most, now)
		}
	}
	if !waited {
		return max(most, 10)
	}
	return most
}

// Schedules of other grids than the published four systems of ten nodes, over any
// time, are recognised by themselves, and every start agrees.
func TestFrame(t *testing.T) {
	for _, horizon := range []float64{2000, 2345, 3000} {
		w := tree.Work{Jobs: 800, Horizon: horizon, Nodes: tree.PerSystem{6}, Share: []float64{1}, Width: "uniform:6", Run: "exp", Load: 1.4, Prios: 1, Systems: 7}
		jobs, err := w.Draw(3)
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []string{"full", "independent"} {
			c := tree.Config{Mode: mode, Discipline: "firstfit"}
			r, err := tree.Run(t.Context(), c, w.NodesOf(), jobs, w.Horizon, 3)
			if err != nil {
				t.Fatal(err)
			}
			nodes, end := frame(jobs, r.Starts)
			again, err := tree.Run(t.Context(), c, nodes, jobs, float64(end)/tree.TicksPerUnit, 1)
			if err != nil || !slices.Equal(nodes, w.NodesOf()) || !slices.Equal(again.Starts, r.Starts) {
				t.Errorf("%s over %g units: %v nodes until %d, the same starts: %v; %v", mode, horizon, nodes, end, slices.Equal(again.Starts, r.Starts), err)
			}
		}
	}
}

// A schedule is read by its jobs' numbers and its columns' names.
func TestReadStarts(t *testing.T) {
	jobs := []tree.Job{{ID: 7}, {ID: 3}}
	got, err := readStarts(strings.NewReader("# a note\nstart, id, colour, system\n12,3,red,1\n-1,7,,-1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if list, err := ofJobs(got, jobs); err != nil || list[0].System != -1 || list[1] != (tree.Start{System: 1, At: 12}) {
		t.Errorf("read as %v, %v", list, err)
	}
	for _, bad := range []string{"", "a,b,c\n1,2,3\n", "id,system,start\n1,0,5\n1,0,6\n", "id,system,start\nx,0,5\n"} {
		if got, err := readStarts(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
	if _, err := ofJobs(got, jobs[:1]); err == nil {
		t.Error("a start too many is no error")
	}
}

func figures(jobs []tree.Job, starts []tree.Start, horizon int64) (ratio, wait float64) {
	done, started := 0, 0
	for i, s := range starts {
		if s.System < 0 {
			continue
		}
		started++
		wait += float64(s.At-jobs[i].Submit) / tree.TicksPerUnit
		if s.At+jobs[i].Run <= horizon {
			done++
		}
	}
	return float64(done) / float64(len(jobs)), wait / float64(max(1, started))
}
