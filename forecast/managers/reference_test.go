package managers_test

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
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
	c, list, err := setting(file)
	if err != nil {
		return 0, 0, err
	}
	jobs, err := readFile(list, tree.ReadJobs)
	if err != nil {
		return 0, 0, err
	}
	starts, err := readFile(file, readStarts)
	if err != nil {
		return 0, 0, err
	}
	want, err := ofJobs(starts, jobs)
	if err != nil {
		return 0, len(starts), err
	}
	for _, nodes := range grids(jobs, want) { // the first that agrees
		n, why := play(t, c, nodes, jobs, want)
		if same = max(same, n); why == nil {
			return same, len(want), nil
		}
		err = cmp.Or(err, why)
	}
	if exact(c) {
		n, why := search(t, c, jobs, want)
		if same = max(same, n); why == nil {
			err = nil
		}
	}
	return same, len(want), err
}

// exact tells whether every start must agree.
func exact(c tree.Config) bool { return c.Mode != "tree" && c.Mode != "dispatch" }

// search looks for systems that a schedule is of where no plain guess is right, as some were never
// full: beginning with what is in use each is given more nodes as long as more starts agree.
func search(t *testing.T, c tree.Config, jobs []tree.Job, want []tree.Start) (same int, err error) {
	nodes, _ := inUse(jobs, want)
	same, err = play(t, c, nodes, jobs, want)
	for better := true; better && err != nil; {
		better = false
		for s := range nodes {
			for more := 1; more <= 16 && err != nil; more++ {
				try := slices.Clone(nodes)
				try[s] += more
				if n, why := play(t, c, try, jobs, want); n > same {
					nodes, same, err, better = try, n, why, true
					break
				}
			}
		}
	}
	return same, err
}

// play runs jobs on systems of so many nodes and counts the starts that agree.
func play(t *testing.T, c tree.Config, nodes []int, jobs []tree.Job, want []tree.Start) (same int, err error) {
	if c.Mode == "tree" && c.Fanout == 0 {
		c.Fanout = max(2, len(nodes))
	}
	end := horizon(jobs, want)
	got, err := tree.Run(t.Context(), c, nodes, jobs, float64(end)/tree.TicksPerUnit, 1)
	if err != nil {
		return 0, err
	}
	for i := range want {
		if s := got.Starts[i]; s == want[i] || s.System < 0 && want[i].System < 0 {
			same++
		}
	}
	ratio, wait := figures(jobs, want, end)
	if same < len(want) && (exact(c) || math.Abs(ratio-got.Ratio) > 0.03 || math.Abs(wait-got.MeanWait) > 0.15*wait) {
		err = fmt.Errorf("ratio %.4f, want %.4f; mean wait %.1f, want %.1f; systems of %v nodes", got.Ratio, ratio, got.MeanWait, wait, nodes)
	}
	return same, err
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
	for _, row := range rows {
		for i := range row {
			row[i] = strings.ToLower(strings.TrimSpace(row[i]))
		}
	}
	id, system, at := slices.Index(rows[0], "id"), slices.Index(rows[0], "system"), slices.Index(rows[0], "start")
	if min(id, system, at) < 0 {
		return nil, fmt.Errorf("the first line names %q, want id, system and start", rows[0])
	}
	for _, row := range rows[1:] {
		n, err := number(row[id])
		where, err2 := number(cmp.Or(row[system], "-1"))
		when, err3 := number(cmp.Or(row[at], "-1")) // not by the horizon
		if _, twice := starts[n]; twice && err == nil {
			err = fmt.Errorf("job %d has two starts", n)
		}
		if err := errors.Join(err, err2, err3); err != nil {
			return nil, err
		}
		starts[n] = tree.Start{System: where, At: int64(when)}
	}
	return starts, nil
}

// number reads a whole number, which may be written as 4.0 or 1e4.
func number(text string) (int, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err == nil && x != math.Trunc(x) {
		err = fmt.Errorf("%q is no whole number", text)
	}
	return int(x), err
}

