package swf

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
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

func TestTransform(t *testing.T) {
	l := &Lublin{Procs: 16, Seed: 2}
	var jobs []Job
	for range 50 {
		jobs = append(jobs, l.Next())
	}
	shaken := Shake(jobs, 3600, 1)
	moved := 0
	for i := range shaken {
		if i > 0 && shaken[i].Submit < shaken[i-1].Submit || shaken[i].ID != int64(i+1) {
			t.Fatalf("job %d: %+v", i, shaken[i])
		}
		if shaken[i].Submit != jobs[i].Submit {
			moved++
		}
	}
	if moved < 25 || jobs[0].Submit != 0 || shaken[0].Submit != 0 {
		t.Errorf("%d jobs moved", moved)
	}
	merged := Merge(jobs, jobs)
	if len(merged) != 100 || merged[0].Partition != 1 || merged[1].Partition != 2 || merged[0].User == merged[1].User {
		t.Errorf("%+v %+v", merged[0], merged[1])
	}
	if Scale(100, 1.25) != 80 || Scale(7, 1) != 7 {
		t.Error("scale")
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
