package infosys

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/glue"
)

// fake is a source that answers after a delay.
type fake struct {
	name  string
	delay time.Duration
	deaf  bool // does not honour the context
	rs    []glue.Resource
	err   error
}

func (f *fake) Name() string { return f.name }

func (f *fake) Resources(ctx context.Context) ([]glue.Resource, error) {
	done := ctx.Done()
	if f.deaf {
		done = nil
	}
	select {
	case <-time.After(f.delay):
		return f.rs, f.err
	case <-done:
		return nil, ctx.Err()
	}
}

func one(id string) []glue.Resource {
	return []glue.Resource{{ID: id, CEID: id, CE: id, Queue: "q", Schema: "self"}}
}

func TestCollectIsPartial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := (&Collector{}).Collect(t.Context(),
			&fake{name: "fast", delay: time.Second, rs: one("a")},
			&fake{name: "hangs", delay: time.Hour},
			&fake{name: "deaf", delay: 20 * time.Second, deaf: true},
			&fake{name: "broken", err: errors.New("garbage")},
			&fake{name: "second", delay: 7 * time.Second, rs: one("b")})
		took := time.Since(start)
		if took > DefaultDeadline+DefaultDeadline/20 {
			t.Errorf("took %s", took)
		}
		if len(s.Resources) != 2 || s.Resources[0].ID != "a" || s.Resources[1].ID != "b" {
			t.Errorf("resources %v", s.Resources)
		}
		for i, want := range []string{"", "deadline", "no answer within 8s", "garbage", ""} {
			err := s.Outcomes[i].Err
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %v, want %q", s.Outcomes[i].Source, err, want)
			}
		}
		time.Sleep(time.Hour) // let the deaf one end
	})
}

func TestCollectCache(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := &Collector{Cache: NewCache(filepath.Join(t.TempDir(), "c")), MaxAge: time.Minute, Now: func() time.Time { return now }}
	src := &fake{name: "x", rs: one("a")}
	first := c.Collect(t.Context(), src)
	if first.Outcomes[0].Cached || len(first.Resources) != 1 {
		t.Fatalf("%+v", first)
	}
	src.rs, now = one("b"), now.Add(30*time.Second)
	if s := c.Collect(t.Context(), src); !s.Outcomes[0].Cached || s.Outcomes[0].Stale || s.Resources[0].ID != "a" || s.Outcomes[0].Age(now) != 30*time.Second {
		t.Errorf("fresh enough: %+v", s)
	}
	now = now.Add(time.Hour)
	if s := c.Collect(t.Context(), src); s.Outcomes[0].Cached || s.Resources[0].ID != "b" {
		t.Errorf("too old: %+v", s)
	}
	src.rs, src.err, now = nil, errors.New("down"), now.Add(time.Hour)
	s := c.Collect(t.Context(), src)
	if o := s.Outcomes[0]; !o.Stale || !o.Cached || o.Err == nil || len(s.Resources) != 1 || !s.Resources[0].Stale {
		t.Errorf("down: %+v", s)
	}
}

// An answer of the time before the clock was set back is not taken for fresh until
// the clock has come there again.
func TestCacheOfALaterTime(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	c := &Collector{Cache: NewCache(filepath.Join(t.TempDir(), "c")), MaxAge: time.Minute, Now: func() time.Time { return now }}
	src := &fake{name: "x", rs: one("a")}
	c.Collect(t.Context(), src)
	src.rs, now = one("b"), now.Add(-3*time.Hour)
	if s := c.Collect(t.Context(), src); s.Outcomes[0].Cached || s.Resources[0].ID != "b" {
		t.Errorf("%+v", s)
	}
	src.err = errors.New("down")
	if s := c.Collect(t.Context(), src); !s.Outcomes[0].Cached || s.Outcomes[0].Age(now) != 0 {
		t.Errorf("%+v", s)
	}
	// One that was had while the clock was 200 days ahead is not fresh for as long, though the source be down.
	src.rs, src.err, now = one("c"), nil, now.AddDate(0, 0, 200)
	c.Collect(t.Context(), src)
	src.rs, src.err, now = nil, errors.New("down"), now.AddDate(0, 0, -200)
	s := c.Collect(t.Context(), src)
	if age := s.Outcomes[0].Age(now); !s.Outcomes[0].Stale || age < 199*24*time.Hour || s.Resources[0].Fetched.After(now) {
		t.Errorf("of 200 days ahead: %v old, its resource of %v", age, s.Resources[0].Fetched)
	}
}

func TestFileAndSnapshot(t *testing.T) {
	var srcs []Source
	for _, f := range []string{"generated-10-sites.glue1.ldif.gz", "generated-10-sites.glue2.ldif.gz"} {
		srcs = append(srcs, &File{URL: "file:" + f, Path: filepath.Join("../testdata/glue", f)})
	}
	s := (&Collector{}).Collect(t.Context(), srcs...)
	for _, o := range s.Outcomes {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	path := filepath.Join(t.TempDir(), "s.json.gz")
	if err := WriteSnapshot(path, s); err != nil {
		t.Fatal(err)
	}
	back := (&Collector{}).Collect(t.Context(), &File{URL: "file:s", Path: path})
	if back.Outcomes[0].Err != nil || len(back.Resources) != len(s.Resources) {
		t.Fatalf("%d resources became %d: %v", len(s.Resources), len(back.Resources), back.Outcomes[0].Err)
	}
	if age := back.Outcomes[0].Age(s.At.Add(time.Minute)); age < time.Minute {
		t.Errorf("age %s: a snapshot is as old as its making", age)
	}
}

// A file of any kind is recognised by what is in it.
func TestFileKinds(t *testing.T) {
	for file, want := range map[string]int{
		"arc/arex1.info.xml": 4, "arc/arex1.info.json": 4, "arc/ce1-7.2.info.json": 4, "arc/arex1.glue2.ldif": 4,
		"arc/arex1.grid.ldif": 4, "glue/generated-10-sites.glue1.ldif.gz": 398,
	} {
		f := &File{URL: "file:" + file, Path: filepath.Join("../testdata", file)}
		if rs, err := f.Resources(t.Context()); err != nil || len(rs) != want {
			t.Errorf("%s: %d resources, want %d; %v", file, len(rs), want, err)
		}
	}
	for text, want := range map[string]string{
		"":                           "no entries at all",
		"{}":                         "no AdminDomain",
		"<a>":                        "XML syntax error",
		`{"schema":"other/v1"}`:      `schema "other/v1"`,
		"dn: x\nfoo\n":               ":2: no attribute name",
		"dn: x\na:< file:///etc/x\n": "value by URL",
		"dn: x\na:: !\n":             ":2: a: illegal base64",
		"\x1f\x8bxx":                 "EOF",
	} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := (&File{URL: "file:x", Path: path}).Resources(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, want %q and the path", text, err, want)
		}
	}
}
