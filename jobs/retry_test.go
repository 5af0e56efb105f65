package jobs

import (
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// Whether a job that failed is sent again: by whose fault, how it ended, how often it has been, and what the user says.
func TestRetry(t *testing.T) {
	now := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	code := func(n int) *int { return &n }
	job := func(edit func(*jdl.Job)) *jdl.Job {
		j := &jdl.Job{RetryCount: 1, ShallowRetry: 1, RetryOnExit: []int{75}}
		if edit != nil {
			edit(j)
		}
		return j
	}
	began := func(r Record) Record { r.Started = now; return r }
	failed := Record{State: plugins.Failed}
	exit := func(n int) Record { return began(Record{State: plugins.Done, ExitCode: code(n)}) }
	script := func(state plugins.State, script int, of plugins.State) Record {
		return Record{State: state, ExitCode: code(0), Scripts: &Scripts{Failed: code(script), JobState: of}}
	}
	good := Record{State: plugins.Done, ExitCode: code(75), Scripts: &Scripts{JobState: plugins.Done, Runs: []ScriptRun{{Post: true, Began: now, Ended: now, ExitCode: code(0)}}}}
	for name, c := range map[string]struct {
		r           Record
		job         *jdl.Job
		shallow, ok bool
	}{
		"failed before it ran":                      {failed, job(nil), true, true},
		"failed when it ran":                        {began(failed), job(nil), false, true},
		"lost":                                      {began(Record{State: plugins.Lost}), job(nil), false, true},
		"failed before it ran, shallow used up":     {Record{State: plugins.Failed, Shallow: 1}, job(nil), false, true},
		"failed before it ran, all used up":         {Record{State: plugins.Failed, Shallow: 1, Retries: 1}, job(nil), false, false},
		"failed when it ran, used up":               {began(Record{State: plugins.Failed, Retries: 1}), job(nil), false, false},
		"by its own fault":                          {Record{State: plugins.Failed, Fault: plugins.JobsFault}, job(nil), false, false},
		"lost by its own fault":                     {Record{State: plugins.Lost, Fault: plugins.JobsFault}, job(nil), false, false},
		"cancelled meanwhile":                       {Record{State: plugins.Failed, Cancelled: now}, job(nil), false, false},
		"not to be sent again":                      {Record{State: plugins.Failed, NoRetry: true}, job(nil), false, false},
		"it goes on":                                {Record{State: plugins.Running}, job(nil), false, false},
		"it was cancelled":                          {Record{State: plugins.Cancelled}, job(nil), false, false},
		"it is over time":                           {failed, job(func(j *jdl.Job) { j.Expiry = now.Add(-1) }), false, false},
		"it is in time":                             {failed, job(func(j *jdl.Job) { j.Expiry = now }), true, true},
		"done":                                      {exit(0), job(nil), false, false},
		"done, and retried by that":                 {exit(0), job(func(j *jdl.Job) { j.RetryOnExit = []int{0} }), false, false},
		"with a code that is retried":               {exit(75), job(nil), false, true},
		"with another":                              {exit(76), job(nil), false, false},
		"with none":                                 {began(Record{State: plugins.Done}), job(nil), false, false},
		"with a code that ends its DAG":             {exit(75), job(func(j *jdl.Job) { j.AbortOn = []int{75} }), false, false},
		"with another than ends its DAG":            {exit(75), job(func(j *jdl.Job) { j.AbortOn = []int{76} }), false, true},
		"failed, and 0 would end its DAG":           {failed, job(func(j *jdl.Job) { j.AbortOn = []int{0} }), true, true},
		"its script has found all well":             {good, job(nil), false, false},
		"its script failed, which is retried":       {script(plugins.Failed, 75, plugins.Done), job(nil), false, true},
		"its script failed, which is not":           {script(plugins.Failed, 1, plugins.Done), job(nil), false, false},
		"its script failed as the job had":          {script(plugins.Failed, 1, plugins.Failed), job(nil), false, true},
		"its script failed, with retries used up":   {func() Record { r := script(plugins.Failed, 75, plugins.Failed); r.Retries = 1; return r }(), job(nil), false, false},
		"its script failed by a code to end all":    {script(plugins.Failed, 75, plugins.Done), job(func(j *jdl.Job) { j.AbortOn = []int{75} }), false, false},
		"its script failed, by the job's own fault": {func() Record { r := script(plugins.Failed, 1, plugins.Failed); r.Fault = plugins.JobsFault; return r }(), job(nil), false, false},
	} {
		if shallow, ok := retry(&c.r, c.job, now); shallow != c.shallow || ok != c.ok {
			t.Errorf("%s: shallow %v, again %v, want %v, %v", name, shallow, ok, c.shallow, c.ok)
		}
	}
}
