package tree

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Work describes how jobs are drawn. Times are in units.
type Work struct {
	Jobs    int       `json:"jobs"`
	Horizon float64   `json:"horizon"`
	Nodes   PerSystem `json:"nodes"`      // of each system
	Share   []float64 `json:"share"`      // of the jobs, by system; shorter lists are repeated
	Width   string    `json:"width"`      // one, uniform:N, inverse:N (weight 1/w), powers:N (1, 2, 4 ... N)
	Run     string    `json:"run"`        // exp, const, hyper
	Load    float64   `json:"load"`       // node time asked for / node time there is
	Prios   int       `json:"prios"`      // number of priorities
	Systems int       `json:"systems"`    // computing systems
	Shares  string    `json:"shares_are"` // "... sorted, greatest first": the repeated list is sorted
}

// PerSystem is one number for all systems, or one for each.
type PerSystem []int

// UnmarshalJSON reads a number or a list.
func (p *PerSystem) UnmarshalJSON(data []byte) error {
	var one int
	if err := json.Unmarshal(data, &one); err == nil {
		*p = PerSystem{one}
		return nil
	}
	return json.Unmarshal(data, (*[]int)(p))
}

// Job is one job of a simulation; times in ticks.
type Job struct {
	ID       int
	Home     int
	Submit   int64
	Run      int64
	Width    int
	Priority int
}

// longestRun bounds run times, in ticks, and submissions in files.
const longestRun = 1 << 52

// splitmix is the generator SplitMix64 (Steele, Lea, Flood 2014).
type splitmix uint64

func (s *splitmix) next() uint64 {
	*s += 0x9E3779B97F4A7C15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func (s *splitmix) unit() float64 { return float64(s.next()>>11) / (1 << 53) }

// NodesOf returns the nodes of every system.
func (w *Work) NodesOf() []int {
	nodes := make([]int, w.Systems)
	for i := range nodes {
		nodes[i] = w.Nodes[i%len(w.Nodes)]
	}
	return nodes
}

// Check finds descriptions that make no workload.
func (w *Work) Check() error {
	switch {
	case w.Jobs < 1 || w.Jobs > 1e8:
		return fmt.Errorf("jobs = %d: want 1 to 100000000", w.Jobs)
	case !(w.Horizon > 0 && w.Horizon <= 1e9):
		return fmt.Errorf("horizon = %g: want a time up to 1e9 units", w.Horizon)
	case w.Systems < 1 || w.Systems > 100_000:
		return fmt.Errorf("systems = %d: want 1 to 100000", w.Systems)
	case len(w.Nodes) == 0 || len(w.Share) == 0:
		return fmt.Errorf("nodes and share: want one value or one per system")
	case !(w.Load > 0 && w.Load <= 1000):
		return fmt.Errorf("load = %g: want a factor up to 1000", w.Load)
	case w.Run != "exp" && w.Run != "const" && w.Run != "hyper":
		return fmt.Errorf("run = %q: want exp, const or hyper", w.Run)
	}
	for _, n := range w.Nodes {
		if n < 1 || n > 1<<24 {
			return fmt.Errorf("nodes = %d: want 1 to %d", n, 1<<24)
		}
	}
	for _, s := range w.Share {
		if !(s >= 0 && s < 1e12) {
			return fmt.Errorf("share = %g: want a weight", s)
		}
	}
	if slices.Max(w.sharesOf()) == 0 {
		return fmt.Errorf("share = %v: no system gets a job", w.Share)
	}
	_, err := widthsOf(w.Width)
	return err
}

// widthsOf returns the cumulative chances of the widths 1, 2, ...
func widthsOf(spec string) ([]float64, error) {
	name, arg, _ := strings.Cut(spec, ":")
	most, err := strconv.Atoi(arg)
	if name == "one" {
		most, err = 1, nil
	}
	if err != nil || most < 1 || most > 1<<20 {
		return nil, fmt.Errorf("width = %q: want one, uniform:N, inverse:N or powers:N", spec)
	}
	weights := make([]float64, most)
	for i := range weights {
		w := i + 1
		switch {
		case name == "one" || name == "uniform":
			weights[i] = 1
		case name == "inverse":
			weights[i] = 1 / float64(w)
		case name == "powers" && w&(w-1) == 0:
			weights[i] = 1
		case name != "powers":
			return nil, fmt.Errorf("width = %q: want one, uniform:N, inverse:N or powers:N", spec)
		}
	}
	return cumulate(weights), nil
}

// cumulate returns running sums, scaled to end at 1.
func cumulate(weights []float64) []float64 {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	c := make([]float64, len(weights))
	at := 0.0
	for i, w := range weights {
		at += w
		c[i] = at / sum
	}
	return c
}

// pick returns the first index whose running sum is beyond u.
func pick(c []float64, u float64) int {
	return min(sort.Search(len(c), func(i int) bool { return c[i] > u }), len(c)-1)
}

// sharesOf returns the share of every system.
func (w *Work) sharesOf() []float64 {
	s := make([]float64, w.Systems)
	for i := range s {
		s[i] = w.Share[i%len(w.Share)]
	}
	return s
}

// shares returns the running sums of the systems' shares.
func (w *Work) shares() []float64 {
	s := w.sharesOf()
	if strings.Contains(w.Shares, "sorted") {
		slices.SortFunc(s, func(a, b float64) int { return -compareFloat(a, b) })
	}
	return cumulate(s)
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// MeanRun returns the mean run time in units that gives the load.
func (w *Work) MeanRun() float64 {
	nodes := 0
	for _, n := range w.NodesOf() {
		nodes += n
	}
	widths, _ := widthsOf(w.Width)
	mean, last := 0.0, 0.0
	for i, c := range widths {
		mean += float64(i+1) * (c - last)
		last = c
	}
	return w.Load * float64(nodes) * w.Horizon / float64(w.Jobs) / mean
}

// Draw draws the jobs of a seed, sorted by submission.
func (w *Work) Draw(seed uint64) ([]Job, error) {
	if err := w.Check(); err != nil {
		return nil, err
	}
	rng := splitmix(seed)
	widths, _ := widthsOf(w.Width)
	shares, mean := w.shares(), w.MeanRun()
	jobs := make([]Job, w.Jobs)
	for i := range jobs {
		j := &jobs[i]
		j.Submit = int64(rng.unit() * w.Horizon * TicksPerUnit)
		j.Home = pick(shares, rng.unit())
		j.Width = 1 + pick(widths, rng.unit())
		j.Run = max(1, int64(min(w.run(&rng)*mean*TicksPerUnit, longestRun)))
		if w.Prios > 1 {
			j.Priority = int(rng.unit() * float64(w.Prios))
		}
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return int(a.Submit - b.Submit) })
	for i := range jobs {
		jobs[i].ID = i + 1
	}
	return jobs, nil
}

// run draws a run time of mean 1.
func (w *Work) run(rng *splitmix) float64 {
	mean := 1.0
	switch w.Run {
	case "const":
		return 1
	case "hyper":
		if mean = 5.5; rng.unit() < 0.9 {
			mean = 0.5
		}
	}
	return -math.Log(1-rng.unit()) * mean
}
