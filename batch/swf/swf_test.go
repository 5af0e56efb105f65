package swf

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

const small = `; MaxProcs: 8 (4, 4)
; a note
1 10 -1 100 4 -1 -1 4 200 -1 1 1 1 -1 -1 -1 -1 -1
2 5 -1 50.9 -1 1.5 -1 2 10 -1 1 2 1 -1 -1 -1 -1 -1
3 20 -1 0 4 -1 -1 4 200 -1 1 1 1 -1 -1 -1 -1 -1
4 20 -1 9 16 -1 -1 4 200 -1 1 1 1 -1 -1 -1 -1 -1
5 20 -1 9 x -1 -1 4 200 -1 1 1 1 -1 -1 -1 -1 -1
6 20 -1 9
7 -3 -1 9 1 -1 -1 4 200 -1 1 1 1 -1 -1 -1 -1 -1
8 10 -1 7 1 -1 -1 -1 -1 -1 1 1 1 -1 -1 -1 -1 -1 extra {1,2}
9 30 -1 7 -1 -1 -1 0 -1 -1 1 1 1 -1 -1 -1 -1 -1
`

func clean(t *testing.T, src io.Reader) (jobs []Job, c *Cleaner, lines []string, err error) {
	t.Helper()
	r, err := NewReader("t.swf", src)
	if err != nil {
		return nil, nil, nil, err
	}
	note := func(e *LineError) { lines = append(lines, e.Error()) }
	r.Problem = note
	c = &Cleaner{Source: r, Name: "t.swf", Problem: note}
	for {
		j, err := c.Next()
		if err == io.EOF {
			return jobs, c, lines, nil
		}
		if err != nil {
			return jobs, c, lines, err
		}
		jobs = append(jobs, j)
	}
}

