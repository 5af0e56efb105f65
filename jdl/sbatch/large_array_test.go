package sbatch_test

import (
	"strings"
	"testing"
	"time"

	"gridbroker/jdl/classad"
	"gridbroker/jdl/sbatch"
	"gridbroker/testdata/testbed"
)

// An array of as many tasks as there may be is read in time that grows with their number.
func TestLargeArrays(t *testing.T) {
	testbed.Computes(t)
	text := []byte("#!/bin/sh\n#SBATCH --array=0-99999\ntrue\n")
	testbed.Within(t, 2*time.Second, 350<<20, func() {
		ads, err := sbatch.Read("j.sh", text, nil)
		if err != nil || len(ads) != 1 {
			t.Fatal(len(ads), err)
		}
		nodes, _ := ads[0].Expr("Nodes")
		if tasks, ok := nodes.(*classad.ListExpr); !ok || len(tasks.Elems) != 100_000 {
			t.Errorf("%T", nodes)
		}
	})
}

// A script of very many options is read in time that grows with their number, each as fast as a line is.
func TestManyOptions(t *testing.T) {
	testbed.Computes(t)
	text := []byte("#!/bin/sh\n" + strings.Repeat("#SBATCH --export=A=1\n", 400_000) + "true\n")
	testbed.Within(t, 2*time.Second, 300<<20, func() {
		if _, err := sbatch.Read("j.sh", text, nil); err != nil {
			t.Error(err)
		}
	})
}
