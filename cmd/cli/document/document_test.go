package document_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"gridbroker/cmd/cli/document"
)

type inner struct {
	MaxCPU time.Duration `json:"maxCPUTime"`
	Own    int           `json:"own"`
}

type opt[T any] struct {
	v  T
	ok bool
}

func (o opt[T]) Document() *T {
	if !o.ok {
		return nil
	}
	return &o.v
}

type outer struct {
	*inner
	Own    string             `json:"own"` // hides the inner one
	Memory int64              `json:"memory" unit:"mb"`
	Limit  opt[time.Duration] `json:"limit"`
	None   opt[int64]         `json:"none"`
	At     time.Time          `json:"at"`
	Never  time.Time          `json:"never"`
	List   []string           `json:"list"`
	Maybe  *int               `json:"maybe"`
	Left   []int              `json:"left,omitempty"`
	NaN    float64            `json:"nan"`
	Raw    json.Number        `json:"raw"`
	SEs    map[string]float64 `json:"closeSEs"`
	Secret string             `json:"-"`
}

// TestConvention holds names, units, times and lists to what the package promises.
func TestConvention(t *testing.T) {
	v := outer{inner: &inner{MaxCPU: 90 * time.Second}, Own: "a > b\x1b", Memory: 5, Limit: opt[time.Duration]{1500 * time.Millisecond, true},
		At: time.Date(2026, 11, 21, 6, 0, 0, 5000, time.FixedZone("", 3600)), NaN: math.NaN(), Raw: "1e3", SEs: map[string]float64{"b": 2, "a": 1}}
	want := `{"max_cpu_time_seconds":90,"own":"a > b\u001b","memory_mb":5,"limit_seconds":1.5,"at":"2026-11-21T05:00:00.000005Z",` +
		`"list":[],"maybe":null,"nan":null,"raw":1e3,"close_ses":{"a":1,"b":2}}`
	got, err := document.Append(nil, v)
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

// TestSchemaFits compares what a schema requires and names with what is written of an empty and of a full value.
func TestSchemaFits(t *testing.T) {
	s := document.SchemaOf("test/v1", reflect.TypeFor[outer](), func(_ reflect.Type, f string) string { return "of " + f })
	text, err := document.Append(nil, outer{inner: &inner{}})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	got["schema"] = "test/v1"
	for _, name := range s.Required {
		if _, ok := got[name]; !ok {
			t.Errorf("%s is required and was not written", name)
		}
	}
	for name := range got {
		if s.Properties[name] == nil {
			t.Errorf("%s was written and is not in the schema", name)
		}
	}
	if s.Properties["limit_seconds"].Type != "number" || s.Properties["limit_seconds"].Description != "of Limit" || s.Properties["never"].Format != "date-time" {
		t.Errorf("limit_seconds %+v, never %+v", s.Properties["limit_seconds"], s.Properties["never"])
	}
	fields := document.Fields(reflect.TypeFor[outer]())
	if fields["max_cpu_time_seconds"] != 0.0 || fields["own"] != "" || fields["maybe"] != nil {
		t.Errorf("fields %v", fields)
	}
}

// BenchmarkAppend is of a document of ordinary size.
func BenchmarkAppend(b *testing.B) {
	v := outer{inner: &inner{}, Own: "text"}
	for b.Loop() {
		if _, err := document.Append(nil, v); err != nil {
			b.Fatal(err)
		}
	}
}