func TestClean(t *testing.T) {
	jobs, c, lines, err := clean(t, strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	want := []Job{
		{ID: 1, Submit: 0, Run: 50, Limit: 50, Procs: 2, Original: 2, Line: 4},
		{ID: 2, Submit: 5, Run: 100, Limit: 200, Procs: 4, Original: 1, Line: 3},
		{ID: 3, Submit: 5, Run: 7, Limit: 7, Procs: 1, Original: 8, Line: 10},
	}
	if len(jobs) != len(want) {
		t.Fatalf("%d jobs, want %d: %+v", len(jobs), len(want), jobs)
	}
	for i, w := range want {
		g := jobs[i]
		if g.ID != w.ID || g.Submit != w.Submit || g.Run != w.Run || g.Limit != w.Limit || g.Procs != w.Procs || g.Original != w.Original || g.Line != w.Line {
			t.Errorf("job %d: %+v, want %+v", i, g, w)
		}
	}
	if r := (Report{Read: 7, Kept: 3, NoRunTime: 1, NoProcs: 1, TooWide: 1, NoSubmit: 1, OutOfOrder: 1, NoLimit: 1, LimitRaised: 1}); c.Report != r {
		t.Errorf("report %+v, want %+v", c.Report, r)
	}
	for _, said := range []string{
		`t.swf:7: field 5 is "x", not a number`, "t.swf:8: 4 fields, want 18",
		"t.swf:6: job 4 dropped: wants 16 processors, the machine has 8",
		"t.swf:9: job 7 dropped: no submission time",
	} {
		if !strings.Contains(strings.Join(lines, "\n"), said) {
			t.Errorf("not told: %s\ntold: %q", said, lines)
		}
	}
}

func TestTruncatedGzip(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	for range 200 {
		io.WriteString(w, small[strings.Index(small, "1 10"):])
	}
	w.Close()
	_, _, _, err := clean(t, bytes.NewReader(append([]byte(nil), z.Bytes()[:z.Len()/2]...)))
	if !errors.Is(err, io.ErrUnexpectedEOF) && (err == nil || !strings.Contains(err.Error(), "MaxProcs")) {
		t.Fatalf("error %v", err)
	}
	r, err := NewReader("cut.gz", bytes.NewReader(z.Bytes()[:z.Len()/2]))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = r.Read()
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(err.Error(), "cut.gz: after line ") {
		t.Fatalf("error %v", err)
	}
}

func TestWindow(t *testing.T) {
	src := "; MaxProcs: 4\n"
	for _, submit := range []string{"10", "20", "30", "40", "5"} {
		src += "1 " + submit + " -1 9 1 -1 -1 1 9 -1 1 1 1 -1 -1 -1 -1 -1\n"
	}
	r, err := NewReader("w.swf", strings.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	c := &Cleaner{Source: r, Name: "w.swf", Window: 2}
	for err == nil {
		_, err = c.Next()
	}
	if e, ok := errors.AsType[*LineError](err); !ok || e.Line != 6 {
		t.Fatalf("error %v", err)
	}
}

func TestLongLine(t *testing.T) {
	jobs, _, lines, err := clean(t, strings.NewReader("; MaxProcs: 8\n"+strings.Repeat("1", 3*maxLine)+"\n1 10 -1 100 4 -1 -1 4 200 -1 1 1 1 -1 -1 -1 -1 -1\n"))
	if err != nil || len(jobs) != 1 || len(lines) != 1 || !strings.Contains(lines[0], "t.swf:2: line is longer") {
		t.Fatalf("%v %v %v", jobs, lines, err)
	}
}

func TestWriteRead(t *testing.T) {
	l := &Lublin{Procs: 64, Seed: 1}
	var buf bytes.Buffer
	w, err := NewWriter(&buf, l.Header(500))
	if err != nil {
		t.Fatal(err)
	}
	var made []Job
	for range 500 {
		j := l.Next()
		made = append(made, j)
		if err := w.Write(j.Record()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	read, _, _, err := clean(t, &buf)
	if err != nil || len(read) != len(made) {
		t.Fatalf("%d of %d jobs: %v", len(read), len(made), err)
	}
	for i := range made {
		made[i].Line = read[i].Line
		if made[i] != read[i] {
			t.Fatalf("%+v, want %+v", read[i], made[i])
		}
	}
}

// TestLublin compares the moments of many generated jobs with those of the
// model: they are known in closed form.
func TestLublin(t *testing.T) {
	l := &Lublin{Procs: 128, Seed: 7}
	const n = 100000
	var serial, power, logRun, rush float64
	var last Job
	for range n {
		last = l.Next()
		if last.Procs == 1 {
			serial++
			logRun += math.Log(float64(last.Run) + 0.5)
		} else if last.Procs&(last.Procs-1) == 0 {
			power++
		}
		if last.Limit < last.Run || last.Procs > 128 {
			t.Fatalf("%+v", last)
		}
	}
	rush = math.Log(float64(last.Submit) / n)
	for _, v := range []struct {
		what           string
		got, want, eps float64
	}{
		{"part of serial jobs", serial / n, 0.244, 0.01},
		// a width not rounded on purpose is one by chance for 0.271 of them
		{"part of wide jobs that are powers of two", power / (n - serial), 0.576 + 0.424*0.271, 0.01},
		{"mean log run time of serial jobs", logRun / serial, (0.78-0.0054)*4.2*0.94 + (1-0.78+0.0054)*312*0.03, 0.05},
		// E exp(gamma(a, b)) = (1-b)^-a, cut at e^13
		{"log of the mean gap", rush, math.Log(math.Pow(1-0.4871, -10.2303*1.0225)), 0.35},
	} {
		if math.Abs(v.got-v.want) > v.eps {
			t.Errorf("%s %.3f, want %.3f", v.what, v.got, v.want)
		}
	}
}

// list takes in a stream.
func list(t *testing.T, jobs Jobs) (all []Job) {
	t.Helper()
	for j, err := range jobs {
		if err != nil {
			t.Fatal(err)
		}
		if n := len(all); j.ID != int64(n+1) || n == 0 && j.Submit != 0 || n > 0 && j.Submit < all[n-1].Submit {
			t.Fatalf("job %d: %+v", n+1, j)
		}
		all = append(all, j)
	}
	return all
}

func sample(n int) Jobs { return (&Lublin{Procs: 16, Seed: 2}).Generated(n) }

func TestShake(t *testing.T) {
	const span = 3600
	jobs := list(t, sample(500))
	shaken := list(t, Shake(sample(500), span, 1))
	if len(shaken) != len(jobs) {
		t.Fatalf("%d jobs of %d", len(shaken), len(jobs))
	}
	base, moved := int64(0), 0
	for i, j := range shaken { // all are moved by the first one's move besides
		was := jobs[j.Original-1]
		if i == 0 {
			base = -was.Submit
		}
		if off := j.Submit - was.Submit; off > 3*span-base || off < -3*span-base || was.Run != j.Run {
			t.Fatalf("%+v was %+v", j, was)
		}
		if j.Original != j.ID {
			moved++
		}
	}
	if moved < 100 {
		t.Errorf("the order of %d jobs only was changed", moved)
	}
	again, other := list(t, Shake(sample(500), span, 1)), list(t, Shake(sample(500), span, 2))
	if !slices.Equal(shaken, again) || slices.Equal(shaken, other) {
		t.Error("the seed does not decide")
	}
	if !slices.Equal(list(t, Shake(sample(500), 0, 1)), jobs) {
		t.Error("a span of 0 changes jobs")
	}
}

func TestMerge(t *testing.T) {
	one, two := list(t, sample(50)), list(t, Scaled(sample(70), 2))
	merged := list(t, Merge(sample(50), Scaled(sample(70), 2)))
	if len(merged) != len(one)+len(two) || merged[0].Partition != 1 || merged[1].Partition != 2 {
		t.Fatalf("%d jobs, %+v %+v", len(merged), merged[0], merged[1])
	}
	users := map[int64]int64{}
	for _, j := range merged {
		if p, ok := users[j.User]; ok && p != j.Partition {
			t.Fatalf("user %d is on clusters %d and %d", j.User, p, j.Partition)
		}
		users[j.User] = j.Partition
		was := [][]Job{one, two}[j.Partition-1][j.Original-1]
		if j.Submit != was.Submit || j.Run != was.Run || j.Procs != was.Procs {
			t.Fatalf("%+v was %+v", j, was)
		}
	}
	broken := func(yield func(Job, error) bool) { yield(Job{}, io.ErrUnexpectedEOF) }
	for _, err := range Merge(sample(50), broken) {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return
		}
	}
	t.Error("an error of one trace is not told")
}

func TestScale(t *testing.T) {
	if Scale(100, 1.25) != 80 || Scale(7, 1) != 7 || Scale(7, 2) != 3 {
		t.Error("scale")
	}
}

// TestDirty: traces as they are found, and what is made of them.
func TestDirty(t *testing.T) {
	const rest = " -1 -1 4 200 -1 1 1 1 -1 -1 -1 -1 -1"
	line := func(id, submit, run, procs string) string {
		return id + " " + submit + " -1 " + run + " " + procs + rest
	}
	two := line("1", "10", "5", "4") + "\n" + line("2", "20", "6", "3") + "\n"
	zip := func(parts ...string) string {
		var z bytes.Buffer
		for _, p := range parts {
			w := gzip.NewWriter(&z)
			io.WriteString(w, p)
			w.Close()
		}
		return z.String()
	}
	for _, v := range []struct{ name, src, want string }{
		{"carriage returns", strings.ReplaceAll("; MaxProcs: 8\n"+two, "\n", "\r\n"), "0+5x4 10+6x3"},
		{"trailing blanks, tabs", strings.ReplaceAll("; MaxProcs: 8\n"+two, "\n", " \t \n"), "0+5x4 10+6x3"},
		{"no newline at the end", strings.TrimSuffix("; MaxProcs: 8\n"+two, "\n"), "0+5x4 10+6x3"},
		{"byte order mark", "\xef\xbb\xbf; MaxProcs: 8\n" + two, "0+5x4 10+6x3"},
		{"comments in the middle", "; MaxProcs: 8\n" + strings.Replace(two, "\n", "\n; MaxProcs: 2\n  ;note\n\n", 1), "0+5x4 10+6x3"},
		{"MaxProcs before MaxNodes", "; MaxNodes: 2\n; MaxProcs: 8\n" + two, "0+5x4 10+6x3"},
		{"MaxNodes alone", "; MaxNodes: 3\n" + two, "0+6x3"},
		{"MaxProcs unknown", "; MaxProcs: -1\n; MaxNodes: 8 (2x4)\n" + two, "0+5x4 10+6x3"},
		{"members one after the other", zip("; MaxProcs: 8\n"+two[:len(two)/2], two[len(two)/2:]), "0+5x4 10+6x3"},
		{"the same number twice", "; MaxProcs: 8\n" + two + two, "0+5x4 0+5x4 10+6x3 10+6x3"},
		{"unsorted, equal times as they stand", "; MaxProcs: 8\n" + line("1", "9", "5", "1") + "\n" + line("2", "3", "6", "2") + "\n" + line("3", "9", "7", "3") + "\n", "0+6x2 6+5x1 6+7x3"},
		{"procs asked for where none were given", "; MaxProcs: 8\n" + line("1", "0", "5", "-1") + "\n" + line("2", "0", "5", "0"), "0+5x4 0+5x4"},
		{"no run time, too wide", "; MaxProcs: 8\n" + line("1", "0", "0", "1") + "\n" + line("2", "0", "-1", "1") + "\n" + line("3", "0", "5", "9") + "\n" + two, "0+5x4 10+6x3"},
		{"whatever became of them", "; MaxProcs: 8\n" + strings.Replace(two, "200 -1 1", "200 -1 5", 1) + strings.ReplaceAll(two, "200 -1 1", "200 -1 3"), "0+5x4 0+5x4 10+6x3 10+6x3"},
		{"times that cannot be", "; MaxProcs: 8\n" + line("1", "0", "999999999999999999", "1") + "\n" + line("2", "999999999999999999", "1", "1") + "\n" + two, "0+5x4 10+6x3"},
		{"numbers with decimals, in exponents", "; MaxProcs: 8\n" + line("1", "1e1", "5.9", "4.0") + "\n", "0+5x4"},
		{"numbers beyond all bounds", "; MaxProcs: 8\n" + line("1", "99999999999999999999999", "5", "4") + "\n" + line("2", "0", "1e400", "4") + "\n" + line("3", "0", "NaN", "4") + "\n" + two, "0+5x4 10+6x3"},
	} {
		t.Run(v.name, func(t *testing.T) {
			jobs, _, told, err := clean(t, strings.NewReader(v.src))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, j := range jobs {
				got = append(got, fmt.Sprintf("%d+%dx%d", j.Submit, j.Run, j.Procs))
			}
			if s := strings.Join(got, " "); s != v.want {
				t.Errorf("jobs %s, want %s; told %q", s, v.want, told)
			}
		})
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	f.Fuzz(func(t *testing.T, src []byte) {
		jobs, c, _, err := clean(t, bytes.NewReader(src))
		last := int64(0)
		for i, j := range jobs {
			if j.ID != int64(i+1) || j.Submit < last || j.Run <= 0 || j.Limit < j.Run || j.Procs < 1 || j.Procs > c.Procs {
				t.Fatalf("%+v after %d, %v", j, last, err)
			}
			last = j.Submit
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A line without end, as of /dev/zero or of a packed file of little, is an error.
func TestLineWithoutEnd(t *testing.T) {
	r, err := NewReader("/dev/zero", zeros{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(); err == nil || !strings.Contains(err.Error(), "/dev/zero: line 1 is longer") {
		t.Error(err)
	}
}