// ofJobs puts starts into the order of the jobs. What is not in a schedule did not start by
// its horizon, if nothing in it did not.
func ofJobs(starts map[int]tree.Start, jobs []tree.Job) ([]tree.Start, error) {
	list, all := make([]tree.Start, len(jobs)), true
	for _, s := range starts {
		all = all && s.System >= 0
	}
	known := 0
	for i := range jobs {
		s, ok := starts[jobs[i].ID]
		if ok {
			known++
		} else if s.System, s.At = -1, -1; !all {
			return nil, fmt.Errorf("no start of job %d", jobs[i].ID)
		}
		list[i] = s
	}
	if len(starts) != known || known == 0 && len(jobs) > 0 {
		return nil, fmt.Errorf("%d starts of %d jobs", len(starts), len(jobs))
	}
	return list, nil
}

// setting tells the configuration and the file of jobs that a schedule's name says:
// LIST-MODE-DISCIPLINE-starts.csv, MODE being independent, full, dispatch, star, or tree and its fan-out.
func setting(file string) (c tree.Config, list string, err error) {
	c = tree.Config{Latency: 100, Handshake: true, Mark: "ack"}
	part := strings.Split(strings.TrimSuffix(filepath.Base(file), "-starts.csv"), "-")
	if len(part) < 3 {
		return c, "", errors.New("the name tells no setting")
	}
	n := len(part)
	c.Mode, c.Discipline = part[n-2], part[n-1]
	if fanout, ok := strings.CutPrefix(c.Mode, "tree"); ok {
		c.Mode = "tree"
		c.Fanout, _ = strconv.Atoi(fanout)
	} else if c.Mode == "star" {
		c.Mode = "tree"
	}
	return c, filepath.Join(filepath.Dir(file), strings.Join(part[:n-2], "-")+"-jobs.csv"), nil
}

// horizon finds until when a run is to go, which neither file tells: right after the last that
// happened in it, for whoever had started until its end would be in the schedule.
func horizon(jobs []tree.Job, starts []tree.Start) (end int64) {
	for i, s := range starts {
		end = max(end, jobs[i].Submit+1, s.At+1)
	}
	return end
}

// grids are the systems that a schedule may be of, which neither file tells: all of as many
// nodes as the most that are ever in use in one, or each of as many as are in use there.
// Where jobs had to wait these are all there are. Where none did, ten as in the published lists are enough.
func grids(jobs []tree.Job, starts []tree.Start) [][]int {
	use, waited := inUse(jobs, starts)
	most := slices.Max(use)
	if !waited {
		return [][]int{slices.Repeat([]int{max(most, 10)}, len(use))}
	}
	return [][]int{slices.Repeat([]int{most}, len(use)), use}
}

// inUse returns the most nodes in use at once in every system, at least one, and whether any job had to wait.
func inUse(jobs []tree.Job, starts []tree.Start) (most []int, waited bool) {
	type change struct {
		at    int64
		nodes int
	}
	systems := 1
	for i, s := range starts {
		systems = max(systems, jobs[i].Home+1, s.System+1)
	}
	use := make([][]change, systems)
	for i, s := range starts {
		if s.System >= 0 {
			use[s.System] = append(use[s.System], change{s.At, jobs[i].Width}, change{s.At + jobs[i].Run, -jobs[i].Width})
			waited = waited || s.At > jobs[i].Submit+tree.TicksPerUnit
		}
	}
	most = slices.Repeat([]int{1}, systems)
	for k, u := range use {
		slices.SortFunc(u, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.nodes, b.nodes)) })
		now := 0
		for _, c := range u {
			now += c.nodes
			most[k] = max(most[k], now)
		}
	}
	return most, waited
}

