package batch_test

import (
	"encoding/json"
	"testing"
	"time"

	"gridbroker/batch"
)

func similar(runs ...int64) *batch.Similar {
	b := batch.NewSimilar()
	for _, run := range runs {
		b.Learn(&batch.Task{Run: run, Limit: 3600, Procs: 4, User: 1})
	}
	return b
}

// TestSimilar believes what jobs like it took that ran longer than it has.
func TestSimilar(t *testing.T) {
	job := batch.Task{Limit: 3600, Procs: 4, User: 1}
	stranger := batch.Task{Limit: 7200, Procs: 4, User: 2}
	b := similar(100, 100, 1000, 1000)
	if run := b.Run(&job, 0); run < 450 || run > 700 {
		t.Errorf("believed to run %d s of 100 or 1000", run)
	}
	if run := b.Run(&job, 500); run < 998 || run > 1000 {
		t.Errorf("after 500 s believed to run %d s, of 100 or 1000", run)
	}
	if run := b.Run(&job, 2000); run != 3600 {
		t.Errorf("longer than ever before, believed to run %d s of 3600", run)
	}
	if run := b.Run(&stranger, 0); run != 7200 {
		t.Errorf("nothing is like it, believed to run %d s of 7200", run)
	}
	for _, draw := range b.Draws(7) {
		if run := draw.Run(&job, 0); run != 100 && run < 998 || run > 1000 {
			t.Errorf("a draw of %d s, of 100 or 1000", run)
		}
	}
	if low, high := b.Level(0.1).Run(&job, 0), b.Level(0.9).Run(&job, 0); low != 100 || high != 1000 {
		t.Errorf("levels of 10 and 90 %%: %d, %d s", low, high)
	}
	c := b.Copy()
	c.Learn(&batch.Task{Run: 3000, Limit: 3600, Procs: 4, User: 1})
	if run := b.Run(&job, 2000); run != 3600 {
		t.Errorf("a copy taught the original: %d s", run)
	}
}

// TestSimilarMemory loads what was saved: nothing is believed otherwise.
func TestSimilarMemory(t *testing.T) {
	f := &batch.Forecaster{Policy: batch.Policy{Name: "easy"}, Belief: batch.NewSimilar()}
	job := batch.Job{ID: "a", User: "ann", Procs: 4, Requested: time.Hour}
	f.Learn(job, 10*time.Minute)
	f.Learn(job, 20*time.Minute)
	document, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	g := &batch.Forecaster{Policy: batch.Policy{Name: "easy"}, Belief: batch.NewSimilar()}
	if err := json.Unmarshal(document, g); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != string(document) {
		t.Errorf("loaded and saved again:\n%s\n%s", document, again)
	}
	task := batch.Task{Limit: 3600, Procs: 4, User: 1}
	if a, b := f.Belief.Run(&task, 0), g.Belief.Run(&task, 0); a != b || a > 1200 {
		t.Errorf("believed %d s, after loading %d s", a, b)
	}
}
