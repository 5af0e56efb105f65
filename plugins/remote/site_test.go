package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// counter is a batch system that counts: its ids are the numbers of lines of
// the file "sent".
type counter struct {
	site *Site
	base string
}

func (c counter) Group(_ string, _ []plugins.Request, jobs []int) ([]*Group, map[int]error) {
	return []*Group{{Name: "g0", Jobs: jobs, Files: map[string]string{"args": "a\nb\n"}}}, nil
}

func (c counter) Handle(lrmsID string, line int, id string) plugins.Handle {
	return plugins.Handle{Endpoint: c.site.URL, ID: fmt.Sprintf("%s.%d/%s", lrmsID, line, id)}
}

func (c counter) Refusal(string) plugins.Kind { return plugins.Refused }

func (c counter) Lookup(context.Context, []string) (map[string]string, error) { return nil, nil }

const counting = `send_one() { [ ! -e ../../refuse ] || { echo "not today" >&2; return 3; }
cat "$1.args" >>../../sent; wc -l <../../sent; }
`

func newCounter(t *testing.T) counter {
	base := filepath.Join(t.TempDir(), "base")
	opts := Options{Environ: os.Environ(), Home: t.TempDir()}.Defaults()
	s, err := Open(&opts, &System{Name: "Counter", Send: counting, Job: "run_job\n", Work: "work"}, "count:"+base, Target{Base: base})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return counter{s, base}
}

func (c counter) requests(ids ...string) []plugins.Request {
	var reqs []plugins.Request
	for _, id := range ids {
		reqs = append(reqs, plugins.Request{ID: id, Endpoint: glue.Endpoint{URL: c.site.URL}, Job: &jdl.Job{Executable: "true"}})
	}
	return reqs
}

func (c counter) check(plugins.Request) (counter, *Site, error) { return c, c.site, nil }

func (c counter) sent() int {
	text, _ := os.ReadFile(filepath.Join(c.base, "sent"))
	return strings.Count(string(text), "\n") / 2
}

// What Find does not find can be sent anew, and what was on its way when Find
// was asked can no longer arrive.
func TestFindIsFinal(t *testing.T) {
	c := newCounter(t)
	if found, err := c.site.Find(t.Context(), c, []string{"a"}); err != nil || len(found) != 0 {
		t.Fatalf("%v %v", found, err)
	}
	late := newBatch(c.site, c, c.requests("a"), []int{0}, make([]plugins.Result, 1))
	if _, gone := late.send(t.Context()); len(gone) != 1 || c.sent() != 0 {
		t.Errorf("a late submission was not kept out: %v, %d sent", gone, c.sent())
	}
	for range 2 { // sent anew, and then found instead of sent again
		r := Submit(t.Context(), c.requests("a"), c.check, nil)[0]
		if r.Err != nil || r.Handle.ID != "2.0/a" || c.sent() != 1 {
			t.Errorf("sent anew: %+v, %d sent", r, c.sent())
		}
	}
}

func TestRefusedGroup(t *testing.T) {
	c := newCounter(t)
	if err := errors.Join(os.MkdirAll(c.base, 0o700), os.WriteFile(filepath.Join(c.base, "refuse"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, r := range Submit(t.Context(), c.requests("a", "b"), c.check, nil) {
		e, ok := errors.AsType[*plugins.Error](r.Err)
		if !ok || e.Kind != plugins.Refused || e.Said != "not today" {
			t.Errorf("%+v", r)
		}
	}
}

// A download that was cut goes on where it is of the same version of the file,
// and begins anew where it is not; a file that changes meanwhile is an error.
func TestDownloadGoesOn(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	src := filepath.Join(from, "o")
	content := bytes.Repeat([]byte("0123456789"), 1000)
	write := func(text []byte) File {
		if err := os.WriteFile(src, text, 0o700); err != nil {
			t.Fatal(err)
		}
		files, err := disk{}.List(from)
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		return files[0]
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	bring := func(f File) error {
		d := download{fsys: disk{}, dir: filepath.Dir(src), name: filepath.Base(src), root: root, file: f}
		return d.run(t.Context())
	}
	part := func(text string) {
		if err := root.WriteFile("o.part", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(text []byte) {
		t.Helper()
		got, err := root.ReadFile("o")
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes %.20q, %v", len(got), got, err)
		}
		if _, err := root.Stat("o.part-of"); err == nil {
			t.Error("the mark was left")
		}
	}
	f := write(content)
	part("stale stale stale")
	if err := bring(f); err != nil {
		t.Fatal(err)
	}
	want(content)
	if info, _ := root.Stat("o"); info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", info.Mode())
	}
	// Cut in the middle: what is there is kept. It is marked to be told.
	d := download{fsys: disk{}, dir: filepath.Dir(src), name: filepath.Base(src), root: root, file: f}
	dst, err := d.open("o.part", "o.part-of")
	if err != nil {
		t.Fatal(err)
	}
	dst.Write(bytes.Repeat([]byte("x"), 100))
	dst.Close()
	if err := bring(f); err != nil {
		t.Fatal(err)
	}
	want(append(bytes.Repeat([]byte("x"), 100), content[100:]...))
	shorter := f
	shorter.Size = 50
	longer := f
	longer.Size = 20_000
	for _, bad := range []File{shorter, longer} {
		if err := bring(bad); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
			t.Errorf("listed with %d bytes, has %d: %v", bad.Size, len(content), err)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add("at id b-x g0 1 77\nnone id2\nbusy id3\n")
	f.Add("ok g0 12\nno g1 1 text\ndup x\n")
	f.Add("job a\nstarted 1 n\nended 2 3 run\ncancelled\n")
	f.Add("job a\nused\n876000h 876000h\n876000h 876000h\n")
	f.Fuzz(func(t *testing.T, text string) {
		parsePlaces(text, ValidID)
		for _, o := range parseOutcomes(text, []string{"a"}) {
			if o.CPU < 0 || o.CPU > mostUsed {
				t.Errorf("%q: %v of a processor", text, o.CPU)
			}
		}
		(&lines{take: func(string) error { return nil }}).Write([]byte(text))
		(&objects{take: func([]byte) error { return nil }}).Write([]byte(text))
		opts := Options{}
		s := &Site{Options: &opts, System: &System{}}
		results := make([]plugins.Result, 1)
		ba := &batch{site: s, lrms: counter{site: s}, groups: []*Group{{Name: "g0", Jobs: []int{0}}}, results: results, jobs: []int{0},
			reqs: []plugins.Request{{ID: "a"}}}
		ba.read(text, nil)
		for _, r := range results {
			if lrmsID, _, _ := strings.Cut(r.Handle.ID, "/"); strings.Trim(lrmsID, "0123456789.") != "" {
				t.Errorf("%q makes a job %q", text, r.Handle.ID)
			}
		}
	})
}
