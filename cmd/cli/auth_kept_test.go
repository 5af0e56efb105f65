package cli

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/jobs"
)

// TestDescriptionsReadForTheirTimeAreNotKept: to tell which of thousands of jobs may outlive a credential takes their
// descriptions one by one, and not the memory of them all.
func TestDescriptionsReadForTheirTimeAreNotKept(t *testing.T) {
	rs := make([]*jobs.Outcome, 2000)
	for i := range rs {
		rs[i] = &jobs.Outcome{Record: &jobs.Record{ID: fmt.Sprint(i), JDL: `[ Executable = "/bin/true"; InputSandbox = {"/` + strings.Repeat("x", 200) + `"}; WallTime = 60 ]`}}
	}
	used := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	d := &deps{env: Env{Now: time.Now, Err: io.Discard}}
	warnOfLife(d, &credential.Set{}, rs[:1]) // what is made once
	before := used()
	warnOfLife(d, &credential.Set{}, rs)
	if more := used() - before; more > int64(len(rs))<<10 {
		t.Errorf("%d bytes a job", more/int64(len(rs)))
	}
	runtime.KeepAlive(rs)
}
