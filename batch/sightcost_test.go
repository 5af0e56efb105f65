package batch_test

import (
	"testing"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// TestSightCost: for the next fifty starts of 5,000 waiting jobs not two hundred get places.
func TestSightCost(t *testing.T) {
	testbed.Computes(t)
	for _, p := range []batch.Policy{{Name: "conservative"}, {Name: "maui", Maui: batch.Maui{ReservationDepth: batch.Unlimited}}} {
		f := batch.Forecaster{Policy: p}
		live, err := f.Live(bigState(2500, 5000, 500))
		if err != nil {
			t.Fatal(err)
		}
		live.Starts(50)
		if n := live.Sought(); n == 0 || n > 200 {
			t.Errorf("%s: %d jobs have places", p.Name, n)
		}
	}
}
