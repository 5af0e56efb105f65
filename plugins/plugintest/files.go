package plugintest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// fetch: the bytes are the job's, nothing is written outside of the
// directory, and links that lie there are not followed out of it.
func (s *suite) fetch(t *testing.T) {
	f, ok := s.Submitter.(plugins.Fetcher)
	if !ok {
		t.Skip("not a Fetcher")
	}
	content := bytes.Repeat([]byte("\x00\xff & <x>\n"), 10_000)
	input := filepath.Join(t.TempDir(), "input.bin")
	must(t, os.WriteFile(input, content, 0o600))
	req := s.request(t, "cat input.bin; cp input.bin copy.bin; mkdir sub; echo deep > sub/deep.txt; echo oops >&2",
		"InputSandbox = {"+jdl.Quote(input)+"};", `OutputSandbox = {"out.txt", "err.txt", "copy.bin", "sub/deep.txt"};`)
	hs := s.start(t, req)
	s.end(t, hs)

	top := t.TempDir()
	dir, victim := filepath.Join(top, "job"), filepath.Join(top, "victim")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(victim, []byte("untouched"), 0o600))
	must(t, os.Symlink(victim, filepath.Join(dir, "err.txt")))
	r := f.Fetch(t.Context(), []plugins.FetchRequest{{Handle: hs[0], Dir: dir}}, nil)[0]
	if got, _ := os.ReadFile(victim); string(got) != "untouched" {
		t.Errorf("a link led out of the directory: %q", got)
	}
	must(t, os.Remove(filepath.Join(dir, "err.txt")))
	if r.Err != nil { // refusing the link is as good as replacing it
		r = f.Fetch(t.Context(), []plugins.FetchRequest{{Handle: hs[0], Dir: dir}}, nil)[0]
	}
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	for name, want := range map[string][]byte{"out.txt": content, "copy.bin": content, "sub/deep.txt": []byte("deep\n")} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(got, want) || !slices.Contains(r.Files, name) {
			t.Errorf("%s: %d bytes, want %d (%v; listed: %v)", name, len(got), len(want), err, r.Files)
		}
	}
	s.fetchIntoLink(t, f, hs[0])
	s.fetchSome(t, f, hs[0])
	s.list(t, hs[0], req.Job)
}

// fetchIntoLink: a link that lies in the place of the directory is refused; those on the
// way to it are followed.
func (s *suite) fetchIntoLink(t *testing.T, f plugins.Fetcher, h plugins.Handle) {
	top, elsewhere := t.TempDir(), t.TempDir()
	must(t, os.Symlink(elsewhere, filepath.Join(top, "link")))
	r := f.Fetch(t.Context(), []plugins.FetchRequest{{Handle: h, Dir: filepath.Join(top, "link")}}, nil)[0]
	if r.Err == nil || !strings.Contains(r.Err.Error(), filepath.Join(top, "link")) {
		t.Errorf("output was brought through a link: %v, %v", r.Files, r.Err)
	}
	if there, err := os.ReadDir(elsewhere); err != nil || len(there) > 0 {
		t.Errorf("behind the link are %v (%v)", there, err)
	}
	if r = f.Fetch(t.Context(), []plugins.FetchRequest{{Handle: h, Dir: filepath.Join(top, "link", "job"), Want: []string{"out.txt"}}}, nil)[0]; r.Err != nil {
		t.Errorf("below a link: %v", r.Err)
	}
}

// list: the files are named without being brought.
func (s *suite) list(t *testing.T, h plugins.Handle, job *jdl.Job) {
	l, ok := s.Submitter.(plugins.Lister)
	if !ok {
		return
	}
	got := l.List(t.Context(), []plugins.Handle{h, s.Stray})
	if missing := plugins.MissingOutputs(job, got[0].Files); got[0].Err != nil || len(missing) > 0 {
		t.Errorf("listed %v, %v; not %v", got[0].Files, got[0].Err, missing)
	}
	if got[1].Err == nil && len(got[1].Files) > 0 {
		t.Errorf("an unknown job has files: %v", got[1].Files)
	}
}

