package remote

import (
	"context"
	"strconv"
	"strings"
	"time"

	"gridbroker/plugins"
)

// Outcome is what a job wrote about itself, see steps.sh.
type Outcome struct {
	Started, Ended time.Time
	CPU            time.Duration // of its steps, as far as they were waited for; 0: not told
	Node           string
	Code           int
	Step           string // the step that failed; "-": none; "signal": ended from outside
	Done           bool   // it wrote its end
	Cancelled      bool   // we asked for the end
}

// Ran reports whether the job's program ran to its end, whatever its code.
func (o Outcome) Ran() bool { return o.Step == "-" || o.Step == "run" }

// Why tells what the step means that kept a job from its end, and whose fault that is.
func (o Outcome) Why() (string, plugins.Fault) {
	switch o.Step {
	case "deploy":
		return "the node could not make the environment that the job asks for", plugins.SitesFault
	case "limit":
		return "the wall time was used up", plugins.JobsFault
	case "prologue":
		return "the prologue failed, so the program was not run", ""
	case "start":
		return "the environment does not have the program, or cannot run it", plugins.JobsFault
	case "signal":
		return "it was ended from outside, by a signal", ""
	}
	return strings.TrimSpace(o.Step + " failed"), ""
}

// Outcomes reads what jobs wrote about themselves, by our ids; one without a
// directory has none.
func Outcomes(ctx context.Context, s *Site, ids []string) (map[string]Outcome, error) {
	text, err := s.Verb(ctx, "outcomes", ids)
	if err != nil {
		return nil, err
	}
	return parseOutcomes(text, ids), nil
}

// parseOutcomes reads the answer of the verb "outcomes", of jobs that were asked
// about: a line "job ID", then the lines of its file. A job that was started again
// counts from its last start.
func parseOutcomes(text string, ids []string) map[string]Outcome {
	asked := make(map[string]bool, len(ids))
	for _, id := range ids {
		asked[id] = true
	}
	all := map[string]Outcome{}
	id := ""
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		o := all[id]
		switch {
		case f[0] == "job" && len(f) == 2:
			if id, o = f[1], (Outcome{}); !asked[id] {
				id = ""
			}
		case f[0] == "cancelled":
			o.Cancelled = true
		case f[0] == "started" && len(f) == 3:
			o = Outcome{Started: seconds(f[1]), Node: f[2], Cancelled: o.Cancelled}
		case f[0] == "used":
			o.CPU = 0
		case len(f) == 2:
			for _, s := range f {
				o.CPU = min(mostUsed, o.CPU+used(s)) // a job can write to its own file as often as it likes
			}
		case f[0] == "ended" && len(f) == 4:
			o.Ended, o.Step, o.Done = seconds(f[1]), f[3], true
			o.Code, _ = strconv.Atoi(f[2])
		}
		if id != "" {
			all[id] = o
		}
	}
	return all
}

// mostUsed bounds the processor time that a job tells of, in one word and in all: a century.
const mostUsed = 100 * 365 * 24 * time.Hour

// used is a processor time as POSIX's times writes it, "1m2.34s"; some shells write a comma in some languages. What is none
// is 0.
func used(s string) time.Duration {
	d, err := time.ParseDuration(strings.Replace(s, ",", ".", 1))
	if err != nil || d < 0 || d > mostUsed {
		return 0
	}
	return d
}

func seconds(s string) time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return Unix(n)
}

// lastSecond is where the year 9000 begins: later times cannot be written down everywhere,
// and none is that of a job.
const lastSecond = 221_845_392_000

// Unix is a time in seconds since 1970 that a site tells; what cannot be one is the zero time.
func Unix(n int64) time.Time {
	if n <= 0 || n >= lastSecond {
		return time.Time{}
	}
	return time.Unix(n, 0)
}
