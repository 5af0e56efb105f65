package tree

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ReadJobs reads a job list in CSV: one line of headings, by which columns are found, id, home,
// submit, run, width and, where jobs have one, priority; times in ticks. Other columns are
// skipped, lines that begin with # are comments. No two jobs have one id. The jobs come in
// order of submission, those of one tick as they are in the file.
func ReadJobs(in io.Reader) ([]Job, error) {
	var jobs []Job
	lines := map[int]int32{} // where each id is
	err := readRows(in, func(line int, n [6]int64) error {
		if len(jobs) == mostJobs {
			return fmt.Errorf("line %d: more than %d jobs", line, mostJobs)
		}
		j := Job{ID: int(n[0]), Home: int(n[1]), Submit: n[2], Run: n[3], Width: int(n[4]), Priority: int(n[5])}
		if j.Home < 0 || j.Home > 1e6 || j.Submit < 0 || j.Run < 1 || j.Width < 1 || n[2] > longestRun || n[3] > longestRun {
			return fmt.Errorf("line %d: no job has home %d, submission %d, run %d, width %d", line, j.Home, j.Submit, j.Run, j.Width)
		}
		if first, ok := lines[j.ID]; ok {
			return fmt.Errorf("line %d: job %d is in line %d already", line, j.ID, first)
		}
		lines[j.ID] = int32(line)
		jobs = append(jobs, j)
		return nil
	})
	if err == nil && len(jobs) == 0 {
		return nil, errors.New("no jobs")
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) })
	return jobs, err
}

// A list of jobs has lines of at most so many bytes, and so many jobs: a file
// without end is an error, and not all memory.
const (
	longestLine = 1 << 16
	mostJobs    = 10_000_000
)

// bounded reads lines, until one is too long or there are too many of them.
type bounded struct {
	in     io.Reader
	lines  int
	inLine int // bytes of the line that was begun
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	for _, c := range p[:n] {
		if b.inLine++; c == '\n' {
			b.lines, b.inLine = b.lines+1, 0
		}
		if b.inLine > longestLine {
			return 0, fmt.Errorf("line %d: longer than %d bytes", b.lines+1, longestLine)
		}
	}
	if b.lines > 2*mostJobs { // of comments, too
		return 0, fmt.Errorf("more than %d lines", 2*mostJobs)
	}
	return n, err
}

// byteOrder is the mark that editors of Windows put before a text.
const byteOrder = "\uFEFF"

// columns are those of a job list; the last one may be missing.
var columns = [6]string{"id", "home", "submit", "run", "width", "priority"}

// readRows reads the whole numbers of the lines of a job list.
func readRows(in io.Reader, take func(line int, n [6]int64) error) error {
	text := bufio.NewReader(&bounded{in: in})
	if head, _ := text.Peek(len(byteOrder)); string(head) == byteOrder {
		_, _ = text.Discard(len(byteOrder)) // they are there
	}
	r := csv.NewReader(text)
	r.Comment, r.TrimLeadingSpace, r.ReuseRecord = '#', true, true
	heads, err := r.Read()
	if err != nil {
		return fmt.Errorf("no headings: %w", err)
	}
	var at [6]int
	for i, head := range heads {
		heads[i] = strings.ToLower(strings.TrimSpace(head))
	}
	for i, name := range columns {
		line, _ := r.FieldPos(0)
		at[i] = slices.Index(heads, name)
		if at[i] >= 0 && slices.Contains(heads[at[i]+1:], name) {
			return fmt.Errorf("line %d: two columns are called %s", line, name)
		}
		if at[i] < 0 && i+1 < len(columns) {
			return fmt.Errorf("line %d: the headings are %q, %s is not among them", line, heads, name)
		}
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		line, _ := r.FieldPos(0)
		var n [6]int64
		for i, k := range at {
			if k < 0 || i+1 == len(columns) && strings.TrimSpace(row[k]) == "" {
				continue
			}
			var ok bool
			if n[i], ok = wholeNumber(strings.TrimSpace(row[k])); !ok {
				return fmt.Errorf("line %d: %s %q is no whole number", line, columns[i], row[k])
			}
		}
		if err := take(line, n); err != nil {
			return err
		}
	}
}

// wholeNumber reads one, which other programs write as 4.0 or 1e4.
func wholeNumber(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		return n, true
	}
	x, err := strconv.ParseFloat(text, 64)
	return int64(x), err == nil && x == math.Trunc(x) && math.Abs(x) <= 1<<53
}

// WriteStarts writes a schedule in CSV: id, system, start in ticks; -1 and -1 for a job that did not start.
func WriteStarts(out io.Writer, jobs []Job, starts []Start) error {
	w := csv.NewWriter(out)
	if err := w.Write([]string{"id", "system", "start"}); err != nil {
		return err
	}
	for i, s := range starts {
		if s.System < 0 {
			s.At = -1
		}
		row := []string{strconv.Itoa(jobs[i].ID), strconv.Itoa(s.System), strconv.FormatInt(s.At, 10)}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}