// fetchSome: names and globs choose; one that is not there is an error.
func (s *suite) fetchSome(t *testing.T, f plugins.Fetcher, h plugins.Handle) {
	dir := t.TempDir()
	r := f.Fetch(t.Context(), []plugins.FetchRequest{{Handle: h, Dir: dir, Want: []string{"out.txt", "*.bin"}}}, nil)[0]
	got := slices.Sorted(slices.Values(r.Files))
	if r.Err != nil || !slices.Contains(got, "copy.bin") || !slices.Contains(got, "out.txt") || slices.Contains(got, "err.txt") {
		t.Errorf("out.txt and *.bin gave %v, %v", got, r.Err)
	}
	r = f.Fetch(t.Context(), []plugins.FetchRequest{{Handle: h, Dir: dir, Want: []string{"no-such-file"}}}, nil)[0]
	if r.Err == nil {
		t.Errorf("a file that is not there: %v and no error", r.Files)
	}
	if r = f.Fetch(t.Context(), []plugins.FetchRequest{{Handle: s.Stray, Dir: t.TempDir()}}, nil)[0]; r.Err == nil {
		t.Error("the output of an unknown job was fetched")
	} else {
		kindOf(t, r.Err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *suite) peekAndLog(t *testing.T) {
	p, ok := s.Submitter.(plugins.Peeker)
	if !ok {
		t.Skip("not a Peeker")
	}
	hs := s.start(t, s.request(t, "echo first line; sleep 600"))
	s.wait(t, hs, func(st plugins.State) bool { return st == plugins.Running || st.Final() })
	if s.Hidden {
		var b bytes.Buffer
		_, err := p.Peek(t.Context(), hs[0], "out.txt", 0, &b)
		if e, ok := errors.AsType[*plugins.Error](err); !ok || e.Kind != plugins.Refused || b.Len() > 0 {
			t.Errorf("peeked at %q, %v", b.String(), err)
		}
	} else {
		s.peek(t, p, hs[0])
	}
	if l, ok := s.Submitter.(plugins.Logger); ok {
		var b bytes.Buffer
		if err := l.Log(t.Context(), hs[0], &b); err != nil || b.Len() == 0 {
			t.Errorf("log: %d bytes, %v", b.Len(), err)
		}
	}
}

// peek looks at a stream from its beginning, its middle and its end.
func (s *suite) peek(t *testing.T, p plugins.Peeker, h plugins.Handle) {
	t.Helper()
	hs := []plugins.Handle{h}
	var b bytes.Buffer
	// The line takes a moment to get there, longer where a CE calls a job running that its
	// batch system has not begun.
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		b.Reset()
		if _, err := p.Peek(t.Context(), hs[0], "out.txt", 0, &b); err == nil && b.Len() > 0 {
			break
		}
		s.Submitter.Status(t.Context(), hs)
	}
	if b.String() != "first line\n" {
		t.Errorf("peeked at %q", b.String())
	}
	b.Reset()
	if n, err := p.Peek(t.Context(), hs[0], "out.txt", 6, &b); err != nil || b.String() != "line\n" || n != 5 {
		t.Errorf("from byte 6: %q, %d, %v", b.String(), n, err)
	}
	b.Reset()
	if n, err := p.Peek(t.Context(), hs[0], "out.txt", 11, &b); err != nil || n != 0 {
		t.Errorf("at the end: %q, %d, %v", b.String(), n, err)
	}
	if n, err := p.Peek(t.Context(), hs[0], "../../../etc/passwd", 0, &b); err == nil && n > 0 || strings.Contains(b.String(), "root:") {
		t.Error("peeked outside of the job's directory")
	}
}

func (s *suite) clean(t *testing.T) {
	c, ok := s.Submitter.(plugins.Cleaner)
	if !ok {
		t.Skip("not a Cleaner")
	}
	hs := s.start(t, s.request(t, "exit 0"))
	s.end(t, hs)
	for range 2 {
		for _, err := range c.Clean(t.Context(), append(hs, s.Stray)) {
			if err != nil {
				t.Error(err)
			}
		}
	}
	st := plugins.Status{}
	for until := time.Now().Add(s.Patience); st.State != plugins.Lost; { // a service may take a moment
		if time.Now().After(until) {
			t.Fatalf("after cleaning: %+v", st)
		}
		time.Sleep(50 * time.Millisecond)
		st = s.Submitter.Status(t.Context(), hs)[0]
	}
}
