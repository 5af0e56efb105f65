package jobs_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// fake is a back-end that keeps what it accepted in a file, as a server
// would: one line "endpoint id" per job.
type fake struct {
	mu        sync.Mutex
	dir       string
	point     func()                                // called wherever a process may die
	answer    func(endpoint, id string) error       // nil: accepts everything
	after     func(endpoint, id string) error       // said although the job was accepted
	status    func(h plugins.Handle) plugins.Status // nil: running
	findErr   error                                 // the endpoint cannot be asked
	looked    func()                                // called when it has looked jobs up, before it says so
	requests  []string                              // "endpoint n" per Submit
	came      []string                              // for which requests others came back
	cancels   []string
	cancelErr error                           // the answer to Cancel
	left      func(h plugins.Handle) []string // files of a job; nil: none
	described *jdl.Job                        // what Describe says of every job
}

func (f *fake) path() string { return filepath.Join(f.dir, "accepted") }

func (f *fake) at() {
	if f.point != nil {
		f.point()
	}
}

func (f *fake) Submit(_ context.Context, reqs []plugins.Request, _ plugins.Progress) []plugins.Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, fmt.Sprintf("%s %d", reqs[0].Endpoint.URL, len(reqs)))
	for _, q := range reqs {
		if q.For != "" {
			f.came = append(f.came, q.For)
		}
	}
	out := make([]plugins.Result, len(reqs))
	for i, q := range reqs {
		f.at()
		out[i] = plugins.Result{ID: q.ID, Err: f.accept(q)}
		if out[i].Err == nil {
			out[i].Handle = plugins.Handle{Interface: q.Endpoint.Interface, Endpoint: q.Endpoint.URL, ID: "their-" + q.ID}
		}
	}
	f.at()
	return out
}

func (f *fake) accept(q plugins.Request) error {
	if f.answer != nil {
		if err := f.answer(q.Endpoint.URL, q.ID); err != nil {
			return err
		}
	}
	log, err := os.OpenFile(f.path(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	if _, err := fmt.Fprintf(log, "%s %s\n", q.Endpoint.URL, q.ID); err != nil {
		return err
	}
	if f.after != nil {
		return f.after(q.Endpoint.URL, q.ID)
	}
	return nil
}

// accepted lists "endpoint id" of all jobs taken so far.
func (f *fake) accepted() []string {
	log, err := os.Open(f.path())
	if err != nil {
		return nil
	}
	defer log.Close()
	var lines []string
	for sc := bufio.NewScanner(log); sc.Scan(); {
		lines = append(lines, sc.Text())
	}
	return lines
}

func (f *fake) Find(_ context.Context, e glue.Endpoint, ids []string) (map[string]plugins.Handle, error) {
	if f.findErr != nil {
		return nil, f.findErr
	}
	found := map[string]plugins.Handle{}
	for _, line := range f.accepted() {
		for _, id := range ids {
			if line == e.URL+" "+id {
				found[id] = plugins.Handle{Interface: e.Interface, Endpoint: e.URL, ID: "their-" + id}
			}
		}
	}
	if f.looked != nil {
		f.looked()
	}
	return found, nil
}

func (f *fake) Status(_ context.Context, hs []plugins.Handle) []plugins.Status {
	out := make([]plugins.Status, len(hs))
	for i, h := range hs {
		out[i] = plugins.Status{Handle: h, State: plugins.Running, Native: "R"}
		if f.status != nil {
			out[i] = f.status(h)
			out[i].Handle = h
		}
	}
	return out
}

func (f *fake) List(_ context.Context, hs []plugins.Handle) []plugins.FetchResult {
	out := make([]plugins.FetchResult, len(hs))
	for i, h := range hs {
		if f.left != nil {
			out[i].Files = f.left(h)
		}
	}
	return out
}

func (f *fake) Cancel(_ context.Context, hs []plugins.Handle) []error {
	for _, h := range hs {
		f.cancels = append(f.cancels, h.ID)
	}
	errs := make([]error, len(hs))
	for i := range errs {
		errs[i] = f.cancelErr
	}
	return errs
}

// jobID is our id in a request's id: without the number of the attempt.
func jobID(request string) string {
	id, _, _ := strings.Cut(request, "-")
	return id
}

func (f *fake) Inventory(_ context.Context, e glue.Endpoint) ([]plugins.Present, error) {
	if f.findErr != nil {
		return nil, f.findErr
	}
	var all []plugins.Present
	for _, line := range f.accepted() {
		if url, id, _ := strings.Cut(line, " "); url == e.URL {
			all = append(all, plugins.Present{ID: id, Handle: plugins.Handle{Interface: e.Interface, Endpoint: e.URL, ID: "their-" + id}})
		}
	}
	return all, nil
}

func (f *fake) Describe(_ context.Context, hs []plugins.Handle) ([]*jdl.Job, error) {
	return slices.Repeat([]*jdl.Job{f.described}, len(hs)), nil
}
