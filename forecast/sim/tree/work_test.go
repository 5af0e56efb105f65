package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/managers"
	"gridbroker/testdata/testbed"
)

// drawnWork is a description of jobs that tests change.
func drawnWork() Work {
	return Work{Jobs: 20_000, Horizon: 1000, Nodes: PerSystem{4, 8}, Share: []float64{3, 1}, Width: "uniform:4", Run: "exp", Load: 1.5, Prios: 3, Systems: 4}
}

// TestDrawn: what is drawn has the load, shares, widths and priorities that it
// was described with, in order, and is the same for a seed.
func TestDrawn(t *testing.T) {
	near := func(what string, got, want, by float64) {
		t.Helper()
		if math.Abs(got-want) > by*want {
			t.Errorf("%s: %.4f, want %.4f", what, got, want)
		}
	}
	for run, spread := range map[string]float64{"const": 0, "exp": 1, "hyper": 2.06} { // standard deviation by mean
		w := drawnWork()
		w.Run = run
		jobs, err := w.Draw(11)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := w.Draw(11)
		other, _ := w.Draw(12)
		if !reflect.DeepEqual(jobs, again) || reflect.DeepEqual(jobs, other) {
			t.Errorf("%s: a seed has two lists, or two seeds one", run)
		}
		work, squares, homes, widths, prios := 0.0, 0.0, make([]float64, 4), make([]float64, 5), make([]float64, 3)
		for i, j := range jobs {
			if j.ID != i+1 || j.Run < 1 || j.Submit < 0 || j.Submit >= 1000*TicksPerUnit || i > 0 && j.Submit < jobs[i-1].Submit {
				t.Fatalf("%s: job %d is %+v", run, i, j)
			}
			run := float64(j.Run) / TicksPerUnit
			work, squares = work+run*float64(j.Width), squares+run*run
			homes[j.Home]++
			widths[j.Width]++
			prios[j.Priority]++
		}
		n := float64(len(jobs))
		near(run+": load", work/(24*1000), 1.5, 0.03)
		mean := w.MeanRun()
		if spread > 0 {
			near(run+": spread of run times", math.Sqrt(squares/n-mean*mean), spread*mean, 0.1)
		} else if jobs[0].Run != slices.MaxFunc(jobs, func(a, b Job) int { return int(a.Run - b.Run) }).Run {
			t.Error("constant run times differ")
		}
		for i, share := range []float64{3, 1, 3, 1} {
			near(run+": share", homes[i]/n, share/8, 0.08)
		}
		for width := 1; width <= 4; width++ {
			near(run+": widths", widths[width]/n, 0.25, 0.08)
		}
		for _, p := range prios {
			near(run+": priorities", p/n, 1.0/3, 0.08)
		}
	}
}

// TestWidths: the chances of each width.
func TestWidths(t *testing.T) {
	for spec, want := range map[string][]float64{
		"one": {1}, "uniform:2": {0.5, 1}, "inverse:2": {2.0 / 3, 1}, "powers:5": {1.0 / 3, 2.0 / 3, 2.0 / 3, 1, 1}, "uniform:1": {1},
	} {
		got, err := widthsOf(spec)
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: %v %v", spec, got, err)
			continue
		}
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-9 {
				t.Errorf("%s: %v, want %v", spec, got, want)
			}
		}
	}
	for _, spec := range []string{"", "uniform", "uniform:0", "uniform:-1", "uniform:x", "gauss:3", "powers:9999999999", "uniform:2000000", "inverse:"} {
		if got, err := widthsOf(spec); err == nil || !strings.Contains(err.Error(), "want one, uniform:N") {
			t.Errorf("%q: %v %v", spec, got, err)
		}
	}
}