// Schedules of other grids than the published four systems of ten nodes, over any
// time, are recognised by themselves, and every start agrees.
func TestFrame(t *testing.T) {
	for _, w := range []tree.Work{
		{Jobs: 800, Horizon: 2000, Nodes: tree.PerSystem{6}, Share: []float64{1}, Width: "uniform:6", Run: "exp", Load: 1.4, Prios: 1, Systems: 7},
		{Jobs: 800, Horizon: 2345, Nodes: tree.PerSystem{4, 9, 16}, Share: []float64{1}, Width: "uniform:4", Run: "hyper", Load: 1.6, Prios: 3, Systems: 3},
		{Jobs: 800, Horizon: 3000, Nodes: tree.PerSystem{30}, Share: []float64{3, 1}, Width: "inverse:30", Run: "const", Load: 1.4, Prios: 2, Systems: 2},
		{Jobs: 300, Horizon: 3000, Nodes: tree.PerSystem{8}, Share: []float64{1}, Width: "powers:8", Run: "exp", Load: 1.2, Prios: 1, Systems: 1},
	} {
		jobs, err := w.Draw(3)
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []string{"full", "independent"} {
			for _, discipline := range []string{"firstfit", "fcfs"} {
				c := tree.Config{Mode: mode, Discipline: discipline}
				r, err := tree.Run(t.Context(), c, w.NodesOf(), jobs, w.Horizon, 3)
				if err != nil {
					t.Fatal(err)
				}
				recognised := false
				for _, nodes := range grids(jobs, r.Starts) {
					same, err := play(t, c, nodes, jobs, r.Starts)
					recognised = recognised || err == nil && same == len(jobs) && slices.Equal(nodes, w.NodesOf())
				}
				if !recognised {
					t.Errorf("%s, %s, %v nodes: not recognised; may be %v", mode, discipline, w.NodesOf(), grids(jobs, r.Starts))
				}
			}
		}
	}
}

// Systems that were never full are found as well.
func TestFrameOfMoreThanIsUsed(t *testing.T) {
	w := tree.Work{Jobs: 500, Horizon: 2000, Nodes: tree.PerSystem{5, 11, 19}, Share: []float64{4, 1, 2}, Width: "uniform:5", Run: "exp", Load: 0.8, Prios: 2, Systems: 3}
	jobs, err := w.Draw(2)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"full", "independent"} {
		c := tree.Config{Mode: mode, Discipline: "firstfit"}
		r, err := tree.Run(t.Context(), c, w.NodesOf(), jobs, w.Horizon, 3)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := search(t, c, jobs, r.Starts); err != nil || same != len(jobs) {
			t.Errorf("%s: %d of %d starts, %v", mode, same, len(jobs), err)
		}
	}
}

// A list and its schedule as other programs write them: another order of lines and
// columns, ends of lines of Windows, a byte order mark, notes, blank lines and spaces, headings in
// capitals, whole numbers with fractions and exponents, nothing where a job did not start.
func TestOtherEditions(t *testing.T) {
	w := tree.Work{Jobs: 200, Horizon: 500, Nodes: tree.PerSystem{6}, Share: []float64{1}, Width: "uniform:6", Run: "exp", Load: 1.4, Prios: 2, Systems: 3}
	jobs, err := w.Draw(3)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tree.Run(t.Context(), tree.Config{Mode: "full", Discipline: "firstfit"}, w.NodesOf(), jobs, w.Horizon, 3)
	if err != nil {
		t.Fatal(err)
	}
	list, starts := "\uFEFF# a note\r\nWIDTH,home, id,owner,run,submit,priority\r\n\r\n", "\uFEFFStart,ID, System \r\n"
	for i := range jobs {
		j, s := &jobs[len(jobs)-1-i], r.Starts[(i*7)%len(jobs)]
		list += fmt.Sprintf("%d,%d.0,%d ,me,%.10e,%d,%d\r\n", j.Width, j.Home, j.ID, float64(j.Run), j.Submit, j.Priority)
		line := fmt.Sprintf("%d.0,%d, %d\r\n", s.At, jobs[(i*7)%len(jobs)].ID, s.System)
		if s.System < 0 {
			line = fmt.Sprintf(",%d,\r\n\r\n", jobs[(i*7)%len(jobs)].ID)
		}
		starts += line
	}
	file := filepath.Join(t.TempDir(), "x-y-full-firstfit-starts.csv")
	for name, text := range map[string]string{file: starts + "# an end\r\n", filepath.Join(filepath.Dir(file), "x-y-jobs.csv"): list} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if same, all, err := compare(t, file); err != nil || same != len(jobs) {
		t.Errorf("%d of %d starts, %v", same, all, err)
	}
}

// A schedule that cannot be read is an error of its own.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a-jobs.csv": "id,home\n", "a-full-fcfs-starts.csv": "", "b-full-fcfs-starts.csv": "id,system,start\n", "c-starts.csv": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a-full-fcfs", "b-full-fcfs", "c", "d-full-fcfs"} {
		if _, _, err := compare(t, filepath.Join(dir, name+"-starts.csv")); err == nil {
			t.Errorf("%s is compared", name)
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
