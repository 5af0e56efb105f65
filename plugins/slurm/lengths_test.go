package slurm

import (
	"fmt"
	"os"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/testdata/testbed"
)

// The lengths of as many queues as a cluster may name are told of as many partitions in little memory and time.
func TestLengthsOfManyPartitions(t *testing.T) {
	l := newLab(t)
	l.write("squeue", fmt.Sprintf("#!/bin/sh\nseq -f 'q%%g,q0%sPriority' 1 9000\n", sep))
	b := New(Options{Environ: []string{"PATH=" + l.dir + ":" + os.Getenv("PATH")}, Home: t.TempDir(), Command: time.Minute, Now: time.Now})
	t.Cleanup(func() { b.Close() })
	var rs []*glue.Resource
	for i := range 9000 {
		rs = append(rs, &glue.Resource{ID: fmt.Sprint(i), Queue: fmt.Sprint("q", i), Schema: "self", Source: l.url, Endpoints: []glue.Endpoint{{Interface: glue.InterfaceSlurm, URL: l.url}}})
	}
	testbed.Within(t, 2*time.Second, 100<<20, func() {
		got, err := b.QueueLengths(t.Context(), rs)
		if err != nil || len(got) != len(rs) {
			t.Fatalf("%d lengths, %v", len(got), err)
		}
		if none, one := got["0"], got["8999"]; none.Own != glue.Some[int64](9000) || one.Own != glue.Some[int64](1) || one.Total() != 18_000 {
			t.Errorf("%+v, %+v", none, one)
		}
	})
}