// TestWorkThatCannotBe: each field by itself.
func TestWorkThatCannotBe(t *testing.T) {
	for field, spoil := range map[string][]func(w *Work){
		"jobs":    {func(w *Work) { w.Jobs = 0 }, func(w *Work) { w.Jobs = 1e9 }},
		"horizon": {func(w *Work) { w.Horizon = 0 }, func(w *Work) { w.Horizon = math.NaN() }, func(w *Work) { w.Horizon = math.Inf(1) }},
		"systems": {func(w *Work) { w.Systems = 0 }, func(w *Work) { w.Systems = 1e6 }},
		"nodes":   {func(w *Work) { w.Nodes = nil }, func(w *Work) { w.Nodes = PerSystem{0} }, func(w *Work) { w.Nodes = PerSystem{4, 1 << 25} }},
		"share": {func(w *Work) { w.Share = []float64{-1} }, func(w *Work) { w.Share = []float64{math.NaN()} }, func(w *Work) { w.Share = []float64{0} },
			func(w *Work) { w.Share, w.Systems = []float64{0, 5}, 1 }},
		"load":  {func(w *Work) { w.Load = 0 }, func(w *Work) { w.Load = math.NaN() }, func(w *Work) { w.Load = 1001 }},
		"run":   {func(w *Work) { w.Run = "normal" }},
		"width": {func(w *Work) { w.Width = "wide" }},
	} {
		for i, f := range spoil {
			w := drawnWork()
			f(&w)
			if jobs, err := w.Draw(1); err == nil || !strings.Contains(err.Error(), field) {
				t.Errorf("%s, %d: %d jobs, %v", field, i, len(jobs), err)
			}
		}
	}
	w := Work{Jobs: 1, Horizon: 1e9, Nodes: PerSystem{1 << 24}, Share: []float64{1}, Width: "one", Run: "const", Load: 1000, Systems: 100_000}
	if jobs, err := w.Draw(1); err != nil || jobs[0].Run != longestRun {
		t.Errorf("beyond all bounds: %+v %v", jobs, err)
	}
	var p PerSystem
	for text, want := range map[string]PerSystem{"4": {4}, "[1,2]": {1, 2}} {
		if err := json.Unmarshal([]byte(text), &p); err != nil || !slices.Equal(p, want) {
			t.Errorf("%s: %v %v", text, p, err)
		}
	}
	if err := json.Unmarshal([]byte(`"many"`), &p); err == nil {
		t.Error("a text is taken for nodes")
	}
}

