package jdl_test

import (
	"math"
	"testing"

	"gridbroker/jdl"
)

// One bound holds wherever a priority comes from.
func TestCheckPriority(t *testing.T) {
	for p, ok := range map[float64]bool{
		math.SmallestNonzeroFloat64: true, 1: true, jdl.MaxPriority: true,
		0: false, -1: false, jdl.MaxPriority + 1: false, math.Inf(1): false, math.Inf(-1): false, math.NaN(): false,
	} {
		if err := jdl.CheckPriority(p); (err == nil) != ok {
			t.Errorf("%v: %v", p, err)
		}
	}
	for text, ok := range map[string]bool{"0": true, "2.5": true, "1000000": true, "1000001": false, "-1": false} {
		if _, err := jdl.ParseJob("p.jdl", []byte(`Executable = "/bin/true"; Priority = `+text+`;`)); (err == nil) != ok {
			t.Errorf("Priority = %s: %v", text, err)
		}
	}
}
