package sim

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gridbroker/batch/swf"
)

// trace is a workload from a file, with what cleaning found wrong in it.
type trace struct {
	spooled
	sum        [sha256.Size]byte // of its jobs
	report     swf.Report
	unreadable int
	first      string // of the lines that cannot be read
}

// maxTrace bounds the jobs of all traces of a scenario together.
const maxTrace = 1e7

// longestRun bounds what a job of a trace runs and asks for, in seconds: beyond a year no
// description may ask, and at the least speed of a site a hundred of them are what a clock holds.
const longestRun = 365 * 86400

// readTraces reads the traces that a scenario names, which have so many jobs together at most.
func (s *Scenario) readTraces(dir string, most int) error {
	s.traces = map[string]*trace{}
	if strings.Join(s.siteTraces(), "")+s.Jobs.Trace == "" {
		return nil
	}
	sp, err := newSpool()
	if err != nil {
		return err
	}
	widest := 0
	for i := range s.Sites {
		widest = max(widest, s.Sites[i].Procs)
		if err := s.readTrace(sp, dir, s.Sites[i].Trace, s.Sites[i].Procs, most); err != nil {
			return &FieldError{s.Sites[i].path() + ".trace", err}
		}
	}
	if err := s.readTrace(sp, dir, s.Jobs.Trace, widest, most); err != nil {
		return &FieldError{"jobs.trace", err}
	}
	return sp.flush()
}

// readTrace reads one that has not been read for sites of that size into the spool; jobs wider than procs, and those that
// cannot be, are left out and counted.
func (s *Scenario) readTrace(sp *spool, dir, name string, procs, most int) error {
	if name == "" || s.traces[traceKey(name, procs)] != nil {
		return nil
	}
	file := name
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	if info, err := os.Stat(file); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		return fmt.Errorf("%s is a named pipe: name a file", file)
	}
	r, err := swf.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	t := &trace{spooled: sp.begin()}
	r.Problem = func(e *swf.LineError) {
		if t.unreadable++; t.unreadable == 1 {
			t.first = fmt.Sprintf("line %d: %s", e.Line, e.Said)
		}
	}
	if err := t.read(sp, &swf.Cleaner{Source: r, Name: name, Procs: procs}, most-s.traced()); err != nil {
		return err
	}
	if t.count == 0 {
		why := append(t.left(name), name+": it has no lines of jobs")
		return fmt.Errorf("no job can run here: %s", why[0])
	}
	s.traces[traceKey(name, procs)] = t
	return nil
}

// read brings what is left of it, so many jobs at most, into the spool.
func (t *trace) read(sp *spool, clean *swf.Cleaner, most int) error {
	for {
		j, err := clean.Next()
		if errors.Is(err, io.EOF) {
			t.report, t.sum = clean.Report, sp.sum()
			return nil
		}
		if err != nil {
			return err
		}
		if t.count >= most {
			return fmt.Errorf("%s: the scenario's traces have more than %d jobs, each of them counted for each size of sites", clean.Name, int(maxTrace))
		}
		if j.Run > longestRun || j.Submit > int64(longest.Seconds()) {
			clean.Report.Kept--
			clean.Report.Endless++
			continue
		}
		t.count++
		if err := sp.add(&job{submit: j.Submit, run: j.Run, limit: min(max(60, j.Limit), longestRun), procs: j.Procs, user: int(max(0, j.User))}); err != nil {
			return err
		}
	}
}

// traced is how many jobs the traces have that were read.
func (s *Scenario) traced() (jobs int) {
	for _, t := range s.traces {
		jobs += t.count
	}
	return jobs
}

func traceKey(name string, procs int) string { return fmt.Sprint(name, "@", procs) }

// Stream says how many global jobs there are, and of which trace.
func (s *Scenario) Stream() string {
	if s.Jobs.Trace == "" {
		return counted(s.Jobs.Count, "global job")
	}
	widest := 0
	for i := range s.Sites {
		widest = max(widest, s.Sites[i].Procs)
	}
	n := s.Jobs.Count
	if t := s.traces[traceKey(s.Jobs.Trace, widest)]; t != nil && (n == 0 || n > t.count) {
		n = t.count
	}
	return counted(n, "global job") + " of " + filepath.Base(s.Jobs.Trace)
}

// Left tells what was left out of the traces, a line for each.
func (s *Scenario) Left() (lines []string) {
	seen := map[string]bool{}
	for _, name := range append([]string{s.Jobs.Trace}, s.siteTraces()...) {
		for key, t := range s.traces {
			if name == "" || seen[key] || !s.names(key, name) {
				continue
			}
			seen[key] = true
			lines = append(lines, t.left(name)...)
		}
	}
	return lines
}

// left tells what was left out of a trace of that name.
func (t *trace) left(name string) (lines []string) {
	if t.unreadable > 0 {
		lines = append(lines, fmt.Sprintf("%s: %d lines that cannot be read; the first is %s", name, t.unreadable, t.first))
	}
	if gone := t.report.Read - t.report.Kept; gone > 0 {
		lines = append(lines, fmt.Sprintf("%s: %d of %d jobs left out: %d without run time, %d without processors, %d wider than any site, %d at no time",
			name, gone, t.report.Read, t.report.NoRunTime, t.report.NoProcs, t.report.TooWide, t.report.NoSubmit+t.report.Endless))
	}
	return lines
}

func (s *Scenario) siteTraces() (names []string) {
	for i := range s.Sites {
		names = append(names, s.Sites[i].Trace)
	}
	return names
}

func (s *Scenario) names(key, name string) bool {
	for i := range s.Sites {
		if traceKey(name, s.Sites[i].Procs) == key {
			return true
		}
	}
	return false
}