// TestConfigurationsThatCannotRun: each field by itself.
func TestConfigurationsThatCannotRun(t *testing.T) {
	for field, spoil := range map[string]func(c *Config){
		"mode": func(c *Config) { c.Mode = "ring" }, "discipline": func(c *Config) { c.Discipline = "lifo" }, "fanout": func(c *Config) { c.Fanout = 1 }, "fit": func(c *Config) { c.Fit = "any" },
		"mark": func(c *Config) { c.Mark = "maybe" }, "loss = -": func(c *Config) { c.Loss = -0.1 }, "loss = 1.1": func(c *Config) { c.Loss = 1.1 }, "loss = NaN": func(c *Config) { c.Loss = math.NaN() },
		"a time": func(c *Config) { c.Latency = -1 }, "a time below": func(c *Config) { c.MaxAge = -1 },
		"refresh = 1:": func(c *Config) { c.Refresh = 1 },
		"max_hops":     func(c *Config) { c.MaxHops = -1 }, "fail_who = 3": func(c *Config) { c.FailAt, c.FailWho = 1, 3 }, "fail_who = -1": func(c *Config) { c.FailAt, c.FailWho = 1, -1 },
	} {
		c := Config{Mode: "tree", Fanout: 2, Discipline: "fcfs", Mark: managers.MarkAck}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		spoil(&c)
		if _, err := Run(t.Context(), c, []int{4, 4}, nil, 1e7, 1); err == nil || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	c := Config{Mode: "independent", Discipline: "fcfs"}
	if _, err := Run(t.Context(), c, []int{4}, []Job{{ID: 1, Home: 1, Run: 1, Width: 1}}, 1, 1); err == nil || !strings.Contains(err.Error(), "home 1, and there are 1 systems") {
		t.Errorf("a job of no system: %v", err)
	}
}

// TestFiles: lists of jobs and schedules come back as they were written; what is
// wrong is told with its line.
func TestFiles(t *testing.T) {
	jobs := []Job{{ID: 5}, {ID: 7}, {ID: 9}}
	starts := []Start{{System: 2, At: 100}, {System: -1, At: 55}, {System: 0, At: 0}}
	var b bytes.Buffer
	if err := WriteStarts(&b, jobs, starts); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "id,system,start\n5,2,100\n7,-1,-1\n9,0,0\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	const head = "id,home,submit,run,width,priority\n"
	list, err := ReadJobs(strings.NewReader("# a comment\n" + head + "1,0,0,5,2,0\n# another\n2,1,0,7,1,3\n"))
	if want := []Job{{1, 0, 0, 5, 2, 0}, {2, 1, 0, 7, 1, 3}}; err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("%v %v", list, err)
	}
	list, err = ReadJobs(strings.NewReader("width, run, colour, submit, home, id\n2,5,red,0,0,1\n"))
	if want := []Job{{1, 0, 0, 5, 2, 0}}; err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("other columns in another order: %v %v", list, err)
	}
	list, err = ReadJobs(strings.NewReader("\uFEFFID ,Home,submit,run,width,priority\r\n1,0,0,5,2 ,\r\n"))
	if want := []Job{{1, 0, 0, 5, 2, 0}}; err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("as Windows writes it, without a priority: %v %v", list, err)
	}
	list, err = ReadJobs(strings.NewReader(head + "1.0,0,1.5e2,5e0,2,0.0\n"))
	if want := []Job{{1, 0, 150, 5, 2, 0}}; err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("whole numbers with fractions and exponents: %v %v", list, err)
	}
	list, err = ReadJobs(strings.NewReader("\uFEFF# by hand\r\n" + head + "9,0,5,5,1,0\n3,0,4,5,1,0\n2,0,5,5,1,0\n"))
	if want := []Job{{3, 0, 4, 5, 1, 0}, {9, 0, 5, 5, 1, 0}, {2, 0, 5, 5, 1, 0}}; err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("in another order, behind a note: %v %v", list, err)
	}
	for text, want := range map[string]string{
		"": "no headings", head: "no jobs", "id,home,submit,ID,run,width\n": "line 1: two columns are called id",
		head + "1,0,0,5,2,0\n7,0,1,5,2,0\n1,0,2,5,2,0": "line 4: job 1 is in line 2 already",
		head + "1,0,0,5,2\n":                           "wrong number of fields",
		head + "1,0,0,5,2,x\n":                         `line 2: priority "x" is no whole number`,
		"1,0,0,5,2,0\n2,0,4,5,1,0\n":                   "line 1: the headings are",
		head + "1,0,0.5,5,2,0\n":                       `line 2: submit "0.5" is no whole number`,
		head + "1,0,NaN,5,2,0\n":                       "is no whole number",
		head + "1,0,1e300,5,2,0\n":                     "is no whole number",
		head + "1,-1,0,5,2,0\n":                        "line 2: no job has home -1",
		head + "1,0,-5,5,2,0\n":                        "line 2: no job has",
		head + "1,0,0,0,2,0\n":                         "line 2: no job has",
		head + "1,0,0,5,0,0\n":                         "line 2: no job has",
		head + "1,0,4503599627370497,5,1,0":            "line 2: no job has",
		head + "1,0,99999999999999999999,5,1,0":        "is no whole number",
		head + "\"1,0":                                 "",
	} {
		if _, err := ReadJobs(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if err := WriteStarts(fullDisk{}, jobs, starts); err == nil {
		t.Error("a disk that is full is not told")
	}
}

// fullDisk is one on which there is no room.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("no space left on device")

type endless string

func (e endless) Read(p []byte) (int, error) {
	return copy(p, strings.Repeat(string(e), 1+len(p)/len(e))), nil
}

// A list of jobs without end is an error, and not all memory.
func TestJobsWithoutEnd(t *testing.T) {
	for _, text := range []endless{"\x00", "1,", "#"} {
		testbed.Within(t, 2*time.Second, 200<<20, func() {
			if _, err := ReadJobs(text); err == nil || !strings.Contains(err.Error(), "longer than") {
				t.Errorf("%q: %v", text, err)
			}
		})
	}
}
