package arcrest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// sharedFile is the size up to which a file is read once for all jobs that
// want it, and sharedTotal bounds their sum.
const (
	sharedFile  = 1 << 20
	sharedTotal = 64 << 20
)

// upload brings the input files of the jobs just made, several at once. Jobs
// whose files do not arrive are taken back.
func (s *submission) upload(ctx context.Context, made []int) error {
	failed, err := s.bring(ctx, made)
	s.undo(ctx, failed)
	return err
}

// bring uploads the input files of jobs and returns those for which it
// failed. An error is one of the whole endpoint.
func (s *submission) bring(ctx context.Context, made []int) (failed []int, err error) {
	up := &uploads{s: s, cache: map[string][]byte{}, failed: map[int]bool{}}
	up.count(made)
	var g errgroup.Group
	g.SetLimit(s.c.o.Connections)
	for _, i := range made {
		for _, f := range s.reqs[i].Job.InputSandbox {
			if !f.IsURL() {
				g.Go(func() error { return up.one(ctx, i, f) })
			}
		}
	}
	err = g.Wait()
	for _, i := range made {
		if up.failed[i] {
			failed = append(failed, i)
		}
	}
	return failed, up.fatal(ctx, err)
}

type uploads struct {
	s     *submission
	total int64 // bytes of all files

	mu     sync.Mutex
	cache  map[string][]byte
	cached int
	failed map[int]bool
}

func (up *uploads) count(made []int) {
	for _, i := range made {
		for _, f := range up.s.reqs[i].Job.InputSandbox {
			up.total += f.Size()
		}
	}
}

// fatal decides whether a failed upload ends the whole submission: only when
// the endpoint cannot be reached or the caller has given up.
func (up *uploads) fatal(ctx context.Context, err error) error {
	e, ok := errors.AsType[*plugins.Error](err)
	if ok && (e.Kind == plugins.Unavailable || ctx.Err() != nil) {
		return err
	}
	return nil
}

// one uploads one file of one job, unless the job has failed already. It is
// tried twice: a PUT may be repeated.
func (up *uploads) one(ctx context.Context, i int, f jdl.InputFile) error {
	var err error
	for range 2 {
		if up.gaveUp(i) || ctx.Err() != nil && err != nil {
			return err
		}
		if err = up.put(ctx, i, f); err == nil {
			return nil
		}
		if e, ok := errors.AsType[*plugins.Error](err); ok && e.Kind != plugins.Unavailable {
			break
		}
	}
	up.mu.Lock()
	defer up.mu.Unlock()
	up.failed[i] = true
	up.s.res[i].Err = err
	return err
}

func (up *uploads) gaveUp(i int) bool {
	up.mu.Lock()
	defer up.mu.Unlock()
	return up.failed[i]
}

func (up *uploads) put(ctx context.Context, i int, f jdl.InputFile) error {
	s := up.s
	op := "upload " + f.Name
	path, err := rest(ctx, s.c, op, "/jobs/"+s.res[i].Handle.ID+"/session/"+escape(f.Name))
	if err != nil {
		return err
	}
	body, size, err := up.open(f)
	if err != nil {
		return s.c.fail(plugins.Invalid, op, "", err)
	}
	defer body.Close()
	ca := &call{op: op, method: http.MethodPut, path: path, file: body, size: size, scope: scopeModify,
		header: map[string]string{"Content-Type": "application/octet-stream"}}
	if size == 0 {
		ca.file, ca.body = nil, []byte{}
	}
	resp, err := s.c.send(ctx, ca)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxError)) // for the connection to be kept
	_ = resp.Body.Close()
	if s.progress != nil {
		s.progress.Step("upload", size, up.total)
	}
	return nil
}

// escape makes a relative name part of a URL, its slashes kept.
func escape(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// open returns the content of a file: small files are read once for all jobs.
func (up *uploads) open(file jdl.InputFile) (io.ReadCloser, int64, error) {
	name := file.Source
	up.mu.Lock()
	content, ok := up.cache[name]
	up.mu.Unlock()
	if ok && file.Text == "" {
		return io.NopCloser(bytes.NewReader(content)), int64(len(content)), nil
	}
	f, size, err := file.Open()
	if err != nil || size > sharedFile || file.Text != "" {
		return f, size, err
	}
	defer f.Close()
	content, err = io.ReadAll(io.LimitReader(f, sharedFile+1))
	if err != nil {
		return nil, 0, err
	}
	up.mu.Lock()
	defer up.mu.Unlock()
	if up.cached+len(content) <= sharedTotal {
		up.cache[name] = content
		up.cached += len(content)
	}
	return io.NopCloser(bytes.NewReader(content)), int64(len(content)), nil
}
