package forecast

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins/ask"
	"gridbroker/rank"
)

func TestForecastsFromAService(t *testing.T) {
	now := time.Unix(1_800_000_000, 0).UTC()
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked++
		var q Question
		if err := json.NewDecoder(req.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		if q.Procs != 4 || q.WallTime != 3600 || len(q.Queues) != 8 || q.Tags[0] != "MPI" {
			t.Errorf("asked for %+v", q)
		}
		w.Write([]byte(`{"schema":"grid.forecast/v1","made":"` + now.Add(-time.Minute).Format(time.RFC3339) + `","starts":[
			{"queue":"a","low":0,"median":600,"high":1200,"past_error":60,"good_until":"` + now.Add(time.Hour).Format(time.RFC3339) + `"},
			{"queue":"b","median":0},
			{"queue":"odd","median":600,"quantiles":[{"chance":0.5,"wait":600},{"chance":0.25,"wait":700}]},
			{"queue":"less","median":600,"quantiles":[{"chance":0.5,"wait":600},{"chance":0.9,"wait":500}]},
			{"queue":"sure","median":600,"quantiles":[{"chance":1,"wait":600}]},
			{"queue":"odds","median":600,"quantiles":[{"chance":0.1,"wait":60},{"chance":0.5,"wait":600},{"chance":0.9,"wait":3600}],"learned":7},
			{"queue":"far","median":161000000000},
			{"queue":"mad","low":900,"median":600,"high":300},
			{"queue":"unasked","median":1}]}`))
	}))
	defer srv.Close()
	s, err := ask.ParseSubject("*="+srv.URL, Schemes...)
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{Ask: &ask.Client{HTTP: http.DefaultClient}, Subjects: []ask.Subject{s}, Now: func() time.Time { return now }}
	job := &jdl.Job{Demand: jdl.Demand{Slots: 4, WallTime: time.Hour, RuntimeEnvironments: []string{"MPI"}}}
	var rs []*glue.Resource
	for _, q := range []string{"a", "b", "far", "mad", "odd", "less", "sure", "odds"} {
		rs = append(rs, &glue.Resource{ID: "ce/" + q, Queue: q})
	}
	fs, err := c.Forecast(t.Context(), job, rs)
	if err != nil || len(fs) != 3 || asked != 1 {
		t.Fatalf("%+v %v, asked %d times", fs, err, asked)
	}
	a := fs["ce/a"]
	if a.Low != 0 || a.Median != 10*time.Minute || a.High != 20*time.Minute || a.PastError != glue.Some(time.Minute) || !a.Made.Equal(now.Add(-time.Minute)) || a.GoodUntil.IsZero() {
		t.Errorf("a: %+v", a)
	}
	if o := fs["ce/odds"]; len(o.Quantiles) != 3 || o.Quantiles[2] != (rank.Quantile{Chance: 0.9, Wait: time.Hour}) {
		t.Errorf("odds: %+v", o)
	}
	if b := fs["ce/b"]; b.Median != 0 || b.High != 0 || b.PastError.OK {
		t.Errorf("b: %+v", b)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	now := time.Now()
	for text, want := range map[string]string{
		`{`:                              "not a forecast",
		`{"schema":"grid.queues/v1"}`:    `schema "grid.queues/v1"`,
		`{"schema":"grid.forecast/v1"}`:  "does not say when",
		`{"schema":"grid.forecast/v1",1`: "not a forecast",
	} {
		if _, err := parse([]byte(text), now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"schema":"grid.forecast/v1","made":"2026-01-02T03:04:05Z","starts":[{"queue":"a","low":1,"median":2,"high":1e300}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := parse(text, time.Now())
		if err != nil {
			return
		}
		for _, s := range a.Starts {
			if f, ok := s.forecast("x", a.Made); ok && (f.Low < 0 || f.Low > f.Median || f.Median > f.High || f.High > horizon) {
				t.Errorf("%+v", f)
			}
		}
	})
}
