// Package batchtest reads traces for the tests of what stands on the engine.
package batchtest

import (
	"io"
	"testing"

	"gridbroker/batch"
	"gridbroker/batch/swf"
)

// Task is a trace's job as the engine takes it.
func Task(j swf.Job) batch.Task {
	return batch.Task{ID: j.ID, Submit: j.Submit, Run: j.Run, Limit: j.Limit, Procs: j.Procs, User: j.User}
}

// Load reads and cleans a whole trace in the standard workload format; procs
// is the size of its machine.
func Load(t testing.TB, path string) (tasks []batch.Task, procs int) {
	t.Helper()
	r, err := swf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := &swf.Cleaner{Source: r, Name: path}
	for {
		j, err := c.Next()
		if err == io.EOF {
			return tasks, c.Procs
		}
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, Task(j))
	}
}
