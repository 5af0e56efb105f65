package arcrest

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// maxDiag bounds what is read of how a job ended: some hundred bytes as a rule.
const maxDiag = 1 << 20

// record fills a status from the files that the grid manager itself writes
// about an ended job: "diag" (what the job used) and "failed" (why). A job that
// never ran has no "diag", one that did not fail no "failed".
func record(ctx context.Context, c *client, id string, st *plugins.Status) error {
	diag, err := c.diagnose(ctx, "status", id, "diag", maxDiag)
	if err != nil {
		return err
	}
	fillDiag(st, diag)
	if st.State != plugins.Done {
		failed, err := c.diagnose(ctx, "status", id, "failed", maxDiag)
		if err != nil {
			return err
		}
		st.Reason = oncePerLine(short(string(failed)))
	}
	settle(st)
	if st.State == plugins.Failed && st.Reason == "" { // it is just writing it: whether cancelled or failed is not known yet
		st.State = plugins.Finishing
	}
	return nil
}

// diagnose reads one of the grid manager's files about a job, of so many bytes at
// most; one that is not there is empty.
func (c *client) diagnose(ctx context.Context, op, id, name string, most int64) ([]byte, error) {
	path := c.jobs("/" + id + "/diagnose/" + name)
	ca := &call{op: op, method: http.MethodGet, path: path, scope: scopeRead, also: http.StatusNotFound, most: most,
		header: map[string]string{"Accept": "*/*"}}
	body, head, err := c.read(ctx, ca)
	if err != nil || head == nil {
		return nil, err
	}
	return []byte(c.redact(string(body))), nil
}

// fillDiag reads "key=value" lines. A key may come twice, the later counts.
func fillDiag(st *plugins.Status, diag []byte) {
	for sc := bufio.NewScanner(bytes.NewReader(diag)); sc.Scan(); {
		key, value, _ := strings.Cut(sc.Text(), "=")
		switch strings.ToLower(key) {
		case "exitcode":
			st.ExitCode = exitCode(value)
		case "nodename":
			st.Node = short(value)
		case "walltime":
			st.WallTime = seconds(value)
		case "usertime", "kerneltime":
			if key != strings.ToLower(key) { // GNU time's; a batch system's own "usertime" is the sum
				st.CPUTime = min(st.CPUTime+seconds(value), mostSeconds*time.Second)
			}
		case "maxresidentmemory":
			st.MaxMemory = number(value)
		case "lrmsstarttime":
			st.Started = compact(value)
		case "lrmsendtime":
			st.Ended = compact(value)
		}
	}
}

// compact reads the times of ARC's own files: 20261121044043Z.
func compact(s string) time.Time {
	t, err := time.Parse("20060102150405Z", strings.TrimSpace(s))
	if err != nil {
		return time.Time{}
	}
	return t
}

func exitCode(s string) (code glue.Opt[int]) {
	if n, err := strconv.Atoi(strings.TrimSpace(s)); err == nil {
		code = glue.Some(n)
	}
	return code
}

// mostSeconds is more than any job runs, or has of processors, in one line that tells of it and in all.
const mostSeconds = 1e9

// seconds reads "4", "4.00" and "4.00s".
func seconds(s string) time.Duration {
	f, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(s), "s"), 64)
	if err != nil || !(f >= 0 && f <= mostSeconds) { // which NaN is not
		return 0
	}
	return time.Duration(f * float64(time.Second))
}

// number reads "1652" and "1652kB".
func number(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(s), "kB"), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// oncePerLine is a text of lines as one, each of them once: A-REX writes why a job was cancelled as often as it looks at it.
func oncePerLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}
