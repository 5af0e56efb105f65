package remote

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// says is a machine that answers as it is told, whatever it is asked.
type says struct {
	run   func(verb string, in io.Reader, out io.Writer) error
	files Files
	asked []string
}

func (m *says) Run(_ context.Context, argv []string, in io.Reader, out io.Writer) error {
	verb := argv[5]
	m.asked = append(m.asked, verb)
	return m.run(verb, in, out)
}

func (m *says) Files(context.Context) (Files, error) { return m.files, nil }
func (m *says) Close() error                         { return nil }

// answering is a counter whose machine answers each verb with a text, and ends
// as err says.
func answering(t *testing.T, answers map[string]string, err error) (counter, *says) {
	c := newCounter(t)
	m := &says{run: func(verb string, _ io.Reader, out io.Writer) error {
		io.WriteString(out, answers[verb])
		return err
	}}
	c.site.Machine = m
	return c, m
}

// kindOf tells the kind of an error; "" where there is none, "?" where it has none.
func kindOf(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*plugins.Error](err); ok {
		return e.Kind.String()
	}
	return "?"
}

// TestAnswersOfSubmissions: what is made of every answer, whole, cut or wrong,
// and of every end of the connection: a job is accepted only where its id was
// said, and refused only where it surely is not there.
func TestAnswersOfSubmissions(t *testing.T) {
	cut := errors.New("connection reset by peer")
	for _, c := range []struct {
		what, answer string
		err          error
		want         string // the kinds of both jobs' errors, or their handles
	}{
		{"accepted", "ok g0 7\n", nil, "7.1/a 7.2/b"},
		{"accepted, then the connection is cut", "ok g0 7\n", cut, "7.1/a 7.2/b"},
		{"accepted, then the runner fails", "ok g0 7\n", &ExitError{Code: 1}, "7.1/a 7.2/b"},
		{"cut in the middle of the id", "ok g0 7", cut, "uncertain uncertain"},
		{"cut in the middle of the id, and no error", "ok g0 7", nil, "unavailable unavailable"},
		{"cut before an answer", "", cut, "uncertain uncertain"},
		{"never connected", "", &DialError{cut}, "unavailable unavailable"},
		{"the runner says no", "", &ExitError{Code: 1, Stderr: "no room"}, "unavailable unavailable"},
		{"the runner will not use the directory", "", &ExitError{Code: 77, Stderr: "others can write to it"}, "refused refused"},
		{"refused", "no g0 3 not today\n", nil, "refused refused"},
		{"refused, then cut", "no g0 3 not today\n", cut, "refused refused"},
		{"failed on the way", "fail no room for input files\n", nil, "unavailable unavailable"},
		{"taken under no id", "lost g0\n", nil, "uncertain uncertain"},
		{"another group's id", "ok g9 7\n", nil, "unavailable unavailable"},
		{"noise", "motd: welcome\n\nok\n", nil, "unavailable unavailable"},
		{"noise before the answer", "welcome to the cluster\nok g0 7\n", nil, "7.1/a 7.2/b"},
	} {
		s, _ := answering(t, map[string]string{"submit": c.answer}, c.err)
		var got []string
		for _, r := range Submit(t.Context(), s.requests("a", "b"), s.check, nil) {
			got = append(got, kindOf(r.Err)+r.Handle.ID)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// TestNamesOfOthers: where the names are taken again and again, no job is told
// to be there that is not.
func TestNamesOfOthers(t *testing.T) {
	c, m := answering(t, map[string]string{"submit": "gone a\n"}, nil)
	r := Submit(t.Context(), c.requests("a"), c.check, nil)[0]
	if kindOf(r.Err) != "unavailable" || r.Handle.ID != "" {
		t.Errorf("%+v", r)
	}
	if want := []string{"submit", "revive", "submit", "revive"}; !slices.Equal(m.asked, want) {
		t.Errorf("asked %q, want %q", m.asked, want)
	}
	c, _ = answering(t, map[string]string{"submit": "dup a\n", "find": "none a\n"}, nil)
	if r := Submit(t.Context(), c.requests("a"), c.check, nil)[0]; kindOf(r.Err) != "uncertain" {
		t.Errorf("there, and not known: %+v", r)
	}
	c, _ = answering(t, map[string]string{"submit": "dup a\n", "find": "busy a\n"}, nil)
	if r := Submit(t.Context(), c.requests("a"), c.check, nil)[0]; kindOf(r.Err) != "uncertain" {
		t.Errorf("there, and still being sent: %+v", r)
	}
	c, _ = answering(t, map[string]string{"submit": "dup a\n", "find": "at a b-x g0 0 5\n"}, nil)
	rs := Submit(t.Context(), c.requests("a", "b"), c.check, nil)
	if rs[0].Handle.ID != "5.0/a" || rs[0].Err != nil || rs[1].Err == nil {
		t.Errorf("one is there already: %+v", rs)
	}
	twice := Submit(t.Context(), c.requests("x", "x"), c.check, nil)
	if kindOf(twice[1].Err) != "invalid" {
		t.Errorf("the same id twice: %+v", twice)
	}
}

// TestFindAnswers: an answer that is not whole is an error and never "not there".
func TestFindAnswers(t *testing.T) {
	for answer, want := range map[string]string{
		"none a\nnone b\n":                   "",
		"at a b-x g0 1 7\nnone b\n":          "a=7.1/a",
		"at a b-x g0 1 7\nat b b-x g0 2 7\n": "a=7.1/a b=7.2/b",
		"at a b-x g0 1 -\nnone b\n":          "", // asked by its name, and not known
		"none a\n":                           "!",
		"":                                   "!",
		"busy a\nnone b\n":                   "!",
		"none a\nno":                         "!",
		"welcome to the cluster\nnone a\nnone b\n": "",
	} {
		c, _ := answering(t, map[string]string{"find": answer}, nil)
		found, err := c.site.Find(t.Context(), c, []string{"a", "b", "../c", ""})
		got := "!"
		if err == nil {
			var list []string
			for _, id := range []string{"a", "b"} {
				if h, ok := found[id]; ok {
					list = append(list, id+"="+h.ID)
				}
			}
			got = strings.Join(list, " ")
		}
		if got != want {
			t.Errorf("%q: %q, want %q (%v)", answer, got, want, err)
		}
	}
}

// TestNoIDIsLookedUp: a command of the batch system that takes a group and says
// nothing leaves its outcome uncertain, here and when it is looked up: it is not
// said not to be there.
func TestNoIDIsLookedUp(t *testing.T) {
	c := newCounter(t)
	c.site.runnerText = strings.Replace(c.site.runnerText, "wc -l <../../sent;", ":;", 1)
	r := Submit(t.Context(), c.requests("a"), c.check, nil)[0]
	if kindOf(r.Err) != "uncertain" || !strings.Contains(r.Err.Error(), "named no id") {
		t.Fatalf("%+v", r)
	}
	text, err := c.site.Verb(t.Context(), "find", []string{"a"})
	if places, _, _ := parsePlaces(text, ValidID); err != nil || places["a"].lrmsID != "-" {
		t.Errorf("%q, %v: it is not asked for by its name", text, err)
	}
}

// TestCutOutcome: an outcome that was cut in the middle of its line takes
// nothing from the job behind it.
func TestCutOutcome(t *testing.T) {
	c := newCounter(t)
	for _, r := range Submit(t.Context(), c.requests("a", "b"), c.check, nil) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	for id, text := range map[string]string{"a": "started 100 n1\nended 2", "b": "started 200 n2\nended 300 4 run\n"} {
		if err := os.WriteFile(filepath.Join(c.base, "jobs", id, "outcome"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Outcomes(t.Context(), c.site, []string{"a", "b", "../a", "nobody"})
	if err != nil {
		t.Fatal(err)
	}
	if a := all["a"]; len(all) != 2 || a.Done || a.Node != "n1" || a.Started != time.Unix(100, 0) {
		t.Errorf("of %d the one that was cut: %+v", len(all), a)
	}
	if b := all["b"]; !b.Done || b.Code != 4 || b.Node != "n2" || !b.Ran() {
		t.Errorf("the one behind it: %+v", b)
	}
}

// TestOutcomes reads what jobs write of themselves.
func TestOutcomes(t *testing.T) {
	for text, want := range map[string]string{
		"job a\nstarted 5 n\nended 9 0 -\n":                      "done 0 ran",
		"job a\nstarted 5 n\nended 9 3 run\n":                    "done 3 ran",
		"job a\nstarted 5 n\nended 9 1 stage-in\n":               "done 1 stage-in failed",
		"job a\nstarted 5 n\nended 9 143 signal\n":               "done 143 it was ended from outside, by a signal",
		"job a\nstarted 5 n\nended 9 1 limit\n":                  "done 1 the wall time was used up job",
		"job a\nstarted 5 n\nended 9 1 start\n":                  "done 1 the environment does not have the program, or cannot run it job",
		"job a\nstarted 5 n\nended 9 1 deploy\n":                 "done 1 the node could not make the environment that the job asks for site",
		"job a\nstarted 5 n\n":                                   "0 failed",
		"job a\nstarted 5 n\nended 9 1 limit\nstarted 20 m\n":    "0 failed", // it was started again
		"job a\ncancelled\nstarted 5 n\nstarted 20 m\n":          "cancelled 0 failed",
		"job a\nstarted x n\nended y z -\n":                      "done 0 ran",
		"job a\nstarted 5\nended 9 0\nended\nfoo bar\n\n":        "0 failed",
		"started 5 n\nended 9 7 -\njob a\nended 9 0 -\n":         "done 0 ran", // what no job is named for is nobody's
		"job a b\nended 9 7 -\njob a\n":                          "0 failed",
		"job a\nended 9 99999999999999999999 -\nended 9 2 run\n": "done 2 ran",

		"job a\nstarted 5 n\nused\n0m0.01s 0m0.02s\n1m2.500000s 0m0,470s\nended 9 0 -\n":                 "done 0 1m3s ran",
		"job a\nstarted 5 n\nused\n0m1.00s 0m0.00s\nstarted 7 n\nended 9 0 -\n":                          "done 0 ran", // of the last start
		"job a\nstarted 5 n\nused\n-1m0s 99999999999h\n876001h 1s2\n0m1.0s 0m1.0s 0m1.0s\nended 9 0 -\n": "done 0 ran",
		"job b\nused\n1m0.0s 1m0.0s\njob a\nended 9 0 -\n":                                               "done 0 ran",
	} {
		o := parseOutcomes(text, []string{"a"})["a"]
		var got []string
		if o.Cancelled {
			got = append(got, "cancelled")
		}
		if o.Done {
			got = append(got, "done")
		}
		got = append(got, fmt.Sprint(o.Code))
		if o.CPU != 0 {
			got = append(got, o.CPU.String())
		}
		if o.Ran() {
			got = append(got, "ran")
		} else {
			why, fault := o.Why()
			got = append(got, strings.TrimSpace(why+" "+string(fault)))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// shelf is files in memory that answer as they are told.
type shelf struct {
	Files
	list []File
	text map[string]string
	err  error
}

func (s shelf) List(string) ([]File, error) { return s.list, s.err }
func (s shelf) Close() error                { return nil }

func (s shelf) Get(dir, asked string, offset int64) (io.ReadCloser, int64, error) {
	for name, text := range s.text {
		if strings.HasSuffix(dir+"/"+asked, "/"+name) {
			return io.NopCloser(strings.NewReader(text[min(int(offset), len(text)):])), int64(len(text)), nil
		}
	}
	return nil, 0, fs.ErrNotExist
}

// fetched fetches a job from a shelf.
func fetched(t *testing.T, s shelf, want ...string) (dir string, r plugins.FetchResult) {
	t.Helper()
	c, m := answering(t, nil, nil)
	m.files, dir = s, t.TempDir()
	where := func(plugins.Handle) (*Site, string, error) { return c.site, "a", nil }
	return dir, Fetch(t.Context(), []plugins.FetchRequest{{Dir: filepath.Join(dir, "out"), Want: want}}, where, nil)[0]
}

// TestFetchOfOddNames: names that a hostile or broken site lists reach nothing
// outside of the job's directory, and are told.
func TestFetchOfOddNames(t *testing.T) {
	for _, name := range []string{"../evil", "/etc/evil", "a/../../evil", "..", "", "a\x00b"} {
		s := shelf{list: []File{{Name: name, Size: 3}}, text: map[string]string{"words.sh": "#stdout \n#stderr \n#output *\n", "evil": "bad", "b": "bad"}}
		dir, r := fetched(t, s, name)
		if r.Err == nil || len(r.Files) > 0 {
			t.Errorf("%q: %+v", name, r)
		}
		left, _ := filepath.Glob(filepath.Join(dir, "*"))
		inside, _ := filepath.Glob(filepath.Join(dir, "out", "*"))
		if len(left) != 1 || len(inside) > 0 {
			t.Errorf("%q: %q and %q were made", name, left, inside)
		}
	}
}

// TestFetchThroughLinks: a link in the directory that files are brought to,
// as an earlier fetch of a hostile job may have left, is not followed out of it.
func TestFetchThroughLinks(t *testing.T) {
	c, m := answering(t, nil, nil)
	m.files = shelf{list: []File{{Name: "sub/f", Size: 3}}, text: map[string]string{"sub/f": "new"}}
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	where := func(plugins.Handle) (*Site, string, error) { return c.site, "a", nil }
	r := Fetch(t.Context(), []plugins.FetchRequest{{Dir: dir, Want: []string{"sub/f"}}}, where, nil)[0]
	if left, _ := filepath.Glob(filepath.Join(outside, "*")); r.Err == nil || len(left) > 0 {
		t.Errorf("%+v, outside %q", r, left)
	}
}

// TestNamesOfParts: a job may have a file of the very name that another has
// while it is brought.
func TestNamesOfParts(t *testing.T) {
	s := shelf{list: []File{{Name: "x.part", Size: 5}, {Name: "x", Size: 3}}, text: map[string]string{"x": "one", "x.part": "other"}}
	dir, r := fetched(t, s, "x", "x.part")
	if r.Err != nil || !slices.Equal(r.Files, []string{"x", "x.part"}) {
		t.Fatalf("%+v", r)
	}
	for name, want := range s.text {
		if got, err := os.ReadFile(filepath.Join(dir, "out", name)); err != nil || string(got) != want {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}

// TestFetchThatFails: what fails is told with its place, and what was brought
// before it stays.
func TestFetchThatFails(t *testing.T) {
	text := map[string]string{"words.sh": "#stdout \n#stderr \n#output one\n#output three\njob_run() {\n#output two\n}\n", "one": "1", "two": "22"}
	older := map[string]string{"words.sh": "job_run() {\n#output two\n}\n", "outputs": "one\nthree\n", "one": "1", "two": "22"}
	list := []File{{Name: "one", Size: 1}, {Name: "two", Size: 2}, {Name: "three", Size: 3}}
	for _, c := range []struct {
		what  string
		s     shelf
		want  []string
		files string
		said  string
	}{
		{"what was asked for at submission", shelf{list: list[:2], text: text}, nil, "one", ""},
		{"the same of a job that an older program sent", shelf{list: list[:2], text: older}, nil, "one", ""},
		{"a job of an older program that has lost its list", shelf{list: list, text: map[string]string{"words.sh": ":\n"}}, nil, "", "fetch"},
		{"a pattern", shelf{list: list[:2], text: text}, []string{"*"}, "one two", ""},
		{"one that is not there", shelf{list: list[:2], text: text}, []string{"one", "four"}, "one", "fetch four"},
		{"one that is listed and gone", shelf{list: list, text: text}, nil, "one", "fetch three"},
		{"one that has changed, and one that is gone, between others", shelf{list: []File{{Name: "a", Size: 1}, {Name: "one", Size: 9}, {Name: "two", Size: 2}}, text: text}, []string{"*"}, "two", "and 1 more files"},
		{"a list that fails", shelf{list: list, text: text, err: io.ErrUnexpectedEOF}, nil, "", "unexpected EOF"},
		{"nothing of the job", shelf{text: text, err: fs.ErrNotExist}, nil, "", "fetch"},
		{"no list of outputs", shelf{list: list}, nil, "", "fetch"},
		{"one that is shorter than listed", shelf{list: []File{{Name: "one", Size: 5}}, text: text}, nil, "", "changed meanwhile"},
		{"one that is longer", shelf{list: []File{{Name: "two", Size: 1}}, text: text}, []string{"two"}, "", "changed meanwhile"},
	} {
		_, r := fetched(t, c.s, c.want...)
		if strings.Join(r.Files, " ") != c.files || (r.Err == nil) != (c.said == "") || r.Err != nil && !strings.Contains(r.Err.Error(), c.said) {
			t.Errorf("%s: %+v", c.what, r)
		}
		if r.Err != nil && kindOf(r.Err) == "?" {
			t.Errorf("%s: %v is no error of a back-end", c.what, r.Err)
		}
		if errors.Is(r.Err, fs.ErrNotExist) != (kindOf(r.Err) == "refused") { // it is asked for no more
			t.Errorf("%s: %v is %s", c.what, r.Err, kindOf(r.Err))
		}
	}
}

// TestListThatFails: no half list, and an error that names its site.
func TestListThatFails(t *testing.T) {
	c, m := answering(t, nil, nil)
	m.files = shelf{list: []File{{Name: "one"}}, err: io.ErrUnexpectedEOF}
	where := func(h plugins.Handle) (*Site, string, error) {
		if h.ID == "none" {
			return nil, "", NoJob("list", h)
		}
		return c.site, "a", nil
	}
	rs := List(t.Context(), []plugins.Handle{{ID: "1/a"}, {ID: "none"}}, where)
	if rs[0].Err == nil || len(rs[0].Files) > 0 || kindOf(rs[0].Err) != "unavailable" {
		t.Errorf("%+v", rs[0])
	}
	if kindOf(rs[1].Err) != "refused" {
		t.Errorf("%+v", rs[1])
	}
	m.files = shelf{list: []File{{Name: "one"}, {Name: "sub/two"}}}
	if rs := List(t.Context(), []plugins.Handle{{ID: "1/a"}}, where); rs[0].Err != nil || !slices.Equal(rs[0].Files, []string{"one", "sub/two"}) {
		t.Errorf("%+v", rs[0])
	}
}

// TestDescriptionsComeBack: the descriptions of jobs at the site are those that
// were sent, with lines that look like the marks between them; also of jobs that
// an older program sent.
func TestDescriptionsComeBack(t *testing.T) {
	c := newCounter(t)
	reqs := c.requests("a", "b", "c")
	for i, text := range []string{`Executable = "/bin/echo"; Arguments = "\"job b\" \"|\" x";`, `Executable = "/bin/echo"; Arguments = "é"; Environment = "V=|job c";`} {
		job, err := jdl.ParseJob("job.jdl", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		reqs[i].Job = job
	}
	for _, r := range Submit(t.Context(), reqs, c.check, nil) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if err := os.WriteFile(filepath.Join(c.base, "jobs", "c", "jdl"), []byte("half a descri"), 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := os.ReadFile(filepath.Join(c.base, "jobs", "b", "at"))
	if err != nil {
		t.Fatal(err)
	}
	place, text, _ := strings.Cut(string(at), "\n")
	for file, text := range map[string]string{"jdl": text, "at": place + "\n"} {
		if err := os.WriteFile(filepath.Join(c.base, "jobs", "b", file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.site.Describe(t.Context(), []string{"c", "a", "b", "nobody", "../a"})
	if err != nil || len(got) != 2 {
		t.Fatalf("%v %v", got, err)
	}
	for i, id := range []string{"a", "b"} {
		if got[id] == nil || got[id].Text() != reqs[i].Job.Text() {
			t.Errorf("%s came back as %+v", id, got[id])
		}
	}
	all, err := c.site.Inventory(t.Context(), c)
	if err != nil || len(all) != 3 || all[0].ID != "a" || all[2].ID != "c" {
		t.Errorf("%+v %v", all, err)
	}
}

// TestBatchesTravelPacked: over a thin line a thousand jobs are a matter of a
// second, not of their 6 MB of blanks.
func TestBatchesTravelPacked(t *testing.T) {
	c := newCounter(t)
	var ids []string
	for i := range 1000 {
		ids = append(ids, fmt.Sprintf("1m81m5y0p0%05x", i))
	}
	reqs := c.requests(ids...)
	all := make([]int, len(reqs))
	for i := range all {
		all[i] = i
	}
	text, err := newBatch(c.site, c, reqs, all, make([]plugins.Result, len(reqs))).tar(nil)
	if err != nil || len(text) > 400_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// TestFilesOfAJob: a file more for each job is a thousand requests to the file server of a site.
func TestFilesOfAJob(t *testing.T) {
	with := func(job *jdl.Job) *jdl.Job { job.InputSandbox = []jdl.InputFile{{Name: "in", Text: "x"}}; return job }
	for _, c := range []struct {
		works string
		job   *jdl.Job
		want  string
	}{
		{"work", &jdl.Job{Executable: "/bin/true", StdOutput: "out"}, " at words.sh work/"},
		{"out/work", &jdl.Job{Executable: "/bin/true", StdOutput: "out"}, " at words.sh"},
		{"out/work", with(&jdl.Job{Executable: "/bin/true"}), " at words.sh work/"},
		{"out/work", &jdl.Job{Executable: "/bin/true", InputSandbox: []jdl.InputFile{{Name: "in", Source: "https://se.example.org/in"}}}, " at words.sh"},
	} {
		n := newCounter(t)
		n.site.System.Work = c.works
		reqs := n.requests("a")
		reqs[0].Job = c.job
		text, err := newBatch(n.site, n, reqs, []int{0}, make([]plugins.Result, 1)).tar(nil)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for r := tar.NewReader(packed); ; {
			h, err := r.Next()
			if err != nil {
				break
			}
			if name, ok := strings.CutPrefix(h.Name, "new/a/"); ok {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("a job that works in %s, of %v: %q, want %q", c.works, c.job.InputSandbox, got, c.want)
		}
	}
}

// TestSlowCommand: a command that does not answer is given up in time.
func TestSlowCommand(t *testing.T) {
	c := newCounter(t)
	c.site.Options.Command = 200 * time.Millisecond
	began := time.Now()
	_, err := c.site.Command(t.Context(), "sleep", "60")
	if !errors.Is(err, ErrSlow) || kindOf(err) != "unavailable" || time.Since(began) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	if _, err := c.site.Command(t.Context(), "no-such-command-here"); err == nil || !strings.Contains(fmt.Sprintf("%+v", err), "no-such-command-here") {
		t.Errorf("a command that is not there: %v", err)
	}
}
