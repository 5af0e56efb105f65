package sbatch_test

import (
	"testing"
	"time"

	"gridbroker/jdl/sbatch"
	"gridbroker/testdata/testbed"
)

// An array of as many tasks as there may be is read in time that grows with their number.
func TestLargeArrays(t *testing.T) {
	text := []byte("#!/bin/sh\n#SBATCH --array=0-99999\ntrue\n")
	testbed.Within(t, 2*time.Second, 200<<20, func() {
		ads, err := sbatch.Read("j.sh", text, nil)
		if err != nil || len(ads) != 100_000 {
			t.Errorf("%d tasks, %v", len(ads), err)
		}
	})
}
