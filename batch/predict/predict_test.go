package predict

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gridbroker/batch"
	"gridbroker/batch/batchtest"
	"gridbroker/testdata/testbed"
)

var update = flag.Bool("update", false, "write golden files anew")

func evaluate(t testing.TB, tasks []batch.Task, procs int, policy string) Report {
	t.Helper()
	m, err := batch.NewMachine(procs, batch.Policy{Name: policy})
	if err != nil {
		t.Fatal(err)
	}
	e := Evaluation{Skip: len(tasks) / 20}
	all := func(yield func(batch.Task, error) bool) {
		for _, task := range tasks {
			if !yield(task, nil) {
				return
			}
		}
	}
	for _, err := range e.Run(m, all) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return e.Report()
}

// TestReport holds the whole report of a small trace against a golden file, and
// that the calibrated quantiles are better than those from waits alone.
func TestReport(t *testing.T) {
	testbed.Computes(t)
	tasks, procs := batchtest.Load(t, "../../testdata/traces/lublin-64.swf")
	for _, policy := range []string{"easy", "conservative"} {
		r := evaluate(t, tasks, procs, policy)
		if r.Jobs != len(tasks)-len(tasks)/20 || r.Waiting == 0 {
			t.Fatalf("%d jobs judged, %d waiting", r.Jobs, r.Waiting)
		}
		if ours, waits := r.Scores[0], r.Scores[1]; ours.Pinball >= waits.Pinball {
			t.Errorf("%s: loss %.0f s, by waits of the class %.0f s", policy, ours.Pinball, waits.Pinball)
		}
		rounded(&r)
		got, err := json.MarshalIndent(r, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "lublin-64."+policy+".json")
		if *update {
			if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != string(got)+"\n" {
			t.Errorf("%s: report differs from %s:\n%s", policy, path, got)
		}
	}
}

// rounded leaves three digits, which do not depend on the processor's rounding.
func rounded(r *Report) {
	digits := func(v *float64) { *v = math.Round(*v*1000) / 1000 }
	digits(&r.MeanWait)
	for i := range r.Scores {
		s := &r.Scores[i]
		s.Pinball, s.Width = math.Round(s.Pinball), s.Width/10*10
		for _, v := range []*float64{&s.Share, &s.Log, &s.Below, &s.Above} {
			digits(v)
		}
	}
	for i := range r.Classes {
		digits(&r.Classes[i].Below)
		digits(&r.Classes[i].Above)
	}
}

// TestGoals holds the reference's best combination as a bound on four traces
// (minutes).
func TestGoals(t *testing.T) {
	dir := os.Getenv("GRID_TESTDATA")
	if dir == "" || os.Getenv("GRID_LONG") == "" {
		t.Skip("four whole traces: GRID_LONG and GRID_TESTDATA, with traces/, are not set")
	}
	for _, goal := range []struct {
		file string
		most float64
	}{
		{"KTH-SP2-1996-2.1-cln", 0.282}, {"SDSC-SP2-1998-4.2-cln", 0.262}, {"CTC-SP2-1996-3.1-cln", 0.300}, {"SDSC-DS-2004-2.1-cln", 0.300},
	} {
		t.Run(goal.file, func(t *testing.T) {
			tasks, procs := batchtest.Load(t, filepath.Join(dir, "traces", goal.file+".swf.gz"))
			s := evaluate(t, tasks, procs, "easy").Scores[0]
			t.Logf("loss %.4f of the mean wait, %.4f below, %.4f above", s.Share, s.Below, s.Above)
			if s.Share > goal.most || s.Below < 0.09 || s.Below > 0.115 || s.Above < 0.09 || s.Above > 0.115 {
				t.Errorf("loss %.4f of the mean wait (at most %.3f), %.4f below, %.4f above (0.09 to 0.115)", s.Share, goal.most, s.Below, s.Above)
			}
		})
	}
}

// world draws jobs whose waits scatter around what is foretold.
type world struct {
	rnd   *rand.Rand
	times float64 // the true wait over the one foretold
	n     int
	now   int64
}

func (w *world) next() (id string, o Outlook, wait int64) {
	w.n++
	w.now += 60
	foretold := math.Exp2(4 + 4*w.rnd.Float64())
	o = Outlook{Procs: 1 << w.rnd.IntN(6), Limit: 3600, Run: 1800, Waiting: 10, Waits: make([]int64, members)}
	for i := range o.Waits {
		o.Waits[i] = int64(foretold * minute)
	}
	wait = int64(minute * foretold * w.times * math.Exp2(w.rnd.NormFloat64()))
	return fmt.Sprint(w.n), o, wait
}

// outcome is an event of the world still to come.
type outcome struct {
	at   int64
	id   string
	left bool
}

// run lets n jobs come, tells of their starts in order of time, and returns the
// shares of them beyond the 10 and the 90 % quantile. A job leaves after its
// patience, where that is less than its wait.
func (w *world) run(m *Model, n int, patience func() int64) (below, above float64) {
	var open []outcome
	tell := func(until int64) {
		for len(open) > 0 && open[0].at <= until {
			if o := open[0]; o.left {
				m.Left(o.id, o.at)
			} else {
				m.Started(o.id, o.at)
			}
			open = open[1:]
		}
	}
	for range n {
		id, o, wait := w.next()
		tell(w.now)
		d := m.Promise(id, w.now, o)
		if float64(wait) < d.Quantile(0.1) {
			below++
		}
		if float64(wait) > d.Quantile(0.9) {
			above++
		}
		next := outcome{w.now + wait, id, false}
		if p := patience(); p < wait {
			next = outcome{w.now + p, id, true}
		}
		i, _ := slices.BinarySearchFunc(open, next, func(a, b outcome) int { return cmp.Compare(a.at, b.at) })
		open = slices.Insert(open, i, next)
	}
	tell(math.MaxInt64)
	return below / float64(n), above / float64(n)
}

func patient() int64 { return math.MaxInt64 }

func newWorld(seed uint64) *world { return &world{rnd: rand.New(rand.NewPCG(seed, 1)), times: 1} }

func within(t *testing.T, what string, v, low, high float64) {
	t.Helper()
	if !(v >= low && v <= high) {
		t.Errorf("%s: %.3f, want %.3f to %.3f", what, v, low, high)
	}
}

// TestCalibration learns a spread that nobody foretold.
func TestCalibration(t *testing.T) {
	testbed.Computes(t)
	m, w := NewModel(), newWorld(1)
	w.run(m, 1000, patient)
	below, above := w.run(m, 2000, patient)
	within(t, "below 10 %", below, 0.07, 0.13)
	within(t, "above 90 %", above, 0.07, 0.13)
	if len(m.open) > 0 {
		t.Errorf("%d promises open", len(m.open))
	}
}

// TestCensored lets those who wait long leave: what they would have waited must
// not be forgotten.
func TestCensored(t *testing.T) {
	testbed.Computes(t)
	m, w := NewModel(), newWorld(2)
	rnd := rand.New(rand.NewPCG(3, 3))
	patience := func() int64 { return int64(3600 * 3 * rnd.ExpFloat64()) }
	w.run(m, 1500, patience)
	below, above := w.run(m, 2500, patience)
	within(t, "below 10 %", below, 0.07, 0.13)
	within(t, "above 90 %", above, 0.07, 0.14)
}

// TestDrift lets waits become eight times as long overnight.
func TestDrift(t *testing.T) {
	testbed.Computes(t)
	m, w := NewModel(), newWorld(4)
	w.run(m, 1500, patient)
	if n := len(m.Drifts()); n > 0 {
		t.Errorf("%d alarms in a world that stays as it is", n)
	}
	changed := w.now
	w.times = 8
	w.run(m, 1000, patient)
	if d := m.Drifts(); len(d) == 0 || d[0] < changed {
		t.Errorf("alarms %v, the world changed at %d", d, changed)
	}
	below, above := w.run(m, 1500, patient)
	within(t, "below 10 %", below, 0, 0.15) // a lower bound follows slowly: it has little to lose
	within(t, "above 90 %", above, 0.05, 0.15)
}

// TestMemory saves and loads in the middle: nothing may come out otherwise.
func TestMemory(t *testing.T) {
	testbed.Computes(t)
	kept, w := NewModel(), newWorld(5)
	w.run(kept, 700, patient)
	for range 50 { // promises whose outcome is open
		id, o, _ := w.next()
		kept.Promise(id, w.now, o)
	}
	document, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	var loaded Model
	if err := json.Unmarshal(document, &loaded); err != nil {
		t.Fatal(err)
	}
	for n := w.n - 50; n < w.n; n++ {
		at := w.now + int64(n%7)*1000
		kept.Started(fmt.Sprint(n), at)
		loaded.Started(fmt.Sprint(n), at)
	}
	w.now += 10000
	for range 300 {
		id, o, wait := w.next()
		if a, b := kept.Promise(id, w.now, o), loaded.Promise(id, w.now, o); a != b {
			t.Fatalf("job %s: %v, after loading %v", id, a, b)
		}
		kept.Started(id, w.now+wait%60)
		loaded.Started(id, w.now+wait%60)
	}
	if err := json.Unmarshal([]byte(`{"schema":"other/v1"}`), &loaded); err == nil {
		t.Error("a document of another schema was taken")
	}
}

// TestUnseen foretells without a queue to be seen: by the waits of the class.
func TestUnseen(t *testing.T) {
	m := NewModel()
	o := Outlook{Procs: 4, Limit: 7200}
	for i := range 100 {
		id := fmt.Sprint(i)
		m.Promise(id, int64(i)*1000, o)
		m.Started(id, int64(i)*1000+int64(i)*10)
	}
	d := m.Foretell(o)
	within(t, "median", d.Quantile(0.5), 400, 600)
	within(t, "chance in 10 min", d.Chance(600), 0.5, 0.7)
}

// TestDistribution holds chances and quantiles against each other.
func TestDistribution(t *testing.T) {
	d := spread([nLevels]float64{1, 2, 3, 5, 6, 8, 9})
	last := -1.0
	for p := 0.002; p < 1; p += 0.013 {
		q := d.Quantile(p)
		if q < last {
			t.Errorf("quantile %.3f is %.1f s, an earlier one %.1f s", p, q, last)
		}
		last = q
		if got := d.Chance(q); q > 0 && math.Abs(got-p) > 1e-6 {
			t.Errorf("chance of the quantile of %.3f is %.3f", p, got)
		}
	}
	var now Distribution
	if now.Quantile(0.99) != 0 || now.Chance(0) != 1 || now.Chance(-1) != 0 {
		t.Error("a job that starts at once is foretold to wait")
	}
}

// TestDamagedMemory: what no model has written is refused, and what is not
// refused can be gone on with for as long as a ring is round.
func TestDamagedMemory(t *testing.T) {
	m, w := NewModel(), newWorld(7)
	w.run(m, 60, patient)
	id, o, _ := w.next()
	m.Promise(id, w.now, o)
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for what, damage := range map[string]func(doc, waits, open map[string]any){
		"another schema":             func(doc, _, _ map[string]any) { doc["schema"] = "grid.predict-memory/v0" },
		"no corrections":             func(doc, _, _ map[string]any) { doc["correction"] = map[string]any{"shift": nil} },
		"a correction of nothing":    func(doc, _, _ map[string]any) { doc["correction"] = map[string]any{"shift": map[string]any{"x": nil}} },
		"no classes":                 func(_, waits, _ map[string]any) { waits["classes"] = nil },
		"a class of nothing":         func(_, waits, _ map[string]any) { waits["classes"] = map[string]any{"x": nil} },
		"a class that counts less":   func(_, waits, _ map[string]any) { waits["classes"] = map[string]any{"x": ring(3, 2)} },
		"a class of too many":        func(_, waits, _ map[string]any) { waits["classes"] = map[string]any{"x": ring(keptWaits+1, 999)} },
		"all, counted backwards":     func(_, waits, _ map[string]any) { waits["all"] = ring(keptOfAll, -5) },
		"all, too many":              func(_, waits, _ map[string]any) { waits["all"] = ring(keptOfAll+1, 9999) },
		"idle, counted backwards":    func(doc, _, _ map[string]any) { doc["idle"] = ring(keptWaits, -1) },
		"a mean of nothing":          func(doc, _, _ map[string]any) { doc["regression"].(map[string]any)["mean"] = 0 },
		"samples below nothing":      func(doc, _, _ map[string]any) { doc["regression"].(map[string]any)["count"] = -1 },
		"a promise to nobody":        func(_, _, open map[string]any) { open["id"] = "" },
		"outcomes beyond all levels": func(_, _, open map[string]any) { open["decided"] = nLevels + 1 },
		"outcomes below nothing":     func(_, _, open map[string]any) { open["decided"] = -1 },
		"a number that is a text":    func(doc, _, _ map[string]any) { doc["judged"] = "many" },
	} {
		var doc map[string]any
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		damage(doc, doc["waits"].(map[string]any), doc["open"].([]any)[0].(map[string]any))
		bad, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		loaded := NewModel()
		if err := json.Unmarshal(bad, loaded); err == nil || !strings.HasPrefix(err.Error(), "memory of a model: ") {
			t.Errorf("%s: %v", what, err)
		}
		if loaded.Learned() != 0 || len(loaded.Open()) > 0 {
			t.Errorf("%s: a part of it was taken in", what)
		}
	}
	for n := 0; n < len(text); n += 97 {
		if err := json.Unmarshal(text[:n], NewModel()); err == nil {
			t.Fatalf("%d bytes of %d are taken", n, len(text))
		}
	}
}

// ring is a list of so many waits that says that there were n.
func ring(length, n int) map[string]any {
	return map[string]any{"last": make([]float64, length), "n": n}
}

// FuzzMemory reads documents that nobody wrote.
func FuzzMemory(f *testing.F) {
	m, w := NewModel(), newWorld(6)
	w.run(m, 30, patient)
	id, o, _ := w.next()
	m.Promise(id, w.now, o)
	document, err := json.Marshal(m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(document)
	f.Fuzz(func(t *testing.T, document []byte) {
		var m Model
		if json.Unmarshal(document, &m) != nil {
			return
		}
		d := m.Promise("new", 1000, o)
		if q := d.Quantile(0.5); math.IsNaN(q) || q < 0 {
			t.Errorf("median %g", q)
		}
		m.Started("new", 2000)
		m.Advance(1 << 40)
	})
}
